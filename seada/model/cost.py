"""The cost of one layer under one mapping, as results carry it."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass
from typing import Any

from seada.model.counts import Counts, Timing


@dataclass(frozen=True)
class Cost:
    """Latency and energy of one layer, with their parts.

    Attributes
    ----------
    macs : int
    latency_cycles : int
        In cycles of the array's clock.
    energy_pj : float
        Sum of `energy_breakdown_pj`.
    utilization : float
        MACs over (latency x PEs x lanes x 1/cycles per step).
    energy_breakdown_pj : mapping
        By ``memory.operand`` (``dram.weight``), ``link.<fanout>``, ``additions.<fanout>``, ``mac``,
        ``leakage``, ``idle``.
    latency_breakdown_cycles : mapping
        ``first_fill``, ``compute``, ``stall``, ``last_drain``, ``ramp`` (they add up to the unrounded
        latency) and, as ``port.<memory>.<read|write|shared>`` or ``port.<fanout>.link``, how long each port
        is busy.
    bound_by : str
        Which of these decides the body: ``compute`` or a port.
    counts, timing
        None for closed-form estimates.
    estimate : bool
        True for the floating-point unit's closed form.
    """

    macs: int
    latency_cycles: int
    energy_pj: float
    utilization: float
    energy_breakdown_pj: MappingType[str, float]
    latency_breakdown_cycles: MappingType[str, float]
    bound_by: str
    counts: Counts | None
    timing: Timing | None
    estimate: bool = False

    @property
    def edp_pj_cycles(self) -> float:
        """Energy times latency."""
        return self.energy_pj * self.latency_cycles

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; counts are added by `seada.model.evaluate` results."""
        return {
            "macs": self.macs,
            "latency_cycles": self.latency_cycles,
            "energy_pj": self.energy_pj,
            "utilization": self.utilization,
            "energy_breakdown_pj": dict(self.energy_breakdown_pj),
            "latency_breakdown_cycles": dict(self.latency_breakdown_cycles),
            "bound_by": self.bound_by,
            "estimate": self.estimate,
        }
