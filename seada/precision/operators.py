"""ONNX operators in numpy, as far as the runtime executes them.

Every rule takes the node's attributes and its input arrays (None for an input that is left out) and gives
the output. Tensors have their batch first; channels follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from seada.errors import UserError

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Rule = Callable[[Attributes, Sequence[Any]], Array]


def _window(attributes: Attributes, kernel: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], ...]:
    """Strides, dilations, begin pads and end pads per spatial axis, with ONNX's defaults and `auto_pad`."""
    axes = len(kernel)
    strides = list(attributes.get("strides") or [1] * axes)
    dilations = list(attributes.get("dilations") or [1] * axes)
    pads = list(attributes.get("pads") or [0] * (2 * axes))
    auto_pad = attributes.get("auto_pad", "NOTSET")
    auto_pad = auto_pad.decode() if isinstance(auto_pad, bytes) else auto_pad
    if auto_pad == "VALID":
        pads = [0] * (2 * axes)
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for i in range(axes):
            outputs = -(-sizes[i] // strides[i])
            reach = (outputs - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1
            total = max(0, reach - sizes[i])
            smaller, larger = total // 2, total - total // 2
            pads[i], pads[axes + i] = (smaller, larger) if auto_pad == "SAME_UPPER" else (larger, smaller)
    return strides, dilations, pads[:axes], pads[axes:]


def _pad(x: Array, begin: Sequence[int], end: Sequence[int], value: float) -> Array:
    if not any(begin) and not any(end):
        return x
    widths = [(0, 0), (0, 0), *zip(begin, end, strict=True)]
    return np.pad(x, widths, constant_values=value)


def _conv(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    """Convolution in any number of spatial axes: one matrix product per kernel tap and group, summed."""
    x, weight, bias = (*inputs, None)[:3]
    kernel = weight.shape[2:]
    strides, dilations, begin, end = _window(attributes, kernel, x.shape[2:])
    groups = int(attributes.get("group", 1))
    padded = _pad(x, begin, end, 0)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    outputs = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, strides, strict=True)]
    batch, per_group = x.shape[0], weight.shape[0] // groups
    points = batch * math.prod(outputs)
    # (G, C, N, spatial): one contiguous matrix of all outputs of the batch per tap and group.
    grouped = padded.reshape(batch, groups, -1, *padded.shape[2:])
    order = (1, 2, 0, *range(3, grouped.ndim))
    by_tap = weight.reshape(groups, per_group, weight.shape[1], *kernel)
    total = np.zeros((groups, per_group, points), np.result_type(x, weight))
    for tap in product(*(range(k) for k in kernel)):
        cut = [
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilations, strides, outputs, strict=True)
        ]
        taken = grouped[(slice(None),) * 3 + tuple(cut)].transpose(order).reshape(groups, -1, points)
        factor = by_tap[(slice(None),) * 3 + tap]
        total += factor * taken if weight.shape[1] == 1 else factor @ taken
    result = total.reshape(groups * per_group, batch, *outputs).swapaxes(0, 1)
    if bias is not None:
        result = result + bias.reshape(-1, *(1,) * len(kernel))
    return np.ascontiguousarray(result)


def _gemm(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    a, b, c = (*inputs, None)[:3]
    a = a.T if attributes.get("transA", 0) else a
    b = b.T if attributes.get("transB", 0) else b
    alpha, beta = float(attributes.get("alpha", 1)), float(attributes.get("beta", 1))
    result: Array = a @ b
    if alpha != 1:
        result = result * np.asarray(alpha, result.dtype)
    if c is not None:
        result = result + (c if beta == 1 else c * np.asarray(beta, c.dtype))
    return result


def _pooling_windows(attributes: Attributes, x: Array, value: float) -> Array:
    """All windows of a pooling node: (N, C, outputs..., kernel...)."""
    kernel = list(attributes["kernel_shape"])
    strides, dilations, begin, end = _window(attributes, kernel, x.shape[2:])
    if attributes.get("ceil_mode", 0):
        for i, size in enumerate(x.shape[2:]):
            reach = dilations[i] * (kernel[i] - 1) + 1
            span = size + begin[i] + end[i] - reach
            outputs = -(-span // strides[i]) + 1
            # A window that would start in the end padding is left out.
            if (outputs - 1) * strides[i] >= size + begin[i]:
                outputs -= 1
            end[i] += max(0, (outputs - 1) * strides[i] - span)
    padded = _pad(x, begin, end, value)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    windows = sliding_window_view(padded, reach, axis=tuple(range(2, x.ndim)))
    steps = [slice(None)] * 2 + [slice(None, None, s) for s in strides]
    return windows[(*steps, *(slice(None, None, d) for d in dilations))]


def _max_pool(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x = inputs[0]
    windows = _pooling_windows(attributes, x, -np.inf)
    result: Array = windows.max(axis=tuple(range(x.ndim, windows.ndim)))
    return result


def _average_pool(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x = inputs[0]
    windows = _pooling_windows(attributes, x, 0)
    axes = tuple(range(x.ndim, windows.ndim))
    if attributes.get("count_include_pad", 0) and not attributes.get("ceil_mode", 0):
        included: Array = windows.mean(axis=axes)
        return included
    if attributes.get("count_include_pad", 0):
        raise UserError("AveragePool with ceil_mode and count_include_pad together cannot be executed")
    counts = _pooling_windows(attributes, np.ones_like(x[:1, :1]), 0).sum(axis=axes)
    result: Array = windows.sum(axis=axes) / counts
    return result


def _softmax(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x, axis = inputs[0], int(attributes.get("axis", -1))
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    result: Array = powers / powers.sum(axis=axis, keepdims=True)
    return result


def _clip(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x, low, high = (*inputs, None, None)[:3]
    low = attributes.get("min") if low is None else low
    high = attributes.get("max") if high is None else high
    result: Array = x
    result = result if low is None else np.maximum(result, np.asarray(low, x.dtype))
    return result if high is None else np.minimum(result, np.asarray(high, x.dtype))


def _flatten(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x, axis = inputs[0], int(attributes.get("axis", 1))
    axis = axis + x.ndim if axis < 0 else axis
    result: Array = x.reshape(math.prod(x.shape[:axis]), -1)
    return result


def _reshape(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    """Reshape to `shape`, which the runtime takes from the graph and scales with the batch."""
    result: Array = inputs[0].reshape(attributes["shape"])
    return result


def _axes(attributes: Attributes, inputs: Sequence[Any]) -> list[int] | None:
    """Axes as an attribute (older opsets) or as the second input."""
    given = inputs[1] if len(inputs) > 1 and inputs[1] is not None else attributes.get("axes")
    return None if given is None else [int(a) for a in given]


def _squeeze(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    axes = _axes(attributes, inputs)
    result: Array = np.squeeze(inputs[0], None if axes is None else tuple(axes))
    return result


def _unsqueeze(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    return np.expand_dims(inputs[0], tuple(_axes(attributes, inputs) or ()))


def _reduce_mean(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    axes = _axes(attributes, inputs)
    keep = bool(attributes.get("keepdims", 1))
    result: Array = inputs[0].mean(axis=None if axes is None else tuple(axes), keepdims=keep)
    return result


def _batch_normalisation(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x, gain, shift, mean, variance = inputs[:5]
    factor = gain / np.sqrt(variance + np.float32(attributes.get("epsilon", 1e-5)))
    shape = (-1, *(1,) * (x.ndim - 2))
    result: Array = x * factor.reshape(shape) + (shift - mean * factor).reshape(shape)
    return result


def _layer_normalisation(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x, gain, shift = (*inputs, None)[:3]
    axis = int(attributes.get("axis", -1))
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    result: Array = centred / np.sqrt(variance + np.float32(attributes.get("epsilon", 1e-5))) * gain
    if shift is not None:
        result = result + shift
    return result


def _local_response_normalisation(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    """Divide by a power of the mean square over neighbouring channels; outside the channels are zeros."""
    x, size = inputs[0], int(attributes["size"])
    alpha, beta = float(attributes.get("alpha", 1e-4)), float(attributes.get("beta", 0.75))
    before = (size - 1) // 2
    squares = np.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
    sums = sliding_window_view(squares, size, axis=1).sum(axis=-1)
    result: Array = x / (np.float32(attributes.get("bias", 1)) + np.float32(alpha / size) * sums) ** beta
    return result


def _hard_sigmoid(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    alpha, beta = np.float32(attributes.get("alpha", 0.2)), np.float32(attributes.get("beta", 0.5))
    result: Array = np.clip(alpha * inputs[0] + beta, 0, 1)
    return result


def _transpose(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    return np.ascontiguousarray(np.transpose(inputs[0], attributes.get("perm")))


def _concat(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    return np.concatenate(list(inputs), axis=int(attributes["axis"]))


def _leaky_relu(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x = inputs[0]
    result: Array = np.where(x >= 0, x, x * np.asarray(attributes.get("alpha", 0.01), x.dtype))
    return result


def _erf(x: Array) -> Array:
    from scipy.special import erf

    result: Array = erf(x).astype(x.dtype)
    return result


def _gelu(attributes: Attributes, inputs: Sequence[Any]) -> Array:
    x: Array = inputs[0]
    if attributes.get("approximate", "none") in ("tanh", b"tanh"):
        inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
        share = np.tanh(inner)
    else:
        share = _erf(x * np.float32(math.sqrt(0.5)))
    result: Array = x * np.float32(0.5) * (1 + share)
    return result


def _sigmoid(x: Array) -> Array:
    result: Array = np.exp(-np.logaddexp(0, -x))
    return result


def _each(function: Callable[[Any], Any]) -> Rule:
    """A rule of one array, element by element."""
    return lambda attributes, inputs: function(inputs[0])


def _fold(function: Callable[[Any, Any], Any]) -> Rule:
    """A rule of two or more arrays, combined from left to right with broadcasting."""

    def rule(attributes: Attributes, inputs: Sequence[Any]) -> Array:
        result = inputs[0]
        for other in inputs[1:]:
            result = function(result, other)
        return np.asarray(result)

    return rule


def _global(function: Callable[..., Any]) -> Rule:
    """A reduction over all spatial axes that keeps them with size 1."""
    return lambda attributes, inputs: function(inputs[0], axis=tuple(range(2, inputs[0].ndim)), keepdims=True)


OPERATORS: dict[str, Rule] = {
    "Abs": _each(np.abs),
    "Add": _fold(np.add),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalisation,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": _conv,
    "Div": _fold(np.divide),
    "Dropout": _each(lambda x: x),
    "Erf": _each(_erf),
    "Exp": _each(np.exp),
    "Flatten": _flatten,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global(np.mean),
    "GlobalMaxPool": _global(np.max),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _each(lambda x: x * np.clip(x / np.float32(6) + np.float32(0.5), 0, 1)),
    "Identity": _each(lambda x: x),
    "LRN": _local_response_normalisation,
    "LayerNormalization": _layer_normalisation,
    "LeakyRelu": _leaky_relu,
    "Log": _each(np.log),
    "MatMul": _fold(np.matmul),
    "Max": _fold(np.maximum),
    "MaxPool": _max_pool,
    "Min": _fold(np.minimum),
    "Mul": _fold(np.multiply),
    "Neg": _each(np.negative),
    "Pow": _fold(np.power),
    "Reciprocal": _each(np.reciprocal),
    "ReduceMean": _reduce_mean,
    "Relu": _each(lambda x: np.maximum(x, 0)),
    "Reshape": _reshape,
    "Sigmoid": _each(_sigmoid),
    "Softmax": _softmax,
    "Sqrt": _each(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _fold(np.subtract),
    "Sum": _fold(np.add),
    "Tanh": _each(np.tanh),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
