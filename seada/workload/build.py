"""Constructors of the named layer types: convolution, GEMM and batched matrix product."""

from __future__ import annotations

from collections.abc import Sequence

from seada.errors import WorkloadError
from seada.workload.layer import Axis, Layer, Operand

_SPATIAL = {1: ("Q",), 2: ("P", "Q"), 3: ("O", "P", "Q")}
_KERNEL = {1: ("S",), 2: ("R", "S"), 3: ("T", "R", "S")}


def _plain(name: str, extent: int) -> Axis:
    return Axis(((name, 1),), 0, extent)


def conv(
    name: str,
    *,
    outputs: Sequence[int],
    kernel: Sequence[int],
    K: int,
    C: int,
    N: int = 1,
    groups: int = 1,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    inputs: Sequence[int] | None = None,
) -> Layer:
    """A grouped convolution in one, two or three spatial axes.

    Parameters
    ----------
    outputs, kernel : sizes per spatial axis, in the order of the data (P, Q) and (R, S)
    K, C : int
        Output and input channels in total, as in ONNX; both must be multiples of `groups`.
    pad : padding before the first element per axis (default 0)
    inputs : int per axis
        Data elements along each axis; by default as many as the windows reach without end padding beyond
        the begin padding (``stride * (P - 1) + dilation * (R - 1) + 1 - 2 * pad``).

    Raises
    ------
    WorkloadError
        If a size is not positive, the groups do not divide the channels, or the window lies in padding only.
    """
    axes = len(outputs)
    stride = stride or (1,) * axes
    dilation = dilation or (1,) * axes
    pad = pad or (0,) * axes
    sizes = {"N": N, "K": K, "C": C, "groups": groups}
    for label, values in (
        ("output", outputs),
        ("kernel", kernel),
        ("stride", stride),
        ("dilation", dilation),
    ):
        if len(values) != axes:
            raise WorkloadError(f"layer {name}: {label} has {len(values)} values, expected {axes}")
        sizes.update({f"{label}[{i}]": value for i, value in enumerate(values)})
    for label, value in sizes.items():
        if value < 1:
            raise WorkloadError(f"layer {name}: {label} is {value}, must be 1 or more")
    if K % groups or C % groups:
        raise WorkloadError(f"layer {name}: groups={groups} must divide K={K} and C={C}")
    if inputs is None:
        inputs = [
            stride[i] * (outputs[i] - 1) + dilation[i] * (kernel[i] - 1) + 1 - 2 * pad[i] for i in range(axes)
        ]
    windows = []
    for i in range(axes):
        if inputs[i] < 1 or pad[i] < 0:
            raise WorkloadError(f"layer {name}: axis {i} has {inputs[i]} inputs and padding {pad[i]}")
        terms = ((_SPATIAL[axes][i], stride[i]), (_KERNEL[axes][i], dilation[i]))
        windows.append(Axis(terms, pad[i], inputs[i]))
    dims = [("N", N), ("G", groups), ("K", K // groups), ("C", C // groups)]
    dims += list(zip(_SPATIAL[axes], outputs, strict=True)) + list(zip(_KERNEL[axes], kernel, strict=True))
    by_name = dict(dims)

    def plain(names: Sequence[str]) -> tuple[Axis, ...]:
        return tuple(_plain(n, by_name[n]) for n in names)

    kind = "depthwise_conv" if groups > 1 and groups == C else "conv"
    return Layer(
        name,
        kind,
        tuple(dims),
        Operand("weight", plain(["G", "K", "C", *_KERNEL[axes]])),
        Operand("input", (*plain(["N", "G", "C"]), *windows)),
        Operand("output", plain(["N", "G", "K", *_SPATIAL[axes]])),
    )


def matmul(name: str, *, M: int, N: int, K: int, B: int | None = None) -> Layer:
    """Output B x M x N = weight B x M x K times input B x K x N; without `B` a GEMM.

    Raises
    ------
    WorkloadError
        If an extent is not positive.
    """
    dims = [("M", M), ("N", N), ("K", K)]
    batch: list[str] = []
    if B is not None:
        dims.insert(0, ("B", B))
        batch = ["B"]
    for label, value in dims:
        if value < 1:
            raise WorkloadError(f"layer {name}: {label} is {value}, must be 1 or more")
    by_name = dict(dims)

    def operand(role: str, names: list[str]) -> Operand:
        return Operand(role, tuple(_plain(n, by_name[n]) for n in batch + names))

    return Layer(
        name,
        "gemm" if B is None else "matmul",
        tuple(dims),
        operand("weight", ["M", "K"]),
        operand("input", ["K", "N"]),
        operand("output", ["M", "N"]),
    )
