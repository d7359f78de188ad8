"""Times and memory on one core after warm-up: our own, and with `--peers` those of other tools beside them.

All times are CPU time of the process (user and system). Nothing is asserted; on a busy machine the spread is
wide.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import against_accelforge, against_zigzag, memory, own
from benchmarks.environments import NotAvailable
from benchmarks.table import Table

OWN: dict[str, Callable[[], list[Table]]] = {
    "batch": lambda: [own.batch()],
    "layers": lambda: [
        own.layers(own.shipped_arch("reference_16x16"), "int16", 3),
        own.layers(own.with_array(own.shipped_arch("reference_16x16"), (14, 12)), "int16", 3),
        own.layers(own.shipped_arch("multiprecision_16x16"), "int8", 3),
        own.layers(own.shipped_arch("simba"), "int8", 3, {name: own.LAYERS[name] for name in own.SIX_LEVELS}),
    ],
    "network": lambda: [own.network()],
    "memory": lambda: [memory.peak_memory()],
}
PEERS: dict[str, Callable[[], list[Table]]] = {
    "accelforge-cost": lambda: [against_accelforge.one_mapping()],
    "accelforge-mapper": against_accelforge.mapper,
    "zigzag-mapper": against_zigzag.mapper,
}


def run(name: str, section: Callable[[], list[Table]]) -> list[Table]:
    """The tables of a section, or one that says why there are none."""
    try:
        return section()
    except NotAvailable as reason:
        return [Table(f"Section {name}: not compared", (), [], [str(reason)])]


def use_one_core() -> None:
    """Keep this process and its children on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(description="Times and memory of seada, and of other tools beside it.")
    parser.add_argument("--peers", action="store_true", help="also install and run AccelForge and ZigZag")
    parser.add_argument("--only", nargs="+", choices=[*OWN, *PEERS], help="these sections alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything here too")
    arguments = parser.parse_args()
    known = OWN | PEERS
    chosen = arguments.only or [*OWN, *(PEERS if arguments.peers else ())]
    use_one_core()
    # A process of its own compiles the kernels, as compilation takes memory that would count as ours.
    subprocess.run([sys.executable, "-m", "seada", "warmup"], check=True, stdout=subprocess.DEVNULL)
    print(f"Python {platform.python_version()}, {platform.machine()}, one core, CPU time, median (min..max)")
    tables = []
    for name in chosen:
        for table in run(name, known[name]):
            print("\n" + table.text(), flush=True)
            tables.append({"section": name, **table.data()})
    if arguments.json:
        arguments.json.write_text(json.dumps({"tables": tables}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
