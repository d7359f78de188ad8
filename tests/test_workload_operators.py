"""The table of vector operators."""

from __future__ import annotations

from typing import Any

import pytest

from seada.workload.graph import Graph, GraphNode
from seada.workload.lower import build_network
from seada.workload.network import Network, VectorWork
from seada.workload.operators import OPERATORS, Operands, supported_types, vector_work
from seada.workload.shapes import SHAPE_RULES

DATA = (1, 4, 6, 6)
ELEMENTS = 4 * 36


def _work(
    kind: str, outputs: list[tuple[int, ...]], *inputs: tuple[int, ...], **attributes: Any
) -> VectorWork:
    work = vector_work(kind, attributes, Operands(inputs, outputs, has_producer=True, behind_macs=False))
    assert work is not None
    return work


def test_relu_clip_and_conversion_fuse() -> None:
    for kind in ("Relu", "Clip", "Cast", "QuantizeLinear", "DequantizeLinear"):
        assert _work(kind, [DATA], DATA) == VectorWork(ELEMENTS, fuses=True)


def test_nothing_to_fuse_with_is_a_pass_of_its_own() -> None:
    work = vector_work("Relu", {}, Operands([DATA], [DATA], has_producer=False, behind_macs=False))
    assert work == VectorWork(ELEMENTS, ELEMENTS, ELEMENTS)


def test_batch_normalisation_fuses_behind_macs_only() -> None:
    inputs = [DATA, *[(4,)] * 4]
    behind = vector_work("BatchNormalization", {}, Operands(inputs, [DATA], True, behind_macs=True))
    apart = vector_work("BatchNormalization", {}, Operands(inputs, [DATA], True, behind_macs=False))
    assert behind == VectorWork(2 * ELEMENTS, fuses=True)
    assert apart == VectorWork(2 * ELEMENTS, ELEMENTS + 16, ELEMENTS)


def test_elementwise_operations_read_all_operands() -> None:
    assert _work("Add", [DATA], DATA, DATA) == VectorWork(ELEMENTS, 2 * ELEMENTS, ELEMENTS)
    assert _work("Sum", [DATA], DATA, DATA, DATA) == VectorWork(2 * ELEMENTS, 3 * ELEMENTS, ELEMENTS)
    assert _work("Mul", [DATA], DATA, ()) == VectorWork(ELEMENTS, ELEMENTS + 1, ELEMENTS)


def test_pooling_takes_every_element_of_its_windows() -> None:
    pooled = (1, 4, 3, 3)
    assert _work("MaxPool", [pooled], DATA, kernel_shape=[2, 2]) == VectorWork(36 * 4, ELEMENTS, 36)
    assert _work("GlobalAveragePool", [(1, 4, 1, 1)], DATA) == VectorWork(ELEMENTS, ELEMENTS, 4)
    assert _work("ReduceMean", [(1, 4)], DATA) == VectorWork(ELEMENTS, ELEMENTS, 4)


def test_softmax_passes_three_times() -> None:
    assert _work("Softmax", [DATA], DATA) == VectorWork(7 * ELEMENTS, 3 * ELEMENTS, ELEMENTS)


def test_layer_normalisation_reads_its_constants_once() -> None:
    work = _work("LayerNormalization", [DATA], DATA, (6,), (6,))
    assert work == VectorWork(8 * ELEMENTS, 3 * ELEMENTS + 12, ELEMENTS)


def test_movement_and_views() -> None:
    assert _work("Transpose", [(1, 6, 6, 4)], DATA, perm=[0, 2, 3, 1]).write_elements == ELEMENTS
    assert _work("Transpose", [DATA], (4, 1, 6, 6), perm=[1, 0, 2, 3]).zero_cost
    assert _work("Slice", [(1, 1, 6, 6)], DATA) == VectorWork(36, 36, 36)
    assert _work("Concat", [(1, 8, 6, 6)], DATA, DATA) == VectorWork(2 * ELEMENTS, 2 * ELEMENTS, 2 * ELEMENTS)
    for kind in ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"):
        work = _work(kind, [DATA], DATA)
        assert work == VectorWork(zero_cost=work.zero_cost)
        assert work.zero_cost


@pytest.mark.parametrize(("mode", "operations"), [("nearest", 1), ("linear", 6), ("cubic", 14)])
def test_resize_by_mode(mode: str, operations: int) -> None:
    large = (1, 4, 12, 12)
    assert _work("Resize", [large], DATA, mode=mode) == VectorWork(576 * operations, ELEMENTS, 576)


def test_unknown_types_and_modes_are_not_modelled() -> None:
    operands = Operands([DATA], [DATA], has_producer=True, behind_macs=False)
    assert vector_work("NonMaxSuppression", {}, operands) is None
    assert vector_work("Resize", {"mode": "lanczos"}, operands) is None


def test_every_row_costs_something_or_says_why_not() -> None:
    for kind, rule in OPERATORS.items():
        assert bool(rule.passes) != bool(rule.zero_cost), kind
        assert all(operations > 0 for operations in rule.passes), kind
    own_shapes = {"Constant", "ConstantOfShape", "DynamicQuantizeLinear", "EyeLike", "OneHot", "Range"}
    assert set(supported_types()) - own_shapes <= SHAPE_RULES.keys()


def _chain(*nodes: GraphNode, **constants: tuple[int, ...]) -> Network:
    return build_network(Graph("g", nodes, {"x": (1, 3, 8, 8)}, (nodes[-1].outputs[0],), constants))


def test_bias_relu_and_batch_normalisation_behind_a_convolution() -> None:
    network = _chain(
        GraphNode("conv", "Conv", ("x", "w", "b"), ("y",)),
        GraphNode("norm", "BatchNormalization", ("y", "b", "b", "b", "b"), ("z",)),
        GraphNode("relu", "Relu", ("z",), ("r",)),
        GraphNode("norm2", "BatchNormalization", ("r", "b", "b", "b", "b"), ("o",)),
        w=(4, 3, 1, 1),
        b=(4,),
    )
    conv, norm, relu, norm2 = network.nodes
    assert conv.work == VectorWork(256, fuses=True)
    assert (conv.weight, conv.input) == ("w", "x")
    assert norm.work == VectorWork(512, fuses=True)
    assert relu.work == VectorWork(256, fuses=True)
    assert norm2.work is not None
    assert not norm2.work.fuses


def test_a_constant_per_channel_behind_macs_is_a_bias() -> None:
    network = _chain(
        GraphNode("conv", "Conv", ("x", "w"), ("y",)),
        GraphNode("bias", "Add", ("b", "y"), ("z",)),
        GraphNode("residual", "Add", ("z", "y"), ("o",)),
        w=(4, 3, 1, 1),
        b=(4, 1, 1),
    )
    bias, residual = network.nodes[1:]
    assert network.nodes[0].work is None
    assert bias.work == VectorWork(256, fuses=True)
    assert residual.work == VectorWork(256, 512, 256)
