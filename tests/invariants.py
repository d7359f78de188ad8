"""What holds for every legal mapping, told from its cost alone: nothing here knows how the model counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from seada.arch.hardware import LANES, Fanout, Memory, Node, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.cost import Cost
from seada.model.counts import Counts
from seada.model.evaluate import cost_of
from seada.workload.layer import ROLES, Layer

WEIGHT, INPUT, OUTPUT = range(3)
Problem = tuple[Layer, Setup, Mapping]


def counts_of(problem: Problem) -> Counts:
    counts = cost_of(*problem).counts
    assert counts is not None
    return counts


def check_macs(problem: Problem) -> None:
    """MACs are the volume of the box, each of them done once."""
    layer, setup, mapping = problem
    counts = counts_of(problem)
    assert layer.macs == prod(extent for _, extent in layer.dims)
    assert counts.mode_steps <= layer.macs <= counts.mode_steps * setup.mode.lanes
    assert counts.compute_steps <= counts.mode_steps
    assert layer.macs <= counts.compute_steps * prod(spatial_trips(layer, mapping))


def check_conservation(problem: Problem) -> None:
    """Inputs are read at least once, finished outputs leave once, nothing is lost between two keeps."""
    layer, setup, mapping = problem
    counts = counts_of(problem)
    for role in (WEIGHT, INPUT):
        outermost = counts.memories[0][role]
        assert outermost.writes == 0
        assert outermost.reads >= touched(layer, role)
        _check_deliveries(problem, role)
    final = counts.memories[0][OUTPUT]
    outputs = layer.elements("output")
    # Sums that arrive at the outermost keep, less those that go back to be continued, are the outputs.
    assert final.writes - final.reads == outputs
    for row in counts.memories[1:]:
        assert row[OUTPUT].writes == row[OUTPUT].reads  # Nothing stays inside.
    if _sums_end_inside(layer, mapping):
        assert (final.writes, final.reads) == (outputs, 0)
        fmt = setup.precision.output
        least = fmt.stored_bits(outputs, layer.channel_elements)
        assert least <= final.write_bits <= outputs * (fmt.bits + fmt.scale_bits)


def _check_deliveries(problem: Problem, role: int) -> None:
    """What each keep receives is what its parent's reads deliver, followed fanout by fanout.

    A bus counts what enters a fanout, a mesh what its instances receive: the same mapping with the one and
    with the other topology shows both ends of every fanout.
    """
    layer, setup, mapping = problem
    entering = counts_of((layer, _with_topology(setup, "bus"), mapping))
    received = counts_of((layer, _with_topology(setup, "mesh"), mapping))
    assert entering.memories == received.memories
    fanouts = [node.name for node in setup.nodes if isinstance(node, Fanout)]
    names = [memory.name for memory in setup.arch.memories]
    for outer, inner, between in _gaps(setup, mapping, ROLES[role]):
        passing = entering.memories[names.index(outer)][role].reads
        for fanout in between:
            links = fanouts.index(fanout.name)
            assert entering.links[links][role].hops == passing, (outer, fanout.name)
            if fanout.name == LANES:  # Always a bus, and the last before the MACs.
                assert passing <= layer.macs <= passing * fanout.instances or outer == names[0]
                return
            passing = received.links[links][role].hops
        if inner is not None:
            assert entering.memories[names.index(inner)][role].writes == passing, (outer, inner)
        elif outer != names[0]:
            assert passing == layer.macs
        else:
            assert passing <= layer.macs  # Pads are not read from the outermost memory.


def check_time(problem: Problem) -> None:
    """No memory, link or PE is faster than it can be."""
    setup = problem[1]
    cost = cost_of(*problem)
    latency = cost.latency_cycles
    assert cost.counts is not None
    assert latency >= cost.counts.compute_steps * setup.mode.cycles_per_step
    bounds = {**_memory_bounds(setup, cost.counts), **_link_bounds(problem)}
    ports = {
        name.removeprefix("port."): cycles
        for name, cycles in cost.latency_breakdown_cycles.items()
        if name.startswith("port.")
    }
    assert ports.keys() == bounds.keys()
    for name, (least, most) in bounds.items():
        assert latency >= least, name
        # The busiest instance does at least the average, and no more than everything.
        assert float(least) * (1 - 1e-9) <= ports[name] <= float(most) * (1 + 1e-9), name
        assert latency >= ports[name] * (1 - 1e-9), name


def _memory_bounds(setup: Setup, counts: Counts) -> dict[str, tuple[Fraction, Fraction]]:
    """By port: cycles if all instances share the words evenly, and if one of them moves all."""
    bounds = {}
    for memory, row in zip(setup.arch.memories, counts.memories, strict=True):
        reads = sum(access.read_words for access in row)
        writes = sum(access.write_words for access in row)
        for port, words, limit in (
            ("read", reads, memory.read_words_per_cycle),
            ("write", writes, memory.write_words_per_cycle),
            ("shared", reads + writes, memory.shared_words_per_cycle),
        ):
            if limit is not None:
                most = words / Fraction(limit)
                bounds[f"{memory.name}.{port}"] = (most / setup.arch.instances(memory.name), most)
    return bounds


def _link_bounds(problem: Problem) -> dict[str, tuple[Fraction, Fraction]]:
    """As `_memory_bounds` for links, whose load is what passes their root: what a bus counts."""
    layer, setup, mapping = problem
    counts = counts_of((layer, _with_topology(setup, "bus"), mapping))
    bounds = {}
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    for fanout, row in zip(fanouts, counts.links, strict=True):
        if fanout.link_bits_per_cycle is not None:
            most = sum(link.hop_bits for link in row) / Fraction(fanout.link_bits_per_cycle)
            bounds[f"{fanout.name}.link"] = (most / setup.arch.instances(fanout.name), most)
    return bounds


def check_words(problem: Problem) -> None:
    """Whole words hold the bits that they carry, and energy is the sum of its parts."""
    cost: Cost = cost_of(*problem)
    for memory, row in zip(problem[1].arch.memories, counts_of(problem).memories, strict=True):
        for access in row:
            assert access.read_words * memory.word_bits >= access.read_bits
            assert access.write_words * memory.word_bits >= access.write_bits
    assert min(cost.energy_breakdown_pj.values()) >= 0
    assert 0 < cost.utilization <= 1


def check_all(problem: Problem) -> None:
    check_macs(problem)
    check_conservation(problem)
    check_time(problem)
    check_words(problem)


def with_nodes(setup: Setup, nodes: tuple[Node, ...]) -> Setup:
    return replace(setup, arch=replace(setup.arch, nodes=nodes))


def _with_topology(setup: Setup, topology: str) -> Setup:
    return with_nodes(
        setup,
        tuple(
            replace(node, topology=topology) if isinstance(node, Fanout) else node
            for node in setup.arch.nodes
        ),
    )


def _gaps(setup: Setup, mapping: Mapping, role: str) -> list[tuple[str, str | None, list[Fanout]]]:
    """Each keep of an operand, the next one inside it (None: the MACs), and the fanouts between them."""
    kept = {node.memory for node in mapping.nodes if isinstance(node, Keep) and node.operand == role}
    gaps: list[tuple[str, str | None, list[Fanout]]] = []
    for node in setup.nodes:
        if isinstance(node, Memory) and node.name in kept:
            if gaps:
                gaps[-1] = (gaps[-1][0], node.name, gaps[-1][2])
            gaps.append((node.name, None, []))
        elif isinstance(node, Fanout):
            gaps[-1][2].append(node)
    return gaps


def _sums_end_inside(layer: Layer, mapping: Mapping) -> bool:
    """Whether a keep inside the outermost memory holds every sum from its first MAC to its last."""
    outermost = mapping.nodes[0]
    assert isinstance(outermost, Keep)
    left = dict(layer.dims)
    for node in mapping.nodes:
        if isinstance(node, Loop):
            if node.dim in layer.reduction_dims and node.step < left[node.dim]:
                return False
            left[node.dim] = node.step
        elif node.operand == "output" and node.memory != outermost.memory:
            return True
    return False


def spatial_trips(layer: Layer, mapping: Mapping) -> list[int]:
    """Trips of the spatial loops."""
    left, trips = dict(layer.dims), []
    for node in mapping.nodes:
        if isinstance(node, Loop):
            if node.is_spatial:
                trips.append(-(-left[node.dim] // node.step))
            left[node.dim] = node.step
    return trips


def touched(layer: Layer, role: int) -> int:
    """Distinct data elements that the MACs of a layer touch."""
    count = 1
    for axis in layer.operands[role].axes:
        points = {-axis.offset}
        for name, factor in axis.terms:
            points = {point + factor * x for point in points for x in range(layer.extents[name])}
        count *= sum(0 <= point < axis.size for point in points)
    return count
