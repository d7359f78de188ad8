"""Measured rows of a chip: layers, mappings and cycles from a CSV file, with our model's view of each."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seada.arch.hardware import Arch
from seada.arch.setup import make_setup
from seada.errors import ConfigError, Place, SeadaError, UserError
from seada.formats import parse_precision
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective
from seada.mapping.yaml_form import load_mapping
from seada.model.calibration import Features, features_of
from seada.model.evaluate import evaluate_mapping
from seada.workload.line import parse_layer

COLUMNS = ("layer", "precision", "mapping", "cycles")
MAX_ROWS = 100_000
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Measured:
    """One measured layer and what the model needs to calibrate on it."""

    name: str
    features: Features
    cycles: float


def read_measured(path: Path, arch: Arch, progress: Callable[[int, int, str], None]) -> list[Measured]:
    """Rows of a CSV file; a row without a mapping gets the one of least latency.

    Raises
    ------
    UserError
        If the file cannot be read.
    ConfigError
        With every row that is wrong, and why.
    """
    rows = list(_rows(path))
    found, places = [], []
    for number, (line, row) in enumerate(rows):
        progress(number, len(rows), row["layer"] or "")
        try:
            found.append(_measured(row, arch, path.parent))
        except SeadaError as error:
            places.append(Place(str(path), line, 1, "", error.message))
    if places:
        text = "\n".join(str(place) for place in places)
        raise ConfigError(f"{len(places)} of {len(rows)} rows cannot be used:\n{text}", places)
    return found


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(
                    f"{path}: column {', '.join(missing)} is missing; needed: {', '.join(COLUMNS)} "
                    "(the mapping may be empty)"
                )
            for row in reader:
                if reader.line_num > MAX_ROWS:
                    raise UserError(f"{path}: more than {MAX_ROWS} rows")
                yield reader.line_num, {name: (row.get(name) or "").strip() for name in COLUMNS}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not readable as CSV: {error}") from None


def _measured(row: dict[str, str], arch: Arch, folder: Path) -> Measured:
    layer = parse_layer(row["layer"])
    try:
        cycles = float(row["cycles"])
    except ValueError:
        cycles = 0.0
    if not 0 < cycles < float("inf"):
        raise UserError(f"cycles {row['cycles']!r} must be a number above 0")
    setup = make_setup(arch, layer, parse_precision(row["precision"]))
    if row["mapping"]:
        mapping = load_mapping(folder / row["mapping"])
        cost = evaluate_mapping(layer, setup, mapping)
    else:
        best = map_setup(setup, layer, parse_objective("latency"), None, None)
        assert best.mapping is not None
        mapping, cost = best.mapping, best.cost
    return Measured(row["layer"], features_of(layer, setup, mapping, cost), cycles)
