"""The fast model against the interpreter: every counter and every cycle equal, on random small problems."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from seada.model.count import count
from seada.oracle.walk import walk

from tests.strategies import problems

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


def compare(problem) -> None:
    layer, setup, mapping = problem
    expected, expected_timing = walk(layer, setup, mapping)
    counts, timing = count(layer, setup, mapping)
    for memory, ours, theirs in zip(setup.arch.memories, counts.memories, expected.memories, strict=True):
        assert ours == theirs, memory.name
    assert counts == expected
    assert timing == expected_timing


@settings(max_examples=200, **SETTINGS)
@given(problems())
def test_every_counter_equals_the_interpreter(problem) -> None:
    compare(problem)


@pytest.mark.full
@settings(max_examples=2000, **SETTINGS)
@given(problems())
def test_every_counter_equals_the_interpreter_at_length(problem) -> None:
    compare(problem)
