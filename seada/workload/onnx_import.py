"""Reading of ONNX files into networks, with constant folding and without reading weights.

Everything that depends only on constants and shapes is folded away. What stays is lowered by
`seada.workload.lower`; operators without a rule stay as nodes that are not modelled. Unknown first dimensions
of inputs are a batch of 1, which a note says; other unknown dimensions must be bound by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seada.errors import UserError, WorkloadError
from seada.workload.coverage import SUBGRAPH_TYPES
from seada.workload.graph import (
    MAX_GRAPH_NODES,
    MAX_PARAMETER_ELEMENTS,
    PARAMETER_INPUTS,
    Graph,
    GraphNode,
    Shape,
    check_shape,
    execution_order,
    unique_names,
)
from seada.workload.lower import MALFORMED, build_network, malformed, shape_node
from seada.workload.onnx_dims import DimensionBinder
from seada.workload.shapes import infer_shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seada.workload.network import Network
    from seada.workload.onnx_constants import ConstantStore

_STANDARD_DOMAINS = frozenset({"", "ai.onnx"})
_CONTRIBUTED = frozenset(
    {"BiasGelu", "FastGelu", "Gelu", "QuickGelu", "RotaryEmbedding", "SimplifiedLayerNormalization"}
)
_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
_CONSTANT_FIELDS = {
    "value_float": "float32",
    "value_floats": "float32",
    "value_int": "int64",
    "value_ints": "int64",
}


def load_onnx(path: str | Path, dims: Mapping[str, int] | None = None) -> Network:
    """Read an ONNX file.

    Parameters
    ----------
    dims : mapping, optional
        Sizes of symbolic dimensions by name, or of nameless ones by ``TENSOR.AXIS``.

    Returns
    -------
    Network
        ``content_hash`` is that of the file itself, without external data.

    Raises
    ------
    WorkloadError
        If the file is no readable ONNX graph, or a shape is unknown or wrong.
    UserError
        If the `onnx` package is not installed.
    """
    file = Path(path)
    content = _read_bytes(file)
    model = _parse(content, file)
    try:
        graph = _Importer(model, file, dims or {}).graph(hashlib.sha256(content).hexdigest())
        return build_network(graph)
    except WorkloadError as error:
        message = error.message
        raise WorkloadError(message if message.startswith(str(file)) else f"{file}: {message}") from None


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise WorkloadError(f"{file}: cannot be read: {error.strerror}") from None


def _parse(content: bytes, file: Path) -> Any:
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    except ImportError:
        raise UserError("reading ONNX needs the package onnx: pip install 'seada[onnx]'") from None
    try:
        model = onnx.ModelProto.FromString(content)
    except (DecodeError, RuntimeError, ValueError):
        raise WorkloadError(f"{file}: is no ONNX file, or is cut off") from None
    if not model.HasField("graph") or not model.opset_import:
        raise WorkloadError(f"{file}: is no ONNX file, or is cut off: graph or opset_import is missing")
    if any(not isinstance(name, str) for name in _names(model.graph)):
        raise WorkloadError(f"{file}: is no ONNX file, or is damaged: a name is no UTF-8 text")
    if model.functions:
        from onnx import inliner

        model = inliner.inline_local_functions(model)
    return model


def _names(graph: Any) -> Iterator[Any]:
    """Every name in a graph; protobuf gives damaged ones as bytes."""
    yield graph.name
    yield from (tensor.name for tensor in graph.initializer)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


@dataclass
class _Importer:
    """State of one import."""

    model: Any
    file: Path
    dims: Mapping[str, int]
    shapes: dict[str, Shape] = field(default_factory=dict)
    _stated: dict[str, list[int | None]] = field(default_factory=dict)
    _library: dict[str, list[int | None]] | None = None

    def __post_init__(self) -> None:
        from seada.workload.onnx_constants import ConstantStore

        self.binder = DimensionBinder(self.dims)
        self.store: ConstantStore = ConstantStore(self.file, self.model.opset_import)
        standard = [item.version for item in self.model.opset_import if item.domain in _STANDARD_DOMAINS]
        self.opset = standard[0] if standard else 1

    def graph(self, content_hash: str) -> Graph:
        """The folded graph."""
        from seada.workload.onnx_constants import OnnxWeights

        proto = self.model.graph
        if not proto.node:
            raise WorkloadError("the graph has no nodes")
        if len(proto.node) > MAX_GRAPH_NODES:
            raise WorkloadError(f"{len(proto.node)} nodes are too many; the limit is {MAX_GRAPH_NODES}")
        for tensor in proto.initializer:
            self.store.add_tensor(tensor.name, tensor)
        for sparse in proto.sparse_initializer:
            self.store.add_sparse(sparse.values.name, sparse)
        inputs = self.binder.input_shapes([v for v in proto.input if v.name not in self.store.shapes])
        for name, shape in inputs.items():
            check_shape(name, shape)
        self.shapes = {**inputs, **self.store.shapes}
        self._stated = {
            value.name: self.binder.stated(value)
            for value in [*proto.value_info, *proto.output]
            if value.type.tensor_type.HasField("shape")
        }
        nodes = list(self._converted())
        used = {name for node in nodes for name in node.inputs} | {value.name for value in proto.output}
        constants = {name: shape for name, shape in self.store.shapes.items() if name in used}
        outputs = {name for node in nodes for name in node.outputs if name}
        return Graph(
            name=proto.name or self.file.stem,
            nodes=tuple(nodes),
            inputs=inputs,
            outputs=tuple(value.name for value in proto.output),
            constants=constants,
            shapes={name: self.shapes[name] for name in outputs},
            weights=OnnxWeights(self.store, list(constants)) if constants else None,
            source=str(self.file),
            content_hash=content_hash,
            notes=tuple(self.binder.notes),
        )

    def _ordered(self) -> Iterator[tuple[GraphNode, Any]]:
        """Nodes with names and plain attributes, in execution order, each with its protobuf."""
        protos = list(self.model.graph.node)
        kinds = [_type(proto) for proto in protos]
        names = unique_names((kind, proto.name) for kind, proto in zip(kinds, protos, strict=True))
        by_name = dict(zip(names, protos, strict=True))
        used = {value.name for value in self.model.graph.output} | set(_consumed(self.model.graph))
        nodes = [
            GraphNode(name, kind, tuple(proto.input), _used_outputs(proto, used), _attributes(proto))
            for name, kind, proto in zip(names, kinds, protos, strict=True)
        ]
        for node in execution_order(nodes, self.shapes):
            yield node, by_name[node.name]

    def _converted(self) -> Iterator[GraphNode]:
        """The nodes that stay."""
        for node, proto in self._ordered():
            try:
                converted = self._convert(node, proto)
            except MALFORMED as error:
                raise malformed(node, error) from None
            if converted is not None:
                yield converted

    def _convert(self, node: GraphNode, proto: Any) -> GraphNode | None:
        """Fold the node, or give it the form of `seada.workload.graph` and find its output shapes."""
        if self._fold_value(node, proto):
            return None
        node = self._with_parameters(self._with_defaults(node))
        if self._fold_inputs(node, proto):
            return None
        shape_node(node, self.shapes, {}, self._library_shape)
        self._cross_check(node)
        return node

    def _fold_value(self, node: GraphNode, proto: Any) -> bool:
        """Constants, and the shapes of tensors."""
        if node.type == "Constant":
            self._add_constant(node, proto)
        elif node.type == "ConstantOfShape" and node.inputs[0] in self.store.shapes:
            shape = self.store.parameter(node.inputs[0])
            if shape is None or any(size < 0 for size in shape.tolist()):
                raise WorkloadError(f"node {node.name} ({node.type}): {node.inputs[0]!r} is no list of sizes")
            self.store.add_node(proto, [tuple(int(size) for size in shape.tolist())])
        elif node.type == "Shape":
            sizes = self.shapes[node.inputs[0]][node.attributes.get("start", 0) : node.attributes.get("end")]
            self.store.add_array(node.outputs[0], np.array(sizes, np.int64))
        elif node.type == "Size":
            self.store.add_array(node.outputs[0], np.array(prod(self.shapes[node.inputs[0]]), np.int64))
        else:
            return False
        self._take_constants(node)
        return True

    def _take_constants(self, node: GraphNode) -> None:
        for name in filter(None, node.outputs):
            self.shapes[name] = self.store.shapes[name]

    def _add_constant(self, node: GraphNode, proto: Any) -> None:
        for attribute in proto.attribute:
            if attribute.name == "value":
                return self.store.add_tensor(node.outputs[0], attribute.t)
            if attribute.name in _CONSTANT_FIELDS:
                value = node.attributes[attribute.name]
                return self.store.add_array(
                    node.outputs[0], np.array(value, _CONSTANT_FIELDS[attribute.name])
                )
        raise WorkloadError(f"node {node.name} (Constant): has no value of numbers")

    def _fold_inputs(self, node: GraphNode, proto: Any) -> bool:
        """Nodes all of whose inputs are constant."""
        present = [name for name in proto.input if name]
        if not present or node.type in _RANDOM or SUBGRAPH_TYPES in node.attributes:
            return False
        if not all(name in self.store.shapes for name in present):
            return False
        inputs = [self.shapes[name] for name in node.inputs if name]
        try:
            inferred: list[Shape | None] = [*(infer_shapes(node.type, node.attributes, inputs) or [])]
        except WorkloadError as error:
            raise WorkloadError(f"node {node.name} ({node.type}): {error.message}") from None
        inferred += [None] * (len(node.outputs) - len(inferred))
        if not self.store.add_node(proto, inferred):
            return False
        self._take_constants(node)
        return True

    def _with_parameters(self, node: GraphNode) -> GraphNode:
        """Constant inputs that are parameters become attributes."""
        places = PARAMETER_INPUTS.get(node.type, {})
        attributes, inputs = dict(node.attributes), list(node.inputs)
        for index, key in places.items():
            value = self.store.parameter(inputs[index]) if index < len(inputs) and inputs[index] else None
            if value is None:
                continue
            inputs[index] = ""
            if value.size and not (node.type == "Clip" and _is_infinite(value)):
                attributes[key] = _plain(value)
        while inputs and not inputs[-1]:
            inputs.pop()
        return GraphNode(node.name, node.type, tuple(inputs), node.outputs, attributes)

    def _with_defaults(self, node: GraphNode) -> GraphNode:
        """Defaults that changed between operator sets, written out in today's meaning."""
        attributes = dict(node.attributes)
        if node.type in ("Softmax", "LogSoftmax", "Hardmax") and self.opset < 13:
            attributes.setdefault("axis", 1)
        if node.type == "Concat":
            attributes.setdefault("axis", 1)
        if node.type == "Split" and len(node.inputs) < 2 and "split" not in attributes:
            attributes.setdefault("num_outputs", len(node.outputs))
        return GraphNode(node.name, node.type, node.inputs, node.outputs, attributes)

    def _cross_check(self, node: GraphNode) -> None:
        """The sizes of a convolution's output that the file states must be those of our own formula."""
        if node.type != "Conv":
            return
        own = self.shapes[node.outputs[0]]
        stated = self._stated.get(node.outputs[0], [])
        if len(stated) == len(own) and any(
            size not in (None, expected) for size, expected in zip(stated[1:], own[1:], strict=True)
        ):
            raise WorkloadError(
                f"node {node.name} (Conv): the file says that tensor {node.outputs[0]!r} has shape "
                f"{stated}, by its attributes it has {list(own)}"
            )

    def _library_shape(self, name: str) -> Shape | None:
        """The shape by the file or the `onnx` package, for operators without a rule of our own."""
        if self._library is None:
            self._library = {**self._stated, **self._infer_by_library()}
        sizes = self._library.get(name)
        if sizes is None or any(size is None for size in sizes):
            return None
        return tuple(size for size in sizes if size is not None)

    def _infer_by_library(self) -> dict[str, list[int | None]]:
        """Shape inference of the `onnx` package on the graph without the values of large constants."""
        import onnx
        from onnx import helper, shape_inference

        proto = self.model.graph
        large, small = [], []
        for tensor in proto.initializer:
            if tensor.data_location == tensor.DEFAULT and prod(tensor.dims) <= MAX_PARAMETER_ELEMENTS:
                small.append(tensor)
            else:
                large.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        inputs = []
        for value in proto.input:
            if value.name in self.shapes and value.name not in self.store.shapes:
                kind = value.type.tensor_type.elem_type
                inputs.append(helper.make_tensor_value_info(value.name, kind, self.shapes[value.name]))
        graph = helper.make_graph(list(proto.node), "shapes", inputs + large, list(proto.output), small)
        bare = helper.make_model(graph, opset_imports=list(self.model.opset_import))
        try:
            inferred = shape_inference.infer_shapes(bare, data_prop=True).graph
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            return {}
        return {
            value.name: self.binder.stated(value)
            for value in [*inferred.value_info, *inferred.output]
            if value.type.tensor_type.HasField("shape")
        }


def _type(proto: Any) -> str:
    """The operator type; with its domain in front where it is not one of ONNX."""
    if proto.domain in _STANDARD_DOMAINS or (
        proto.domain == "com.microsoft" and proto.op_type in _CONTRIBUTED
    ):
        return str(proto.op_type)
    return f"{proto.domain}.{proto.op_type}"


def _attributes(proto: Any) -> dict[str, Any]:
    """Numbers, texts and lists of them; of subgraphs only the types of their nodes."""
    from onnx import AttributeProto, helper

    result: dict[str, Any] = {}
    inner: list[str] = []
    for attribute in proto.attribute:
        kind = attribute.type
        if kind in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            graphs = [attribute.g] if kind == AttributeProto.GRAPH else attribute.graphs
            inner += [name for graph in graphs for name in _inner_types(graph)]
        elif kind in _PLAIN_ATTRIBUTES:
            result[attribute.name] = _text(helper.get_attribute_value(attribute))
    if inner:
        result[SUBGRAPH_TYPES] = inner
    return result


_PLAIN_ATTRIBUTES = frozenset({1, 2, 3, 6, 7, 8})
"""`AttributeProto.AttributeType` of FLOAT, INT, STRING and lists of them."""


def _consumed(graph: Any) -> Iterator[str]:
    """Names that nodes read, those of subgraphs included."""
    from onnx import AttributeProto

    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from (value.name for value in attribute.g.output)
                yield from _consumed(attribute.g)


def _used_outputs(proto: Any, used: set[str]) -> tuple[str, ...]:
    """The outputs; those after the first that nobody reads are left out."""
    outputs = [name if index == 0 or name in used else "" for index, name in enumerate(proto.output)]
    while len(outputs) > 1 and not outputs[-1]:
        outputs.pop()
    return tuple(outputs)


def _inner_types(graph: Any) -> Iterator[str]:
    from onnx import AttributeProto

    for node in graph.node:
        if node.op_type != "Constant":
            yield _type(node)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _inner_types(attribute.g)


def _text(value: Any) -> Any:
    """Bytes as text, sequences as lists."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float | str):
        return value
    return [_text(item) for item in value]


def _plain(value: NDArray[Any]) -> Any:
    """A parameter as a number or a list of numbers; truth values as 0 and 1."""
    numbers = value.astype("int64") if value.dtype == bool else value
    return numbers.tolist() if numbers.ndim < 2 else numbers.reshape(-1).tolist()


def _is_infinite(value: NDArray[Any]) -> bool:
    return bool(np.isinf(value).any())
