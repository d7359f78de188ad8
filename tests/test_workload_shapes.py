"""Our own shape inference against numpy and against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seada.errors import WorkloadError
from seada.workload.graph import GraphNode, check_shape, execution_order, unique_names
from seada.workload.shapes import broadcast, infer_shapes
from seada.workload.window import resolve_window

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.lists(st.sampled_from([1, 3]), max_size=4).map(tuple), min_size=1, max_size=3))
def test_broadcast_is_that_of_numpy(shapes: list[tuple[int, ...]]) -> None:
    assert broadcast(*shapes) == np.broadcast_shapes(*shapes)


def test_broadcast_refuses() -> None:
    with pytest.raises(WorkloadError, match="cannot be broadcast"):
        broadcast((2, 3), (2,))


@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 5),
    dilation=st.integers(1, 3),
    pads=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    ceil_mode=st.integers(0, 1),
)
def test_windows_are_those_that_fit(
    size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], ceil_mode: int
) -> None:
    attributes = {
        "strides": [stride],
        "dilations": [dilation],
        "pads": [*pads],
        "ceil_mode": ceil_mode,
    }
    reach = dilation * (kernel - 1) + 1
    padded = size + sum(pads)
    if reach > padded:
        with pytest.raises(WorkloadError, match="does not fit"):
            resolve_window(attributes, [kernel], [size])
        return
    starts = [start for start in range(0, padded, stride) if start + reach <= padded]
    # With ceil_mode a last window may hang over the end, and one that starts in the end padding is left out.
    if ceil_mode and starts[-1] + reach < padded:
        starts.append(starts[-1] + stride)
    if ceil_mode and starts[-1] >= size + pads[0]:
        starts.pop()
    assert resolve_window(attributes, [kernel], [size]).outputs == (len(starts),)


@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    mode=st.sampled_from(["SAME_UPPER", "SAME_LOWER"]),
)
def test_same_padding(size: int, kernel: int, stride: int, dilation: int, mode: str) -> None:
    attributes = {"strides": [stride], "dilations": [dilation], "auto_pad": mode}
    window = resolve_window(attributes, [kernel], [size])
    assert window.outputs == (-(-size // stride),)
    assert abs(window.begin[0] - window.end[0]) <= 1
    assert (window.begin[0] <= window.end[0]) if mode == "SAME_UPPER" else (window.begin[0] >= window.end[0])


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        ({"strides": [1, 1]}, "strides has 2 values, needs 1"),
        ({"strides": [0]}, "strides is [0]"),
        ({"dilations": [0]}, "dilations is [0]"),
        ({"pads": [1]}, "pads has 1 values, needs 2"),
        ({"pads": [-1, 0]}, "pads is [-1, 0]"),
        ({"auto_pad": "SAME"}, "auto_pad is 'SAME'; allowed"),
    ],
)
def test_wrong_window_attributes(attributes: dict[str, Any], part: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        resolve_window(attributes, [3], [8])
    assert part in caught.value.message


@given(SHAPES, st.data())
def test_view_and_movement_rules_are_those_of_numpy(shape: tuple[int, ...], data: st.DataObject) -> None:
    array = np.zeros(shape)
    rank = len(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    order = data.draw(st.permutations(range(rank)))
    start, end = data.draw(st.integers(-5, 5)), data.draw(st.integers(-5, 5))
    step = data.draw(st.sampled_from([-2, -1, 1, 3]))
    index = [slice(None)] * rank
    index[axis % rank] = slice(start, end, step)
    pads = data.draw(st.lists(st.integers(0, 3), min_size=2 * rank, max_size=2 * rank))
    indices = np.zeros((2, 3), int)
    cases: list[tuple[str, dict[str, Any], list[tuple[int, ...]], np.ndarray[Any, Any]]] = [
        ("Transpose", {"perm": order}, [shape], array.transpose(order)),
        ("Transpose", {}, [shape], array.T),
        ("Reshape", {"shape": [-1]}, [shape], array.reshape(-1)),
        ("Reshape", {"shape": [0, -1]}, [shape], array.reshape(shape[0], -1)),
        ("Flatten", {"axis": axis % rank}, [shape], array.reshape(int(np.prod(shape[: axis % rank])), -1)),
        ("Unsqueeze", {"axes": [0, -1]}, [shape], array[None, ..., None]),
        ("Squeeze", {}, [shape], array.squeeze()),
        ("Concat", {"axis": axis}, [shape, shape], np.concatenate([array, array], axis)),
        (
            "Slice",
            {"starts": [start], "ends": [end], "axes": [axis], "steps": [step]},
            [shape],
            array[tuple(index)],
        ),
        ("Gather", {"axis": axis}, [shape, (2, 3)], array.take(indices, axis)),
        ("Expand", {"shape": [5, *(1,) * rank]}, [shape], np.broadcast_to(array, (5, *shape))),
        ("Tile", {"repeats": [2] * rank}, [shape], np.tile(array, [2] * rank)),
        ("Pad", {"pads": pads}, [shape], np.pad(array, list(zip(pads[:rank], pads[rank:], strict=True)))),
        ("ReduceMean", {"axes": [axis], "keepdims": 0}, [shape], array.mean(axis)),
        ("ReduceSum", {"axes": [axis]}, [shape], array.sum(axis, keepdims=True)),
        ("ReduceMax", {}, [shape], array.max(keepdims=True)),
        ("ArgMax", {"axis": axis, "keepdims": 0}, [shape], array.argmax(axis)),
        ("Softmax", {"axis": axis}, [shape], array),
    ]
    for kind, attributes, inputs, expected in cases:
        found = infer_shapes(kind, attributes, inputs)
        assert found is not None
        assert found[0] == expected.shape, kind


@given(
    st.lists(st.sampled_from([1, 3]), max_size=2),
    st.lists(st.sampled_from([1, 3]), max_size=2),
    *[st.integers(1, 5)] * 3,
)
def test_matmul_is_that_of_numpy(left: list[int], right: list[int], m: int, k: int, n: int) -> None:
    a, b = (*left, m, k), (*right, k, n)
    assert infer_shapes("MatMul", {}, [a, b]) == [(np.zeros(a) @ np.zeros(b)).shape]
    assert infer_shapes("MatMul", {}, [(k,), b]) == [(np.zeros(k) @ np.zeros(b)).shape]
    assert infer_shapes("MatMul", {}, [a, (k,)]) == [(np.zeros(a) @ np.zeros(k)).shape]


@pytest.mark.parametrize(
    ("kind", "attributes", "inputs", "part"),
    [
        ("Conv", {}, [(1, 3, 5, 5), (8, 3, 7, 7)], "does not fit"),
        ("Conv", {}, [(1, 3, 5, 5), (8, 4, 3, 3)], "channels do not fit"),
        ("Conv", {"group": 2}, [(1, 4, 5, 5), (3, 2, 3, 3)], "channels do not fit"),
        ("Conv", {}, [(1, 3, 5, 5), (8, 3, 3)], "equal ranks"),
        ("Conv", {"kernel_shape": [5, 5]}, [(1, 3, 9, 9), (8, 3, 3, 3)], "kernel_shape"),
        ("Gemm", {}, [(2, 3), (4, 5)], "reduction lengths 3 and 4 differ"),
        ("Gemm", {}, [(2, 3, 4), (4, 5)], "two matrices"),
        ("MatMul", {}, [(2, 3), (4, 5)], "lengths 3 and 4 differ"),
        ("Concat", {"axis": 0}, [(2, 3), (2, 4)], "cannot be joined"),
        ("Concat", {"axis": 5}, [(2, 3), (2, 3)], "axis 5 is out of range"),
        ("Reshape", {"shape": [7, -1]}, [(2, 3)], "cannot be reshaped"),
        ("Transpose", {"perm": [0, 0]}, [(2, 3)], "is no order"),
        ("Split", {"split": [1, 1]}, [(3,)], "do not add up"),
        ("Squeeze", {"axes": [0]}, [(3, 1)], "not all of size 1"),
        ("DepthToSpace", {"blocksize": 2}, [(3, 1)], "not those of DepthToSpace"),
    ],
)
def test_shapes_that_do_not_fit(
    kind: str, attributes: dict[str, Any], inputs: list[tuple[int, ...]], part: str
) -> None:
    with pytest.raises(WorkloadError) as caught:
        infer_shapes(kind, attributes, inputs)
    assert part in caught.value.message


def test_unknown_types_and_parameters_have_no_shape() -> None:
    assert infer_shapes("NoSuchOperator", {}, [(1,)]) is None
    assert infer_shapes("Reshape", {}, [(1,)]) is None


@pytest.mark.parametrize("shape", [(0,), (-1, 2), (2**41,), (2**30, 2**30), (1,) * 13])
def test_absurd_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(WorkloadError, match="tensor t"):
        check_shape("t", shape)


def _node(name: str, inputs: str, outputs: str) -> GraphNode:
    return GraphNode(name, "Add", tuple(inputs), tuple(outputs))


def test_execution_order() -> None:
    nodes = [_node("1", "bc", "d"), _node("2", "a", "b"), _node("3", "b", "c"), _node("4", "a", "e")]
    assert [node.name for node in execution_order(nodes, "a")] == ["2", "3", "1", "4"]


@pytest.mark.parametrize(
    ("nodes", "part"),
    [
        ([_node("1", "ac", "b"), _node("2", "b", "c")], "has a cycle"),
        ([_node("1", "ab", "b")], "has a cycle"),
        ([_node("1", "a", "b"), _node("2", "a", "b")], "'b' is produced twice"),
        ([_node("1", "a", "a")], "'a' is produced twice"),
        ([_node("1", "x", "b")], "'x' is no input"),
    ],
)
def test_broken_graphs(nodes: list[GraphNode], part: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        execution_order(nodes, "a")
    assert part in caught.value.message


@given(st.lists(st.tuples(st.sampled_from(["Conv", "Relu"]), st.sampled_from(["", "a", "Conv_1"]))))
def test_names_become_unique(pairs: list[tuple[str, str]]) -> None:
    names = unique_names(pairs)
    assert len(set(names)) == len(pairs)
    assert all(names)
    for index, (_, given_name) in enumerate(pairs):
        first = next((i for i, pair in enumerate(pairs) if pair[1] == given_name), None)
        if given_name and first == index:
            assert names[index] == given_name
