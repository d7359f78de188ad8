"""From the text of arguments to objects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from seada.arch.hardware import Arch
from seada.config.base import ConfigModel, SchemaVersion
from seada.errors import UserError
from seada.formats import PrecisionRequest, parse_precision
from seada.units import parse_quantity
from seada.workload.layer import Layer

_FILE_AND_NAME = re.compile(r"(?P<file>.+?\.(?:yaml|yml|onnx)):(?P<name>.+)", re.IGNORECASE | re.DOTALL)
AUTO = "auto"


@dataclass(frozen=True)
class LayerInput:
    """A layer from the command line.

    Attributes
    ----------
    own : PrecisionRequest or None
        Formats that its file states.
    origin : dict
        Where it comes from, for provenance.
    """

    layer: Layer
    own: PrecisionRequest | None
    origin: dict[str, Any]


def read_layer(text: str, dims: Mapping[str, int]) -> LayerInput:
    """A layer from ``WORKLOAD:NAME`` or one line.

    Raises
    ------
    UserError
        If the text is neither, or the network has no such layer.
    """
    from seada.workload.line import parse_layer
    from seada.workload.load import load_workload

    match = _FILE_AND_NAME.fullmatch(text)
    if match is None:
        _refuse_bare_file(text)
        return LayerInput(parse_layer(text), None, {"layer": text.strip()})
    network = load_workload(match["file"], dims)
    layer = network[match["name"]]
    node = next(node for node in network.nodes if layer in node.layers)
    stated = node.precision
    own = None
    if stated is not None:
        own = PrecisionRequest(stated.weight, stated.input, stated.accumulator, stated.output)
    origin = {"workload": {"name": network.name, "content_hash": network.content_hash}, "layer": layer.name}
    return LayerInput(layer, own, origin)


def _refuse_bare_file(text: str) -> None:
    if Path(text).suffix.lower() in (".yaml", ".yml", ".onnx"):
        raise UserError(
            f"{text}: a layer is needed, not a whole network; write {text}:NAME "
            f"('seada show {text}' lists the names)"
        )


def layer_request(given: str | None, read: LayerInput, arch: Arch) -> PrecisionRequest:
    """The formats of a single layer: those given, else those of its file.

    Raises
    ------
    UserError
        If there are none; the message names what the array supports.
    """
    if given == AUTO:
        raise UserError("--precision auto chooses for whole networks (seada run, seada select)")
    if given is not None:
        return parse_precision(given)
    if read.own is not None:
        return read.own
    raise UserError(
        f"layer {read.layer.name} states no formats; give --precision. "
        f"{arch.name} has the modes {mode_names(arch)}"
    )


def mode_names(arch: Arch) -> str:
    """Pairs of formats that the array and the floating-point unit run, for messages."""
    pairs = [f"{mode.weight} x {mode.input}" for mode in arch.compute.modes]
    if arch.float_unit:
        pairs += [f"{fmt} (floating-point unit)" for fmt in arch.float_unit.formats]
    return ", ".join(pairs)


class PrecisionFile(ConfigModel):
    """Formats of a network, one entry per layer; layers that it does not name keep the file's own."""

    schema_version: SchemaVersion
    layers: Annotated[dict[str, str], Field(min_length=1)]
    """By name of the layer: ``int8``, ``w4a8``, ``w:int4,a:int8,acc:int32,out:int8``."""


def network_precision(given: str | None) -> str | PrecisionRequest | dict[str, str | PrecisionRequest] | None:
    """What ``--precision`` means for a network: one request, one per layer, `AUTO`, or the file's own.

    Raises
    ------
    UserError
        If it is no precision.
    """
    if given is None or given == AUTO:
        return given
    if Path(given).suffix.lower() in (".yaml", ".yml"):
        return _precision_file(given)
    return parse_precision(given)


def _precision_file(path: str) -> dict[str, str | PrecisionRequest]:
    from seada.config.yaml_file import config_error, read_document, validate_document

    document = read_document(path)
    content = validate_document(document, PrecisionFile)
    places = []
    requests: dict[str, str | PrecisionRequest] = {}
    for name, text in content.layers.items():
        try:
            requests[name] = parse_precision(text)
        except UserError as error:
            places.append(document.place(("layers", name), error.message))
    if places:
        raise config_error(places)
    return requests


def split_candidates(text: str) -> list[str]:
    """Precisions separated by commas; a spelled-out one (``w:int4,a:int8``) begins with its ``w:``.

    >>> split_candidates("int8,w4a8,w:int4,a:fp16,w:int2,a:int4,acc:int32")
    ['int8', 'w4a8', 'w:int4,a:fp16', 'w:int2,a:int4,acc:int32']
    """
    found: list[str] = []
    for part in text.split(","):
        key = part.partition(":")[0].strip().lower()
        if ":" in part and key != "w" and found:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def read_dims(texts: list[str] | None) -> dict[str, int]:
    """Bindings ``NAME=VALUE`` of symbolic dimensions.

    Raises
    ------
    UserError
        If one is malformed or given twice.
    """
    dims: dict[str, int] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not (name and equals and re.fullmatch(r"[0-9]{1,12}", value) and int(value) > 0):
            raise UserError(f"--dim {text!r} is no NAME=VALUE with a whole number of 1 or more")
        if name in dims:
            raise UserError(f"--dim {name} is given twice")
        dims[name] = int(value)
    return dims


def read_time(text: str | None) -> float | None:
    """Seconds of a time such as ``5s``.

    Raises
    ------
    UserError
        If it is no time.
    """
    if text is None:
        return None
    try:
        return float(parse_quantity(text, {"s"}))
    except UserError as error:
        raise UserError(f"--time: {error.message}") from None


def process_count(jobs: int) -> int:
    """Processes to use; 0 asks for one per core that this process may use."""
    return jobs or len(
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
