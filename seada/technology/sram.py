"""Energy, leakage and area of an SRAM macro from a sweep of CACTI 7.

A point of the sweep is answered with its own figures. Between its sizes (256 B to 2 MiB) and widths (64 and
256 bit) each quantity is interpolated linearly in logarithms. A row that is left out for a test is
estimated from the same size and width at the two nearest nodes, times the median ratio of the nodes at the
four nearest sizes: the way a macro folds into subarrays makes steps along size and width that the nodes
share.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp, log
from statistics import median
from typing import Any

from seada.errors import UserError

QUANTITIES = ("read_nJ", "write_nJ", "leak_mW", "area_mm2")
SINGLE_PORT = "1/0/0"
NODES_USED, SIZES_USED = 2, 4
SOURCE = "CACTI 7 sweep, one bank, 360 K"


@dataclass(frozen=True)
class Macro:
    """One SRAM macro: energies per word in pJ, leakage in W, area in um2."""

    read_pj: float
    write_pj: float
    leakage_w: float
    area_um2: float
    interpolated: bool


@dataclass(frozen=True)
class Point:
    """A row of the sweep by what was varied; bytes as powers of two."""

    node_nm: float
    cell: str
    ports: str
    bytes: int
    width: int


def read_sweep(rows: Iterable[dict[str, Any]]) -> dict[Point, dict[str, float]]:
    """Rows of a sweep file by point; sizes are rounded to the power of two that CACTI was asked for."""
    table = {}
    for row in rows:
        size = 1 << round(log(row["bytes"], 2))
        point = Point(row["node_nm"], row["cell"], row["ports"], size, int(row["width"]))
        table[point] = {quantity: float(row[quantity]) for quantity in QUANTITIES}
    return table


@lru_cache
def sweep() -> dict[Point, dict[str, float]]:
    """The package's own sweep."""
    text = (files("seada") / "data" / "technology" / "cacti7.json").read_text(encoding="utf-8")
    return read_sweep(json.loads(text)["rows"])


def sram(node_nm: float, cell: str, size_bytes: float, width_bits: int) -> Macro:
    """A single-ported macro of that size and word width.

    Raises
    ------
    UserError
        If the node, cell, size or width lies outside the sweep.
    """
    rows = {
        (point.bytes, point.width): values
        for point, values in sweep().items()
        if (point.node_nm, point.cell, point.ports) == (node_nm, cell, SINGLE_PORT)
    }
    if not rows:
        known = sorted({(p.node_nm, p.cell) for p in sweep() if p.ports == SINGLE_PORT})
        allowed = ", ".join(f"{cell} at {node:g} nm" for node, cell in known)
        raise UserError(f"the SRAM sweep has no {cell} at {node_nm:g} nm; it has {allowed}")
    values = {quantity: _interpolated(rows, quantity, size_bytes, width_bits) for quantity in QUANTITIES}
    exact = (size_bytes, width_bits) in rows
    read, write, leak, area = (values[quantity] for quantity in QUANTITIES)
    return Macro(read * 1e3, write * 1e3, leak * 1e-3, area * 1e6, not exact)


def _interpolated(
    rows: dict[tuple[int, int], dict[str, float]], quantity: str, size_bytes: float, width_bits: int
) -> float:
    """Linear in logarithms along size, then along width."""
    widths = sorted({width for _, width in rows})
    points = []
    for width in widths:
        along = sorted((log(size), log(row[quantity])) for (size, w), row in rows.items() if w == width)
        low, high = exp(along[0][0]), exp(along[-1][0])
        if low * 0.999 <= size_bytes <= high * 1.001:
            points.append((log(width), _line(along, log(size_bytes))))
    in_reach = [exp(width) for width, _ in points]
    if not points or not min(in_reach) * 0.999 <= width_bits <= max(in_reach) * 1.001:
        raise UserError(
            f"the SRAM sweep does not reach {size_bytes:g} B with words of {width_bits} bit; it has "
            "256 B to 2 MiB with 64 bit and 1 KiB to 2 MiB with 256 bit"
        )
    return exp(_line(points, log(width_bits)))


def _line(points: Sequence[tuple[float, float]], x: float) -> float:
    """The line through the two points around x."""
    if len(points) == 1:
        return points[0][1]
    index = next((i for i in range(1, len(points)) if points[i][0] >= x), len(points) - 1)
    (x0, y0), (x1, y1) = points[index - 1], points[index]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def left_out(table: dict[Point, dict[str, float]], point: Point, quantity: str) -> float | None:
    """Estimate of one row from all others; None where nothing comparable is left."""
    others = sorted(_relatives(table, point), key=lambda other: (other[0], other[1].node_nm))[:NODES_USED]
    estimates = []
    for distance, other in others:
        ratios = _ratios(table, point, other, quantity)
        if ratios:
            estimates.append((log(table[other][quantity]) + median(ratios), 1 / distance))
    if not estimates:
        return None
    return exp(sum(value * weight for value, weight in estimates) / sum(weight for _, weight in estimates))


def _relatives(table: dict[Point, dict[str, float]], point: Point) -> Iterable[tuple[float, Point]]:
    """Rows of the same size and width at another node, or with another cell or port, with a distance."""
    for other in table:
        if other == point or (other.bytes, other.width) != (point.bytes, point.width):
            continue
        same_kind = (other.cell, other.ports) == (point.cell, point.ports)
        same_node = other.node_nm == point.node_nm
        if same_kind:
            yield abs(log(other.node_nm / point.node_nm)), other
        elif same_node and (other.cell, other.ports) == ("itrs-hp", SINGLE_PORT):
            yield 1.0, other


def _ratios(table: dict[Point, dict[str, float]], point: Point, other: Point, quantity: str) -> list[float]:
    """Logarithms of the ratio of the two kinds at the nearest other sizes."""
    found = []
    for peer, values in table.items():
        kind = (peer.node_nm, peer.cell, peer.ports, peer.width)
        if kind != (point.node_nm, point.cell, point.ports, point.width) or peer == point:
            continue
        twin = Point(other.node_nm, other.cell, other.ports, peer.bytes, peer.width)
        if twin in table:
            distance = abs(log(peer.bytes / point.bytes))
            found.append((distance, log(values[quantity] / table[twin][quantity])))
    return [ratio for _, ratio in sorted(found)[:SIZES_USED]]
