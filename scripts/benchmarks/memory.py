"""Peak memory of mapping one large layer, each in a process of its own; also that process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import seada
from benchmarks.own import shipped_arch
from benchmarks.table import Cell, Table

LARGE = {
    "GEMM 12288^3": "gemm M=12288 N=12288 K=12288",
    "GEMM 5040^3": "gemm M=5040 N=5040 K=5040",
    "GEMM of 38 prime factors": "gemm M=8192 N=8192 K=4096",
    "3x3 on a 1080x1920 input": "conv K=64 C=3 P=1080 Q=1920 R=3 S=3 pad=1",
}
SMALL = "gemm M=8 N=8 K=8"
KIB_PER_MIB = 1024
TIMEOUT_S = 600


def peak_memory() -> Table:
    """Peak resident memory and CPU time of every large layer."""
    rows: list[tuple[Cell, ...]] = []
    notes = ["whole process, kernels compiled before; before: after a GEMM 8^3, with all libraries loaded"]
    for name, line in LARGE.items():
        command = [sys.executable, str(Path(__file__).resolve()), line]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
            found = json.loads(done.stdout)
            gap = None if found["gap"] is None else 100 * found["gap"]
            rows.append((name, found["peak_mib"], found["before_mib"], found["cpu_s"], gap))
        except (subprocess.SubprocessError, json.JSONDecodeError) as error:
            rows.append((name, None, None, None, None))
            notes.append(f"{name}: {error}")
    columns = ("layer", "peak [MiB]", "before [MiB]", "map [s]", "gap [%]")
    return Table("Peak memory on reference_16x16, int16, objective edp, one run each", columns, rows, notes)


def _peak_mib() -> float:
    """Peak resident memory of this program alone.

    Linux counts the parent's memory at the fork in a child's `ru_maxrss`, so its own mark is read there.
    `ru_maxrss` counts KiB, on macOS bytes.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return float(marks["VmHWM"].split()[0]) / KIB_PER_MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (KIB_PER_MIB**2 if sys.platform == "darwin" else KIB_PER_MIB)


def _measure(line: str) -> None:
    arch = shipped_arch("reference_16x16")
    seada.map_layer(arch, seada.parse_layer(SMALL), "int16")
    before = _peak_mib()
    start = time.process_time()
    best = seada.map_layer(arch, seada.parse_layer(line), "int16")
    seconds = time.process_time() - start
    print(json.dumps({"peak_mib": _peak_mib(), "before_mib": before, "cpu_s": seconds, "gap": best.gap}))


if __name__ == "__main__":
    _measure(sys.argv[1])
