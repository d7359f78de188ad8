"""Invariants of the model: over random mappings, over the best ones, and between a chip and a better chip."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seada.arch.hardware import Memory, Setup
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective
from seada.mapping.check import check
from seada.workload.layer import Layer
from tests.invariants import Problem, check_all, with_nodes
from tests.strategies import layers, problems, setups, split_sums

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
OBJECTIVES = ("edp", "energy", "latency")


@settings(max_examples=150, **SETTINGS)
@given(problems())
def test_random_mappings_keep_the_invariants(problem: Problem) -> None:
    check_all(problem)


@settings(max_examples=50, **SETTINGS)
@given(split_sums())
def test_split_sums_keep_the_invariants(problem: Problem) -> None:
    check_all(problem)


@pytest.mark.full
@settings(max_examples=3000, **SETTINGS)
@given(st.one_of(problems(), split_sums()))
def test_random_mappings_keep_the_invariants_at_length(problem: Problem) -> None:
    check_all(problem)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Layer, Setup, str]:
    """A layer, a chip whose inner memories are small, and an objective."""
    layer = draw(layers())
    setup = draw(setups(layer))
    sizes = st.sampled_from([None, 256, 1024, 4096])
    nodes = tuple(
        replace(node, size_bits=draw(sizes)) if isinstance(node, Memory) and node.name != "m0" else node
        for node in setup.arch.nodes
    )
    return layer, with_nodes(setup, nodes), draw(st.sampled_from(OBJECTIVES))


def best_keeps_the_invariants(question: tuple[Layer, Setup, str], evaluations: int) -> None:
    layer, setup, text = question
    objective = parse_objective(text)
    result = map_setup(setup, layer, objective, evaluations, None)
    assert result.mapping is not None
    assert result.bound is not None
    assert check(layer, setup, result.mapping) == []
    check_all((layer, setup, result.mapping))
    assert result.bound <= objective.value(result.cost.energy_pj, result.cost.latency_cycles)


@settings(max_examples=60, **SETTINGS)
@given(questions())
def test_best_mappings_keep_the_invariants(question: tuple[Layer, Setup, str]) -> None:
    best_keeps_the_invariants(question, 500)


@pytest.mark.full
@settings(max_examples=600, **SETTINGS)
@given(questions())
def test_best_mappings_keep_the_invariants_at_length(question: tuple[Layer, Setup, str]) -> None:
    best_keeps_the_invariants(question, 5000)
