"""Constants of an ONNX graph: shapes at once, values when asked for.

A constant is an initialiser or the result of a node all of whose inputs are constant. Values of the latter
are computed by the reference evaluator of the `onnx` package, one node at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from seada.errors import WorkloadError
from seada.workload.graph import MAX_PARAMETER_ELEMENTS
from seada.workload.weights import resolve_beside

if TYPE_CHECKING:
    from seada.workload.graph import Shape

MAX_FOLDED_ELEMENTS = 2**30
_EXTERNAL = onnx.TensorProto.EXTERNAL

Array = NDArray[np.generic]


@dataclass
class ConstantStore:
    """Shapes of all constants found so far, and how to get their values.

    Attributes
    ----------
    file : Path
        The ONNX file; external data must lie in its directory.
    opsets : sequence of OperatorSetIdProto
        For the evaluation of nodes.
    """

    file: Path
    opsets: Sequence[Any] = ()
    shapes: dict[str, Shape] = field(default_factory=dict)
    _loaders: dict[str, Callable[[], Array]] = field(default_factory=dict)
    _small: dict[str, Array] = field(default_factory=dict)

    def add_tensor(self, name: str, tensor: Any) -> None:
        """An initialiser or the value of a Constant node (`onnx.TensorProto`)."""
        shape = tuple(int(size) for size in tensor.dims)
        if any(size < 0 for size in shape):
            raise WorkloadError(f"tensor {name}: shape {list(shape)} has a negative size")
        self.shapes[name] = shape
        self._loaders[name] = lambda: _to_array(name, tensor, self.file)

    def add_sparse(self, name: str, tensor: Any) -> None:
        """A sparse initialiser (`onnx.SparseTensorProto`)."""
        self.shapes[name] = tuple(int(size) for size in tensor.dims)
        self._loaders[name] = lambda: _to_dense(name, tensor, self.file)

    def add_array(self, name: str, array: Array) -> None:
        """A constant whose value is known."""
        self.shapes[name] = tuple(array.shape)
        self._loaders[name] = lambda: array

    def add_node(self, node: Any, shapes: Sequence[Shape | None]) -> bool:
        """The outputs of a node (`onnx.NodeProto`) with constant inputs.

        Parameters
        ----------
        shapes : sequence of shape or None
            Of the outputs, as far as known. Where one is not, the node is evaluated now if its inputs are
            small.

        Returns
        -------
        bool
            Whether the outputs are constants now.
        """
        named = [(i, name) for i, name in enumerate(node.output) if name]
        if any(shapes[i] is None for i, _ in named):
            return self._evaluate_now(node)
        for i, name in named:
            shape = shapes[i]
            assert shape is not None
            self.shapes[name] = shape
            self._loaders[name] = self._lazy(node, i, shape)
        return True

    def _lazy(self, node: Any, index: int, shape: Shape) -> Callable[[], Array]:
        def load() -> Array:
            if prod(shape) > MAX_FOLDED_ELEMENTS:
                raise WorkloadError(
                    f"node {node.name} ({node.op_type}): a constant of {list(shape)} is too large "
                    f"to compute; the limit is {MAX_FOLDED_ELEMENTS} elements"
                )
            return self._evaluate(node)[index]

        return load

    def _evaluate_now(self, node: Any) -> bool:
        if any(prod(self.shapes[name]) > MAX_PARAMETER_ELEMENTS for name in node.input if name):
            return False
        try:
            results = self._evaluate(node)
        except WorkloadError:
            return False
        for name, result in zip(node.output, results, strict=False):
            if name:
                self.add_array(name, result)
        return True

    def _evaluate(self, node: Any) -> list[Array]:
        from onnx.reference import ReferenceEvaluator

        feeds = {name: self[name] for name in dict.fromkeys(node.input) if name}
        kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feeds.items()}
        inputs = [helper.make_tensor_value_info(name, kinds[name], feeds[name].shape) for name in feeds]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "folded", inputs, outputs)
        try:
            model = helper.make_model(graph, opset_imports=list(self.opsets))
            values = ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:  # the evaluator raises whatever numpy or it itself meets
            raise WorkloadError(
                f"node {node.name} ({node.op_type}): its constant result cannot be computed: {error}"
            ) from None
        results = iter(np.asarray(value) for value in values)
        return [next(results) if name else np.zeros(0) for name in node.output]

    def parameter(self, name: str) -> Array | None:
        """The value of a constant if it is small, else None."""
        if name not in self.shapes or prod(self.shapes[name]) > MAX_PARAMETER_ELEMENTS:
            return None
        return self[name]

    def __getitem__(self, name: str) -> Array:
        if name in self._small:
            return self._small[name]
        array = self._loaders[name]()
        if array.size <= MAX_PARAMETER_ELEMENTS:
            self._small[name] = array
        return array


def _to_array(name: str, tensor: Any, file: Path) -> Array:
    try:
        if tensor.data_location == _EXTERNAL:
            tensor = _with_external_data(name, tensor, file)
        array: Array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
        raise WorkloadError(f"{file}: tensor {name!r} cannot be read: {error}") from None
    return array


def _to_dense(name: str, tensor: Any, file: Path) -> Array:
    values = _to_array(name, tensor.values, file)
    indices = _to_array(name, tensor.indices, file)
    dense = np.zeros(tuple(tensor.dims), values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def _with_external_data(name: str, tensor: Any, file: Path) -> Any:
    """A copy of the tensor that holds its data."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = resolve_beside(file, entries.get("location", ""))
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(length)
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{file}: data of tensor {name!r}: {error}") from None
    if length >= 0 and len(data) != length:
        raise WorkloadError(
            f"{file}: data of tensor {name!r}: {path.name} ends after {len(data)} of {length} bytes"
        )
    copy = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    copy.raw_data = data
    return copy


class OnnxWeights(Mapping[str, Array]):
    """Values of the constants that a network uses, read or computed when asked for."""

    def __init__(self, store: ConstantStore, names: Sequence[str]) -> None:
        self._store = store
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return self._store[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Array]]]:
        """Pickled as the values themselves, so that a network can be sent to another process."""
        return (dict, (dict(self),))
