"""Every rule of a mapping: legal ones pass, and each broken rule is named with need and have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seada.arch.hardware import Arch, Block, Compute, Constraints, Fanout, Memory, Mode, Setup
from seada.errors import MappingError, Violation
from seada.formats import Precision, parse_format
from seada.mapping.capacity import occupancies, receives_complete_sums
from seada.mapping.check import check, require_legal
from seada.mapping.nest import Keep, Mapping
from seada.mapping.placed import place
from seada.mapping.text import parse_mapping
from seada.workload.build import conv, matmul
from seada.workload.layer import Layer

INT8, INT32 = parse_format("int8"), parse_format("int32")
DRAM = Memory("dram", None, 64, 1.0, 1.0)
GLB = Memory("glb", 64 * 1024, 64, 1.0, 1.0)
PE = Fanout("pe", (("x", 4), ("y", 2)), (frozenset({"M", "N", "K"}), frozenset({"M", "K"})))
RF = Memory("rf", 512, 8, 1.0, 1.0)
GEMM = matmul("fc", M=8, N=6, K=4)

LEGAL = """
[dram holds weight, input, output]
for M in 0..8 step 4
[glb holds weight, input, output]
for N in 0..6 step 4
parallel-for M in 0..4 step 1 on pe.x
parallel-for K in 0..4 step 2 on pe.y
[rf holds weight, input, output]
for N in 0..4 step 1
for K in 0..2 step 1
"""

HEAD = "[dram holds output]\n[glb holds output]\nfor M in 0..8 step 1\n"


def setup(*nodes: Memory | Fanout, lanes: int = 1, constraints: Constraints | None = None) -> Setup:
    mode = Mode(INT8, INT8, INT32, lanes, frozenset({"K"}) if lanes > 1 else frozenset(), 1, 1.0, "mac")
    arch = Arch(
        "a",
        1e9,
        nodes or (DRAM, GLB, PE, RF),
        Compute("mac", (mode,), (Block("mac", 0.0, 0.0),)),
        constraints=constraints or Constraints(),
    )
    return Setup(arch, Precision(INT8, INT8, INT32, INT8), mode)


def broken(text: str, chip: Setup | None = None, layer: Layer = GEMM) -> list[Violation]:
    return check(layer, chip or setup(), parse_mapping(text))


def test_a_legal_mapping_has_no_violations() -> None:
    assert broken(LEGAL) == []
    require_legal(GEMM, setup(), parse_mapping(LEGAL))


@pytest.mark.parametrize(
    ("old", "new", "rule", "where", "need", "have"),
    [
        ("for N in 0..4 step 1\n", "", "coverage", "below all loops", 1, 4),
        (
            "for N in 0..4 step 1\n",
            "for N in 0..4 step 5\nfor N in 0..5 step 1\n",
            "step",
            "node 13",
            "1..4",
            5,
        ),
        (
            "for M in 0..8 step 4\n[glb holds weight",
            "[glb holds weight, weight",
            "keep twice",
            "glb",
            "one keep",
            "two",
        ),
        ("0..4 step 1 on pe.x", "0..4 step 1 on pe.y", "size of axis", "pe.y", "at most 2", 8),
        (
            "for N in 0..6 step 4\n",
            "parallel-for N in 0..6 step 4 on pe.y\n",
            "dimension of axis",
            "pe.y",
            "K, M",
            "N",
        ),
        ("rf holds weight, ", "rf holds ", "must keep", "rf", "a keep", "none"),
    ],
)
def test_broken_rules_are_named(
    old: str, new: str, rule: str, where: str, need: int | str, have: int | str
) -> None:
    chip = setup(DRAM, GLB, PE, replace(RF, keep=("must", "may", "may")))
    text = LEGAL.replace(old, new)
    assert text != LEGAL
    violations = broken(text, chip)
    assert (rule, where, need, have) in [(v.rule, v.where, v.need, v.have) for v in violations]


def test_a_memory_may_be_bypassed() -> None:
    assert broken(LEGAL.replace("[glb holds weight, input", "[glb holds weight")) == []


def test_unknown_names_are_reported_together_with_the_nearest() -> None:
    text = LEGAL.replace("glb holds", "gbl holds").replace("for M in 0..8", "for W in 0..8")
    text = text.replace("pe.x", "pe.z")
    violations = broken(text)
    assert {v.rule for v in violations} == {"unknown name"}
    assert [v.what for v in violations] == ["dimension", "memory", "memory", "memory", "axis"]
    assert "did you mean 'glb'?" in str(violations[1])


def test_the_outermost_keep_stands_above_all_loops() -> None:
    moved = "for M in 0..8 step 4\n" + LEGAL.replace("for M in 0..8 step 4\n", "")
    assert [v.what for v in broken(moved) if v.rule == "outermost keep"] == ["weight", "input", "output"]
    missing = LEGAL.replace("[dram holds weight, input", "[dram holds weight")
    assert [(v.rule, v.have) for v in broken(missing)] == [
        ("outermost keep", "first kept in glb below a loop")
    ]
    none = "[dram holds weight, input]\nfor M in 0..8 step 1\nfor N in 0..6 step 1\nfor K in 0..4 step 1"
    assert [(v.what, v.have) for v in broken(none)] == [("output", "no keep")]


def test_keeps_follow_the_hierarchy() -> None:
    text = LEGAL.replace(
        "[dram holds weight, input, output]\n", "[dram holds weight, input, output]\n[rf holds weight]\n"
    )
    rules = {(v.rule, v.where, v.what) for v in broken(text)}
    assert ("order of keeps", "glb", "weight") in rules
    assert ("place of spatial loop", "pe.x", "loop over M") in rules


def test_spatial_loops_stand_between_the_keeps_around_their_fanout() -> None:
    line = "parallel-for M in 0..4 step 1 on pe.x\n"
    inside = LEGAL.replace(line, "").replace(
        "[rf holds weight, input, output]\n", f"[rf holds weight, input, output]\n{line}"
    )
    assert {v.need for v in broken(inside)} == {
        f"above the keep of {o} in rf" for o in ("weight", "input", "output")
    }
    outside = LEGAL.replace(line, "").replace("[glb", line + "[glb")
    assert {v.need for v in broken(outside)} == {
        f"below the keep of {o} in glb" for o in ("weight", "input", "output")
    }


def test_loops_of_an_outer_fanout_stand_above_those_of_an_inner_one() -> None:
    outer = Fanout("cluster", (("x", 2),), (None,))
    chip = setup(DRAM, outer, PE)
    text = """
    [dram holds weight, input, output]
    parallel-for M in 0..8 step 2 on pe.x
    parallel-for M in 0..2 step 1 on cluster.x
    for N in 0..6 step 1
    for K in 0..4 step 1
    """
    assert [(v.rule, v.where) for v in broken(text, chip)] == [("order of fanouts", "cluster.x")]


def test_loops_on_a_tree_follow_its_branches() -> None:
    x, y = "parallel-for M in 0..4 step 1 on pe.x\n", "parallel-for K in 0..4 step 2 on pe.y\n"
    turned = LEGAL.replace(x + y, y + x)
    assert broken(turned) == []
    tree = setup(DRAM, GLB, replace(PE, topology="tree"), RF)
    assert broken(LEGAL, tree) == []
    assert [(v.rule, v.where, v.need) for v in broken(turned, tree)] == [
        ("order of axes", "pe.x", "above those of pe.y, as the tree branches")
    ]


def test_sums_that_no_fanout_reduces_need_an_accumulating_memory() -> None:
    apart = replace(PE, reduces=False)
    plain = replace(GLB, accumulates=False)
    assert broken(LEGAL, setup(DRAM, plain, PE, RF)) == []
    assert broken(LEGAL, setup(DRAM, GLB, apart, RF)) == []
    (violation,) = broken(LEGAL, setup(DRAM, plain, apart, RF))
    assert (violation.rule, violation.where) == ("accumulation", "glb")
    assert "pe" in violation.what


def test_lanes_are_the_innermost_fanout() -> None:
    chip = setup(lanes=2)
    text = LEGAL.replace("for K in 0..2 step 1", "parallel-for K in 0..2 step 1 on lanes.x")
    assert broken(text, chip) == []
    assert [v.rule for v in broken(text)] == ["unknown name"]
    over_n = (
        LEGAL.replace("for N in 0..4 step 1\n", "for N in 0..4 step 2\n")
        + "parallel-for N in 0..2 step 1 on lanes.x"
    )
    assert [(v.rule, v.need) for v in broken(over_n, chip)] == [("dimension of axis", "K")]


def test_capacity_counts_words_buffers_and_widths() -> None:
    small = replace(RF, size_bits=8 * 20)
    (violation,) = broken(LEGAL, setup(DRAM, GLB, PE, small))
    # weight 1 x 2, input 2 x 4, both double; output 1 x 4 of 32 bit, double: partial along K within the PE.
    assert (violation.rule, violation.where) == ("capacity", "rf")
    assert (violation.need, violation.have) == (f"{2 * 2 + 2 * 8 + 2 * 16} words", "20 words")
    nest = place(GEMM, setup(), parse_mapping(LEGAL))
    taken = {(o.memory, o.operand): (o.elements, o.bits, o.buffers, o.words) for o in occupancies(nest)}
    assert taken["glb", "weight"] == (16, 8, 2, 4)
    assert taken["glb", "input"] == (24, 8, 1, 3)
    assert taken["glb", "output"] == (24, 8, 2, 6)
    assert taken["dram", "output"] == (48, 8, 1, 6)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        # The MACs deliver parts wherever they reduce in time.
        ("[dram holds output]\n[glb holds output]\nfor M in 0..8 step 1\nfor K in 0..4 step 1", {"dram"}),
        # The reduction around a loop that changes the child's tile brings parts to dram.
        ("[dram holds output]\nfor K in 0..4 step 1\nfor M in 0..8 step 1\n[glb holds output]", set()),
        ("[dram holds output]\nfor M in 0..8 step 1\nfor K in 0..4 step 1\n[glb holds output]", {"dram"}),
        # Reduced on the way in one step, nothing is ever partial.
        (
            HEAD + "parallel-for K in 0..4 step 1 on pe.x",
            {"dram", "glb"},
        ),
        # Every rf holds a part of the sum, and glb gets it whole.
        (
            HEAD + "parallel-for K in 0..4 step 1 on pe.x\n[rf holds output]",
            {"dram", "glb"},
        ),
    ],
)
def test_which_memories_only_hold_complete_sums(text: str, complete: set[str]) -> None:
    nest = place(GEMM, setup(), parse_mapping(text))
    found = {k.keep.memory for k in nest.chains["output"] if receives_complete_sums(nest, k)}
    assert found == complete


def test_without_reduction_in_the_fanout_parts_arrive() -> None:
    text = "[dram holds output]\n[glb holds output]\nparallel-for K in 0..4 step 1 on pe.x\n[rf holds output]"
    nest = place(GEMM, setup(DRAM, GLB, replace(PE, reduces=False), RF), parse_mapping(text))
    found = [k.keep.memory for k in nest.chains["output"] if receives_complete_sums(nest, k)]
    assert found == ["dram"]


def test_fixed_unrolling() -> None:
    fixed = setup(constraints=Constraints(spatial=(("pe.x", "M", 4), ("pe.y", "K", 2))))
    assert broken(LEGAL, fixed) == []
    other = setup(constraints=Constraints(spatial=(("pe.x", "N", 4), ("pe.y", "C", 2))))
    assert [(v.rule, v.where, v.need, v.have) for v in broken(LEGAL, other)] == [
        ("fixed unrolling", "pe.x", 4, 1)
    ]
    # A dimension smaller than the fixed trips is unrolled as far as it goes.
    assert [v.need for v in broken(LEGAL, setup(constraints=Constraints(spatial=(("pe.x", "K", 64),))))] == [
        4
    ]


def test_dataflows() -> None:
    def rules(dataflow: str, text: str = LEGAL) -> list[str]:
        return [v.what for v in broken(text, setup(constraints=Constraints(dataflow)))]

    # Between glb and rf only N moves, and the weight does not depend on it.
    assert rules("weight") == []
    around = LEGAL.replace("for N in 0..6 step 4", "for N in 0..6 step 4\nfor M in 0..4 step 2")
    around = around.replace("M in 0..4 step 1 on", "M in 0..2 step 1 on")
    assert rules("weight", around) == ["weight stationary"]
    assert rules("output", around) == []
    assert rules("input", LEGAL.replace("[rf holds weight, input", "[rf holds weight")) == [
        "input stationary"
    ]


def test_row_stationary_keeps_rows_of_the_kernel_in_the_pe() -> None:
    layer = conv("c", outputs=(4, 4), kernel=(3, 3), K=2, C=1)
    chip = setup(
        DRAM,
        replace(PE, dims=(None, None)),
        replace(RF, size_bits=None),
        constraints=Constraints("row"),
    )
    text = """
    [dram holds weight, input, output]
    for K in 0..2 step 1
    parallel-for R in 0..3 step 1 on pe.x
    [rf holds weight, input, output]
    for P in 0..4 step 1
    for Q in 0..4 step 1
    for S in 0..3 step 1
    """
    assert broken(text, chip, layer) == []
    moved = text.replace("    for S in 0..3 step 1\n", "").replace("for K", "for S in 0..3 step 1\nfor K")
    assert [v.what for v in broken(moved, chip, layer)] == ["row stationary"]
    assert broken(LEGAL.replace("[glb holds weight, input, output]\n", ""), chip) == []


def test_counters_must_fit_in_63_bits() -> None:
    layer = matmul("m", M=2**30, N=2**20, K=2**20)
    text = (
        "[dram holds weight, input, output]\nfor M in 0..? step 1\nfor N in 0..? step 1\nfor K in 0..? step 1"
    )
    assert [v.rule for v in broken(text, setup(DRAM), layer)] == ["range of counters"]
    assert broken(text, setup(DRAM), matmul("m", M=2**20, N=2**18, K=2**17)) == []


def test_all_violations_come_at_once_as_an_error() -> None:
    text = LEGAL.replace("for N in 0..4 step 1\n", "").replace("0..4 step 1 on pe.x", "0..4 step 1 on pe.y")
    with pytest.raises(MappingError) as caught:
        require_legal(GEMM, setup(), parse_mapping(text))
    assert {v.rule for v in caught.value.violations} == {"coverage", "size of axis"}
    assert caught.value.exit_code == 2


def test_an_empty_mapping_lacks_everything() -> None:
    violations = check(GEMM, setup(), Mapping(()))
    assert [v.rule for v in violations] == ["coverage"] * 3 + ["outermost keep"] * 3
    assert check(GEMM, setup(), Mapping((Keep("dram", "weight"),)))[3].what == "input"
