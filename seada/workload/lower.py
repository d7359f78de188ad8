"""From a graph to a network: shapes of all tensors, MAC layers and vector work of every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from seada.errors import WorkloadError
from seada.workload.build import conv, matmul
from seada.workload.graph import Graph, GraphNode, Shape, check_shape, execution_order
from seada.workload.layer import Layer
from seada.workload.network import Network, Node, Tensor, VectorWork
from seada.workload.operators import Operands, vector_work
from seada.workload.shapes import gemm_sizes, infer_shapes
from seada.workload.window import resolve_window

_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Transpose"})
ShapeSource = Callable[[str], Shape | None]


@dataclass
class _Lowering:
    """State while the nodes of one graph are lowered in execution order."""

    graph: Graph
    shapes: dict[str, Shape]
    constants: set[str]
    producers: dict[str, Node] = field(default_factory=dict)


def build_network(graph: Graph) -> Network:
    """The network of a graph: all shapes inferred, every node lowered.

    Raises
    ------
    WorkloadError
        If the graph is broken, a shape is unknown or does not fit; the message names node and tensor.
    """
    if not graph.nodes:
        raise WorkloadError(f"{graph.name}: the graph has no nodes")
    state = _Lowering(graph, {}, set(graph.constants))
    for name, shape in {**graph.inputs, **graph.constants}.items():
        state.shapes[name] = check_shape(name, shape)
    nodes = []
    for node in execution_order(graph.nodes, state.shapes):
        shape_node(node, state.shapes, graph.shapes)
        lowered = _lower(node, state)
        nodes.append(lowered)
        state.producers.update(dict.fromkeys(filter(None, node.outputs), lowered))
    for name in graph.outputs:
        if name not in state.shapes:
            raise WorkloadError(f"{graph.name}: output {name!r} is no tensor of the graph")
    return Network(
        name=graph.name,
        nodes=tuple(nodes),
        tensors={name: Tensor(name, shape, name in state.constants) for name, shape in state.shapes.items()},
        inputs=tuple(graph.inputs),
        outputs=tuple(graph.outputs),
        source=graph.source,
        content_hash=graph.content_hash,
        weights=graph.weights,
        notes=graph.notes,
    )


def shape_node(
    node: GraphNode,
    shapes: dict[str, Shape],
    stated: Mapping[str, Shape],
    fallback: ShapeSource = lambda name: None,
) -> None:
    """Infer the output shapes of a node and put them into `shapes`.

    Parameters
    ----------
    stated : mapping
        Shapes that the file states: used where there is no rule of our own, else checked.
    fallback : callable
        Asked for the shape of a tensor where neither is known.

    Raises
    ------
    WorkloadError
        If a shape is unknown or the stated one differs.
    """
    present = [shapes[name] for name in node.inputs if name]
    try:
        inferred = infer_shapes(node.type, node.attributes, present)
    except WorkloadError as error:
        raise WorkloadError(f"node {node.name} ({node.type}): {error.message}{_tensors(node)}") from None
    for index, name in enumerate(node.outputs):
        if not name:
            continue
        own = inferred[index] if inferred is not None and index < len(inferred) else None
        given = stated.get(name)
        if own is None and given is None:
            given = fallback(name)
        if own is None and given is None:
            raise WorkloadError(
                f"node {node.name} ({node.type}): the shape of tensor {name!r} is not known; state it, "
                f"or bind the dimensions it depends on"
            )
        if own is not None and given is not None and tuple(own) != tuple(given):
            raise WorkloadError(
                f"node {node.name} ({node.type}): tensor {name!r} has shape {list(own)}, "
                f"but the file says {list(given)}"
            )
        shapes[name] = _checked(node, name, own if own is not None else given)


MALFORMED = (IndexError, KeyError, TypeError, ValueError, OverflowError)
"""What a node with too few inputs or attributes of the wrong type makes the rules raise."""


def malformed(node: GraphNode, error: Exception) -> WorkloadError:
    """The error for a node that is not of the form that its type needs."""
    return WorkloadError(
        f"node {node.name} ({node.type}): inputs, outputs or attributes are not those of its type "
        f"({type(error).__name__}: {error}){_tensors(node)}"
    )


def _checked(node: GraphNode, tensor: str, shape: Shape | None) -> Shape:
    assert shape is not None
    try:
        return check_shape(tensor, shape)
    except WorkloadError as error:
        raise WorkloadError(f"node {node.name} ({node.type}): {error.message}") from None


def _tensors(node: GraphNode) -> str:
    return f" (inputs {', '.join(repr(name) for name in node.inputs if name)})"


def _lower(node: GraphNode, state: _Lowering) -> Node:
    plain = Node(
        name=node.name,
        type=node.type,
        inputs=node.inputs,
        outputs=node.outputs,
        attributes=dict(node.attributes),
        precision=node.precision,
    )
    try:
        if node.type not in _MAC_TYPES:
            return replace(plain, work=_vector_work(node, state))
        layer, weight, data = _MAC_TYPES[node.type](node, state)
        return replace(plain, layers=(layer,), weight=weight, input=data, work=_bias_work(node, state))
    except WorkloadError as error:
        raise WorkloadError(f"node {node.name} ({node.type}): {error.message}{_tensors(node)}") from None
    except MALFORMED as error:
        raise malformed(node, error) from None


def _bias_work(node: GraphNode, state: _Lowering) -> VectorWork | None:
    """The addition of a bias in the drain of a MAC layer."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return None
    return VectorWork(prod(state.shapes[node.outputs[0]]), fuses=True)


def _vector_work(node: GraphNode, state: _Lowering) -> VectorWork | None:
    present = [name for name in node.inputs if name]
    producer = state.producers.get(present[0]) if present else None
    if node.type == "Add" and producer is None and len(present) == 2:
        producer = state.producers.get(present[1])
    operands = Operands(
        inputs=[state.shapes[name] for name in present],
        outputs=[state.shapes[name] for name in node.outputs if name],
        has_producer=producer is not None,
        behind_macs=_behind_macs(producer, state),
        adds_bias=_adds_bias(node, state),
    )
    return vector_work(node.type, node.attributes, operands)


def _behind_macs(producer: Node | None, state: _Lowering) -> bool:
    """Whether a node is a MAC layer, or a view of the output of one."""
    while producer is not None and not producer.layers:
        is_view = producer.type in _VIEWS and producer.work is not None and bool(producer.work.zero_cost)
        producer = state.producers.get(producer.inputs[0]) if is_view else None
    return producer is not None


def _adds_bias(node: GraphNode, state: _Lowering) -> bool:
    """Whether a node adds a constant with at most one axis of more than one element to a computed tensor."""
    if node.type != "Add":
        return False
    constants = [name for name in node.inputs if name in state.constants]
    return len(constants) == 1 and sum(size > 1 for size in state.shapes[constants[0]]) <= 1


def _lower_conv(node: GraphNode, state: _Lowering) -> tuple[Layer, str, str]:
    data, weight = state.shapes[node.inputs[0]], state.shapes[node.inputs[1]]
    groups = int(node.attributes.get("group", 1))
    window = resolve_window(node.attributes, weight[2:], data[2:])
    layer = conv(
        node.name,
        outputs=window.outputs,
        kernel=window.kernel,
        K=weight[0],
        C=data[1],
        N=data[0],
        groups=groups,
        stride=window.stride,
        dilation=window.dilation,
        pad=window.begin,
        inputs=data[2:],
    )
    return layer, node.inputs[1], node.inputs[0]


def _lower_gemm(node: GraphNode, state: _Lowering) -> tuple[Layer, str, str]:
    a, b = node.inputs[0], node.inputs[1]
    rows, columns, inner = gemm_sizes(node.attributes, state.shapes[a], state.shapes[b])
    if a in state.constants and b not in state.constants:
        return matmul(node.name, M=rows, N=columns, K=inner), a, b
    return matmul(node.name, M=columns, N=rows, K=inner), b, a


def _lower_matmul(node: GraphNode, state: _Lowering) -> tuple[Layer, str, str]:
    """Batch axes of both operands become B; an axis of one operand only joins its own rows or columns."""
    a, b = node.inputs[0], node.inputs[1]
    left, right = state.shapes[a], state.shapes[b]
    left = left if len(left) > 1 else (1, *left)
    right = right if len(right) > 1 else (*right, 1)
    rank = max(len(left), len(right)) - 2
    left_batch = (1,) * (rank + 2 - len(left)) + left[:-2]
    right_batch = (1,) * (rank + 2 - len(right)) + right[:-2]
    both = prod(x for x, y in zip(left_batch, right_batch, strict=True) if x > 1 and y > 1)
    rows = left[-2] * prod(x for x, y in zip(left_batch, right_batch, strict=True) if y == 1)
    columns = right[-1] * prod(y for x, y in zip(left_batch, right_batch, strict=True) if x == 1)
    batch = both if both > 1 else None
    if a in state.constants and b not in state.constants:
        return matmul(node.name, M=rows, N=columns, K=left[-1], B=batch), a, b
    return matmul(node.name, M=columns, N=rows, K=left[-1], B=batch), b, a


_MAC_TYPES: Mapping[str, Callable[[GraphNode, _Lowering], tuple[Layer, str, str]]] = {
    "Conv": _lower_conv,
    "Gemm": _lower_gemm,
    "MatMul": _lower_matmul,
}
