"""Energy, leakage and area of a whole SRAM: its banks, at a node of the sweep or scaled from one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

from seada.errors import UserError
from seada.technology.sram import SOURCE, Kind, sram, swept_nodes
from seada.technology.tables import scaled, scaling_method, scaling_methods


@dataclass(frozen=True)
class SramChoice:
    """What a memory is made of: macros of a kind, `banks` of them, at a node scaled by a method if any."""

    kind: Kind
    banks: int = 1
    scaling: str | None = None


@dataclass(frozen=True)
class MemoryFigures:
    """Energies per word in pJ, leakage in W and area in um2 of all banks; None: the technology has none."""

    read_pj: float
    write_pj: float
    leakage_w: float | None
    area_um2: float | None
    source: str


def base_node(choice: SramChoice) -> int:
    """The node of the sweep that the figures come from: the nearest one that the method has a factor for.

    Raises
    ------
    UserError
        If the node is not in the sweep and no method carries a figure there.
    """
    node = choice.kind.node_nm
    nodes = ", ".join(f"{swept} nm" for swept in swept_nodes())
    if choice.scaling is None:
        if node in swept_nodes():
            return node
        nearest = min(swept_nodes(), key=lambda swept: abs(log2(swept / node)))
        methods = ", ".join(scaling_methods("sram"))
        raise UserError(
            f"no SRAM at {node} nm; allowed: {nodes} (the nearest is {nearest} nm), "
            f"others with 'scaling': {methods}"
        )
    method = scaling_method(choice.scaling, "sram")
    if node in swept_nodes():
        raise UserError(f"{node} nm is in the sweep; remove 'scaling'")
    factors = method["energy"]
    if node not in factors:
        reached = [other for other in factors if other not in swept_nodes()]
        nearest = min([*swept_nodes(), *reached], key=lambda other: abs(log2(other / node)))
        others = ", ".join(f"{other} nm" for other in reached)
        raise UserError(
            f"no SRAM at {node} nm; {choice.scaling} reaches {others}, the sweep has {nodes}; "
            f"the nearest is {nearest} nm"
        )
    bases = [swept for swept in swept_nodes() if swept in factors]
    return min(bases, key=lambda swept: abs(log2(swept / node)))


def sram_memory(choice: SramChoice, size_bytes: float, word_bits: float) -> MemoryFigures:
    """An SRAM of `size_bytes` in all; an access is one of one bank, leakage and area are those of all banks.

    Wires between banks are not included.

    Raises
    ------
    UserError
        If the node, cell, size of a bank or width is out of reach.
    """
    base = base_node(choice)
    macro = sram(replace(choice.kind, node_nm=base), size_bytes / choice.banks, word_bits)
    source = f"{SOURCE}, {choice.kind.cell}, ports {choice.kind.ports}"
    source += f", {choice.banks} banks" if choice.banks > 1 else ""
    source += ", interpolated" if macro.interpolated else ""
    figures = MemoryFigures(
        read_pj=macro.read_pj,
        write_pj=macro.write_pj,
        leakage_w=macro.leakage_w * choice.banks,
        area_um2=macro.area_um2 * choice.banks,
        source=source,
    )
    return figures if choice.scaling is None else _scaled(figures, base, choice.kind.node_nm, choice.scaling)


def _scaled(figures: MemoryFigures, base: int, node: int, method: str) -> MemoryFigures:
    """The figures at another node; what the method has no factors for is left out."""
    area = figures.area_um2 if "area" in scaling_method(method, "sram") else None
    return MemoryFigures(
        read_pj=scaled("energy", figures.read_pj, base, node, method),
        write_pj=scaled("energy", figures.write_pj, base, node, method),
        leakage_w=None,
        area_um2=None if area is None else scaled("area", area, base, node, method),
        source=f"{figures.source}; from {base} nm by {method}",
    )
