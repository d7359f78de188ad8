"""Our SRAM estimate against the CACTI 7 sweep, each row left out on its own."""

from __future__ import annotations

from typing import Any

from seada.technology.sram import QUANTITIES, SINGLE_PORT, left_out, read_sweep
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
DATA_FILE = "../../data/technology/cacti7.json"


def run(data: dict[str, Any]) -> SuiteResult:
    """Each row of the sweep estimated from the others: mean error under 8 %, worst under 20 %."""
    table = read_sweep(data["rows"])
    rows = []
    for point, values in table.items():
        common = point.cell == "itrs-hp" and point.ports == SINGLE_PORT
        for quantity in QUANTITIES:
            ours = left_out(table, point, quantity)
            name = (
                f"{point.bytes} B x {point.width} bit, {point.node_nm:g} nm {point.cell} {point.ports} "
                f"{NAMES[quantity]} ({UNITS[quantity]})"
            )
            if ours is None:
                rows.append(Row(name, None, None, values[quantity], note="no comparable row is left"))
                continue
            group = NAMES[quantity] if common else f"{NAMES[quantity]}, other cells and ports"
            error = relative_error(ours, values[quantity])
            rows.append(Row(name, True, ours, values[quantity], error, "", group))
    found = tuple(rows)
    groups = [group_rows(NAMES[q], found, mape_below=0.08, max_below=0.20) for q in QUANTITIES]
    groups += [group_rows(f"{NAMES[q]}, other cells and ports", found) for q in QUANTITIES]
    return SuiteResult("cacti", found, tuple(groups))
