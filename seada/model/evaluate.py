"""Cost of one layer under one given mapping: counts and cycles to latency, energy and their parts."""

from __future__ import annotations

from seada.arch.area import leakage
from seada.arch.hardware import Arch, Block, Fanout, Setup
from seada.errors import MappingError
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.cost import Cost
from seada.model.count import count_with_ports
from seada.model.counts import Counts, Timing
from seada.workload.layer import ROLES, Layer

PJ_PER_J = 1e12


def evaluate_mapping(layer: Layer, setup: Setup, mapping: Mapping) -> Cost:
    """Check a mapping, then cost it.

    Raises
    ------
    MappingError
        With every rule that the mapping breaks: memory or fanout, operand or dimension, need and have.
    """
    violations = check(layer, setup, mapping)
    if violations:
        raise MappingError(violations)
    return cost_of(layer, setup, mapping)


def cost_of(layer: Layer, setup: Setup, mapping: Mapping) -> Cost:
    """Cost of a mapping that is known to be legal."""
    counts, timing, ports = count_with_ports(layer, setup, mapping)
    energy = energy_breakdown(setup, counts, timing)
    mode = setup.mode
    peak = setup.arch.instances(setup.arch.compute.name) * mode.lanes / mode.cycles_per_step
    bound_by = "compute"
    if timing.body > timing.compute and ports:
        bound_by = "port." + max(ports, key=lambda name: (ports[name], name))
    return Cost(
        macs=layer.macs,
        latency_cycles=timing.latency_cycles,
        energy_pj=sum(energy.values()),
        utilization=layer.macs / (timing.latency_cycles * peak),
        energy_breakdown_pj=energy,
        latency_breakdown_cycles=_latency_breakdown(timing, ports),
        bound_by=bound_by,
        counts=counts,
        timing=timing,
    )


def _latency_breakdown(timing: Timing, ports: dict[str, float]) -> dict[str, float]:
    parts = {
        "first_fill": timing.first_fill,
        "compute": timing.compute,
        "stall": timing.body - timing.compute,
        "last_drain": timing.last_drain,
        "ramp": timing.ramp,
    }
    return parts | {f"port.{name}": cycles for name, cycles in ports.items()}


def energy_breakdown(setup: Setup, counts: Counts, timing: Timing) -> dict[str, float]:
    """Energy in pJ by part: words x energy per word, links, additions, MAC steps, idling and leakage.

    The order of the parts, and so of the sum, is that of the hardware from outside in.
    """
    parts: dict[str, float] = {}
    for memory, row in zip(setup.arch.memories, counts.memories, strict=True):
        for role, access in zip(ROLES, row, strict=True):
            parts[f"{memory.name}.{role}"] = (
                access.read_words * memory.read_energy_pj + access.write_words * memory.write_energy_pj
            )
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    for fanout, links in zip(fanouts, counts.links, strict=True):
        bits = sum(link.hop_bits for link in links)
        added = sum(link.additions for link in links) * setup.precision.accumulator.bits
        parts[f"link.{fanout.name}"] = bits * fanout.hop_energy_pj_per_bit
        parts[f"additions.{fanout.name}"] = added * fanout.reduction_energy_pj_per_bit
    parts["mac"] = counts.mode_steps * setup.mode.energy_pj_per_step
    parts["idle"] = _idle_pj(setup, counts, timing)
    parts["leakage"] = leakage_pj(setup.arch, timing.latency_cycles, setup.mode.block)
    return parts


def _block(setup: Setup) -> Block | None:
    return next((block for block in setup.arch.compute.blocks if block.name == setup.mode.block), None)


def _idle_pj(setup: Setup, counts: Counts, timing: Timing) -> float:
    """Clocked but idle PEs spend `idle_fraction` of the mode's energy per step, unless the block is gated."""
    block = _block(setup)
    if block is None or block.gating != "none" or block.idle_fraction == 0:
        return 0.0
    pes = setup.arch.instances(setup.arch.compute.name)
    slots = pes * timing.latency_cycles / setup.mode.cycles_per_step
    return (slots - counts.mode_steps) * block.idle_fraction * setup.mode.energy_pj_per_step


def leakage_pj(arch: Arch, cycles: float, used_block: str | None) -> float:
    """Leakage of the whole chip over a number of cycles; power-gated blocks that are not used do not leak."""
    power_w = leakage(arch)["total"]
    pes = arch.instances(arch.compute.name)
    for block in arch.compute.blocks:
        if block.gating == "power" and block.name != used_block:
            power_w -= block.leakage_w * pes
    return power_w * cycles / arch.clock_hz * PJ_PER_J
