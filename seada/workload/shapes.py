"""Our own shape inference: output shapes of an operator from its input shapes and attributes.

Operators as in `seada.workload.graph`: parameters are attributes. Rules follow the
ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from seada.errors import WorkloadError
from seada.workload.graph import PARAMETER_INPUTS, Attributes, Shape
from seada.workload.window import resolve_window

Shapes = Sequence[Shape]
Rule = Callable[[Attributes, Shapes], list[Shape]]


def infer_shapes(kind: str, attributes: Attributes, inputs: Shapes) -> list[Shape] | None:
    """Shapes of the outputs, or None if there is no rule for the type or a parameter is not known.

    Parameters
    ----------
    inputs : sequence of shape
        Of the inputs that are present.

    Raises
    ------
    WorkloadError
        If the shapes do not fit together or an attribute is wrong.
    """
    rule = SHAPE_RULES.get(kind)
    if rule is None or not inputs:
        return None
    try:
        return rule(attributes, inputs)
    except _UnknownError:
        return None
    except (IndexError, TypeError, ValueError) as error:
        raise WorkloadError(f"attributes or input shapes are not those of {kind}: {error}") from None


class _UnknownError(Exception):
    """A parameter is computed at run time."""


def _parameter(attributes: Attributes, key: str) -> list[int]:
    if attributes.get(key) is None:
        raise _UnknownError(key)
    return [int(value) for value in attributes[key]]


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all are broadcast to, by numpy's rule.

    Raises
    ------
    WorkloadError
        If they do not fit.

    >>> broadcast((8, 1, 6), (7, 1))
    (8, 7, 6)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    for shape in padded:
        if any(size not in (1, full) for size, full in zip(shape, result, strict=True)):
            raise WorkloadError(f"shapes {', '.join(str(list(s)) for s in shapes)} cannot be broadcast")
    return result


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise WorkloadError(f"axis {axis} is out of range for {rank} axes")
    return axis % rank


def _axes(attributes: Attributes, rank: int) -> set[int] | None:
    axes = attributes.get("axes")
    return None if axes is None else {_axis(int(axis), rank) for axis in axes}


def _same(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [inputs[0]]


def _elementwise(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [broadcast(*inputs)]


def _conv(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data, weight = inputs[0], inputs[1]
    if len(data) < 3 or len(weight) != len(data):
        raise WorkloadError(f"data {list(data)} and weight {list(weight)} need equal ranks of 3 or more")
    groups = int(attributes.get("group", 1))
    if groups < 1 or data[1] != groups * weight[1] or weight[0] % groups:
        raise WorkloadError(
            f"channels do not fit: data {list(data)}, weight {list(weight)}, group {groups} "
            f"(need data[1] = group * weight[1], and group divides weight[0])"
        )
    stated = attributes.get("kernel_shape")
    if stated and tuple(stated) != tuple(weight[2:]):
        raise WorkloadError(f"kernel_shape {list(stated)} is not that of the weight {list(weight)}")
    window = resolve_window(attributes, weight[2:], data[2:])
    return [(data[0], weight[0], *window.outputs)]


def _conv_transpose(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data, weight = inputs[0], inputs[1]
    axes = len(data) - 2
    channels = weight[1] * int(attributes.get("group", 1))
    if attributes.get("output_shape"):
        return [(data[0], channels, *(int(size) for size in attributes["output_shape"][-axes:]))]
    strides = attributes.get("strides") or [1] * axes
    dilations = attributes.get("dilations") or [1] * axes
    extra = attributes.get("output_padding") or [0] * axes
    pads = attributes.get("pads") or [0] * (2 * axes)
    sizes = []
    for i in range(axes):
        if str(attributes.get("auto_pad", "NOTSET")).startswith("SAME"):
            sizes.append(data[2 + i] * strides[i])
            continue
        reach = (weight[2 + i] - 1) * dilations[i] + 1
        sizes.append((data[2 + i] - 1) * strides[i] + extra[i] + reach - pads[i] - pads[axes + i])
    return [(data[0], channels, *sizes)]


def gemm_sizes(attributes: Attributes, a: Shape, b: Shape) -> tuple[int, int, int]:
    """Rows, columns and reduction length of a Gemm.

    Raises
    ------
    WorkloadError
        If the operands are no matrices or do not fit.
    """
    if len(a) != 2 or len(b) != 2:
        raise WorkloadError(f"Gemm needs two matrices, found {list(a)} and {list(b)}")
    rows, inner = a[::-1] if attributes.get("transA", 0) else a
    other, columns = b[::-1] if attributes.get("transB", 0) else b
    if inner != other:
        raise WorkloadError(f"Gemm of {list(a)} and {list(b)}: reduction lengths {inner} and {other} differ")
    return rows, columns, inner


def _gemm(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    rows, columns, _ = gemm_sizes(attributes, inputs[0], inputs[1])
    return [(rows, columns)]


def _matmul(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    a, b = inputs[0], inputs[1]
    if not a or not b:
        raise WorkloadError("MatMul needs operands with one axis or more")
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise WorkloadError(f"MatMul of {list(a)} and {list(b)}: lengths {left[-1]} and {right[-2]} differ")
    rows = (left[-2],) if len(a) > 1 else ()
    columns = (right[-1],) if len(b) > 1 else ()
    return [(*broadcast(left[:-2], right[:-2]), *rows, *columns)]


def _pool(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data = inputs[0]
    window = resolve_window(attributes, _parameter(attributes, "kernel_shape"), data[2:])
    return [(*data[:2], *window.outputs)] * 2


def _global_pool(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [(*inputs[0][:2], *(1,) * (len(inputs[0]) - 2))]


def _reduce(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    rank = len(inputs[0])
    axes = _axes(attributes, rank)
    if not axes:
        axes = set() if attributes.get("noop_with_empty_axes", 0) else set(range(rank))
    return [_drop(inputs[0], axes, bool(attributes.get("keepdims", 1)))]


def _drop(shape: Shape, axes: set[int], keep: bool) -> Shape:
    sizes = (1 if i in axes else size for i, size in enumerate(shape) if keep or i not in axes)
    return tuple(sizes)


def _arg(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axis = _axis(int(attributes.get("axis", 0)), len(inputs[0]))
    return [_drop(inputs[0], {axis}, bool(attributes.get("keepdims", 1)))]


def _reshape(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    target = _parameter(attributes, "shape")
    copy_zero = not attributes.get("allowzero", 0)
    sizes = [inputs[0][i] if size == 0 and copy_zero else size for i, size in enumerate(target)]
    volume = prod(inputs[0])
    if -1 in sizes:
        known = prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = volume // known if known else 0
    if prod(sizes) != volume or min(sizes, default=1) < 0:
        raise WorkloadError(f"{list(inputs[0])} cannot be reshaped to {target}")
    return [tuple(sizes)]


def _flatten(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axis = int(attributes.get("axis", 1))
    axis = axis + len(inputs[0]) if axis < 0 else axis
    return [(prod(inputs[0][:axis]), prod(inputs[0][axis:]))]


def _squeeze(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axes = _axes(attributes, len(inputs[0]))
    if axes is None:
        axes = {i for i, size in enumerate(inputs[0]) if size == 1}
    if any(inputs[0][i] != 1 for i in axes):
        raise WorkloadError(f"axes {sorted(axes)} of {list(inputs[0])} are not all of size 1")
    return [_drop(inputs[0], axes, keep=False)]


def _unsqueeze(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axes = _parameter(attributes, "axes")
    rank = len(inputs[0]) + len(axes)
    places = {_axis(axis, rank) for axis in axes}
    rest = iter(inputs[0])
    return [tuple(1 if i in places else next(rest) for i in range(rank))]


def _transpose(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    order = attributes.get("perm") or range(len(inputs[0]))[::-1]
    if sorted(order) != list(range(len(inputs[0]))):
        raise WorkloadError(f"perm {list(order)} is no order of {len(inputs[0])} axes")
    return [tuple(inputs[0][i] for i in order)]


def _concat(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axis = _axis(int(attributes["axis"]) if "axis" in attributes else 1, len(inputs[0]))
    for shape in inputs:
        if len(shape) != len(inputs[0]) or _drop(shape, {axis}, False) != _drop(inputs[0], {axis}, False):
            raise WorkloadError(f"shapes {[list(s) for s in inputs]} cannot be joined along axis {axis}")
    return [(*inputs[0][:axis], sum(shape[axis] for shape in inputs), *inputs[0][axis + 1 :])]


def _split(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data = inputs[0]
    axis = _axis(int(attributes.get("axis", 0)), len(data))
    parts = attributes.get("split")
    if parts is None:
        count = int(attributes.get("num_outputs", 0))
        if not count:
            raise _UnknownError("num_outputs")
        step = -(-data[axis] // count)
        parts = [min(step, data[axis] - i * step) for i in range(count)]
    if sum(parts) != data[axis]:
        raise WorkloadError(f"parts {list(parts)} do not add up to {data[axis]}")
    return [(*data[:axis], int(part), *data[axis + 1 :]) for part in parts]


def _slice(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    starts, ends = _parameter(attributes, "starts"), _parameter(attributes, "ends")
    axes = attributes.get("axes")
    steps = attributes.get("steps")
    sizes = list(inputs[0])
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = _axis(int(axes[i]) if axes is not None else i, len(sizes))
        step = int(steps[i]) if steps is not None else 1
        sizes[axis] = len(range(*slice(start, end, step).indices(sizes[axis])))
    return [tuple(sizes)]


def _gather(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data, indices = inputs[0], inputs[1]
    axis = _axis(int(attributes.get("axis", 0)), len(data))
    return [(*data[:axis], *indices, *data[axis + 1 :])]


def _gather_elements(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [inputs[1]]


def _gather_nd(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data, indices = inputs[0], inputs[1]
    return [(*indices[:-1], *data[int(attributes.get("batch_dims", 0)) + indices[-1] :])]


def _expand(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [broadcast(inputs[0], tuple(_parameter(attributes, "shape")))]


def _tile(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    repeats = _parameter(attributes, "repeats")
    return [tuple(size * repeat for size, repeat in zip(inputs[0], repeats, strict=True))]


def _pad(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    pads = _parameter(attributes, "pads")
    axes = attributes.get("axes")
    places = range(len(inputs[0])) if axes is None else [_axis(int(a), len(inputs[0])) for a in axes]
    sizes = list(inputs[0])
    for i, axis in enumerate(places):
        sizes[axis] += pads[i] + pads[len(places) + i]
    return [tuple(sizes)]


def _resize(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    data = inputs[0]
    axes = attributes.get("axes")
    places = range(len(data)) if axes is None else [_axis(int(a), len(data)) for a in axes]
    sizes = list(data)
    if attributes.get("sizes") is not None:
        if attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise _UnknownError("keep_aspect_ratio_policy")
        for axis, size in zip(places, attributes["sizes"], strict=True):
            sizes[axis] = int(size)
    elif attributes.get("scales") is not None and len(attributes["scales"]):
        for axis, scale in zip(places, attributes["scales"], strict=True):
            sizes[axis] = int(data[axis] * float(scale) + 1e-6)
    else:
        raise _UnknownError("sizes")
    return [tuple(sizes)]


def _top_k(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    axis = _axis(int(attributes.get("axis", -1)), len(inputs[0]))
    given = attributes.get("k")
    if given is None:
        raise _UnknownError("k")
    k = int(given[0]) if isinstance(given, Sequence) else int(given)
    return [(*inputs[0][:axis], k, *inputs[0][axis + 1 :])] * 2


def _depth_to_space(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    block = int(attributes["blocksize"])
    batch, channels, height, width = inputs[0]
    return [(batch, channels // block**2, height * block, width * block)]


def _space_to_depth(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    block = int(attributes["blocksize"])
    batch, channels, height, width = inputs[0]
    return [(batch, channels * block**2, height // block, width // block)]


def _shape(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    start, end = attributes.get("start", 0), attributes.get("end")
    return [(len(inputs[0][start:end]),)]


def _scalar(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [()]


def _batch_normalisation(attributes: Attributes, inputs: Shapes) -> list[Shape]:
    return [inputs[0], *[inputs[1]] * 4]


UNARY = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "CastLike", "Ceil"),
    *("Celu", "Clip", "Cos", "Cosh", "CumSum", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid"),
    *("HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "PRelu"),
    *("Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus"),
    *("Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu"),
    *("QuantizeLinear", "DequantizeLinear", "Dropout", "LogSoftmax", "Softmax", "Hardmax", "LRN"),
    *("InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization"),
    *("LpNormalization", "MeanVarianceNormalization", "ScatterElements", "ScatterND", "Scatter"),
    *("SimplifiedLayerNormalization", "FastGelu", "QuickGelu", "BiasGelu", "RotaryEmbedding"),
)
BINARY = (
    *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater"),
    *("GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "Sub"),
    *("Sum", "Where", "Xor"),
)
SHAPE_RULES: dict[str, Rule] = {
    **dict.fromkeys(UNARY, _same),
    **dict.fromkeys(BINARY, _elementwise),
    **{kind: _reduce for kind in PARAMETER_INPUTS if kind.startswith("Reduce")},
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global_pool),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg),
    "BatchNormalization": _batch_normalisation,
    "Concat": _concat,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Pad": _pad,
    "Reshape": _reshape,
    "Resize": _resize,
    "Shape": _shape,
    "Size": _scalar,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "TopK": _top_k,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resize,
}
