"""Our SRAM estimate against macros of CACTI 7, each size and width left out of our table at every node.

Rows at sizes or widths that the table does not have (they are no powers of two) have nothing to leave out.
Two harder tests are shown beside: a whole size, and a whole width, left out of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

from seada.technology.sram import (
    DEFAULT_CELL,
    PORTS,
    QUANTITIES,
    Kind,
    Table,
    estimate,
    in_reach,
    sweep,
    without,
)
from seada.validate.form import number
from seada.validate.result import Row, SuiteResult, group_rows, relative_error

NAMES = {"read_nJ": "read energy", "write_nJ": "write energy", "leak_mW": "leakage", "area_mm2": "area"}
UNITS = {"read_nJ": "nJ", "write_nJ": "nJ", "leak_mW": "mW", "area_mm2": "mm2"}
FORM = {
    "rows": [
        {
            "node_nm": number,
            "cell": str,
            "ports": str,
            "bytes": number,
            "width": number,
            **dict.fromkeys(QUANTITIES, number),
        }
    ]
}
OTHERS, BETWEEN = ", other cells and ports", ", between the table's sizes and widths"
HARDER: dict[str, Callable[[float, float], Table]] = {
    ", whole size left out": lambda size, width: without(sweep(), size, None),
    ", whole width left out": lambda size, width: without(sweep(), None, width),
}
ROUNDING = 2e-3
"""Sizes of five printed digits, as logarithms."""


def run(data: dict[str, Any]) -> SuiteResult:
    """Rows estimated from the table without their size and width: mean error under 8 %, worst under 20 %."""
    found = tuple(row for given in data["rows"] for row in _rows(given))
    groups = [group_rows(NAMES[q], found, mape_below=0.08, max_below=0.20) for q in QUANTITIES]
    for suffix in (OTHERS, BETWEEN, *HARDER):
        groups += [group_rows(NAMES[q] + suffix, found) for q in QUANTITIES]
    return SuiteResult("cacti", found, tuple(group for group in groups if group.n or group.target))


def _rows(given: dict[str, Any]) -> list[Row]:
    kind = Kind(int(given["node_nm"]), given["cell"], given["ports"])
    size, width = _power_of_two(given["bytes"]), float(given["width"])
    name = f"{size:g} B x {width:g} bit, {kind.node_nm} nm {kind.cell} {kind.ports}"
    reason = ""
    if kind not in sweep():
        reason = "no macros of this node, cell and ports in the table"
    elif not in_reach(sweep()[kind], size, width):
        reason = "the table does not reach this size and width"
    if reason:
        return [_row(name, quantity, given, None, note=reason) for quantity in QUANTITIES]
    on_grid = log2(size).is_integer() and log2(width).is_integer()
    common = (kind.cell, kind.ports) == (DEFAULT_CELL, PORTS["1RW"])
    suffix = BETWEEN if not on_grid else "" if common else OTHERS
    rows = _estimated(name, given, suffix, without(sweep(), size, width), kind)
    if on_grid and common:
        for harder, table in HARDER.items():
            rows += _estimated(name + harder, given, harder, table(size, width), kind)
    return rows


def _estimated(name: str, given: dict[str, Any], suffix: str, table: Table, kind: Kind) -> list[Row]:
    values = estimate(table, kind, log2(_power_of_two(given["bytes"])), log2(given["width"]))
    return [
        _row(name, quantity, given, ours, NAMES[quantity] + suffix)
        for quantity, ours in zip(QUANTITIES, values, strict=True)
    ]


def _row(
    name: str, quantity: str, given: dict[str, Any], ours: float | None, group: str = "", note: str = ""
) -> Row:
    reference = given[quantity]
    title = f"{name} {NAMES[quantity]} ({UNITS[quantity]})"
    if ours is None:
        return Row(title, None, None, reference, note=note)
    return Row(title, True, ours, reference, relative_error(ours, reference), note, group)


def _power_of_two(size: float) -> float:
    """A size without the rounding of CACTI's five printed digits."""
    if size <= 0:
        return float(size)
    nearest = round(log2(size))
    return 2.0**nearest if abs(log2(size) - nearest) < ROUNDING else float(size)
