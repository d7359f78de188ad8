"""A graph as its file states it, before shapes are known: what the YAML and ONNX readers both produce."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seada.errors import WorkloadError
from seada.formats import Precision

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Shape = tuple[int, ...]
Attributes = Mapping[str, Any]
MAX_RANK = 12
MAX_SIZE = 2**40
MAX_ELEMENTS = 2**48
MAX_GRAPH_NODES = 100_000
MAX_PARAMETER_ELEMENTS = 65_536

_REDUCTIONS = (
    *("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)
PARAMETER_INPUTS: dict[str, dict[int, str]] = {
    "Reshape": {1: "shape"},
    "Squeeze": {1: "axes"},
    "Unsqueeze": {1: "axes"},
    "Expand": {1: "shape"},
    "Tile": {1: "repeats"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Pad": {1: "pads", 2: "value", 3: "axes"},
    "Clip": {1: "min", 2: "max"},
    "Resize": {1: "roi", 2: "scales", 3: "sizes"},
    "Upsample": {1: "scales"},
    "Split": {1: "split"},
    "TopK": {1: "k"},
    "Dropout": {1: "ratio", 2: "training_mode"},
    "OneHot": {1: "depth"},
    "CumSum": {1: "axis"},
    "Trilu": {1: "k"},
    **{reduction: {1: "axes"} for reduction in _REDUCTIONS},
}
"""Inputs that are parameters and no data. They are attributes here, as in older operator sets of ONNX."""


@dataclass(frozen=True)
class GraphNode:
    """One operator: type and attributes as in ONNX, with the inputs of `PARAMETER_INPUTS` as attributes.

    An input that is left out is an empty string.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)
    precision: Precision | None = None


@dataclass(frozen=True)
class Graph:
    """A graph with the shapes that its file states.

    Attributes
    ----------
    inputs, constants : mapping of tensor name to shape
    shapes : mapping of tensor name to shape
        Shapes of other tensors, where the file states them; checked against our own inference.
    """

    name: str
    nodes: tuple[GraphNode, ...]
    inputs: Mapping[str, Shape]
    outputs: tuple[str, ...]
    constants: Mapping[str, Shape]
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.generic]] | None = None
    source: str = ""
    content_hash: str = ""
    notes: tuple[str, ...] = ()


def check_shape(tensor: str, shape: Iterable[int]) -> Shape:
    """The shape as a tuple of positive sizes within the limits.

    Raises
    ------
    WorkloadError
        If a size is not positive, or rank, size or volume are absurd.
    """
    result = tuple(shape)
    if len(result) > MAX_RANK:
        raise WorkloadError(f"tensor {tensor}: {len(result)} axes are too many; the limit is {MAX_RANK}")
    volume = 1
    for size in result:
        if not 1 <= size <= MAX_SIZE:
            raise WorkloadError(
                f"tensor {tensor}: shape {list(result)} has size {size}; allowed: 1 to {MAX_SIZE}"
            )
        volume *= size
    if volume > MAX_ELEMENTS:
        raise WorkloadError(
            f"tensor {tensor}: shape {list(result)} has more than {MAX_ELEMENTS} elements, the limit"
        )
    return result


def execution_order(nodes: Iterable[GraphNode], available: Iterable[str]) -> list[GraphNode]:
    """The nodes so that each stands behind the producers of its inputs; otherwise in the given order.

    Raises
    ------
    WorkloadError
        If a tensor is produced twice or by nobody, or the graph has a cycle.
    """
    nodes = list(nodes)
    producers = _producers(nodes, set(available))
    order: list[GraphNode] = []
    done: set[int] = set()
    open_nodes: set[int] = set()
    for root in range(len(nodes)):
        stack = [root]
        while stack:
            index = stack[-1]
            needed = [producers[name] for name in nodes[index].inputs if name in producers]
            missing = [other for other in needed if other not in done]
            if index not in done and missing:
                open_nodes.add(index)
                if any(other in open_nodes for other in missing):
                    raise WorkloadError(f"node {nodes[index].name}: the graph has a cycle through this node")
                stack.extend(reversed(missing))
                continue
            stack.pop()
            open_nodes.discard(index)
            if index not in done:
                done.add(index)
                order.append(nodes[index])
    return order


def _producers(nodes: list[GraphNode], available: set[str]) -> dict[str, int]:
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.outputs):
            if name in producers or name in available:
                raise WorkloadError(f"node {node.name}: tensor {name!r} is produced twice")
            producers[name] = index
    for node in nodes:
        for name in filter(None, node.inputs):
            if name not in producers and name not in available:
                raise WorkloadError(
                    f"node {node.name}: tensor {name!r} is no input, constant or output of a node"
                    f"{_near(name, [*producers, *available])}"
                )
    return producers


def _near(name: str, names: list[str]) -> str:
    from seada.config.problems import did_you_mean

    return did_you_mean(name, names[:5000])


def unique_names(types_and_names: Iterable[tuple[str, str]]) -> list[str]:
    """Stable names: a missing or repeated one becomes type and index of the node.

    >>> unique_names([("Conv", "a"), ("Relu", ""), ("Relu", "a")])
    ['a', 'Relu_1', 'Relu_2']
    """
    pairs = list(types_and_names)
    given = {name for _, name in pairs}
    used: set[str] = set()
    result = []
    for index, (kind, name) in enumerate(pairs):
        chosen = name
        if not name or name in used:
            chosen = f"{kind}_{index}"
            while chosen in used or chosen in given:
                chosen += "_"
        used.add(chosen)
        result.append(chosen)
    return result
