"""The per-layer table as CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from seada.system.result import RunResult

_COLUMNS = (
    "name",
    "type",
    "unit",
    "macs",
    "operations",
    "latency_cycles",
    "energy_pj",
    "utilization",
    "optimal",
    "bound",
    "gap",
    "estimate",
    "weight_bits",
    "outer_bits",
    "bound_by",
    "note",
)
_OPERANDS = ("weight", "input", "accumulator", "output")
# A cell that begins with one of these would be run as a formula by a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def layers_csv(result: RunResult) -> str:
    """One line per row of the result; formats in `precision_*`, energy by part in `energy_pj_*` columns."""
    parts = sorted({name for row in result.layers for name in row.energy_breakdown_pj})
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        [*_COLUMNS, *(f"precision_{name}" for name in _OPERANDS), *(f"energy_pj_{name}" for name in parts)]
    )
    for row in result.layers:
        cells = [_cell(getattr(row, name)) for name in _COLUMNS]
        cells += [row.precision.get(name, "") for name in _OPERANDS]
        cells += [_cell(row.energy_breakdown_pj.get(name)) for name in parts]
        writer.writerow(cells)
    return buffer.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value if value.startswith(_FORMULA) else value
    return repr(value)
