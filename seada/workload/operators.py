"""The table of vector operators: what each ONNX type without MACs costs.

One **operation** is one addition, multiplication, comparison, division, root, exponential or other elementary
function on one element. A row states how many each element takes in each **pass** over the data; every pass
reads the data once, the last one writes the result. Operators that move data take one operation per element
written.

Type conversion, bias, ReLU and clip run in the drain of their producer: one operation per output element and
no traffic of their own. So does a batch normalisation directly behind a MAC layer (a multiplication and
an addition with constants of the channel); behind anything else it is a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from seada.workload.graph import Attributes, Shape
from seada.workload.network import VectorWork


@dataclass(frozen=True)
class OperatorRule:
    """One row of the table.

    Attributes
    ----------
    passes : tuple of int
        Operations per element in each pass.
    basis : str
        Elements that `passes` counts: ``output``, ``input`` (the first), ``window`` (output elements times
        the kernel) or ``operands`` (output elements times the number of operands less one).
    fuses : str
        ``always``, ``behind_macs`` (directly behind a MAC layer) or ``never``.
    reads : str
        ``all`` inputs, or as many elements as the ``output`` has (selecting operators).
    zero_cost : str
        Reason why the operator costs nothing.
    """

    passes: tuple[int, ...] = ()
    basis: str = "output"
    fuses: str = "never"
    reads: str = "all"
    zero_cost: str = ""


def _rows(rule: OperatorRule, *kinds: str) -> dict[str, OperatorRule]:
    return dict.fromkeys(kinds, rule)


def _elementwise(operations: int, *kinds: str) -> dict[str, OperatorRule]:
    return _rows(OperatorRule((operations,)), *kinds)


_VIEW = "a view: the elements stay where they are"
_KNOWN = "known before execution: shapes are fixed"
_INFERENCE = "passes its input through in inference"

OPERATORS: dict[str, OperatorRule] = {
    # In the drain of the producer.
    **_rows(OperatorRule((1,), fuses="always"), "Relu", "Clip", "Cast", "CastLike"),
    **_rows(OperatorRule((1,), fuses="always"), "QuantizeLinear", "DequantizeLinear"),
    **_rows(OperatorRule((2,), fuses="behind_macs"), "BatchNormalization"),
    # Element by element. Composite functions: as many elementary operations as their definition has.
    **_elementwise(1, "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Not", "BitwiseNot", "IsNaN", "IsInf"),
    **_elementwise(1, "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh"),
    **_elementwise(
        1, "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh", "ThresholdedRelu", "CumSum", "Trilu"
    ),
    **_elementwise(2, "LeakyRelu", "PRelu", "Shrink"),
    **_elementwise(3, "Sigmoid", "HardSigmoid", "Softplus", "Softsign", "Elu"),
    **_elementwise(4, "HardSwish", "Swish", "Selu", "Celu", "QuickGelu"),
    **_elementwise(5, "Gelu", "FastGelu", "Mish"),
    **_elementwise(6, "BiasGelu", "RotaryEmbedding"),
    **_rows(
        OperatorRule((1,), basis="operands"),
        *("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Mod"),
        *("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    ),
    **_elementwise(1, "Where"),
    # Reductions and normalisations. Softmax: maximum; difference, exponential, sum; difference, exponential,
    # quotient. Layer normalisation: sum; difference, square, sum; difference, factor, gain, shift.
    **_rows(OperatorRule((1,), basis="window"), "MaxPool", "AveragePool"),
    **_rows(OperatorRule((2,), basis="window"), "LpPool"),
    **_rows(OperatorRule((1,), basis="input"), "GlobalAveragePool", "GlobalMaxPool"),
    **_rows(OperatorRule((2,), basis="input"), "GlobalLpPool"),
    **_rows(OperatorRule((1,), basis="input"), "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"),
    **_rows(OperatorRule((1,), basis="input"), "ReduceProd", "ArgMax", "ArgMin"),
    **_rows(OperatorRule((2,), basis="input"), "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"),
    **_rows(OperatorRule((1, 3), basis="input"), "ReduceLogSumExp"),
    **_rows(OperatorRule((1, 3, 3)), "Softmax"),
    **_rows(OperatorRule((1, 3, 2)), "LogSoftmax"),
    **_rows(OperatorRule((1, 1)), "Hardmax"),
    **_rows(
        OperatorRule((1, 3, 4)),
        *(
            "LayerNormalization",
            "InstanceNormalization",
            "GroupNormalization",
            "SimplifiedLayerNormalization",
        ),
    ),
    **_rows(OperatorRule((1, 3, 2)), "MeanVarianceNormalization"),
    **_rows(OperatorRule((2, 2)), "RMSNormalization", "LpNormalization"),
    **_rows(OperatorRule((1, 1)), "DynamicQuantizeLinear"),
    # Square and running window sum (add the new, subtract the old), then scale, power and quotient.
    **_rows(OperatorRule((6,)), "LRN"),
    # Movement of data.
    **_rows(OperatorRule((1,), reads="all"), "Concat", "Transpose", "Pad", "DepthToSpace", "SpaceToDepth"),
    **_rows(OperatorRule((1,), reads="output"), "Slice", "Split", "Gather", "GatherElements", "GatherND"),
    **_rows(OperatorRule((1,), reads="all"), "Expand", "Tile", "ScatterElements", "ScatterND", "Scatter"),
    **_rows(OperatorRule((1,), reads="all"), "OneHot", "EyeLike", "Range"),
    # Nothing to do.
    **_rows(OperatorRule(zero_cost=_VIEW), "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"),
    **_rows(OperatorRule(zero_cost=_KNOWN), "Shape", "Size", "Constant", "ConstantOfShape"),
    **_rows(OperatorRule(zero_cost=_INFERENCE), "Dropout"),
}
RESIZE_OPERATIONS = {"nearest": 1, "linear": 3, "cubic": 7}
"""Operations per output element and resized axis: linear interpolation has two products and a sum, cubic four
products and three sums. Nearest moves each element once, whatever the axes."""


@dataclass(frozen=True)
class Operands:
    """Shapes and surroundings of a node, as the table needs them.

    Attributes
    ----------
    inputs, outputs : sequence of shape
        Of the tensors that are present.
    has_producer : bool
        Whether a node computes the first input.
    behind_macs : bool
        Whether that node (through views) is a MAC layer.
    adds_bias : bool
        Whether the node adds a constant per channel.
    """

    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    has_producer: bool
    behind_macs: bool
    adds_bias: bool = False


def vector_work(kind: str, attributes: Attributes, operands: Operands) -> VectorWork | None:
    """What an operator costs by the table, or None if it has no row.

    Parameters
    ----------
    kind : str
        ONNX operator type.
    """
    if kind in ("Resize", "Upsample"):
        return _resize(attributes, operands)
    rule = OPERATORS.get(kind)
    if rule is None:
        return None
    if rule.zero_cost:
        return VectorWork(zero_cost=rule.zero_cost)
    if kind == "Transpose" and is_view_transpose(attributes, operands.inputs[0]):
        return VectorWork(zero_cost=_VIEW)
    elements = _BASES[rule.basis](attributes, operands)
    operations = elements * sum(rule.passes)
    if _fuses(kind, rule, operands):
        return VectorWork(operations, fuses=True)
    written = sum(prod(shape) for shape in operands.outputs)
    read = written if rule.reads == "output" else sum(prod(shape) for shape in operands.inputs)
    repeated = prod(operands.inputs[0]) * (len(rule.passes) - 1)
    return VectorWork(operations, read + repeated, written)


def _fuses(kind: str, rule: OperatorRule, operands: Operands) -> bool:
    if rule.fuses == "always":
        return operands.has_producer
    if rule.fuses == "behind_macs":
        return operands.behind_macs
    return kind == "Add" and operands.adds_bias and operands.behind_macs


def _output_elements(attributes: Attributes, operands: Operands) -> int:
    return sum(prod(shape) for shape in operands.outputs)


def _input_elements(attributes: Attributes, operands: Operands) -> int:
    return prod(operands.inputs[0])


def _window_elements(attributes: Attributes, operands: Operands) -> int:
    return prod(operands.outputs[0]) * prod(attributes["kernel_shape"])


def _operand_elements(attributes: Attributes, operands: Operands) -> int:
    return prod(operands.outputs[0]) * max(1, len(operands.inputs) - 1)


_BASES: dict[str, Callable[[Attributes, Operands], int]] = {
    "output": _output_elements,
    "input": _input_elements,
    "window": _window_elements,
    "operands": _operand_elements,
}


def _resize(attributes: Attributes, operands: Operands) -> VectorWork | None:
    mode = str(attributes.get("mode", "nearest"))
    if mode not in RESIZE_OPERATIONS:
        return None
    read, written = prod(operands.inputs[0]), prod(operands.outputs[0])
    changed = sum(a != b for a, b in zip(operands.inputs[0], operands.outputs[0], strict=True))
    operations = RESIZE_OPERATIONS[mode]
    return VectorWork(written * (operations * changed if operations > 1 else 1), read, written)


def is_view_transpose(attributes: Attributes, shape: Shape) -> bool:
    """Whether a transposition only moves axes of size 1, so that no element moves."""
    order = attributes.get("perm") or range(len(shape))[::-1]
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def supported_types() -> list[str]:
    """All types that have a cost or a reason why they cost nothing, sorted; MAC types are not among them."""
    return sorted({*OPERATORS, "Resize", "Upsample"})
