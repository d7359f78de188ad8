"""Batches of mappings: the same bits as one mapping at a time, and every refused row with its reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seada.arch.hardware import Setup
from seada.errors import MappingError, UserError
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch import Batch
from seada.model.evaluate import cost_of
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer
from tests.strategies import problems
from tests.test_oracle import fanout, memory, setup


def steps_of(mapping: Mapping) -> list[int]:
    return [node.step for node in mapping.nodes if isinstance(node, Loop)]


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems())
def test_one_row_equals_the_cost_of_its_mapping(problem: tuple[Layer, Setup, Mapping]) -> None:
    layer, hardware, mapping = problem
    expected = cost_of(layer, hardware, mapping)
    batch = Batch(layer, hardware, mapping).cost(np.array([steps_of(mapping)] * 2, dtype=np.int64))
    assert batch.refused == {}
    assert batch.energy_pj.tolist() == [expected.energy_pj] * 2
    assert batch.latency_cycles.tolist() == [expected.latency_cycles] * 2


def template() -> tuple[Layer, Setup, Mapping]:
    """Loops over all dimensions outside each of three memories, two of them on an array."""
    layer = conv("c", K=6, C=5, outputs=[7, 6], kernel=[3, 2], pad=[1, 0])
    hardware = setup(
        memory("m0"), memory("m1", size_bits=16 * 150), fanout("f", 4), memory("m2", size_bits=16 * 40)
    )
    dims = [dim for dim, _ in layer.dims]
    nodes: list[Keep | Loop] = [Keep("m0", role) for role in ROLES]
    nodes += [Loop(dim, 1) for dim in dims]
    nodes += [Keep("m1", role) for role in ROLES]
    nodes += [Loop(dim, 1) for dim in dims]
    nodes += [Loop("K", 1, "f.x")]
    nodes += [Keep("m2", role) for role in ROLES]
    nodes += [Loop(dim, 1) for dim in dims]
    return layer, hardware, Mapping(tuple(nodes))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_random_tiles_equal_or_are_refused(data: st.DataObject) -> None:
    layer, hardware, mapping = template()
    batch = Batch(layer, hardware, mapping)
    row = []
    left = dict(layer.dims)
    for loop in batch.loops:
        step = 1 if loop is batch.loops[-1] else data.draw(st.integers(1, left[loop.dim]))
        left[loop.dim] = step
        row.append(step)
    result = batch.cost(np.array([row]))
    nodes = iter(row)
    whole = Mapping(
        tuple(Loop(n.dim, next(nodes), n.on) if isinstance(n, Loop) else n for n in mapping.nodes)
    )
    from seada.mapping.check import check

    violations = check(layer, hardware, whole)
    if violations:
        assert result.refused[0] == tuple(violations)
        assert np.isnan(result.energy_pj[0])
        return
    expected = cost_of(layer, hardware, whole)
    assert result.energy_pj[0] == expected.energy_pj
    assert result.latency_cycles[0] == expected.latency_cycles


def test_refused_rows_say_why_and_stop_nothing() -> None:
    layer = matmul("g", M=8, N=8, K=8)
    hardware = setup(memory("m0"), fanout("f", 4), memory("m1"))
    nodes = (
        *(Keep("m0", role) for role in ROLES),
        Loop("M", 2, "f.x"),
        *(Keep("m1", role) for role in ROLES),
    )
    mapping = Mapping((*nodes, Loop("M", 1), Loop("N", 1), Loop("K", 1)))
    rows = np.array([[2, 1, 1, 1], [1, 1, 1, 1], [2, 1, 2, 1], [2, 1, 0, 1]])
    result = Batch(layer, hardware, mapping).cost(rows)
    assert sorted(result.refused) == [1, 2, 3]
    assert result.refused[1][0].rule == "size of axis"
    assert result.refused[2][0].rule == "coverage"
    assert result.refused[3][0].rule == "step"
    assert result.latency_cycles[0] > 0


def test_wrong_shapes_and_orders_are_refused() -> None:
    layer, hardware, mapping = template()
    batch = Batch(layer, hardware, mapping)
    with pytest.raises(UserError, match="one column per loop"):
        batch.cost(np.ones((2, 3), np.int64))
    with pytest.raises(UserError, match="must be integers"):
        batch.cost(np.ones((2, len(batch.loops))))
    backwards = Mapping(tuple(reversed(mapping.nodes)))
    with pytest.raises(MappingError):
        Batch(layer, hardware, backwards)
