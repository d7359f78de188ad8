"""Cost of a given mapping under a convention."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from seada.arch.hardware import Fanout, Memory, Setup
from seada.errors import MappingError, UserError, Violation
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.cost import Cost
from seada.model.counts import Access, Counts, LinkCount, Timing
from seada.model.evaluate import cost_of, idle_pj
from seada.model.standby import leakage_pj
from seada.peers.convention import DEFAULT, Convention
from seada.peers.nest import WholeNest
from seada.peers.totals import INFINITE, Tally, tallies
from seada.workload.layer import ROLES, Axis, Layer, Operand

_OURS = ("drain", "returning", "windows", "stationarity", "multicast", "ragged")
_TOTALS: dict[str, tuple[str, ...]] = {
    "returning": ("every",),
    "words": ("blocks", "fractional", "value"),
    "width": ("single",),
    "windows": ("displacement", "none"),
    "multicast": ("equal", "irrelevant"),
    "ragged": ("padded",),
    "padding": ("data",),
    "cycles": ("overlap", "halves"),
}


def cost_under(
    convention: Convention,
    layer: Layer,
    setup: Setup,
    mapping: Mapping,
    forwarding: frozenset[str] = frozenset(),
) -> Cost:
    """Cost of a mapping by the rules of a convention.

    Parameters
    ----------
    forwarding : names of fanouts whose neighbours hand tiles of inputs on (totals by other tools' rules only)

    Raises
    ------
    MappingError
        If the mapping is not legal on this hardware (capacity by the convention's rule).
    UserError
        If nobody has defined what this combination of switches means, or formats have shared scales, which
        other tools do not count.
    """
    _check(layer, setup, mapping, convention)
    if all(getattr(convention, name) == getattr(DEFAULT, name) for name in _OURS):
        return _by_our_counts(convention, layer, setup, mapping)
    _require_plain(setup, convention)
    for name, values in _TOTALS.items():
        if getattr(convention, name) not in values:
            raise UserError(
                f"convention {convention}: {name}={getattr(convention, name)} cannot be combined with the "
                f"other switches; with them {name} may be {' or '.join(values)}"
            )
    return totals_cost(convention, layer, setup, mapping, forwarding)


def _check(layer: Layer, setup: Setup, mapping: Mapping, convention: Convention) -> None:
    """Legality; capacity by tiles in values if the convention says so."""
    violations = check(layer, setup, mapping)
    if convention.capacity == "tile":
        violations = [found for found in violations if found.rule != "capacity"]
        if not violations:
            violations = list(_overfull(layer, setup, mapping))
    if violations:
        raise MappingError(violations)


def _require_plain(setup: Setup, convention: Convention) -> None:
    scaled = [str(fmt) for fmt in vars(setup.precision).values() if fmt.scale_bits]
    if scaled:
        raise UserError(f"convention {convention} counts no shared scales, as {', '.join(scaled)} need")


def _overfull(layer: Layer, setup: Setup, mapping: Mapping) -> list[Violation]:
    """Memories that one tile of each operand overflows."""
    nest = WholeNest(layer, setup, mapping)
    bits = dict(zip(ROLES, _bits(setup), strict=True))
    found = []
    for m, memory in enumerate(setup.arch.memories):
        tiles = [(role, kept) for role in ROLES for kept in nest.chains[role] if kept.memory == m]
        need = sum(nest.tile(role, kept.place) * bits[role] for role, kept in tiles)
        if memory.size_bits is not None and need > memory.size_bits:
            roles = ", ".join(role for role, _ in tiles)
            found.append(Violation("capacity", memory.name, roles, f"{need} bit", f"{memory.size_bits} bit"))
    return found


def _bits(setup: Setup) -> tuple[int, int, int]:
    precision = setup.precision
    return precision.weight.bits, precision.input.bits, precision.output.bits


def _by_our_counts(convention: Convention, layer: Layer, setup: Setup, mapping: Mapping) -> Cost:
    """Our counts, with the switches that only change how counts become words, cycles and widths."""
    if convention.words not in ("whole", "fractional") or convention.cycles == "halves":
        raise UserError(f"convention {convention}: words and cycles of this kind need another tool's counts")
    if convention.words == "fractional" and convention.cycles == "recurrence":
        raise UserError("words=fractional has no latency recurrence; add cycles=overlap")
    if convention.padding == "data":
        layer = _with_padding(layer)
    if convention.width == "single":
        setup = replace(setup, precision=replace(setup.precision, accumulator=setup.precision.output))
    cost = cost_of(layer, setup, mapping)
    if convention.cycles == "overlap":
        cost = _overlapped(setup, cost)
    if convention.words == "fractional":
        cost = _fractional(setup, cost)
    return cost


def _with_padding(layer: Layer) -> Layer:
    """The layer whose padded positions are elements like all others."""
    extents = layer.extents

    def whole(axis: Axis) -> Axis:
        reach = sum(coefficient * (extents[name] - 1) for name, coefficient in axis.terms) + 1
        return Axis(axis.terms, 0, reach)

    def operand(old: Operand) -> Operand:
        return Operand(old.role, tuple(map(whole, old.axes)))

    return replace(layer, input=operand(layer.input), weight=operand(layer.weight))


def _overlapped(setup: Setup, cost: Cost) -> Cost:
    """Latency as the slowest of compute and every port."""
    assert cost.timing is not None
    ports = {
        name: cycles for name, cycles in cost.latency_breakdown_cycles.items() if name.startswith("port.")
    }
    body = max([cost.timing.compute, *ports.values()])
    return _with_latency(setup, cost, body, ports)


def _with_latency(setup: Setup, cost: Cost, body: float, ports: dict[str, float]) -> Cost:
    assert cost.timing is not None
    compute = cost.timing.compute
    latency = ceil(body)
    energy = dict(cost.energy_breakdown_pj)
    if "idle" in energy:  # Other tools have none.
        assert cost.counts is not None
        energy["idle"] = idle_pj(setup, cost.counts.mode_steps, latency)
    energy["leakage"] = leakage_pj(setup.arch, latency, setup.mode.block)
    bound = "compute" if body <= compute else max(ports, key=lambda name: (ports[name], name))
    parts = {"first_fill": 0.0, "compute": compute, "stall": body - compute, "last_drain": 0.0, "ramp": 0.0}
    peak = setup.arch.instances(setup.arch.compute.name) * setup.mode.lanes / setup.mode.cycles_per_step
    return replace(
        cost,
        latency_cycles=latency,
        utilization=cost.macs / (latency * peak),
        energy_pj=sum(energy.values()),
        energy_breakdown_pj=energy,
        latency_breakdown_cycles=parts | ports,
        bound_by=bound,
        timing=Timing(latency, 0.0, body, 0.0, 0.0, compute),
    )


def _fractional(setup: Setup, cost: Cost) -> Cost:
    """Energy of bits instead of whole words."""
    assert cost.counts is not None
    energy = dict(cost.energy_breakdown_pj)
    for memory, row in zip(setup.arch.memories, cost.counts.memories, strict=True):
        for role, access in zip(ROLES, row, strict=True):
            bits = access.read_bits * memory.read_energy_pj + access.write_bits * memory.write_energy_pj
            energy[f"{memory.name}.{role}"] = bits / memory.word_bits
    return replace(cost, energy_pj=sum(energy.values()), energy_breakdown_pj=energy)


def totals_cost(
    convention: Convention,
    layer: Layer,
    setup: Setup,
    mapping: Mapping,
    forwarding: frozenset[str] = frozenset(),
) -> Cost:
    """Cost by other tools' rules of a mapping that is known to be legal there."""
    nest = WholeNest(layer, setup, mapping)
    found = tallies(nest, convention, forwarding)
    steps = prod(trip.trips for trip in nest.temporal(INFINITE))
    compute = float(steps * setup.mode.cycles_per_step)
    counts = _counts(setup, nest, found, steps)
    ports = _ports(convention, setup, found)
    energy = {f"{m.name}.{role}": 0.0 for m in setup.arch.memories for role in ROLES}
    for tally in found:
        memory = setup.arch.memories[tally.memory]
        energy[f"{memory.name}.{tally.role}"] += tally_pj(convention, setup, tally)
    energy["mac"] = counts.mode_steps * setup.mode.energy_pj_per_step
    energy["leakage"] = 0.0
    cost = Cost(
        macs=layer.macs,
        latency_cycles=0,
        energy_pj=0.0,
        utilization=0.0,
        energy_breakdown_pj=energy,
        latency_breakdown_cycles={},
        bound_by="compute",
        counts=counts,
        timing=Timing(0, 0.0, 0.0, 0.0, 0.0, compute),
    )
    return _with_latency(setup, cost, max([compute, *ports.values()]), ports)


def tally_pj(convention: Convention, setup: Setup, tally: Tally) -> float:
    """Energy of one operand at one keep, over all used instances."""
    memory = setup.arch.memories[tally.memory]
    bits = _bits(setup)[ROLES.index(tally.role)]
    actions = (
        (tally.all_reads, memory.read_energy_pj),
        (Fraction(tally.fills), memory.write_energy_pj),
        (Fraction(tally.updates), memory.write_energy_pj),
    )
    return sum(float(_words(convention, memory, count, bits)) * pj for count, pj in actions) * tally.instances


def _words(convention: Convention, memory: Memory, count: Fraction, bits: int) -> Fraction:
    """Accesses of one instance for that many values."""
    if convention.words == "value":
        return count
    if convention.words == "fractional":
        return count * bits / memory.word_bits
    return Fraction(ceil(count / max(1, memory.word_bits // bits)))


def _ports(convention: Convention, setup: Setup, found: list[Tally]) -> dict[str, float]:
    """Cycles that every limited port is busy, all operands of one instance together."""
    ports: dict[str, float] = {}
    for m, memory in enumerate(setup.arch.memories):
        own = [tally for tally in found if tally.memory == m]
        reads = float(sum(_values(setup, memory, tally, tally.all_reads) for tally in own))
        writes = float(sum(_values(setup, memory, tally, Fraction(tally.writes)) for tally in own))
        shared = memory.shared_words_per_cycle
        if shared is not None and convention.cycles == "halves":
            ports[f"port.{memory.name}.read"] = reads / (shared / 2)
            ports[f"port.{memory.name}.write"] = writes / (shared / 2)
        elif shared is not None:
            ports[f"port.{memory.name}.shared"] = (reads + writes) / shared
        if memory.read_words_per_cycle is not None:
            ports[f"port.{memory.name}.read"] = reads / memory.read_words_per_cycle
        if memory.write_words_per_cycle is not None:
            ports[f"port.{memory.name}.write"] = writes / memory.write_words_per_cycle
    return ports


def _values(setup: Setup, memory: Memory, tally: Tally, count: Fraction) -> Fraction:
    """Words of a port that a number of values takes: whole ones fit side by side."""
    bits = _bits(setup)[ROLES.index(tally.role)]
    return count / max(1, memory.word_bits // bits)


def _counts(setup: Setup, nest: WholeNest, found: list[Tally], steps: int) -> Counts:
    """Totals over all instances in our form; links are not counted by these tools."""
    rows = [[Access()] * 3 for _ in setup.arch.memories]
    for tally in found:
        r = ROLES.index(tally.role)
        bits = _bits(setup)[r]
        reads, writes = int(tally.all_reads * tally.instances), tally.writes * tally.instances
        rows[tally.memory][r] += Access(reads, writes, reads * bits, writes * bits, reads, writes)
    used = prod(trip.trips for trip in nest.spatial(-1, INFINITE))
    fanouts = sum(isinstance(node, Fanout) for node in setup.nodes)
    none = (LinkCount(), LinkCount(), LinkCount())
    lanes = prod(
        trip.trips
        for trip in nest.spatial(-1, INFINITE)
        if trip.fanout is not None and nest.fanouts[trip.fanout].name == "lanes"
    )
    return Counts(
        memories=tuple(tuple(row) for row in rows),  # type: ignore[misc]
        links=(none,) * fanouts,
        compute_steps=steps,
        mode_steps=steps * used // lanes,
    )
