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
from seada.errors import UserError

if TYPE_CHECKING:
    from seada.precision.data import Data
    from seada.system.result import RunResult
    from seada.workload.network import Network

OutDir = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Write result.json, layers.csv, figures and report.html there."
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option(
        "--inputs", metavar="DATA", help="Unlabelled items (npz, one array per graph input): fix the scales."
    ),
]
Evaluation = Annotated[
    Path | None,
    typer.Option("--eval", metavar="DATA", help="Labelled items (npz with labels): accuracy is measured."),
]


def run(
    arch: ArchPath,
    workload: WorkloadPath,
    precision: NetworkPrecision = None,
    objective: ObjectiveText = "edp",
    out: OutDir = None,
    inputs: Inputs = None,
    evaluation: Evaluation = None,
    jobs: Jobs = 0,
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
    from seada.mapper.objective import parse_objective
    from seada.system.run import run as run_network
    from seada.workload.load import load_workload

    parse_objective(objective)
    time_s = read_time(time)
    choice = network_precision(precision)
    chip = load_arch(arch)
    network = load_workload(workload, read_dims(dim))
    _check_out(out)
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
            calibration=_data(inputs, network, labels=False),
            evaluation=_data(evaluation, network, labels=True),
        )
    _finish(result, out, json)


def select(
    arch: ArchPath,
    workload: WorkloadPath,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="M", help="Score: bit_entropy, hist_entropy, nmse, output_kl ..."),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option("--budget", metavar="B", help="METRIC<=VALUE, such as 'latency<=2 ms'; repeatable."),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            "--candidates", metavar="P,P,...", help="Formats that layers may take, such as int4,w4a8."
        ),
    ] = None,
    objective: ObjectiveText = "edp",
    out: OutDir = None,
    inputs: Inputs = None,
    evaluation: Evaluation = None,
    jobs: Jobs = 0,
    time: TimeText = None,
    max_evaluations: Evaluations = None,
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Choose a precision for every layer.

    With the reason per layer, the Pareto front, and the cost of the network in the chosen formats.
    """
    from seada.arch.load import load_arch
    from seada.cli.inputs import process_count, read_dims, read_time, split_candidates
    from seada.precision.scores import parse_method
    from seada.system.jobs import Effort
    from seada.system.select import select_precisions
    from seada.workload.load import load_workload

    effort = Effort(max_evaluations, read_time(time))
    if method is not None:
        parse_method(method)
    allowed = None if candidates is None else split_candidates(candidates)
    chip = load_arch(arch)
    network = load_workload(workload, read_dims(dim))
    _check_out(out)
    with Progress(f"mapping {network.name}") as progress:
        result = select_precisions(
            chip,
            network,
            candidates=allowed,
            method=method,
            budgets=budget or [],
            objective=objective,
            inputs=_data(inputs, network, labels=False),
            evaluation=_data(evaluation, network, labels=True),
            jobs=process_count(jobs),
            effort=effort,
            progress=progress,
        )
    _finish(result, out, json)


def _data(path: Path | None, network: Network, *, labels: bool) -> Data | None:
    from seada.precision.data import load_data

    return None if path is None else load_data(path, network, labels=labels)


def _check_out(out: Path | None) -> None:
    """Refuse a place that cannot hold a report before hours of work are done."""
    if out is not None and out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file; a directory is needed")


def _finish(result: RunResult, out: Path | None, json: bool) -> None:
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
