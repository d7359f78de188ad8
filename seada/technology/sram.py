"""Energy, leakage and area of an SRAM macro from a sweep of CACTI 7 over sizes and word widths.

A macro of the sweep is answered with its own figures. Between its powers of two each quantity is interpolated
linearly in logarithms along size and width. A macro that is missing from the table takes the value of a local
regression through its neighbours (`seada.technology.trend`); this is how the suite `cacti` estimates what it
leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import floor, log2
from typing import Any

from seada.config.problems import did_you_mean
from seada.errors import UserError

QUANTITIES = ("read_nJ", "write_nJ", "leak_mW", "area_mm2")
SOURCE = "CACTI 7 sweep (one bank, 360 K, with ECC bits)"
DEFAULT_CELL = "itrs-hp"
PORTS = {"1RW": "1/0/0", "1R1W": "0/1/1"}
"""Ports by name, as CACTI counts them: read-write / read / write."""
_ON_GRID = 1e-9

Corner = tuple[int, int]
Values = tuple[float, ...]
Grid = dict[Corner, Values]


@dataclass(frozen=True, order=True)
class Kind:
    """What a macro is made of: node, transistors (itrs-hp, -lop, -lstp) and ports as CACTI counts them."""

    node_nm: int
    cell: str = DEFAULT_CELL
    ports: str = PORTS["1RW"]


Table = dict[Kind, Grid]
"""Per kind: (log2 of bytes, log2 of word bits) to the logarithms (base 2) of `QUANTITIES`."""


@dataclass(frozen=True)
class Macro:
    """One SRAM macro: energies per word in pJ, leakage in W, area in um2."""

    read_pj: float
    write_pj: float
    leakage_w: float
    area_um2: float
    interpolated: bool


def read_table(rows: Iterable[dict[str, Any]]) -> Table:
    """Rows of a sweep as a table; sizes and widths must be powers of two."""
    table: Table = {}
    for row in rows:
        grid = table.setdefault(Kind(int(row["node_nm"]), row["cell"], row["ports"]), {})
        corner = (round(log2(row["bytes"])), round(log2(row["width"])))
        grid[corner] = tuple(log2(row[quantity]) for quantity in QUANTITIES)
    return table


@lru_cache
def sweep() -> Table:
    """The package's own sweep, made by ``scripts/sweep_cacti.py``."""
    text = (files("seada") / "data" / "technology" / "cacti7.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return read_table(dict(zip(data["columns"], row, strict=True)) for row in data["rows"])


def swept_nodes() -> tuple[int, ...]:
    """Nodes of the sweep in nm, coarsest first."""
    return tuple(sorted({kind.node_nm for kind in sweep()}, reverse=True))


def sram(kind: Kind, size_bytes: float, width_bits: float) -> Macro:
    """A macro of that size and word width.

    Raises
    ------
    UserError
        If the kind, size or width lies outside the sweep.
    """
    grid = known_kind(kind)
    if not in_reach(grid, size_bytes, width_bits):
        raise UserError(_out_of_reach(grid, size_bytes, width_bits))
    x, y = log2(size_bytes), log2(width_bits)
    read, write, leak, area = estimate(sweep(), kind, x, y)
    return Macro(read * 1e3, write * 1e3, leak * 1e-3, area * 1e6, len(list(_corners(x, y))) > 1)


def in_reach(grid: Grid, size_bytes: float, width_bits: float) -> bool:
    """Whether the grid has all macros around that size and width."""
    if size_bytes <= 0 or width_bits <= 0:
        return False
    return all(corner in grid for corner, _ in _corners(log2(size_bytes), log2(width_bits)))


def estimate(table: Table, kind: Kind, log2_bytes: float, log2_bits: float) -> Values:
    """The quantities of a macro, interpolated between the corners around it; missing corners by the trend."""
    grid = table[kind]
    total = [0.0] * len(QUANTITIES)
    for corner, share in _corners(log2_bytes, log2_bits):
        values = grid[corner] if corner in grid else _trend(table, kind, corner)
        total = [part + share * value for part, value in zip(total, values, strict=True)]
    return tuple(2.0**value for value in total)


def without(table: Table, size_bytes: float | None, width_bits: float | None) -> Table:
    """The table without a size and width (or, with one of them None, a whole size or width), of any kind."""
    size = None if size_bytes is None else log2(size_bytes)
    width = None if width_bits is None else log2(width_bits)

    def left_out(corner: Corner) -> bool:
        pairs = zip(corner, (size, width), strict=True)
        near = (wanted is None or abs(at - wanted) < _ON_GRID for at, wanted in pairs)
        return all(near)

    return {
        kind: {corner: values for corner, values in grid.items() if not left_out(corner)}
        for kind, grid in table.items()
    }


def _corners(x: float, y: float) -> Iterator[tuple[Corner, float]]:
    """Whole numbers around (x, y), each with its share."""
    for at_x, share_x in _ends(x):
        for at_y, share_y in _ends(y):
            yield (at_x, at_y), share_x * share_y


def _ends(x: float) -> list[tuple[int, float]]:
    if abs(x - round(x)) < _ON_GRID:
        return [(round(x), 1.0)]
    return [(floor(x), 1 - (x - floor(x))), (floor(x) + 1, x - floor(x))]


def _trend(table: Table, kind: Kind, corner: Corner) -> Values:
    """The trend through all nodes of that cell and ports."""
    from seada.technology.trend import local_trend

    relatives = {k.node_nm: g for k, g in table.items() if (k.cell, k.ports) == (kind.cell, kind.ports)}
    return local_trend(relatives, kind.node_nm, corner)


def known_kind(kind: Kind) -> Grid:
    """The macros of a kind.

    Raises
    ------
    UserError
        If the sweep has no such kind.
    """
    table = sweep()
    if kind in table:
        return table[kind]
    if kind.node_nm not in swept_nodes():
        nodes = ", ".join(f"{node} nm" for node in swept_nodes())
        nearest = min(swept_nodes(), key=lambda node: abs(log2(node / kind.node_nm)))
        raise UserError(f"no SRAM at {kind.node_nm} nm; allowed: {nodes}; the nearest is {nearest} nm")
    names = {ports: name for name, ports in PORTS.items()}
    known = [k for k in sorted(table) if k.node_nm == kind.node_nm]
    cells = list(dict.fromkeys(k.cell for k in known))
    hint = did_you_mean(kind.cell, cells) if kind.cell not in cells else ""
    allowed = ", ".join(f"{k.cell} {names[k.ports]}" for k in known)
    ports = names.get(kind.ports, kind.ports)
    raise UserError(f"no SRAM of cell {kind.cell} with ports {ports}; allowed: {allowed}{hint}")


def _out_of_reach(grid: Grid, size_bytes: float, width_bits: float) -> str:
    sizes, widths = sorted({size for size, _ in grid}), sorted({width for _, width in grid})
    low, high = widths[0], widths[-1]
    reach = f"{2 ** sizes[0]} B to {2 ** (sizes[-1] - 20)} MiB and words of {2**low} to {2**high} bit"
    inside = min(max(log2(width_bits), low), high)
    deep = [size for size in sizes if all((size, width) in grid for width, _ in _ends(inside))]
    return (
        f"an SRAM macro of {size_bytes:g} B with words of {width_bits:g} bit is out of reach of the sweep "
        f"({reach}; with such words {2 ** deep[0]} B or more per bank)"
    )
