"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ArchPath = Annotated[Path, typer.Argument(metavar="ARCH", help="Architecture file (YAML).")]
WorkloadPath = Annotated[Path, typer.Argument(metavar="WORKLOAD", help="Network (YAML or ONNX).")]
LayerText = Annotated[
    str,
    typer.Argument(
        metavar="LAYER",
        help="WORKLOAD:NAME, or one quoted line such as 'conv K=64 C=64 P=56 Q=56 R=3 S=3 pad=1', "
        "'gemm M=512 N=512 K=512', 'matmul B=12 M=128 N=128 K=64'.",
    ),
]
PrecisionText = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="P",
        help="A format for weight and input (int8, fp16), w4a8, or w:int4,a:fp8_e4m3,acc:fp32,out:fp16. "
        "Default: the file's own.",
    ),
]
NetworkPrecision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="P",
        help="A format for weight and input (int8, fp16), w4a8, w:int4,a:fp8_e4m3,acc:fp32,out:fp16, a YAML "
        "file with one entry per layer, or auto (selected from the weights). Default: the file's own.",
    ),
]
ObjectiveText = Annotated[
    str,
    typer.Option(
        "--objective", metavar="O", help="edp, energy, latency, or a product such as energy^2*latency."
    ),
]
ConventionText = Annotated[
    str,
    typer.Option(
        "--convention",
        metavar="C",
        help="Whose rules count: default, timeloop, accelforge, factorflow, or switches (words=fractional).",
    ),
]
TimeText = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="T", help="Stop each search after this time (5s); the result then depends on it."
    ),
]
Evaluations = Annotated[
    int | None,
    typer.Option("--max-evaluations", metavar="N", min=1, help="Stop each search after N evaluations."),
]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="N=V", help="Size of a symbolic dimension of an ONNX file; repeatable."),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", metavar="N", min=0, help="Processes; 0 is one per core. Results do not depend on it."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
