"""A costed mapping as plain data, in the form of the result schema."""

from __future__ import annotations

from typing import Any

from seada.arch.hardware import Fanout, Setup
from seada.mapping.nest import Mapping
from seada.mapping.text import format_mapping
from seada.mapping.yaml_form import to_data
from seada.model.cost import Cost
from seada.model.counts import Access
from seada.workload.layer import ROLES, Layer

_FIELDS = ("reads", "writes", "read_bits", "write_bits", "read_words", "write_words")


def _access(access: Access) -> dict[str, int]:
    return {name: getattr(access, name) for name in _FIELDS}


def memories_data(setup: Setup, cost: Cost) -> list[dict[str, Any]]:
    """Accesses per memory and operand, over all instances and the whole layer; empty for estimates."""
    if cost.counts is None:
        return []
    rows = zip(setup.arch.memories, cost.counts.memories, strict=True)
    return [
        {"name": memory.name, "operands": {role: _access(a) for role, a in zip(ROLES, row, strict=True)}}
        for memory, row in rows
    ]


def links_data(setup: Setup, cost: Cost) -> list[dict[str, Any]]:
    """Hops, bits and additions per fanout and operand; empty for estimates."""
    if cost.counts is None:
        return []
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    return [
        {
            "name": fanout.name,
            "operands": {
                role: {"hops": link.hops, "hop_bits": link.hop_bits, "additions": link.additions}
                for role, link in zip(ROLES, row, strict=True)
            },
        }
        for fanout, row in zip(fanouts, cost.counts.links, strict=True)
    ]


def cost_data(layer: Layer, setup: Setup, mapping: Mapping | None, cost: Cost) -> dict[str, Any]:
    """Everything that `map` and `evaluate` print about a layer, without the search."""
    return {
        "layer": {"name": layer.name, "type": layer.kind, "dims": layer.extents},
        "precision": setup.precision.to_dict(),
        "mode": {
            "weight": setup.mode.weight.name,
            "input": setup.mode.input.name,
            "lanes": setup.mode.lanes,
            "note": setup.note,
        },
        **cost.to_dict(),
        "memories": memories_data(setup, cost),
        "links": links_data(setup, cost),
        "mapping": None if mapping is None else {"text": format_mapping(mapping, layer), **to_data(mapping)},
    }
