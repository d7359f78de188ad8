"""Sliding windows: sizes of convolution and pooling outputs, with the pads and defaults of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seada.errors import WorkloadError
from seada.workload.graph import Attributes

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True)
class Window:
    """A window per spatial axis, all attributes resolved."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    outputs: tuple[int, ...]


def resolve_window(attributes: Attributes, kernel: Sequence[int], sizes: Sequence[int]) -> Window:
    """Strides, dilations, pads and output sizes of a window of ONNX.

    The output has ``floor((size + pads - dilation * (kernel - 1) - 1) / stride) + 1`` elements (ceil with
    ``ceil_mode``, windows that would start in the end padding left out); SAME gives ``ceil(size / stride)``.
    Source: ONNX operator specification, Conv and MaxPool.

    Raises
    ------
    WorkloadError
        If an attribute has the wrong length or range, or the window does not fit.
    """
    axes = len(sizes)
    if len(kernel) != axes:
        raise WorkloadError(
            f"kernel {list(kernel)} has {len(kernel)} axes, the data have {axes} spatial ones"
        )
    stride = _per_axis(attributes, "strides", axes, 1, 1)
    dilation = _per_axis(attributes, "dilations", axes, 1, 1)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    begin, end = _pads(attributes, axes, sizes, stride, reach)
    round_up = bool(attributes.get("ceil_mode", 0))
    outputs = []
    for i in range(axes):
        span = sizes[i] + begin[i] + end[i] - reach[i]
        if span < 0:
            raise WorkloadError(
                f"axis {i}: a window of {reach[i]} does not fit into {sizes[i]} elements "
                f"with padding {begin[i]} and {end[i]}"
            )
        count = (-(-span // stride[i]) if round_up else span // stride[i]) + 1
        if round_up and (count - 1) * stride[i] >= sizes[i] + begin[i]:
            count -= 1
        outputs.append(count)
    return Window(tuple(kernel), stride, dilation, begin, end, tuple(outputs))


def _per_axis(attributes: Attributes, key: str, axes: int, default: int, least: int) -> tuple[int, ...]:
    values = attributes.get(key)
    if values is None or not len(values):
        return (default,) * axes
    if len(values) != axes:
        raise WorkloadError(f"{key} has {len(values)} values, needs {axes}")
    if any(value < least for value in values):
        raise WorkloadError(f"{key} is {list(values)}; allowed: {least} or more")
    return tuple(int(value) for value in values)


def _pads(
    attributes: Attributes, axes: int, sizes: Sequence[int], stride: Sequence[int], reach: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    auto = attributes.get("auto_pad", "NOTSET") or "NOTSET"
    if auto not in AUTO_PADS:
        raise WorkloadError(f"auto_pad is {auto!r}; allowed: {', '.join(AUTO_PADS)}")
    if auto == "NOTSET":
        both = _per_axis(attributes, "pads", 2 * axes, 0, 0)
        return both[:axes], both[axes:]
    if auto == "VALID":
        return (0,) * axes, (0,) * axes
    begin, end = [], []
    for i in range(axes):
        total = max(0, (-(-sizes[i] // stride[i]) - 1) * stride[i] + reach[i] - sizes[i])
        small, large = total // 2, total - total // 2
        begin.append(small if auto == "SAME_UPPER" else large)
        end.append(large if auto == "SAME_UPPER" else small)
    return tuple(begin), tuple(end)
