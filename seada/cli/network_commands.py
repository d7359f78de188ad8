"""``run`` and ``select``: whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seada.cli.options import (
    ArchPath,
    Dims,
    Evaluations,
    Jobs,
    Json,
    NetworkPrecision,
    ObjectiveText,
    TimeText,
    WorkloadPath,
)
from seada.cli.output import Progress, print_json, print_text

if TYPE_CHECKING:
    from seada.system.result import RunResult

OutDir = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Write result.json, layers.csv, figures and report.html there."
    ),
]


def run(
    arch: ArchPath,
    workload: WorkloadPath,
    precision: NetworkPrecision = None,
    objective: ObjectiveText = "edp",
    out: OutDir = None,
    jobs: Jobs = 1,
    time: TimeText = None,
    max_evaluations: Evaluations = None,
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Cost a whole network, layer by layer.

    Best mapping, latency, energy and precision of each layer, and the totals.
    """
    from seada.arch.load import load_arch
    from seada.cli.inputs import network_precision, process_count, read_dims, read_time
    from seada.system.run import run as run_network
    from seada.workload.load import load_workload

    time_s = read_time(time)
    choice = network_precision(precision)
    chip = load_arch(arch)
    network = load_workload(workload, read_dims(dim))
    with Progress(f"mapping {network.name}") as progress:
        result = run_network(
            chip,
            network,
            choice,
            objective,
            jobs=process_count(jobs),
            max_evaluations=max_evaluations,
            time_s=time_s,
            progress=progress,
        )
    finish(result, out, json)


def finish(result: RunResult, out: Path | None, json: bool) -> None:
    """Write the report, then print the result."""
    if out is not None:
        from seada.report import write_report

        with Progress("drawing the report"):
            write_report(result, out)
    if json:
        print_json("run", result.to_dict())
        return
    from seada.cli.tables import network_text

    print_text(*network_text(result))
    if out is not None:
        print_text(f"report: {out / 'report.html'}")
