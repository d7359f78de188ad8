"""Own YAML form of a network: a list of layers, or a graph with the operators and attributes of ONNX.

::

    schema_version: 1                              schema_version: 1
    name: two_layers                               name: small
    layers:                                        graph:
      - {name: a, type: conv, K: 8, C: 3,            inputs: {x: [1, 3, 8, 8]}
         P: 8, Q: 8, R: 3, S: 3, pad: 1}             outputs: [y]
      - {name: b, type: gemm, M: 10, N: 1, K: 64}    constants: {w: [4, 3, 3, 3]}
                                                     nodes:
                                                       - {name: c, type: Conv, inputs: [x, w], outputs: [y]}

Shapes of other tensors are inferred. Constants may stand in an ``.npz`` file beside the YAML file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seada.config.base import ConfigModel, FormatName, SchemaVersion, as_value_error
from seada.config.yaml_file import read_document, validate_document
from seada.errors import WorkloadError
from seada.formats import Precision, parse_format
from seada.workload.fields import Fields, make_layer
from seada.workload.graph import MAX_GRAPH_NODES, Graph, GraphNode, Shape, unique_names
from seada.workload.layer import Layer
from seada.workload.lower import build_network
from seada.workload.network import Network
from seada.workload.weights import NpzWeights, resolve_beside

MAX_REPEAT = 10_000
Name = Annotated[str, Field(min_length=1, max_length=1000)]
PerAxis = int | list[int] | None
AttributeValue = int | float | str | list[int | float | str]


class PrecisionFields(ConfigModel):
    """Numeric format of each operand."""

    weight: FormatName
    input: FormatName
    accumulator: FormatName
    output: FormatName

    def to_precision(self) -> Precision:
        """As the contract object."""
        return Precision(
            parse_format(self.weight),
            parse_format(self.input),
            parse_format(self.accumulator),
            parse_format(self.output),
        )


class LayerFields(ConfigModel):
    """One layer of a named type; sizes as in the one-line form (K and C are totals, P and Q output sizes)."""

    name: Name
    type: Literal["conv", "gemm", "matmul"]
    K: int | None = None
    C: int | None = None
    O: int | None = None  # noqa: E741 - the field's letter for output depth
    P: int | None = None
    Q: int | None = None
    T: int | None = None
    R: int | None = None
    S: int | None = None
    M: int | None = None
    N: int | None = None
    B: int | None = None
    groups: int | None = None
    stride: PerAxis = None
    dilation: PerAxis = None
    pad: PerAxis = None
    """Padding before the first element, per axis or the same for all."""
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)] = 1
    """How many layers of this shape the network has; they are named NAME_1, NAME_2 ..."""
    precision: PrecisionFields | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        as_value_error(self.to_layer)()
        return self

    def fields(self) -> Fields:
        """The fields that are given, as `make_layer` takes them."""
        skip = {"name", "type", "repeat", "precision"}
        return {key: value for key, value in self if key not in skip and value is not None}

    def to_layer(self) -> Layer:
        """The layer of these fields."""
        return make_layer(self.name, self.type, self.fields())


class NodeFields(ConfigModel):
    """One operator: type, inputs, outputs and attributes as in ONNX.

    Parameters that ONNX takes as inputs (shape of Reshape, axes, bounds of Clip ...) are attributes.
    """

    name: str = ""
    """Unique; by default type and index."""
    type: Name
    inputs: list[str]
    """Tensor names; an optional input that is left out is an empty text."""
    outputs: list[str]
    attributes: dict[str, AttributeValue] = Field(default_factory=dict)
    precision: PrecisionFields | None = None


class GraphFields(ConfigModel):
    """A graph of operators and the tensors between them."""

    inputs: dict[Name, list[int]]
    """Shape of each input of the network."""
    outputs: Annotated[list[Name], Field(min_length=1)]
    weights: Name | None = None
    """File of constants (.npz) in the directory of this file."""
    constants: dict[Name, list[int]] = Field(default_factory=dict)
    """Shape of each constant that is not in the file of weights."""
    tensors: dict[Name, list[int]] = Field(default_factory=dict)
    """Shapes of other tensors, needed only where they cannot be inferred."""
    nodes: Annotated[list[NodeFields], Field(min_length=1, max_length=MAX_GRAPH_NODES)]


class WorkloadFile(ConfigModel):
    """A network: either `layers` or `graph`."""

    schema_version: SchemaVersion
    name: Name | None = None
    """By default the name of the file."""
    layers: Annotated[list[LayerFields], Field(min_length=1, max_length=MAX_GRAPH_NODES)] | None = None
    graph: GraphFields | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.layers is None) == (self.graph is None):
            raise ValueError("exactly one of 'layers' and 'graph' is needed")
        return self


def load_yaml_network(path: str | Path) -> Network:
    """Read a network from our own YAML form.

    Raises
    ------
    ConfigError
        With the place of every problem of the file's form.
    WorkloadError
        If the graph or its file of weights is broken.
    """
    document = read_document(path)
    content = validate_document(document, WorkloadFile)
    name = content.name or Path(path).stem
    try:
        if content.layers is not None:
            return build_network(_layers_graph(content.layers, name, str(path), document.sha256))
        assert content.graph is not None
        return build_network(_graph(content.graph, name, Path(path), document.sha256))
    except WorkloadError as error:
        message = error.message
        raise WorkloadError(message if message.startswith(str(path)) else f"{path}: {message}") from None


def _graph(fields: GraphFields, name: str, path: Path, sha256: str) -> Graph:
    weights = None if fields.weights is None else NpzWeights(resolve_beside(path, fields.weights))
    constants = {key: tuple(shape) for key, shape in fields.constants.items()}
    content_hash = sha256
    if weights is not None:
        constants = _join_constants(constants, weights)
        content_hash = hashlib.sha256(f"{sha256} {weights.sha256()}".encode()).hexdigest()
    names = unique_names((node.type, node.name) for node in fields.nodes)
    return Graph(
        name=name,
        nodes=tuple(_node(node, unique) for node, unique in zip(fields.nodes, names, strict=True)),
        inputs={key: tuple(shape) for key, shape in fields.inputs.items()},
        outputs=tuple(fields.outputs),
        constants=constants,
        shapes={key: tuple(shape) for key, shape in fields.tensors.items()},
        weights=weights,
        source=str(path),
        content_hash=content_hash,
    )


def _join_constants(stated: Mapping[str, Shape], weights: NpzWeights) -> dict[str, Shape]:
    for name, shape in stated.items():
        if name in weights and weights.shapes[name] != shape:
            raise WorkloadError(
                f"constant {name!r} has shape {list(shape)}, "
                f"but {list(weights.shapes[name])} in {weights.path.name}"
            )
    return {**stated, **weights.shapes}


def _node(fields: NodeFields, name: str) -> GraphNode:
    return GraphNode(
        name=name,
        type=fields.type,
        inputs=tuple(fields.inputs),
        outputs=tuple(fields.outputs),
        attributes=fields.attributes,
        precision=fields.precision.to_precision() if fields.precision else None,
    )


def _layers_graph(layers: list[LayerFields], name: str, source: str, content_hash: str) -> Graph:
    """Each layer as a node of its own with own tensors: a list says nothing of how layers are connected."""
    nodes: list[GraphNode] = []
    inputs: dict[str, Shape] = {}
    constants: dict[str, Shape] = {}
    for fields in layers:
        for index in range(fields.repeat):
            unique = fields.name if fields.repeat == 1 else f"{fields.name}_{index + 1}"
            node, data, weight = _layer_node(fields, unique)
            nodes.append(node)
            inputs[node.inputs[0]] = data
            (inputs if fields.type == "matmul" else constants)[node.inputs[1]] = weight
    counts = Counter(node.name for node in nodes)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise WorkloadError(f"layer names must be unique; repeated: {', '.join(repeated[:10])}")
    outputs = tuple(node.outputs[0] for node in nodes)
    return Graph(name, tuple(nodes), inputs, outputs, constants, source=source, content_hash=content_hash)


def _layer_node(fields: LayerFields, name: str) -> tuple[GraphNode, Shape, Shape]:
    """The node of a layer, and the shapes of its data and weight tensors."""
    layer = fields.to_layer()
    size = layer.extents
    precision = fields.precision.to_precision() if fields.precision else None
    attributes: dict[str, AttributeValue] = {}
    if fields.type == "conv":
        windows = layer.input.axes[3:]
        kernel = [size[axis.terms[1][0]] for axis in windows]
        data = (size["N"], size["G"] * size["C"], *(axis.size for axis in windows))
        weight = (size["G"] * size["K"], size["C"], *kernel)
        attributes = _conv_attributes(layer)
        kind = "Conv"
    elif fields.type == "gemm":
        data, weight = (size["N"], size["K"]), (size["M"], size["K"])
        attributes = {"transB": 1}
        kind = "Gemm"
    else:
        data, weight = (size["B"], size["N"], size["K"]), (size["B"], size["K"], size["M"])
        kind = "MatMul"
    inputs = (f"{name}.input", f"{name}.weight")
    return GraphNode(name, kind, inputs, (f"{name}.output",), attributes, precision), data, weight


def _conv_attributes(layer: Layer) -> dict[str, AttributeValue]:
    windows = layer.input.axes[3:]
    stride = [axis.terms[0][1] for axis in windows]
    dilation = [axis.terms[1][1] for axis in windows]
    begin = [axis.offset for axis in windows]
    end = []
    for axis, step, gap in zip(windows, stride, dilation, strict=True):
        (output, _), (kernel, _) = axis.terms
        reach = step * (layer.extents[output] - 1) + gap * (layer.extents[kernel] - 1) + 1
        end.append(reach - axis.size - axis.offset)
    return {
        "group": layer.extents["G"],
        "strides": [*stride],
        "dilations": [*dilation],
        "pads": [*begin, *end],
    }
