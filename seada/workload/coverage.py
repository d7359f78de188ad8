"""How much of a network is modelled: part of every report."""

from __future__ import annotations

from collections import Counter
from typing import TypedDict

from seada.workload.network import Network

SUBGRAPH_TYPES = "subgraph_types"
"""Attribute of a node with subgraphs (If, Loop): types of all nodes inside, one entry per node."""


class UnmodelledType(TypedDict):
    """An operator type without a rule, and how many nodes have it."""

    type: str
    count: int


class Coverage(TypedDict):
    """``modelled`` of ``total`` nodes have a cost or a stated rule why they cost nothing."""

    modelled: int
    total: int
    unmodelled: list[UnmodelledType]


def coverage(network: Network) -> Coverage:
    """Count the nodes after constant folding, nodes of subgraphs included."""
    missing: Counter[str] = Counter()
    inner = 0
    for node in network.nodes:
        if not node.modelled:
            missing[node.type] += 1
        types = node.attributes.get(SUBGRAPH_TYPES, ())
        missing.update(types)
        inner += len(types)
    total = len(network.nodes) + inner
    return {
        "modelled": total - sum(missing.values()),
        "total": total,
        "unmodelled": [{"type": kind, "count": missing[kind]} for kind in sorted(missing)],
    }


def coverage_text(network: Network) -> str:
    """``n of m nodes modelled``, and the rest by type."""
    found = coverage(network)
    text = f"{found['modelled']} of {found['total']} nodes modelled"
    rest = ", ".join(f"{item['type']} x{item['count']}" for item in found["unmodelled"])
    return f"{text}; not modelled: {rest}" if rest else text
