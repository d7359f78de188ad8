"""Measured chips, cycle-exact RTL and vendor models: our model against published figures.

Errors are signed and relative, per row; sums over networks are not compared, since errors cancel in them.
"""

from __future__ import annotations

from typing import Any

from seada.validate import silicon_eyeriss, silicon_gemmini, silicon_others
from seada.validate.form import Maybe
from seada.validate.result import Group, Row, SuiteResult

FORM = {
    "chips": [
        {
            "id": str,
            "kind": str,
            "records": [{"id": str}],
            "tables": Maybe([{"name": str, "columns": [str], "rows": [list]}]),
        }
    ]
}


def run(data: dict[str, Any]) -> SuiteResult:
    """Rows of every chip of the file; what cannot be described is skipped with the reason."""
    rows: list[Row] = []
    groups: list[Group] = []
    parameters: list[dict[str, Any]] = []
    parts = [silicon_others.rows(data)]
    for chip in data["chips"]:
        if chip["id"] == "eyeriss_v1":
            parts.insert(0, silicon_eyeriss.rows(chip))
        elif chip["id"] == "gemmini_rtl_16x16":
            parts.insert(0, silicon_gemmini.rows(chip))
    for found, of_groups, shown in parts:
        rows += found
        groups += [group for group in of_groups if group.n]
        parameters += shown
    return SuiteResult("silicon", tuple(rows), tuple(groups), tuple(parameters))
