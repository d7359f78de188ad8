"""Cost of one layer under one given mapping: counts and cycles to latency, energy and their parts."""

from __future__ import annotations

from seada.arch.hardware import Fanout, Setup
from seada.errors import MappingError
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.cost import Cost
from seada.model.count import count_with_ports
from seada.model.counts import Counts, Timing
from seada.model.standby import idle_pj_per_cycle, leakage_pj
from seada.workload.layer import ROLES, Layer


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
    parts["idle"] = idle_pj(setup, counts.mode_steps, timing.latency_cycles)
    parts["leakage"] = leakage_pj(setup.arch, timing.latency_cycles, setup.mode.block)
    return parts


def idle_pj(setup: Setup, mode_steps: int, cycles: int) -> float:
    """Energy in pJ of ungated blocks that are clocked without work, over a latency with so many steps of PEs.

    The block in use spends `idle_fraction` of the mode's energy in every slot of a PE that has no step; the
    other ones spend theirs all the time.
    """
    arch, mode = setup.arch, setup.mode
    idle = 0.0
    block = next((block for block in arch.compute.blocks if block.name == mode.block), None)
    if block is not None and block.gating == "none" and block.idle_fraction != 0:
        slots = arch.instances(arch.compute.name) * cycles / mode.cycles_per_step
        idle = (slots - mode_steps) * block.idle_fraction * mode.energy_pj_per_step
    return idle + idle_pj_per_cycle(arch, mode.block) * cycles
