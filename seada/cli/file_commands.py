"""``show``, ``check``, ``schema`` and ``import``: the user's files."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seada.cli.options import Dims, Json
from seada.cli.output import file_hash, print_json, print_text, provenance
from seada.errors import SeadaError, UserError

if TYPE_CHECKING:
    from seada.arch.hardware import Arch
    from seada.mapping.nest import Mapping as Nest
    from seada.workload.network import Network

_KEYS = {
    "arch": ("hierarchy", "memories", "compute", "clock"),
    "workload": ("layers", "graph"),
    "mapping": ("nodes",),
}


@dataclass(frozen=True)
class Loaded:
    """A file of any kind that seada reads, and the text that shows it."""

    kind: str
    content: Arch | Network | Nest
    text: str


def load_any(path: Path, dims: Mapping[str, int]) -> Loaded:
    """Read a file of any kind.

    Raises
    ------
    UserError
        If it is of no known kind, or anything in it is wrong.
    """
    kind = kind_of(path)
    if kind == "arch":
        from seada.arch.load import load_arch
        from seada.arch.show import describe as describe_arch

        arch = load_arch(path)
        return Loaded(kind, arch, describe_arch(arch))
    if kind == "workload":
        from seada.workload.load import load_workload
        from seada.workload.show import describe as describe_network

        network = load_workload(path, dims)
        return Loaded(kind, network, describe_network(network))
    from seada.mapping.text import format_mapping
    from seada.mapping.yaml_form import load_mapping

    mapping = load_mapping(path)
    return Loaded(kind, mapping, format_mapping(mapping))


def kind_of(path: Path) -> str:
    """``arch``, ``workload`` or ``mapping``, by the suffix or by the keys of a YAML file."""
    if path.suffix.lower() == ".onnx":
        return "workload"
    from seada.config.yaml_file import read_document

    data = read_document(path).data
    keys = set(data) if isinstance(data, dict) else set()
    matches = {kind: len(keys & set(names)) for kind, names in _KEYS.items()}
    best = max(matches, key=lambda kind: matches[kind])
    if not matches[best]:
        described = ", ".join(f"{kind} ({' or '.join(names)})" for kind, names in _KEYS.items())
        raise UserError(f"{path}: not a file that seada knows; the kinds and their keys: {described}")
    return best


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Architecture, workload or mapping.")],
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Draw a file of any kind as text."""
    from seada.cli.inputs import read_dims

    loaded = load_any(file, read_dims(dim))
    if not json:
        print_text(loaded.text)
        return
    content = {"file": {"kind": loaded.kind, "content_hash": file_hash(file)}, "text": loaded.text}
    print_json("show", {**content, **_content(loaded), "provenance": provenance({})})


def _content(loaded: Loaded) -> dict[str, Any]:
    """The content as plain data, as far as results carry it."""
    if loaded.kind == "mapping":
        from seada.mapping.yaml_form import to_data

        return {"mapping": to_data(loaded.content)}  # type: ignore[arg-type]
    if loaded.kind == "arch":
        from dataclasses import asdict

        from seada.system.chip import chip_of

        return {"chip": asdict(chip_of(loaded.content))}  # type: ignore[arg-type]
    from seada.workload.coverage import coverage

    network: Network = loaded.content  # type: ignore[assignment]
    layers = [
        {"name": layer.name, "type": layer.kind, "macs": layer.macs, "dims": layer.extents}
        for layer in network.layers.values()
    ]
    return {"layers": layers, "macs": network.macs, "coverage": coverage(network)}


def check(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Architectures, workloads, mappings.")
    ],
    dim: Dims = None,
    json: Json = False,
) -> None:
    """Report every problem of every file."""
    from seada.cli.inputs import read_dims

    dims = read_dims(dim)
    results = []
    failures: list[SeadaError] = []
    for path in paths:
        try:
            loaded = load_any(path, dims if path.suffix.lower() == ".onnx" else {})
            results.append({"file": str(path), "kind": loaded.kind, "warnings": _warnings(loaded)})
        except SeadaError as error:
            failures.append(error)
    if failures:
        places = [place for error in failures for place in error.places]
        raise UserError("\n".join(error.message for error in failures), places)
    if json:
        print_json("check", {"files": results, "provenance": provenance({})})
        return
    for result in results:
        print_text(f"{result['file']}: {result['kind']}, no errors")
        for warning in result["warnings"]:
            print_text(f"  warning: {warning}")


def _warnings(loaded: Loaded) -> list[str]:
    return list(getattr(loaded.content, "warnings", ())) + list(getattr(loaded.content, "notes", ()))


class SchemaKind(StrEnum):
    """What a JSON schema can be asked for."""

    ARCH = "arch"
    WORKLOAD = "workload"
    MAPPING = "mapping"
    PRECISION = "precision"
    RESULT = "result"


def schema(
    kind: Annotated[SchemaKind, typer.Argument(metavar="KIND", help=", ".join(k.value for k in SchemaKind))],
    json: Json = False,
) -> None:
    """Print the JSON schema of a kind of file."""
    del json  # A schema is JSON either way.
    sys.stdout.write(json_module.dumps(_schema(kind), indent=1, ensure_ascii=False) + "\n")


def _schema(kind: SchemaKind) -> dict[str, Any]:
    if kind is SchemaKind.RESULT:
        text = files("seada").joinpath("data/result.schema.json").read_text(encoding="utf-8")
        content: dict[str, Any] = json_module.loads(text)
        return content
    if kind is SchemaKind.ARCH:
        from seada.arch.config import ArchConfig as Model
    elif kind is SchemaKind.WORKLOAD:
        from seada.workload.yaml_network import WorkloadFile as Model  # type: ignore[assignment]
    elif kind is SchemaKind.MAPPING:
        from seada.mapping.yaml_form import MappingConfig as Model  # type: ignore[assignment]
    else:
        from seada.cli.inputs import PrecisionFile as Model  # type: ignore[assignment]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Model.model_json_schema()}


def import_network(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Network (ONNX or YAML).")],
    dim: Dims = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="F.yaml", help="Write there, weights in an npz file beside it."),
    ] = None,
    json: Json = False,
) -> None:
    """Turn a network into seada's own YAML.

    Without --out it goes to standard output, without the weights.
    """
    from seada.cli.inputs import read_dims
    from seada.workload.coverage import coverage, coverage_text
    from seada.workload.dump import dump_network, save_network
    from seada.workload.load import load_workload

    network = load_workload(file, read_dims(dim))
    if out is not None:
        if out.suffix.lower() not in (".yaml", ".yml"):
            raise UserError(f"--out {out}: the name must end in .yaml or .yml")
        save_network(network, out)
    if json:
        text = None if out is not None else dump_network(network)
        origin = provenance({"workload": {"name": network.name, "content_hash": network.content_hash}})
        content = {"name": network.name, "macs": network.macs, "coverage": coverage(network)}
        print_json("import", {**content, "notes": [*network.notes], "yaml": text, "provenance": origin})
    elif out is None:
        sys.stdout.write(dump_network(network))
    else:
        print_text(f"{out}: {len(network.layers)} layers; {coverage_text(network)}")
        for note in network.notes:
            print_text(f"note: {note}")
