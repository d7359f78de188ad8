"""Other tools' rules as switches: texts, refusals, and totals against a walk of the loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.errors import UserError
from seada.mapper.evaluate import evaluate
from seada.mapping.nest import Keep, Loop, Mapping
from seada.peers.convention import ALLOWED, DEFAULT, PRESETS, parse_convention
from seada.peers.cost import cost_under
from seada.peers.nest import WholeNest
from seada.peers.totals import tallies
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer
from tests.peer_walk import walk_totals
from tests.test_oracle import fanout, memory, setup


def test_every_preset_reads_back_from_its_name() -> None:
    for name, convention in PRESETS.items():
        assert parse_convention(name) == convention
        assert str(convention) == name


def test_switches_change_a_preset() -> None:
    assert parse_convention("timeloop,drain=read").drain == "read"
    assert parse_convention("words=fractional,cycles=overlap").windows == DEFAULT.windows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timelop", "did you mean timeloop"),
        ("word=whole", "did you mean words"),
        ("words=hole", "did you mean whole"),
    ],
)
def test_a_wrong_convention_names_the_nearest(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_convention(text)


def test_every_switch_has_its_default_among_the_allowed() -> None:
    for name, values in ALLOWED.items():
        assert getattr(DEFAULT, name) in values


def example() -> tuple[Layer, object, Mapping]:
    layer = matmul("g", M=4, N=6, K=8)
    hardware = setup(memory("m0"), memory("m1"), fanout("f", 4), memory("m2"))
    nodes = (
        *(Keep("m0", role) for role in ROLES),
        Loop("M", 2),
        Loop("K", 4),
        *(Keep("m1", role) for role in ROLES),
        Loop("N", 2),
        Loop("K", 1, "f.x"),
        Keep("m2", "output"),
        Loop("M", 1),
        Loop("N", 1),
    )
    return layer, hardware, Mapping(nodes)


def test_a_combination_that_nobody_defined_is_refused() -> None:
    layer, hardware, mapping = example()
    with pytest.raises(UserError, match="returning=one cannot be combined"):
        cost_under(parse_convention("windows=none,words=blocks"), layer, hardware, mapping)  # type: ignore[arg-type]


def test_fractional_words_and_perfect_overlap_of_our_own_counts() -> None:
    layer, hardware, mapping = example()
    ours = cost_under(DEFAULT, layer, hardware, mapping)  # type: ignore[arg-type]
    relaxed = cost_under(parse_convention("words=fractional,cycles=overlap"), layer, hardware, mapping)  # type: ignore[arg-type]
    assert relaxed.counts == ours.counts
    assert relaxed.energy_pj <= ours.energy_pj
    assert relaxed.latency_cycles <= ours.latency_cycles


@st.composite
def whole_nests(draw: st.DrawFn) -> tuple[Layer, Mapping]:
    """Small layers with whole trips on three memories and a fanout."""
    if draw(st.booleans()):
        layer = matmul("g", M=draw(st.sampled_from([1, 2, 4])), N=draw(st.sampled_from([2, 4])), K=4)
    else:
        layer = conv(
            "c",
            K=draw(st.sampled_from([1, 2])),
            C=2,
            outputs=[draw(st.sampled_from([2, 4]))],
            kernel=[draw(st.sampled_from([2, 4]))],
            stride=[draw(st.sampled_from([1, 2]))],
        )
    left = dict(layer.dims)
    nodes: list[Keep | Loop] = [Keep("m0", role) for role in ROLES]

    def loops(most: int, on: str | None = None) -> None:
        for _ in range(draw(st.integers(0, most))):
            wide = [dim for dim, extent in left.items() if extent > 1]
            if wide:
                dim = draw(st.sampled_from(wide))
                left[dim] //= 2
                nodes.append(Loop(dim, left[dim], on))

    def keeps(name: str) -> None:
        nodes.extend(Keep(name, role) for role in ROLES if draw(st.booleans()))

    loops(2)
    keeps("m1")
    loops(2)
    loops(1, "f.x")
    keeps("m2")
    loops(6)
    nodes.extend(Loop(dim, 1) for dim, extent in left.items() if extent > 1)
    return layer, Mapping(tuple(nodes))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(whole_nests(), st.sampled_from(["timeloop", "accelforge", "factorflow"]))
def test_totals_equal_a_walk_of_the_loops(problem: tuple[Layer, Mapping], name: str) -> None:
    layer, mapping = problem
    hardware = setup(memory("m0"), memory("m1"), fanout("f", 2), memory("m2"))
    found = tallies(WholeNest(layer, hardware, mapping), PRESETS[name])
    ours = {(t.memory, t.role): (int(t.reads), t.fills, t.updates, t.drains) for t in found}
    assert ours == walk_totals(layer, hardware, mapping, name)


def test_evaluate_names_its_convention() -> None:
    import seada

    arch = seada.load_arch("arch_configs/reference_16x16.yaml")
    layer = seada.parse_layer("gemm M=32 N=32 K=32")
    best = seada.map_layer(arch, layer, "int16", max_evaluations=2000)
    assert best.mapping is not None
    result = evaluate(arch, layer, best.mapping, "int16", "timeloop")
    assert result.to_dict()["convention"] == "timeloop"
