"""Dimensions of ONNX graphs that the file leaves open: bound by name, or the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seada.config.problems import did_you_mean
from seada.errors import WorkloadError
from seada.workload.graph import MAX_SIZE, Shape

_UNNAMED = frozenset({"", "?", "-1", "None", "none", "unk"})


@dataclass
class DimensionBinder:
    """Resolves the shapes of graph inputs.

    Attributes
    ----------
    given : mapping
        Sizes by symbol, or by ``TENSOR.AXIS`` for dimensions without a name.
    batch : set of str
        Symbols that were taken as the batch of 1.
    notes : list of str
        What was assumed.
    """

    given: Mapping[str, int]
    batch: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _unknown: list[str] = field(default_factory=list)

    def input_shapes(self, inputs: Sequence[Any]) -> dict[str, Shape]:
        """Shapes of all graph inputs (`onnx.ValueInfoProto`).

        Raises
        ------
        WorkloadError
            If an input is no tensor of known rank, a dimension stays unknown, or a given name does not occur.
        """
        for value in inputs:
            if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
                raise WorkloadError(
                    f"input {value.name!r} is no tensor of known rank; state its shape in the file"
                )
        for value in inputs:
            self._find_batch(value)
        shapes = {value.name: self._resolve(value) for value in inputs}
        self._check()
        return shapes

    def stated(self, value: Any) -> list[int | None]:
        """Sizes that the file states of another tensor; None where it leaves them open."""
        sizes: list[int | None] = []
        for dim in value.type.tensor_type.shape.dim:
            size = dim.dim_value if dim.dim_value > 0 else self._by_symbol(dim.dim_param)
            sizes.append(size)
        return sizes

    def _find_batch(self, value: Any) -> None:
        dims = value.type.tensor_type.shape.dim
        if len(dims) < 2 or dims[0].dim_value > 0:
            return
        symbol = dims[0].dim_param
        if self._by_symbol(symbol) is None and f"{value.name}.0" not in self.given and symbol not in _UNNAMED:
            self.batch.add(symbol)
            self._note(f"dimension {symbol!r} is taken as a batch of 1")

    def _resolve(self, value: Any) -> Shape:
        dims = value.type.tensor_type.shape.dim
        return tuple(self._size(value.name, axis, dim, len(dims)) for axis, dim in enumerate(dims))

    def _size(self, tensor: str, axis: int, dim: Any, rank: int) -> int:
        key = f"{tensor}.{axis}"
        self._seen.update((key, dim.dim_param))
        if dim.dim_value > 0:
            if key in self.given:
                raise WorkloadError(f"dimension {key} is {dim.dim_value} in the file and cannot be bound")
            return int(dim.dim_value)
        size = self._by_symbol(dim.dim_param)
        if key in self.given:
            size = self.given[key]
        if size is None and axis == 0 and rank >= 2:
            self._note(f"input {tensor!r}: its first dimension is not known and is taken as a batch of 1")
            size = 1
        if size is None:
            name = dim.dim_param if dim.dim_param not in _UNNAMED else key
            self._unknown.append(f"axis {axis} of tensor {tensor!r} (bind {name}=SIZE)")
            return 1
        return size

    def _by_symbol(self, symbol: str) -> int | None:
        if symbol in self.given:
            return self.given[symbol]
        return 1 if symbol in self.batch else None

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _check(self) -> None:
        for name, size in self.given.items():
            if name not in self._seen:
                symbols = sorted(self._seen - {""})
                raise WorkloadError(
                    f"{name!r} is no dimension of an input; known: {', '.join(symbols)}"
                    f"{did_you_mean(name, symbols)}"
                )
            if not 1 <= size <= MAX_SIZE:
                raise WorkloadError(f"dimension {name}={size} is out of range; allowed: 1 to {MAX_SIZE}")
        if self._unknown:
            raise WorkloadError(f"dimensions are not known: {'; '.join(self._unknown)}")
