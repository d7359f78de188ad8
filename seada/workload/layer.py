"""One layer: a box of named dimensions, and operands whose axes are affine in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

ROLES = ("weight", "input", "output")


@dataclass(frozen=True)
class Axis:
    """One axis of an operand: coordinate = sum(coefficient * dimension) - offset.

    A coordinate in ``0 <= x < size`` is data; any other is padding, which is not stored or moved.

    Attributes
    ----------
    terms : tuple of (dimension name, coefficient)
        One term, or two for a sliding window (stride * p + dilation * r).
    offset : int
        Padding before the first element.
    size : int
        Elements of data along the axis.
    """

    terms: tuple[tuple[str, int], ...]
    offset: int
    size: int


@dataclass(frozen=True)
class Operand:
    """A tensor of a layer by its role (``weight``, ``input`` or ``output``)."""

    role: str
    axes: tuple[Axis, ...]

    @cached_property
    def dims(self) -> frozenset[str]:
        """Names of the dimensions that this operand depends on."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)


@dataclass(frozen=True)
class Layer:
    """A layer that runs on MACs: one integer point of the box is one MAC.

    Attributes
    ----------
    name : str
    kind : str
        ``conv``, ``depthwise_conv``, ``gemm``, ``matmul`` or ``einsum``: for reports only.
    dims : tuple of (name, extent)
        Convolution: N G K C P Q R S (K and C per group); 3-D adds O and T; GEMM: M N K; matmul: B M N K.
        Only names that occur in an operand.
    weight, input, output : Operand
        The output's axes have one term each, with coefficient 1 and no offset.
    """

    name: str
    kind: str
    dims: tuple[tuple[str, int], ...]
    weight: Operand
    input: Operand
    output: Operand

    @cached_property
    def extents(self) -> dict[str, int]:
        """Extent by dimension name."""
        return dict(self.dims)

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        """Weight, input and output, in the order of `ROLES`."""
        return (self.weight, self.input, self.output)

    def operand(self, role: str) -> Operand:
        """The operand of that role."""
        return self.operands[ROLES.index(role)]

    @cached_property
    def reduction_dims(self) -> frozenset[str]:
        """Dimensions that do not occur in the output."""
        return frozenset(name for name, _ in self.dims) - self.output.dims

    @cached_property
    def channel_elements(self) -> int:
        """Elements of the weight that belong to one output channel (and batch, where it has one)."""
        return prod(self.extents[name] for name in self.weight.dims & self.reduction_dims)

    @cached_property
    def macs(self) -> int:
        """Number of MACs: the volume of the box."""
        return prod(extent for _, extent in self.dims)

    def elements(self, role: str) -> int:
        """Elements of data of a tensor as declared (not only those that are touched)."""
        return prod(axis.size for axis in self.operand(role).axes)
