"""The fast model against the interpreter: every counter and every cycle equal, on random small problems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from seada.arch.hardware import Fanout, Node, Setup
from seada.errors import InfeasibleError
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.count import count, count_by_walk
from seada.model.flatten import flatten
from seada.model.regular import regular_counts
from seada.oracle.walk import walk
from seada.workload.build import conv, matmul
from seada.workload.layer import Layer
from tests.strategies import problems, split_sums
from tests.test_oracle import fanout, memory, nest, setup

Problem = tuple[Layer, Setup, Mapping]
SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


def compare(problem: Problem) -> None:
    layer, hardware, mapping = problem
    expected, expected_timing = walk(layer, hardware, mapping)
    assert count_by_walk(layer, hardware, mapping) == (expected, expected_timing)
    counts, timing = count(layer, hardware, mapping)
    for node, ours, theirs in zip(hardware.arch.memories, counts.memories, expected.memories, strict=True):
        assert ours == theirs, node.name
    assert counts == expected
    assert timing == expected_timing


@settings(max_examples=200, **SETTINGS)
@given(problems())
def test_every_counter_equals_the_interpreter(problem: Problem) -> None:
    compare(problem)


@settings(max_examples=50, **SETTINGS)
@given(split_sums())
def test_split_sums_equal_the_interpreter(problem: Problem) -> None:
    compare(problem)


def test_the_closed_form_covers_ragged_convolutions_on_an_array() -> None:
    layer = conv("c", outputs=[7, 5], kernel=[3, 3], K=5, C=4, stride=[2, 1], pad=[1, 1])
    hardware = setup(memory("m0"), memory("m1", word_bits=24), fanout("f", 4), memory("m2"))
    text = "W@m0 I@m0 O@m0 K:3 P:2 I@m1 O@m1 C:3 R:2 Q:2@f.x W@m2 I@m2 O@m2 C:1 Q:1 K:1 R:1 P:1 S:1"
    problem = (layer, hardware, nest(text))
    assert check(*problem) == []
    assert regular_counts(flatten(*problem)) is not None
    compare(problem)


def test_the_closed_form_counts_instances_outside_the_loops_of_an_inner_keep() -> None:
    # All sums of a step pass one port, though the array stands outside the loops that move the weights.
    layer = matmul("g", B=2, M=8, N=7, K=11)
    hardware = setup(memory("m0", shared_words_per_cycle=0.5), fanout("f", 4), memory("m1"))
    problem = (layer, hardware, nest("W@m0 I@m0 O@m0 M:4@f.x K:6 M:2 W@m1 N:1 M:1 K:1 B:1"))
    assert check(*problem) == []
    assert regular_counts(flatten(*problem)) is not None
    compare(problem)


def test_sharers_that_idle_outside_a_change_of_their_tile_are_not_regular() -> None:
    # The second instance has one of two passes over C; the outputs change within each pass.
    layer = conv("c", outputs=[7], kernel=[1], K=1, C=5)
    hardware = setup(memory("m0"), memory("m1"), fanout("f", 2), memory("m2"))
    problem = (layer, hardware, nest("O@m0 I@m0 W@m0 O@m1 I@m1 W@m1 C:4@f.x C:3 W@m2 I@m2 Q:6 O@m2 Q:1 C:1"))
    assert check(*problem) == []
    compare(problem)


def test_sharers_on_two_levels_equal_the_interpreter() -> None:
    layer = conv("c", outputs=[4], kernel=[4], K=1, C=2)
    hardware = setup(memory("m0"), fanout("f", 2), memory("m1"), plane("g"), memory("m2"))
    text = "W@m0 I@m0 O@m0 C:1@f.x S:2 O@m1 W@m1 I@m1 S:1@g.x Q:3@g.y O@m2 W@m2 I@m2 Q:1"
    problem = (layer, hardware, nest(text))
    assert check(*problem) == []
    compare(problem)


@pytest.mark.full
@settings(max_examples=2000, **SETTINGS)
@given(problems())
def test_every_counter_equals_the_interpreter_at_length(problem: Problem) -> None:
    compare(problem)


@pytest.mark.full
@settings(max_examples=1000, **SETTINGS)
@given(split_sums())
def test_split_sums_equal_the_interpreter_at_length(problem: Problem) -> None:
    compare(problem)


def example() -> Problem:
    """A strided convolution with padding, ragged in space and time, over three memories and a fanout."""
    layer = conv("c", outputs=[7], kernel=[3], K=5, C=4, stride=[2], pad=[1])
    hardware = setup(memory("m0"), memory("m1", word_bits=24), fanout("f", 4, reduces=False), memory("m2"))
    text = "W@m0 I@m0 O@m0 Q:3 I@m1 O@m1 C:3 K:2@f.x C:2@f.x W@m2 I@m2 O@m2 C:1 Q:1 K:1 S:1"
    return layer, hardware, nest(text)


def test_the_example_equals_the_interpreter() -> None:
    compare(example())


def plane(name: str, **changes: object) -> Fanout:
    """A fanout of 4 x 4."""
    return fanout(name, 4, axes=(("x", 4), ("y", 4)), dims=(None, None), **changes)


# Visits that begin with those of a parent; children of one parent that begin at different times; an idle
# instance whose parent goes on; elements of two widths in one tile.
RAGGED = [
    (
        (1, 13, 13),
        (memory("m1"), plane("f"), memory("m2"), plane("g")),
        "W@m0 I@m0 O@m0 K:7 N:11 I@m1 O@m1 W@m1 K:3 K:2 K:1@f.x N:7@f.x N:3 N:2@f.y I@m2 W@m2 O@m2 N:1@g.y",
    ),
    (
        (1, 7, 10),
        (plane("f", reduces=False), memory("m1"), memory("m2")),
        "W@m0 I@m0 O@m0 K:5 N:5 N:3 N:2@f.y K:3@f.x O@m1 K:2 N:1 I@m2 W@m2 K:1",
    ),
    (
        (3, 4, 3),
        (memory("m1"), plane("f", reduces=False), memory("m2"), memory("m3")),
        "I@m0 W@m0 O@m0 K:2 I@m1 O@m1 W@m1 N:3 K:1@f.y M:2 I@m2 O@m2 O@m3 I@m3 N:2 M:1 N:1",
    ),
    (
        (5, 3, 7),
        (memory("m1"), plane("f", reduces=False), memory("m2")),
        "I@m0 W@m0 O@m0 M:3 O@m1 K:4 K:2@f.x M:2 N:2 O@m2 I@m2 W@m2 K:1 M:1 N:1",
    ),
]


@pytest.mark.parametrize(("size", "nodes", "text"), RAGGED)
def test_ragged_sums_equal_the_interpreter(
    size: tuple[int, int, int], nodes: tuple[Node, ...], text: str
) -> None:
    layer = matmul("g", M=size[0], N=size[1], K=size[2])
    hardware = setup(memory("m0"), *nodes)
    mapping = nest(text)
    assert check(layer, hardware, mapping) == []
    compare((layer, hardware, mapping))


@pytest.mark.full
def test_uncompiled_kernels_give_the_same_result() -> None:
    code = "from tests.test_model_oracle import count, example; print(count(*example()))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == str(count(*example()))


def test_too_large_a_nest_is_refused_in_words() -> None:
    layer = matmul("g", M=1, N=1, K=8192)
    hardware = setup(memory("m0"), fanout("f", 8192), memory("m1"))
    with pytest.raises(InfeasibleError, match="8192 instances share one output"):
        count(layer, hardware, nest("W@m0 I@m0 O@m0 K:1@f.x W@m1 I@m1 O@m1"))
