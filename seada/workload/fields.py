"""The named layer types and their fields, shared by the one-line form and the YAML list of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seada.config.problems import did_you_mean
from seada.errors import WorkloadError
from seada.workload.build import conv, matmul
from seada.workload.layer import Layer

MAX_EXTENT = 2**40
MAX_AXES = 3
PER_AXIS = ("stride", "dilation", "pad")
_OUTPUTS = ("O", "P", "Q")
_KERNELS = ("T", "R", "S")


@dataclass(frozen=True)
class LayerType:
    """Which fields a named type takes; a convolution's spatial fields depend on its number of axes."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """All fields, required first."""
        return self.required + self.optional


LAYER_TYPES = {
    "conv": LayerType(("K", "C", "Q", "S"), ("P", "R", "O", "T", "N", "groups", "stride", "dilation", "pad")),
    "gemm": LayerType(("M", "N", "K")),
    "matmul": LayerType(("B", "M", "N", "K")),
}
Fields = Mapping[str, int | Sequence[int]]


def make_layer(name: str, kind: str, fields: Fields) -> Layer:
    """A layer of a named type.

    Parameters
    ----------
    kind : str
        A key of `LAYER_TYPES`.
    fields : mapping
        Sizes as int; ``stride``, ``dilation`` and ``pad`` as one int for all axes or one per axis, in the
        order of the data (P, Q). One-dimensional convolutions have Q and S, two-dimensional ones P and R
        too, three-dimensional ones O and T too.

    Raises
    ------
    WorkloadError
        If a field is unknown, missing or out of range; the message names what is allowed.
    """
    check_fields(kind, fields)
    if kind == "conv":
        return _make_conv(name, fields)
    sizes = {key: _size(key, fields[key]) for key in LAYER_TYPES[kind].required}
    return matmul(name, **sizes)


def check_fields(kind: str, fields: Fields) -> None:
    """Raise `WorkloadError` if the type or a field is unknown, missing or out of range."""
    if kind not in LAYER_TYPES:
        raise WorkloadError(
            f"{kind!r} is no layer type; allowed: {', '.join(LAYER_TYPES)}{did_you_mean(kind, LAYER_TYPES)}"
        )
    layer_type = LAYER_TYPES[kind]
    for key in fields:
        if key not in layer_type.allowed:
            raise WorkloadError(
                f"{kind} has no key {key!r}; allowed: {', '.join(layer_type.allowed)}"
                f"{did_you_mean(key, layer_type.allowed)}"
            )
    missing = [key for key in layer_type.required if key not in fields]
    if missing:
        raise WorkloadError(f"{kind} needs {', '.join(missing)}; allowed: {', '.join(layer_type.allowed)}")
    for key, value in fields.items():
        for single in value if isinstance(value, Sequence) else (value,):
            _check_range(key, single)


def _check_range(key: str, value: int) -> None:
    least = 0 if key == "pad" else 1
    if not least <= value <= MAX_EXTENT:
        raise WorkloadError(f"{key}={value} is out of range; allowed: {least} to {MAX_EXTENT}")


def _size(key: str, value: int | Sequence[int]) -> int:
    if isinstance(value, Sequence):
        raise WorkloadError(f"{key} takes one number, found {len(value)}")
    return value


def _make_conv(name: str, fields: Fields) -> Layer:
    axes = _count_axes(fields)
    sizes = {key: _size(key, fields[key]) for key in fields if key not in PER_AXIS}
    per_axis = {key: _spread(key, fields[key], axes) for key in PER_AXIS if key in fields}
    return conv(
        name,
        outputs=[sizes[key] for key in _OUTPUTS[MAX_AXES - axes :]],
        kernel=[sizes[key] for key in _KERNELS[MAX_AXES - axes :]],
        K=sizes["K"],
        C=sizes["C"],
        N=sizes.get("N", 1),
        groups=sizes.get("groups", 1),
        **per_axis,
    )


def _count_axes(fields: Fields) -> int:
    """Spatial axes by which of O, P, Q and T, R, S are given; each output size needs its kernel size."""
    axes = 1
    for output, kernel in (("P", "R"), ("O", "T")):
        if (output in fields) != (kernel in fields):
            given, absent = (output, kernel) if output in fields else (kernel, output)
            raise WorkloadError(f"conv has {given} and no {absent}; give both, or neither for fewer axes")
        axes += output in fields
    if "O" in fields and "P" not in fields:
        raise WorkloadError(
            "conv has O and T and no P and R; a convolution in three axes needs O P Q and T R S"
        )
    return axes


def _spread(key: str, value: int | Sequence[int], axes: int) -> tuple[int, ...]:
    if not isinstance(value, Sequence):
        return (value,) * axes
    if len(value) == 1:
        return (value[0],) * axes
    if len(value) != axes:
        raise WorkloadError(f"{key} has {len(value)} values; allowed: one, or {axes} (one per axis)")
    return tuple(value)
