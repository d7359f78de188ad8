"""A trained network as a list of nodes in execution order, with the tensors between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seada.errors import UserError
from seada.formats import Precision
from seada.workload.layer import Layer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph; `constant` if its values are stored in the file (weights, biases)."""

    name: str
    shape: tuple[int, ...]
    constant: bool = False


@dataclass(frozen=True)
class VectorWork:
    """What an operator without MACs costs.

    Attributes
    ----------
    operations : int
        Vector operations in total (all passes).
    read_elements, write_elements : int
        Data that moves from and to the memory of the vector unit, in elements.
    fuses : bool
        Runs in the drain of the producer of its first input: operations are counted, no traffic.
    zero_cost : str
        Reason why the operator costs nothing (a view, a constant); empty otherwise.
    """

    operations: int = 0
    read_elements: int = 0
    write_elements: int = 0
    fuses: bool = False
    zero_cost: str = ""


@dataclass(frozen=True)
class Node:
    """One operator of the graph.

    Attributes
    ----------
    name : str
        Unique in the network.
    type : str
        ONNX operator type (``Conv``, ``Relu`` ...).
    inputs, outputs : tuple of tensor names
    layers : tuple of Layer
        MAC work: one layer as a rule, several for a transposed convolution, none for vector operators. The
        first layer carries the node's name.
    weight, input : str
        Names of the tensors that play these operand roles, where `layers` is not empty.
    work : VectorWork or None
        For operators without MACs (None if the operator is not modelled), and the fused bias of a MAC layer.
    attributes : mapping
        What an interpreter needs to execute the node (strides, pads, axis ...), ONNX names and meaning.
    precision : Precision or None
        Formats that the file itself states.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    weight: str = ""
    input: str = ""
    work: VectorWork | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    precision: Precision | None = None

    @property
    def modelled(self) -> bool:
        """Whether the node has a cost or a stated rule why it has none."""
        return bool(self.layers) or self.work is not None


@dataclass(frozen=True)
class Network:
    """A network; nodes are in execution order after constant folding.

    Attributes
    ----------
    source : str
        Path of the file it was read from.
    weights : mapping or None
        Constant tensors by name, read when first asked for; None if the file has none.
    notes : tuple of str
        What was assumed while reading (such as a batch of 1).
    """

    name: str
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str = ""
    content_hash: str = ""
    weights: Mapping[str, NDArray[np.generic]] | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def layers(self) -> dict[str, Layer]:
        """All MAC layers by name, in execution order."""
        return {layer.name: layer for node in self.nodes for layer in node.layers}

    def __getitem__(self, name: str) -> Layer:
        """The MAC layer of that name.

        Raises
        ------
        UserError
            If there is none; the message names the nearest.
        """
        if name not in self.layers:
            from difflib import get_close_matches

            near = get_close_matches(name, self.layers, n=1)
            hint = (
                f"; did you mean {near[0]!r}?" if near else f"; layers: {', '.join(list(self.layers)[:20])}"
            )
            raise UserError(f"{self.name} has no layer {name!r}{hint}")
        return self.layers[name]

    @property
    def macs(self) -> int:
        """MACs of all layers."""
        return sum(layer.macs for layer in self.layers.values())
