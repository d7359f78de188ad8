"""The answer of the mapper: a mapping, its cost, and what is proven about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from seada.arch.hardware import Setup
from seada.mapping.nest import Mapping
from seada.model.calibration import calibrated_cycles, features_of
from seada.model.cost import Cost
from seada.model.present import cost_data
from seada.workload.layer import Layer


@dataclass(frozen=True)
class SearchStats:
    """How the search went; `stopped_by` is ``proof``, ``evaluations``, ``time`` or ``exhausted``."""

    cpu_s: float
    evaluated: int
    pruned: int
    stopped_by: str


@dataclass(frozen=True)
class MapResult:
    """The best mapping found for one layer, precision and objective.

    Attributes
    ----------
    mapping : Mapping or None
        None for the closed-form floating-point unit.
    objective : str
        Empty where a given mapping was evaluated; then nothing below is claimed.
    optimal : bool
        True only if no mapping of `space` is better.
    bound : float or None
        Lower bound of the objective over the whole space.
    gap : float or None
        ``value / bound - 1``.
    space : str
        The declared map-space that `optimal` and `bound` refer to.
    convention : str
        Whose rules counted.
    """

    layer: Layer
    setup: Setup
    mapping: Mapping | None
    cost: Cost
    objective: str
    optimal: bool
    bound: float | None
    gap: float | None
    search: SearchStats | None
    space: str
    convention: str = "default"

    @property
    def calibrated_latency_cycles(self) -> float | None:
        """Latency with the chip's fitted parameters, if the architecture has any."""
        calibration = self.setup.arch.calibration
        if calibration is None or self.mapping is None:
            return None
        return calibrated_cycles(calibration, features_of(self.layer, self.setup, self.mapping, self.cost))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, as the result schema describes it; without provenance."""
        return {
            **cost_data(self.layer, self.setup, self.mapping, self.cost),
            "objective": self.objective or None,
            "optimal": self.optimal if self.search else None,
            "bound": self.bound,
            "gap": self.gap,
            "search": asdict(self.search) if self.search else None,
            "space": self.space or None,
            "convention": self.convention,
            "calibrated_latency_cycles": self.calibrated_latency_cycles,
            "warnings": list(self.setup.arch.warnings),
        }
