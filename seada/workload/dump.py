"""Writing a network in our own YAML form, one line per node and constant."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from seada.errors import WorkloadError
from seada.workload.graph import Shape
from seada.workload.network import Network, Node
from seada.workload.shapes import infer_shapes

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_EPOCH = (1980, 1, 1, 0, 0, 0)


def dump_network(network: Network, weights: str | None = None) -> str:
    """The network as YAML text that reads back to the same nodes and tensors.

    Parameters
    ----------
    weights : str, optional
        Name of an ``.npz`` file beside the YAML file that holds the constants of ``network.weights``.

    Raises
    ------
    WorkloadError
        If an attribute cannot be written.
    """
    return "\n".join(_lines(network, weights)) + "\n"


def save_network(network: Network, path: str | Path) -> None:
    """Write ``path`` (YAML) and, if the network has weights, an ``.npz`` file of the same stem beside it.

    Raises
    ------
    WorkloadError
        If a file cannot be written.
    """
    file = Path(path)
    weights = file.with_suffix(".npz") if network.weights else None
    text = dump_network(network, weights.name if weights else None)
    try:
        if weights is not None and network.weights is not None:
            _write_npz(weights, network.weights)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WorkloadError(f"{error.filename or file}: cannot be written: {error.strerror}") from None


def _write_npz(path: Path, arrays: Mapping[str, Any]) -> None:
    """One array after the other, so that only one is in memory; equal arrays give equal bytes."""
    import numpy as np

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in arrays:
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(arrays[name]), allow_pickle=False)


def _lines(network: Network, weights: str | None) -> Iterator[str]:
    stored = set(network.weights or ()) if weights else set()
    constants = {
        name: tensor.shape
        for name, tensor in network.tensors.items()
        if tensor.constant and name not in stored
    }
    yield "schema_version: 1"
    yield f"name: {_text(network.name)}"
    yield "graph:"
    yield from _shapes("inputs", {name: network.tensors[name].shape for name in network.inputs})
    yield f"  outputs: {_value(network.outputs)}"
    if weights:
        yield f"  weights: {_text(weights)}"
    yield from _shapes("constants", constants)
    yield from _shapes("tensors", _not_inferable(network))
    yield "  nodes:"
    for node in network.nodes:
        yield f"    - {_value(_node_fields(node))}"


def _shapes(key: str, shapes: Mapping[str, Shape]) -> Iterator[str]:
    if shapes:
        yield f"  {key}:"
    elif key == "inputs":
        yield "  inputs: {}"
    for name, shape in shapes.items():
        yield f"    {_text(name)}: {_value(shape)}"


def _not_inferable(network: Network) -> dict[str, Shape]:
    """Shapes of outputs for which there is no rule of our own."""
    result = {}
    for node in network.nodes:
        present = [network.tensors[name].shape for name in node.inputs if name]
        inferred = infer_shapes(node.type, node.attributes, present) or []
        for name in node.outputs[len(inferred) :]:
            if name:
                result[name] = network.tensors[name].shape
    return result


def _node_fields(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": node.name,
        "type": node.type,
        "inputs": node.inputs,
        "outputs": node.outputs,
    }
    if node.attributes:
        fields["attributes"] = dict(node.attributes)
    if node.precision is not None:
        fields["precision"] = node.precision.to_dict()
    return fields


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(str(key))}: {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WorkloadError(f"an attribute with the value {value!r} cannot be written as YAML")
    return repr(value)


def _text(text: str) -> str:
    """Plain where every YAML reader takes it as text, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escape(char) for char in quoted)


def _escape(char: str) -> str:
    return f"\\U{ord(char):08x}"
