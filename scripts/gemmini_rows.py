"""Write the measured rows of the Gemmini RTL as `seada calibrate` reads them, into results/gemmini/.

The rows are those of `seada/validate/data/silicon.json` (artifact of DOSA, MICRO 2023), without the suspect
ones; beside each CSV file lie the mappings that were measured.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from seada.mapping.yaml_form import to_yaml
from seada.validate.silicon_gemmini import read_layer, read_mapping, table

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "seada" / "validate" / "data" / "silicon.json"
TARGET = Path("results") / "gemmini"
TABLES = {
    "training": ("layer_mapping_cycles_training", "cycles"),
    "test": ("layer_mapping_cycles_test", "cycles_mapping"),
}


def line(entry: dict[str, Any]) -> str:
    """A row's layer in its one-line form."""
    return "conv " + " ".join(f"{key}={entry[key]}" for key in ("N", "K", "C", "P", "Q", "R", "S", "stride"))


def write(target: Path, name: str, entries: list[dict[str, Any]], cycles: str) -> None:
    """One CSV file and its mappings."""
    folder = target / name
    folder.mkdir(parents=True, exist_ok=True)
    with (target / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(("layer", "precision", "mapping", "cycles"))
        for number, entry in enumerate(entries):
            path = folder / f"{number}.yaml"
            path.write_text(to_yaml(read_mapping(entry["mapping"], read_layer(entry))), encoding="utf-8")
            rows.writerow((line(entry), "int8", path.relative_to(target), entry[cycles]))
    print(f"{len(entries)} rows in {target / name}.csv")


def write_tables(target: Path) -> None:
    """Both tables, into a folder."""
    chips = json.loads(DATA.read_text(encoding="utf-8"))["chips"]
    chip = next(chip for chip in chips if chip["id"] == "gemmini_rtl_16x16")
    for name, (of_table, cycles) in TABLES.items():
        write(target, name, [row for row in table(chip, of_table) if not row.get("suspect")], cycles)


if __name__ == "__main__":
    write_tables(TARGET)
