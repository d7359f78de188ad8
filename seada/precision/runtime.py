"""Execute a network in numpy, with the weights and inputs of its MAC layers rounded to given formats.

What is modelled: the two operands of every MAC layer are rounded to their formats (`quantise`); sums,
biases and all other operators are float32. So accumulators are taken to be wide enough, and a tensor is
rounded where a MAC layer reads it, which is where requantisation puts it too. Not modelled: vector operators
that read or write narrow tensors (a residual addition in int4 is exact here), so measured accuracies are
somewhat kind to narrow formats beside such operators.

Scales of activations (always one per tensor, whatever the granularity of the weights):

- with calibration inputs, fixed scales from what these inputs produce in the unquantised network (as a chip
  would use),
- without, one scale per item, from that item's own numbers. Neither depends on the size or the order of
  batches.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seada.errors import UserError
from seada.formats import Format
from seada.precision.data import Data
from seada.precision.operators import OPERATORS
from seada.precision.quantise import (
    DEFAULT_QUANTISER,
    Grid,
    Quantiser,
    fit_grid,
    quantise,
)
from seada.workload.network import Network, Node

Array = NDArray[Any]

BATCH = 256
# All tensors of one batch together hold no more elements than this (256 MiB), as far as one item fits.
BATCH_ELEMENTS = 1 << 26
# What is kept of a calibrated tensor: its least and largest number and evenly spaced others.
CALIBRATION_SAMPLE = 1 << 16
_MAC_TYPES = ("Conv", "Gemm", "MatMul")


class OperandFormats(Protocol):
    """Whatever names a format for the weight and the input of a layer, such as `seada.formats.Precision`."""

    @property
    def weight(self) -> Format:
        """Format of the weight."""

    @property
    def input(self) -> Format:
        """Format of the input."""


Formats = Mapping[str, OperandFormats]


def check_executable(network: Network) -> None:
    """Refuse a network with an operator that has no numpy rule.

    Raises
    ------
    UserError
        Naming every such operator.
    """
    missing = sorted({node.type for node in network.nodes if node.type not in OPERATORS})
    if missing:
        raise UserError(
            f"{network.name} cannot be executed: operator {', '.join(missing)} has no numpy rule; "
            f"there are: {', '.join(sorted(OPERATORS))}"
        )


def _check_weights(network: Network) -> None:
    constants = {name for name, tensor in network.tensors.items() if tensor.constant}
    if constants and not network.weights:
        raise UserError(f"{network.name} cannot be rounded: {network.source or 'the file'} has no weights")


def weight_axis(node: Node, rank: int) -> int:
    """Axis of the weight that counts output channels."""
    if node.type == "Conv":
        return 0
    return rank - 2 if node.type == "Gemm" and node.attributes.get("transB", 0) else rank - 1


def _batch_size(network: Network) -> int:
    """Items that run at once: bounded in number and in elements of all tensors together."""
    sizes = [math.prod(t.shape) for t in network.tensors.values() if not t.constant]
    declared = network.tensors[network.inputs[0]].shape
    per_item = sum(sizes) // max(1, declared[0] if declared else 1)
    return max(1, min(BATCH, BATCH_ELEMENTS // max(1, per_item)))


def _last_uses(network: Network) -> dict[str, list[str]]:
    """Tensors that no later node reads, by node name; the network's outputs are always needed."""
    last = {name: node.name for node in network.nodes for name in (*node.inputs, *node.outputs)}
    done: dict[str, list[str]] = {}
    for tensor, node in last.items():
        if tensor not in network.outputs:
            done.setdefault(node, []).append(tensor)
    return done


class _Sampler:
    """Collects the least, the largest and evenly spaced numbers of a tensor that arrives in batches."""

    def __init__(self, total: int) -> None:
        self.step = max(1, -(-total // CALIBRATION_SAMPLE))
        self.seen = 0
        self.low, self.high = np.inf, -np.inf
        self.parts: list[Array] = []

    def add(self, array: Array) -> None:
        """Take the next batch."""
        flat = array.reshape(-1)
        self.parts.append(flat[-self.seen % self.step :: self.step].copy())
        self.seen += flat.size
        self.low, self.high = min(self.low, float(flat.min())), max(self.high, float(flat.max()))

    def sample(self) -> Array:
        """All that was kept, as a vector."""
        return np.concatenate([[self.low, self.high], *self.parts]).astype(np.float32)


class Runtime:
    """An executable network.

    Parameters
    ----------
    network : Network
        With weights.
    weight_quantiser, input_quantiser : Quantiser
        How formats are applied; the granularity of `input_quantiser` is not used.
    calibration : Data or None
        Unlabelled inputs that fix the scales of activations.

    Raises
    ------
    UserError
        If there are no weights.
    """

    def __init__(
        self,
        network: Network,
        *,
        weight_quantiser: Quantiser = DEFAULT_QUANTISER,
        input_quantiser: Quantiser = DEFAULT_QUANTISER,
        calibration: Data | None = None,
    ) -> None:
        _check_weights(network)
        self.network = network
        self.weight_quantiser = weight_quantiser
        self.input_quantiser = replace(input_quantiser, granularity="tensor")
        self.constants: dict[str, Array] = {
            name: np.asarray(array) for name, array in (network.weights or {}).items()
        }
        self._batch = _batch_size(network)
        self._last_uses = _last_uses(network)
        self._weights: dict[tuple[str, Format, int], Array] = {}
        self._grids: dict[tuple[str, Format], Grid] = {}
        self._samples: dict[str, Array] = {}
        if calibration is not None:
            self._samples = self._calibrate(calibration)

    def outputs(self, data: Data, formats: Formats | None = None) -> Array:
        """The network's first output for all items, shape (items, ...).

        Parameters
        ----------
        formats : mapping or None
            Formats by layer name; a layer that is not named stays unrounded.

        Raises
        ------
        UserError
            If an operator has no numpy rule, or a format is named for a layer that the network lacks.
        """
        formats = formats or {}
        check_executable(self.network)
        for name in formats:
            self.network[name]
        parts = [
            self._execute(batch, formats, keep=False)[self.network.outputs[0]]
            for batch in self._batches(data)
        ]
        return np.concatenate(parts)

    def traces(self, data: Data) -> Iterator[dict[str, Array]]:
        """All tensors of the unrounded network, batch by batch: what `rerun` starts from."""
        check_executable(self.network)
        for batch in self._batches(data):
            yield self._execute(batch, {}, keep=True)

    def rerun(self, trace: Mapping[str, Array], layer: str, formats: OperandFormats) -> Array:
        """The first output of a batch with one layer's formats set, computed from that layer onwards."""
        self.network[layer]
        values = ChainMap[str, Array]({}, dict(trace))
        changed = values.maps[0]
        for node in self.network.nodes:
            touched = any(name in changed for name in node.inputs)
            if touched or any(part.name == layer for part in node.layers):
                values[node.outputs[0]] = self._apply(node, values, {layer: formats})
        return values[self.network.outputs[0]]

    def _batches(self, data: Data) -> Iterator[dict[str, Array]]:
        for start in range(0, data.items, self._batch):
            part = slice(start, start + self._batch)
            yield {name: array[part].astype(np.float32) for name, array in data.inputs.items()}

    def _execute(self, inputs: dict[str, Array], formats: Formats, *, keep: bool) -> dict[str, Array]:
        """Tensors by name; without `keep` only those that are outputs."""
        values = dict(inputs)
        for node in self.network.nodes:
            values[node.outputs[0]] = self._apply(node, values, formats)
            if not keep:
                for name in self._last_uses.get(node.name, ()):
                    values.pop(name, None)
        return values

    def _apply(self, node: Node, values: Mapping[str, Array], formats: Formats) -> Array:
        """The first output of one node."""
        arrays = [self._value(name, values) if name else None for name in node.inputs]
        layer = next((part.name for part in node.layers if part.name in formats), None)
        if layer is not None:
            if node.type not in _MAC_TYPES:
                raise UserError(f"layer {layer}: the runtime rounds {', '.join(_MAC_TYPES)}, not {node.type}")
            for role, fmt in ((node.weight, formats[layer].weight), (node.input, formats[layer].input)):
                arrays[node.inputs.index(role)] = self._rounded(node, role, self._value(role, values), fmt)
        attributes: Mapping[str, Any] = node.attributes
        if node.type == "Reshape":
            attributes = {**attributes, "shape": self._batched_shape(node, values)}
        try:
            return OPERATORS[node.type](attributes, arrays)
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise UserError(f"node {node.name} ({node.type}) cannot be executed: {error}") from None

    def _value(self, name: str, values: Mapping[str, Array]) -> Array:
        if name in values:
            return values[name]
        if name not in self.constants:
            raise UserError(f"{self.network.name}: tensor {name} has no value")
        return self.constants[name]

    def _batched_shape(self, node: Node, values: Mapping[str, Array]) -> list[int]:
        """The shape that the graph declares for a node's output, its first axis scaled with the batch."""
        declared = self.network.tensors[node.outputs[0]].shape
        elements = self._value(node.inputs[0], values).size
        return [elements // max(1, math.prod(declared[1:])), *declared[1:]]

    def _rounded(self, node: Node, name: str, array: Array, fmt: Format) -> Array:
        try:
            if name in self.constants:
                return self._rounded_weight(node, name, fmt)
            return self._rounded_activation(name, array, fmt)
        except UserError as error:
            raise UserError(f"layer {node.name}, tensor {name}: {error.message}") from None

    def _rounded_weight(self, node: Node, name: str, fmt: Format) -> Array:
        array = self.constants[name]
        axis = weight_axis(node, array.ndim)
        key = (name, fmt, axis)
        if key not in self._weights:
            self._weights[key] = quantise(array, fmt, self.weight_quantiser, axis=axis).values
        return self._weights[key]

    def _rounded_activation(self, name: str, array: Array, fmt: Format) -> Array:
        """Round with the calibrated scale, else with one scale per item."""
        if name not in self._samples:
            per_item = replace(self.input_quantiser, granularity="channel")
            return quantise(array, fmt, per_item, axis=0).values
        if (name, fmt) not in self._grids:
            self._grids[name, fmt] = fit_grid(self._samples[name][None], fmt, self.input_quantiser)
        grid = self._grids[name, fmt]
        rows = array.reshape(1, -1)
        return grid.values(grid.codes(rows)).reshape(array.shape).astype(np.float32, copy=False)

    def _calibrate(self, data: Data) -> dict[str, Array]:
        wanted = {
            name
            for node in self.network.nodes
            if node.layers
            for name in (node.weight, node.input)
            if name and name not in self.constants
        }
        samplers: dict[str, _Sampler] = {}
        for trace in self.traces(data):
            for name in sorted(wanted):
                items = len(next(iter(data.inputs.values())))
                share = len(next(trace[i] for i in self.network.inputs)) / items
                samplers.setdefault(name, _Sampler(round(trace[name].size / share))).add(trace[name])
        return {name: sampler.sample() for name, sampler in samplers.items()}


def cross_entropy(logits: Array, labels: NDArray[np.int64]) -> float:
    """Mean of -log softmax(logits)[label] in nats; logits of shape (items, classes)."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    return float(np.mean(log_sum - shifted[np.arange(len(labels)), labels]))


def _labelled(runtime: Runtime, data: Data, formats: Formats | None) -> tuple[Array, NDArray[np.int64]]:
    if data.labels is None:
        raise UserError(f"{data.source or 'the data'} has no labels, which measuring accuracy needs")
    outputs = runtime.outputs(data, formats)
    if outputs.ndim != 2:
        raise UserError(f"the output has shape {outputs.shape}; accuracy needs one score per class and item")
    if data.labels.max() >= outputs.shape[1]:
        raise UserError(
            f"label {data.labels.max()} is out of range: the network has {outputs.shape[1]} classes"
        )
    return outputs, data.labels


def accuracy(runtime: Runtime, data: Data, formats: Formats | None = None) -> float:
    """Share of items whose largest output is their label, 0..1.

    Raises
    ------
    UserError
        If there are no labels, or the output is not (items, classes).
    """
    outputs, labels = _labelled(runtime, data, formats)
    return float(np.mean(outputs.argmax(axis=1) == labels))


def loss(runtime: Runtime, data: Data, formats: Formats | None = None) -> float:
    """Mean cross-entropy of the outputs, taken as logits, in nats.

    Raises
    ------
    UserError
        As for `accuracy`.
    """
    outputs, labels = _labelled(runtime, data, formats)
    return cross_entropy(outputs, labels)
