"""The interpreter against counts worked out by hand, and the invariants of the rules on random problems."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from hypothesis import HealthCheck, given, settings

from seada.arch.hardware import LANES, Arch, Compute, Fanout, Memory, Mode, Node, Ramp, Setup
from seada.formats import Precision, parse_format, parse_precision
from seada.mapping.check import check
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.counts import Access, Counts, LinkCount, Timing
from seada.oracle.ledger import Width, whole_words
from seada.oracle.walk import walk
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer
from tests.invariants import spatial_trips, touched
from tests.strategies import problems

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
WEIGHT, INPUT, OUTPUT = range(3)
PRECISION = Precision(*(parse_format(name) for name in ("int8", "int8", "int32", "int8")))


def memory(name: str, **changes: object) -> Memory:
    """A memory of 8-bit words without limits."""
    return replace(Memory(name, None, 8, 1.0, 1.0), **changes)


def fanout(name: str, size: int, **changes: object) -> Fanout:
    return replace(Fanout(name, (("x", size),), (None,)), **changes)


def setup(*nodes: Node, lanes: int = 1, dims: str = "", cycles: int = 1) -> Setup:
    mode = Mode(
        PRECISION.weight, PRECISION.input, PRECISION.accumulator, lanes, frozenset(dims), cycles, 1.0, "b"
    )
    return Setup(Arch("hand", 1e9, nodes, Compute("pe", (mode,), ())), PRECISION, mode)


def with_precision(hardware: Setup, text: str) -> Setup:
    """The same with other formats; sums in int32 and outputs in int8 where the text leaves them open."""
    asked = parse_precision(text)
    accumulator, output = asked.accumulator or PRECISION.accumulator, asked.output or PRECISION.output
    return replace(hardware, precision=Precision(asked.weight, asked.input, accumulator, output))


def nest(text: str) -> Mapping:
    """``W@m0`` keeps, ``K:2`` loops in steps of 2, ``K:1@f.x`` on an axis."""
    roles = dict(zip("WIO", ROLES, strict=True))
    nodes: list[Loop | Keep] = []
    for word in text.split():
        head, _, place = word.partition("@")
        if head in roles:
            nodes.append(Keep(place, roles[head]))
        else:
            dim, _, step = head.partition(":")
            nodes.append(Loop(dim, int(step), place or None))
    return Mapping(tuple(nodes))


def run(layer: Layer, hardware: Setup, text: str) -> tuple[Counts, Timing]:
    mapping = nest(text)
    assert check(layer, hardware, mapping) == []
    return walk(layer, hardware, mapping)


def elements(access: Access) -> tuple[int, int]:
    return access.reads, access.writes


TWO = setup(memory("m0"), memory("m1"))


def test_window_that_slides_fetches_only_what_is_new() -> None:
    layer = conv("c", outputs=[4], kernel=[3], K=1, C=1)
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 W@m1 Q:1 I@m1 O@m1 S:1")
    # Windows 012, 123, 234, 345: three elements, then one each.
    assert elements(counts.memories[0][INPUT]) == (6, 0)
    assert elements(counts.memories[1][INPUT]) == (12, 6)
    assert elements(counts.memories[1][WEIGHT]) == (12, 3)
    # Each output: three MAC writes, two of them after a read; then one drain.
    assert elements(counts.memories[1][OUTPUT]) == (4 * (2 + 1), 12)
    assert elements(counts.memories[0][OUTPUT]) == (0, 4)
    # Partial writes at 32 bits, the last at 8; reads of partial sums at 32, the drain at 8.
    assert counts.memories[1][OUTPUT].write_bits == 4 * (32 + 32 + 8)
    assert counts.memories[1][OUTPUT].read_bits == 4 * (32 + 32 + 8)
    assert counts.memories[0][OUTPUT].write_bits == 4 * 8


def test_window_that_turns_back_fetches_what_it_left() -> None:
    layer = conv("c", outputs=[4], kernel=[3], K=2, C=1)
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 K:1 W@m1 Q:1 I@m1 O@m1 S:1")
    # From the window 345 back to 012: element 3 to 5 go, 0 to 2 come; then 3, 4, 5 again.
    assert elements(counts.memories[0][INPUT]) == (12, 0)
    assert elements(counts.memories[0][WEIGHT]) == (6, 0)


def test_padding_is_not_data() -> None:
    layer = conv("c", outputs=[3], kernel=[3], K=1, C=1, pad=[1], inputs=[3])
    inner, _ = run(layer, TWO, "W@m0 I@m0 O@m0 W@m1 I@m1 O@m1 Q:1 S:1")
    assert elements(inner.memories[0][INPUT]) == (3, 0)
    assert elements(inner.memories[1][INPUT]) == (9, 3)  # All nine MACs read here, pads too.
    outer, _ = run(layer, TWO, "W@m0 I@m0 O@m0 W@m1 O@m1 Q:1 S:1")
    assert elements(outer.memories[0][INPUT]) == (7, 0)  # Two of nine MACs are on padding.


def test_stride_beyond_the_kernel_leaves_elements_out() -> None:
    layer = conv("c", outputs=[3], kernel=[1], K=1, C=1, stride=[3])
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 W@m1 I@m1 O@m1 Q:1")
    assert elements(counts.memories[0][INPUT]) == (3, 0)


def test_dilated_kernel_touches_only_its_taps() -> None:
    layer = conv("c", outputs=[1], kernel=[3], K=1, C=1, dilation=[4])
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 W@m1 I@m1 O@m1 S:1")
    assert elements(counts.memories[0][INPUT]) == (3, 0)


def test_stationarity_belongs_to_the_whole_nest() -> None:
    layer = matmul("g", M=2, N=3, K=4)
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 M:1 K:1 W@m1 N:1 I@m1 O@m1")
    assert elements(counts.memories[0][WEIGHT]) == (8, 0)  # Stays while N runs.
    assert elements(counts.memories[0][INPUT]) == (2 * 12, 0)  # Comes again for each M.
    # Outputs leave after each MAC: four drains each, and three returns that find a sum.
    assert elements(counts.memories[0][OUTPUT]) == (6 * 3, 6 * 4)
    assert counts.memories[0][OUTPUT].write_bits == 6 * (3 * 32 + 8)
    assert elements(counts.memories[1][OUTPUT]) == (6 * (3 + 4), 6 * (3 + 4))


def test_first_visit_starts_at_zero() -> None:
    layer = matmul("g", M=2, N=1, K=4)
    counts, _ = run(layer, TWO, "W@m0 I@m0 O@m0 K:2 M:1 O@m1 W@m1 I@m1 K:1")
    # Two visits of two outputs: the first finds nothing, the second continues.
    assert elements(counts.memories[0][OUTPUT]) == (2, 4)
    # Per visit two MACs write; the first visit reads before one of them, the second before both; each drains.
    assert elements(counts.memories[1][OUTPUT]) == (2 * (1 + 2) + 4, 2 * (2 + 2) + 2)


def test_spatial_reduction_with_and_without_reduces() -> None:
    layer = matmul("g", M=1, N=1, K=8)
    text = "W@m0 I@m0 O@m0 K:4 K:1@f.x W@m1 I@m1 O@m1"
    added, _ = run(layer, setup(memory("m0"), fanout("f", 4), memory("m1")), text)
    # One visit of eight MACs per PE in two steps of K: each PE keeps its sum and drains once.
    assert elements(added.memories[0][OUTPUT]) == (0, 1)
    assert added.memories[0][OUTPUT].write_bits == 8
    assert added.links[0][OUTPUT] == LinkCount(1, 8, 3)
    apart, _ = run(layer, setup(memory("m0"), fanout("f", 4, reduces=False), memory("m1")), text)
    # Four sums arrive, three are added to what came before; none is written complete but the last.
    assert elements(apart.memories[0][OUTPUT]) == (3, 4)
    assert apart.memories[0][OUTPUT].write_bits == 4 * 32
    assert apart.links[0][OUTPUT] == LinkCount(4, 4 * 32, 0)


def test_returning_sums_continue_in_one_instance() -> None:
    layer = matmul("g", M=2, N=1, K=4)
    text = "W@m0 I@m0 O@m0 K:2 M:1 K:1@f.x W@m1 I@m1 O@m1"
    added, _ = run(layer, setup(memory("m0"), fanout("f", 2), memory("m1")), text)
    # Each output is visited twice; on the second visit one of two PEs takes the sum along.
    assert elements(added.memories[0][OUTPUT]) == (2, 4)
    assert added.links[0][OUTPUT] == LinkCount(2 + 4, 2 * 32 + 2 * 32 + 2 * 8, 4)
    # Innermost: per PE and visit one MAC (read first where the sum came along) and one drain.
    assert elements(added.memories[1][OUTPUT]) == (8 + 2, 8 + 2)
    apart, _ = run(layer, setup(memory("m0"), fanout("f", 2, reduces=False), memory("m1")), text)
    # Both start at zero: two writes a visit, with n - 1 reads on the first and n on the second.
    assert elements(apart.memories[0][OUTPUT]) == (2 * (1 + 2), 8)


def test_multicast_joins_overlapping_windows() -> None:
    layer = conv("c", outputs=[4], kernel=[3], K=1, C=1)
    text = "W@m0 I@m0 O@m0 Q:1@f.x W@m1 I@m1 O@m1 S:1"
    joined, _ = run(layer, setup(memory("m0"), fanout("f", 4), memory("m1")), text)
    assert elements(joined.memories[0][INPUT]) == (6, 0)
    assert elements(joined.memories[0][WEIGHT]) == (3, 0)
    assert joined.links[0][INPUT].hops == 6
    assert elements(joined.memories[1][INPUT]) == (12, 12)
    apart = fanout("f", 4, multicast=(False, False), topology="mesh")
    alone, _ = run(layer, setup(memory("m0"), apart, memory("m1")), text)
    assert elements(alone.memories[0][INPUT]) == (12, 0)
    mesh, _ = run(layer, setup(memory("m0"), fanout("f", 4, topology="mesh"), memory("m1")), text)
    assert elements(mesh.memories[0][INPUT]) == (6, 0)
    assert mesh.links[0][INPUT].hops == 12


def test_a_tree_counts_the_branches_used() -> None:
    axes = {"axes": (("x", 2), ("y", 3)), "dims": (None, None)}

    def hops(text: str, **changes: object) -> list[int]:
        layer = matmul("g", M=2, N=3, K=3)
        counts, _ = run(layer, setup(memory("m0"), fanout("f", 6, **axes, **changes), memory("m1")), text)
        return [link.hops for link in counts.links[0]]

    outer = "W@m0 I@m0 O@m0 "
    inner = " W@m1 I@m1 O@m1 "
    # A weight takes one branch of x and three of y; an input takes two and two; sums go alone.
    assert hops(outer + "M:1@f.x N:1@f.y" + inner + "K:1", topology="tree") == [6 * 4, 9 * 4, 6 * 2]
    assert hops(outer + "M:1@f.x N:1@f.y" + inner + "K:1", topology="mesh") == [6 * 3, 9 * 2, 6]
    assert hops(outer + "M:1@f.x N:1@f.y" + inner + "K:1") == [6, 9, 6]
    # Three sums of each output meet where y branches, and one goes on; an axis without loops is one branch.
    assert hops(outer + "M:1@f.x K:1@f.y" + inner + "N:1", topology="tree") == [6 * 2, 9 * 4, 6 * 4]
    assert hops(outer + "M:1@f.x K:1@f.y" + inner + "N:1", topology="tree", reduces=False)[2] == 6 * 6
    assert hops(outer + "K:1@f.y" + inner + "M:1 N:1", topology="tree") == [6 * 2, 9 * 2, 6 * 4]
    assert hops(outer + inner + "M:1 K:1 N:1", topology="tree") == [6 * 2, 9 * 2, 6 * 2]


def test_multicast_outside_a_fanout_without_it_passes_most_copies() -> None:
    layer = matmul("g", M=2, N=3, K=1)
    hardware = setup(memory("m0"), fanout("f", 2), fanout("e", 3, multicast=(False, False)), memory("m1"))
    counts, _ = run(layer, hardware, "W@m0 I@m0 O@m0 M:1@f.x N:1@e.x W@m1 I@m1 O@m1")
    # Each row needs its weight three times; rows differ. Each row needs the same three inputs.
    assert elements(counts.memories[0][WEIGHT]) == (6, 0)
    assert elements(counts.memories[0][INPUT]) == (3, 0)
    assert [link[INPUT].hops for link in counts.links] == [3, 6]


def test_ragged_idle_pe_keeps_its_tile() -> None:
    layer = matmul("g", M=3, N=1, K=2)
    hardware = setup(memory("m0"), fanout("f", 2), memory("m1"))
    counts, _ = run(layer, hardware, "W@m0 I@m0 O@m0 K:1 M:2@f.x M:1 W@m1 I@m1 O@m1")
    # PE 0 has outputs 0 and 1, PE 1 only output 2: it rests there while PE 0 does 1, then goes on with it
    # for the next K. So its sum of output 2 never leaves in between; those of 0 and 1 come back once.
    assert counts.compute_steps == 4
    assert counts.mode_steps == 6
    assert elements(counts.memories[0][OUTPUT]) == (2, 5)
    # The input of a step is for both PEs, and PE 0 keeps it for its second output.
    assert elements(counts.memories[0][INPUT]) == (2, 0)


def test_sum_that_an_idle_pe_still_holds_a_part_of_is_not_complete() -> None:
    layer = matmul("g", M=2, N=1, K=3)
    hardware = setup(memory("m0"), fanout("f", 2), memory("m1"))
    counts, _ = run(layer, hardware, "W@m0 I@m0 O@m0 K:2 M:1 K:1@f.x W@m1 I@m1 O@m1")
    # PE 1 has no work for K 2 and still holds its part of output 1. So the last sum of output 0 is complete
    # in PE 0; that of output 1 only where both meet on their way to m0.
    assert elements(counts.memories[0][OUTPUT]) == (2, 4)
    assert counts.memories[0][OUTPUT].write_bits == 2 * 32 + 2 * 8
    assert counts.memories[1][OUTPUT].write_bits == 7 * 32 + 8
    assert counts.memories[1][OUTPUT].read_bits == 7 * 32 + 8
    assert counts.links[0][OUTPUT].additions == 2


def test_ragged_positions_without_work_are_no_steps() -> None:
    layer = matmul("g", M=5, N=1, K=1)
    counts, timing = run(layer, setup(memory("m0"), cycles=2), "W@m0 I@m0 O@m0 M:3 M:2 M:1")
    assert (counts.compute_steps, counts.mode_steps) == (5, 5)
    assert timing.compute == 10.0


def test_idle_child_drains_before_its_parent_moves_on() -> None:
    layer = matmul("g", M=1, N=2, K=3)
    hardware = setup(memory("m0"), memory("m1"), fanout("f", 2), memory("m2"))
    counts, _ = run(layer, hardware, "W@m0 I@m0 O@m0 K:2 N:1 O@m1 K:1@f.x O@m2 W@m2 I@m2")
    # K 0 and 1 together, then K 2 in PE 0 alone. PE 1 still holds output 1 when m1 leaves it for output 0.
    assert elements(counts.memories[1][OUTPUT]) == (4 + 2, 4 + 2)
    assert elements(counts.memories[0][OUTPUT]) == (2, 4)
    assert elements(counts.memories[2][OUTPUT]) == (6 + 2, 6 + 2)


def test_lanes_read_together_and_add_their_sums() -> None:
    layer = matmul("g", M=1, N=1, K=6)
    counts, _ = run(layer, setup(memory("m0"), lanes=4, dims="K"), "W@m0 I@m0 O@m0 K:4 K:1@lanes.x")
    # Steps of four and two lanes.
    assert (counts.compute_steps, counts.mode_steps) == (2, 2)
    assert counts.memories[0][WEIGHT] == Access(reads=6, read_bits=48, read_words=6)
    assert elements(counts.memories[0][OUTPUT]) == (1, 2)
    assert counts.links[0][OUTPUT].additions == 3 + 1


def test_words_are_whole_at_each_step() -> None:
    wide = memory("m0", word_bits=20)
    layer = matmul("g", M=1, N=1, K=5)
    counts, _ = run(layer, setup(wide, memory("m1", word_bits=24)), "W@m0 I@m0 O@m0 K:3 W@m1 I@m1 O@m1 K:1")
    # Tiles of 3 and 2 weights: 24 bits are 2 words of 20 and 1 of 24; 16 bits 1 word each.
    assert counts.memories[0][WEIGHT].read_words == 3
    assert counts.memories[1][WEIGHT].write_words == 2
    assert counts.memories[1][WEIGHT].read_words == 5
    assert whole_words(replace(wide, packing="aligned"), {Width(8): 3, Width(40): 2}) == 2 + 4  # type: ignore[arg-type]


def test_single_and_double_buffers_in_time() -> None:
    layer = matmul("g", M=1, N=1, K=6)
    text = "W@m0 I@m0 O@m0 K:2 W@m1 K:1"
    outer = memory("m0", read_words_per_cycle=1.0)
    single = setup(replace(outer), memory("m1", write_words_per_cycle=0.5, buffers=(1, 1, 1)), cycles=2)
    _, timing = run(layer, single, text)
    # Three tiles of two weights, 4 cycles to write each. Then two MACs of 2 cycles, while the read port
    # of m0 moves 2 inputs and, before 5 of 6 MACs, the 4 words of a sum: 6, 10 and 10 cycles.
    assert timing == Timing(38, 0.0, (4 + 6) + (4 + 10) + (4 + 10.0), 0.0, 0.0, 12.0)
    double = setup(replace(outer), memory("m1", write_words_per_cycle=0.5, buffers=(2, 2, 2)), cycles=2)
    _, timing = run(layer, double, text)
    # The first tile in advance; the others on the read port of m0 beside the rest.
    assert timing.first_fill == 4.0
    assert timing.body == (6 + 2) + (10 + 2) + 10


def test_ramp_at_each_change_or_once() -> None:
    layer = matmul("g", M=2, N=3, K=1)
    text = "W@m0 I@m0 O@m0 M:1 W@m1 N:1"
    array = fanout("f", 1, ramp=Ramp("weight", 7))
    _, timing = run(layer, setup(memory("m0"), array, memory("m1", buffers=(1, 1, 1))), text)
    assert (timing.ramp, timing.body) == (0.0, 2 * (3 + 7.0))
    _, timing = run(layer, setup(memory("m0"), array, memory("m1")), text)
    assert (timing.ramp, timing.body, timing.latency_cycles) == (7.0, 6.0, 13)


def test_link_bandwidth_counts_bits_through_the_root() -> None:
    layer = matmul("g", M=4, N=1, K=1)
    link = fanout("f", 4, link_bits_per_cycle=3.0)
    hardware = setup(memory("m0"), link, memory("m1", buffers=(1, 1, 1)))
    _, timing = run(layer, hardware, "W@m0 I@m0 O@m0 M:1@f.x W@m1 I@m1 O@m1")
    # In: 4 weights and, for all, 1 input; one MAC; out: 4 finished outputs.
    assert Fraction(timing.body).limit_denominator(99) == Fraction(40, 3) + 1 + Fraction(32, 3)
    assert timing.latency_cycles == 25


@settings(max_examples=60, **SETTINGS)
@given(problems())
def test_drawn_mappings_are_legal_and_macs_exact(problem: tuple[Layer, Setup, Mapping]) -> None:
    layer, hardware, mapping = problem
    assert check(layer, hardware, mapping) == []
    counts, timing = walk(layer, hardware, mapping)
    lanes = hardware.mode.lanes if any(node.name == LANES for node in hardware.nodes) else 1
    assert counts.mode_steps <= layer.macs <= counts.mode_steps * lanes
    assert layer.macs <= counts.compute_steps * prod(spatial_trips(layer, mapping))
    assert timing.compute == counts.compute_steps * hardware.mode.cycles_per_step
    assert timing.body >= timing.compute


@settings(max_examples=60, **SETTINGS)
@given(problems())
def test_elements_are_conserved(problem: tuple[Layer, Setup, Mapping]) -> None:
    layer, hardware, mapping = problem
    counts, _ = walk(layer, hardware, mapping)
    for role in (WEIGHT, INPUT):
        assert counts.memories[0][role].reads >= touched(layer, role)
        assert counts.memories[0][role].writes == 0
    final = counts.memories[0][OUTPUT]
    # What arrives beyond what goes back is one sum per output, once all are added.
    assert final.writes - final.reads == layer.elements("output")
    for memory_counts in counts.memories[1:]:
        sums = memory_counts[OUTPUT]
        assert sums.writes == sums.reads  # Nothing stays inside.


@settings(max_examples=60, **SETTINGS)
@given(problems())
def test_nothing_is_faster_than_its_ports_or_thinner_than_its_words(
    problem: tuple[Layer, Setup, Mapping],
) -> None:
    layer, hardware, mapping = problem
    counts, timing = walk(layer, hardware, mapping)
    for node, roles in zip(hardware.arch.memories, counts.memories, strict=True):
        for access in roles:
            assert access.read_words * node.word_bits >= access.read_bits
            assert access.write_words * node.word_bits >= access.write_bits
    outer = hardware.arch.memories[0]
    reads = sum(access.read_words for access in counts.memories[0])
    writes = sum(access.write_words for access in counts.memories[0])
    for words, limit in (
        (reads, outer.read_words_per_cycle),
        (writes, outer.write_words_per_cycle),
        (reads + writes, outer.shared_words_per_cycle),
    ):
        assert limit is None or timing.latency_cycles >= ceil(words / Fraction(limit))


@settings(max_examples=40, **SETTINGS)
@given(problems())
def test_each_output_leaves_once_if_it_is_never_split(problem: tuple[Layer, Setup, Mapping]) -> None:
    layer, hardware, mapping = problem
    spatial_or_outputs = tuple(
        node for node in mapping.nodes if isinstance(node, Keep) or node.dim not in layer.reduction_dims
    )
    reductions = tuple(Loop(dim, 1) for dim in sorted(layer.reduction_dims))
    counts, _ = walk(layer, hardware, Mapping(spatial_or_outputs + reductions))
    inner = [n for n in mapping.nodes if isinstance(n, Keep) and n.operand == "output" and n.memory != "m0"]
    if inner:
        total = layer.elements("output")
        assert counts.memories[0][OUTPUT].writes == total
        fmt, bits = hardware.precision.output, counts.memories[0][OUTPUT].write_bits
        assert fmt.stored_bits(total, layer.channel_elements) <= bits <= total * (fmt.bits + fmt.scale_bits)
