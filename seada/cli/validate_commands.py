"""``validate``: our numbers beside those of other tools, of silicon, and of slower programs of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seada.cli.options import Json
from seada.cli.output import Progress, file_hash, print_json, print_text, provenance

if TYPE_CHECKING:
    from rich.console import RenderableType

    from seada.validate.result import SuiteResult

FAILED = 4


def validate(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE]",
            help="timeloop, factorflow, accelforge, bitfusion, cacti, silicon, oracle, events; default all.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Another reference file of the suite's form."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare our numbers with references, row by row.

    Exit code 4 if a row or a target fails; rows that cannot be described are skipped with the reason.
    """
    from seada.errors import UserError
    from seada.validate.registry import SUITES, run_suite

    if suite is None and data is not None:
        raise UserError("--data needs a SUITE")
    results = []
    with Progress("validating") as progress:
        for number, name in enumerate([suite] if suite else SUITES):
            progress(number, 1 if suite else len(SUITES), name)
            results.append(run_suite(name, data))
    failed = sum(result.failed for result in results)
    if json:
        _print_json(results, data, single=suite is not None)
    else:
        for result in results:
            print_text(*_text(result))
        if len(results) > 1:
            print_text(*_summary(results))
    if failed:
        raise typer.Exit(FAILED)


def _print_json(results: list[SuiteResult], data: Path | None, single: bool) -> None:
    inputs: dict[str, Any] = {}
    if data is not None:
        inputs["data"] = {"name": data.name, "content_hash": file_hash(data)}
    origin = {"provenance": provenance(inputs)}
    if single:
        print_json("validate", {**results[0].to_dict(), **origin})
        return
    totals = {key: sum(getattr(result, key) for result in results) for key in ("passed", "failed", "skipped")}
    print_json("validate", {"suites": [result.to_dict() for result in results], **totals, **origin})


def _text(result: SuiteResult) -> Iterator[RenderableType]:
    from rich.text import Text

    from seada.cli.tables import make_table

    yield f"Suite {result.suite}"
    mark = {True: "ok", False: "FAILED", None: "skipped"}
    rows = [
        (row.name, mark[row.ok], _number(row.ours), _number(row.reference), _percent(row.error))
        for row in result.rows
    ]
    table = make_table(["row", "", "ours", "reference", "error"], rows, left=2)
    table.add_column("note", overflow="fold", ratio=1)
    table.columns[-1]._cells.extend(Text(row.note) for row in result.rows)
    yield table
    if result.groups:
        columns = ["group", "", "target", "rows", "mape", "median", "p90", "max", "rank"]
        yield make_table(columns, map(_group, result.groups), left=3)
    for parameter in result.parameters:
        yield "parameter " + ", ".join(f"{key} {value}" for key, value in parameter.items())
    yield f"{result.suite}: {result.passed} passed, {result.failed} failed, {result.skipped} skipped"
    yield ""


def _group(group: Any) -> tuple[str, ...]:
    judged = ("ok" if group.ok else "FAILED") if group.target else ""
    figures = (_percent(value, sign="") for value in (group.mape, group.median, group.p90, group.max))
    rank = "" if group.rank is None else f"{group.rank:.3f}"
    return (group.name, judged, group.target or "informative", str(group.n), *figures, rank)


def _summary(results: list[SuiteResult]) -> Iterator[RenderableType]:
    from seada.cli.tables import make_table

    rows = [(r.suite, str(r.passed), str(r.failed), str(r.skipped)) for r in results]
    yield make_table(["suite", "passed", "failed", "skipped"], rows)


def _number(value: float | int | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _percent(value: float | None, sign: str = "+") -> str:
    return "" if value is None else f"{100 * value:{sign}.3g} %"
