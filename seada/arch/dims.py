"""Classes of dimensions: names that an architecture may use in place of a layer's own dimensions.

The same letter means different things in different layers (K is an output channel of a convolution and the
reduction of a GEMM), so hardware that unrolls "input channels" says so by class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from seada.config.problems import did_you_mean
from seada.errors import UserError
from seada.workload.layer import Layer

REDUCTION = "reduction"
INPUT_CHANNEL = "input_channel"
OUTPUT = "output"
OUTPUT_CHANNEL = "output_channel"
POSITION = "position"

_DIMENSION = re.compile(r"[A-Z][A-Za-z0-9_]*")


def _windowed(layer: Layer) -> frozenset[str]:
    """Dimensions that share an axis of the input with another one: those of a sliding window."""
    return frozenset(name for axis in layer.input.axes if len(axis.terms) > 1 for name, _ in axis.terms)


_CLASSES: dict[str, Callable[[Layer], frozenset[str]]] = {
    # C R S of a convolution, K of a product
    REDUCTION: lambda layer: layer.reduction_dims,
    # C of a convolution, K of a product
    INPUT_CHANNEL: lambda layer: layer.reduction_dims - _windowed(layer),
    OUTPUT: lambda layer: layer.output.dims,
    # K of a convolution, M of a product
    OUTPUT_CHANNEL: lambda layer: layer.output.dims - layer.input.dims,
    # N P Q of a convolution, N of a product
    POSITION: lambda layer: layer.output.dims - layer.weight.dims,
}


def check_dim(name: str) -> str:
    """Return a dimension or class of dimensions, or raise `UserError`."""
    if name in _CLASSES or _DIMENSION.fullmatch(name):
        return name
    raise UserError(
        f"{name!r} is no dimension; allowed: capital letters (K, C, P ...) and the classes "
        f"{', '.join(_CLASSES)}{did_you_mean(name, _CLASSES)}"
    )


def is_class(name: str) -> bool:
    """Whether this is a class and not a dimension."""
    return name in _CLASSES


def resolve_dims(names: Iterable[str], layer: Layer) -> frozenset[str]:
    """Dimensions of `layer` that the names and classes stand for."""
    groups = (_CLASSES[name](layer) if name in _CLASSES else frozenset({name}) for name in names)
    return frozenset().union(*groups) & frozenset(layer.extents)
