"""The file form of a mapping: ``nodes: [{keep: glb, operand: weight}, {loop: K, step: 16}, ...]``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from seada.config.base import ConfigModel, SchemaVersion
from seada.config.yaml_file import (
    Document,
    parse_yaml_text,
    read_document,
    resolve_scalar,
    validate_document,
)
from seada.mapping.nest import Keep, Loop, Mapping

SCHEMA_VERSION = 1
MAX_STEP = 2**40
_KEYS = ("keep", "operand", "loop", "step", "on")

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=64)]


def _check_axis(text: str) -> str:
    fanout, dot, axis = text.partition(".")
    if not (fanout and dot and axis and "." not in axis):
        raise ValueError(f"{text!r} is no axis; write fanout.axis, such as pe.x")
    return text


_Axis = Annotated[str, AfterValidator(_check_axis), Field(max_length=129)]


class NodeConfig(ConfigModel):
    """One line of the nest: either a loop (`loop`, `step`, perhaps `on`) or a keep (`keep`, `operand`)."""

    keep: _Name | None = None
    """Memory in which the operand rests from here inward."""
    operand: Literal["weight", "input", "output"] | None = None
    """Operand that rests there: weight, input or output."""
    loop: _Name | None = None
    """Dimension of the loop (K, C, P ...; convolution: G for groups, K and C per group)."""
    step: Annotated[int, Field(ge=1, le=MAX_STEP)] | None = None
    """Extent of the dimension below the loop; the last iteration may be shorter."""
    on: _Axis | None = None
    """``fanout.axis`` of a spatial loop; a temporal loop has none."""

    @model_validator(mode="after")
    def _check(self) -> NodeConfig:
        given = {key for key in _KEYS if getattr(self, key) is not None}
        if given not in ({"keep", "operand"}, {"loop", "step"}, {"loop", "step", "on"}):
            raise ValueError(
                f"has the keys {', '.join(sorted(given)) or 'none'}; allowed: keep and operand, "
                "or loop and step, with on for a spatial loop"
            )
        return self


class MappingConfig(ConfigModel):
    """A mapping: loops and keeps, outermost first."""

    schema_version: SchemaVersion
    nodes: Annotated[list[NodeConfig], Field(min_length=1, max_length=10_000)]
    """Loops and keeps, outermost first."""


def to_data(mapping: Mapping) -> dict[str, Any]:
    """The mapping as plain data for YAML or JSON.

    >>> to_data(Mapping((Keep("glb", "weight"), Loop("K", 1, "pe.x"))))["nodes"]
    [{'keep': 'glb', 'operand': 'weight'}, {'loop': 'K', 'step': 1, 'on': 'pe.x'}]
    """
    return {"schema_version": SCHEMA_VERSION, "nodes": [_node_data(node) for node in mapping.nodes]}


def _node_data(node: Loop | Keep) -> dict[str, Any]:
    if isinstance(node, Keep):
        return {"keep": node.memory, "operand": node.operand}
    data: dict[str, Any] = {"loop": node.dim, "step": node.step}
    return data if node.on is None else {**data, "on": node.on}


def to_yaml(mapping: Mapping) -> str:
    """The mapping as a file that `load_mapping` reads."""
    lines = [f"schema_version: {SCHEMA_VERSION}", "nodes:"]
    for node in mapping.nodes:
        fields = ", ".join(f"{key}: {_scalar(value)}" for key, value in _node_data(node).items())
        lines.append(f"  - {{{fields}}}")
    return "\n".join(lines) + "\n"


def _scalar(value: int | str) -> str:
    """A value as YAML; names such as ``null`` need quotes to stay text."""
    return str(value) if isinstance(value, int) or resolve_scalar(value) == value else f'"{value}"'


def load_mapping(path: str | Path) -> Mapping:
    """Read a mapping file.

    Raises
    ------
    ConfigError
        With every problem of the file and its place.
    """
    return mapping_from_document(read_document(path))


def from_data(data: Any) -> Mapping:
    """The mapping that plain data describes (``mapping`` of a result included).

    Raises
    ------
    ConfigError
        With every problem, by path.
    """
    kept = {key: data[key] for key in data if key != "text"} if isinstance(data, dict) else data
    if isinstance(kept, dict):
        kept = {"schema_version": SCHEMA_VERSION, **kept}
    return mapping_from_document(Document("mapping", kept, {}, ""))


def from_yaml(text: str) -> Mapping:
    """The mapping that YAML text describes."""
    return mapping_from_document(parse_yaml_text(text))


def mapping_from_document(document: Document) -> Mapping:
    """The mapping in a document.

    Raises
    ------
    ConfigError
        If a node is neither a loop nor a keep, or anything else is wrong.
    """
    config = validate_document(document, MappingConfig)
    return Mapping(tuple(_node(described) for described in config.nodes))


def _node(described: NodeConfig) -> Loop | Keep:
    if described.keep is not None and described.operand is not None:
        return Keep(described.keep, described.operand)
    assert described.loop is not None
    assert described.step is not None
    return Loop(described.loop, described.step, described.on)
