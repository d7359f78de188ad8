"""``map`` and ``evaluate``: one layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seada.cli.options import (
    ArchPath,
    ConventionText,
    Dims,
    Evaluations,
    Json,
    LayerText,
    ObjectiveText,
    PrecisionText,
    TimeText,
)
from seada.cli.output import Progress, file_hash, print_json, print_text, provenance

if TYPE_CHECKING:
    from seada.arch.hardware import Arch
    from seada.cli.inputs import LayerInput
    from seada.formats import PrecisionRequest
    from seada.mapper.result import MapResult
    from seada.system.jobs import Effort


def map_layer(
    arch: ArchPath,
    layer: LayerText,
    precision: PrecisionText = None,
    objective: ObjectiveText = "edp",
    time: TimeText = None,
    max_evaluations: Evaluations = None,
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Find the best mapping of one layer.

    With its cost, and what is proven about it.
    """
    from seada.arch.load import load_arch
    from seada.cli.inputs import layer_request, read_dims, read_layer, read_time
    from seada.mapper.objective import parse_objective
    from seada.system.jobs import Effort

    effort = Effort(max_evaluations, read_time(time))
    parse_objective(objective)
    chip = load_arch(arch)
    read = read_layer(layer, read_dims(dim))
    request = layer_request(precision, read, chip)
    with Progress(f"mapping {read.layer.name}"):
        result = _map(chip, read, request, objective, effort)
    if json:
        choices = {"objective": objective, "max_evaluations": max_evaluations, "time_s": effort.time_s}
        print_json("map", {**result.to_dict(), "provenance": _origin(chip, read, **choices)})
    else:
        _print(result)


def _map(
    chip: Arch, read: LayerInput, request: PrecisionRequest, objective: str, effort: Effort
) -> MapResult:
    """On the array if it has a mode for the formats, else on the floating-point unit."""
    from seada.arch.setup import float_unit_runs, select_mode
    from seada.errors import InfeasibleError
    from seada.mapper.api import map_layer as map_on_array
    from seada.system.jobs import Question, answer_all

    try:
        select_mode(chip, request.weight, request.input)
    except InfeasibleError:
        compute = float_unit_runs(chip, request.weight, request.input)
        if compute is None:
            raise
        (answer,) = answer_all(chip, [Question(read.layer, request, compute)], objective)
        assert answer is not None
        return answer
    evaluations, time_s = effort.max_evaluations, effort.time_s
    return map_on_array(chip, read.layer, request, objective, max_evaluations=evaluations, time_s=time_s)


def evaluate(
    arch: ArchPath,
    layer: LayerText,
    mapping: Annotated[Path, typer.Argument(metavar="MAPPING", help="Mapping file (YAML).")],
    precision: PrecisionText = None,
    convention: ConventionText = "default",
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Count what a given mapping costs.

    The mapping is checked first; every rule that it breaks is named.
    """
    from seada.arch.load import load_arch
    from seada.cli.inputs import layer_request, read_dims, read_layer
    from seada.mapper.evaluate import evaluate as evaluate_mapping
    from seada.mapping.yaml_form import load_mapping
    from seada.peers.convention import parse_convention

    chip = load_arch(arch)
    read = read_layer(layer, read_dims(dim))
    nest = load_mapping(mapping)
    rules = parse_convention(convention)
    result = evaluate_mapping(chip, read.layer, nest, layer_request(precision, read, chip), rules)
    if json:
        origin = _origin(chip, read, mapping={"content_hash": file_hash(mapping)}, conventions=str(rules))
        print_json("evaluate", {**result.to_dict(), "provenance": origin})
    else:
        _print(result)


def _origin(chip: Arch, read: LayerInput, **choices: Any) -> dict[str, Any]:
    architecture = {"name": chip.name, "content_hash": chip.content_hash}
    return provenance({"architecture": architecture, **read.origin}, **choices)


def _print(result: MapResult) -> None:
    from seada.cli.tables import layer_text

    print_text(*layer_text(result))
