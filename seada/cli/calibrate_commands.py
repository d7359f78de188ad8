"""``calibrate``: fit a few physical parameters of a chip to measured rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seada.cli.options import ArchPath, Json
from seada.cli.output import Progress, file_hash, print_json, print_text, provenance

if TYPE_CHECKING:
    from seada.model.calibration import Fit


def calibrate(
    arch: ArchPath,
    measured: Annotated[
        Path,
        typer.Argument(
            metavar="MEASURED",
            help="CSV with the columns layer (one line), precision, mapping (a file, may be empty), cycles.",
        ),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="NAME", help="A parameter to fit; repeatable. Default: all six."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the calibration block (YAML) there.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit named parameters of a chip to measured cycles.

    The result is a ``calibration:`` block for the architecture file; results then state a calibrated latency.
    """
    from seada.arch.load import load_arch
    from seada.model.calibration import NAMES, fit
    from seada.system.measured import read_measured

    chip = load_arch(arch)
    with Progress("calibrating") as progress:
        rows = read_measured(measured, chip, progress)
    found = fit([row.features for row in rows], [row.cycles for row in rows], tuple(parameter or NAMES))
    block = _block(found, measured, len(rows))
    if out is not None:
        out.write_text(block, encoding="utf-8")
    if json:
        origin = {"architecture": {"name": chip.name, "content_hash": chip.content_hash}}
        hashes = {"measured": {"name": measured.name, "content_hash": file_hash(measured)}}
        content = {**_data(found, [row.name for row in rows]), "yaml": block}
        print_json("calibrate", {**content, "provenance": provenance({**origin, **hashes})})
        return
    print_text(*_text(found), block)


def _data(found: Fit, names: list[str]) -> dict[str, Any]:
    return {
        "parameters": [
            {
                "name": name,
                "value": getattr(found.calibration, name),
                "standard_error": found.errors[name],
            }
            for name in found.fitted
        ],
        "rows": len(names),
        "mape": found.mape,
        "cross_validated_mape": found.cross_validated_mape,
        "warnings": list(found.warnings),
    }


def _text(found: Fit) -> list[Any]:
    from seada.cli.tables import make_table

    rows = []
    for name in found.fitted:
        error = found.errors[name]
        spread = "not determined" if error is None else f"{error:.3g}"
        rows.append((name, f"{getattr(found.calibration, name):.6g}", spread))
    left_out = found.cross_validated_mape
    held = "" if left_out is None else f", {100 * left_out:.3g} % on rows left out"
    return [
        make_table(["parameter", "value", "standard error"], rows),
        f"mean absolute error {100 * found.mape:.3g} % on the rows{held}",
        *(f"warning: {text}" for text in found.warnings),
    ]


def _block(found: Fit, measured: Path, rows: int) -> str:
    """The YAML block, with where it comes from."""
    lines = [
        "calibration:",
        f'  source: "seada calibrate, {rows} rows of {measured.name}"',
        "  status: derived",
    ]
    lines += [f"  {name}: {getattr(found.calibration, name):.9g}" for name in found.fitted]
    return "\n".join(lines) + "\n"
