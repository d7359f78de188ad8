"""Make `seada/data/technology/cacti7.json`: a sweep of SRAM macros with CACTI 7.

CACTI itself is not part of this project; a directory with its binary `cacti` and its `tech_params` is needed
(github.com/HewlettPackard/cacti, or ``zigzag/cacti/cacti_master`` inside the Python package zigzag-dse 3.9.1,
with which the shipped table was made)::

    python scripts/sweep_cacti.py CACTI_DIRECTORY seada/data/technology/cacti7.json

Organisations that CACTI cannot build (rows wider than the macro is deep) are left out of the table.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

NODES = (65, 45, 32, 22)
KINDS = (("itrs-hp", "1/0/0"), ("itrs-lop", "1/0/0"), ("itrs-lstp", "1/0/0"), ("itrs-hp", "0/1/1"))
SIZES = tuple(2**power for power in range(6, 23))
WIDTHS = tuple(2**power for power in range(3, 11))
TIMEOUT_S = 300
NOTE = (
    "CACTI 7: SRAM, ports as read-write/read/write, one bank, 360 K, with ECC bits (one in nine), "
    "optimised for energy x delay^2; energies per access of `width` bit; leakage without that of gates"
)

# What the sweep holds constant; everything that concerns DRAM and off-chip links has no effect on an SRAM.
CONFIG = """\
-size (bytes) {size}
-block size (bytes) {block}
-output/input bus width {width}
-technology (u) {um}
-read-write port {both}
-exclusive read port {read}
-exclusive write port {write}
-single ended read ports 0
-associativity 1
-UCA bank count 1
-cache type "ram"
-Data array cell type - "{cell}"
-Data array peripheral type - "{cell}"
-Tag array cell type - "{cell}"
-Tag array peripheral type - "{cell}"
-tag size (b) "default"
-access mode (normal, sequential, fast) - "normal"
-operating temperature (K) 360
-Add ECC - "true"
-Cache model (NUCA, UCA)  - "UCA"
-Optimize ED or ED^2 (ED, ED^2, NONE): "ED^2"
-design objective (weight delay, dynamic power, leakage power, cycle time, area) 0:0:0:100:0
-deviate (delay, dynamic power, leakage power, cycle time, area) 20:100000:100000:100000:100000
-NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area) 100:100:0:0:100
-NUCAdeviate (delay, dynamic power, leakage power, cycle time, area) 10:10000:10000:10000:10000
-NUCA bank count 0
-Wire signaling (fullswing, lowswing, default) - "Global_30"
-Wire inside mat - "semi-global"
-Wire outside mat - "semi-global"
-Interconnect projection - "conservative"
-Core count 8
-Cache level (L2/L3) - "L3"
-Array Power Gating - "false"
-WL Power Gating - "false"
-CL Power Gating - "false"
-Bitline floating - "false"
-Interconnect Power Gating - "false"
-Power Gating Performance Loss 0.01
-page size (bits) 8192
-burst length 8
-internal prefetch width 8
-Force cache config - "false"
-Ndwl 1
-Ndbl 1
-Nspd 0
-Ndcm 1
-Ndsam1 0
-Ndsam2 0
-Print level (DETAILED, CONCISE) - "DETAILED"
-Print input parameters - "true"
-dram_type "DDR3"
-io state "WRITE"
-addr_timing 1.0
-mem_density 4 Gb
-bus_freq 800 MHz
-duty_cycle 1.0
-activity_dq 1.0
-activity_ca 0.5
-num_dq 72
-num_dqs 18
-num_ca 25
-num_clk 2
-num_mem_dq 2
-mem_data_width 8
-rtt_value 10000
-ron_value 34
-tflight_value
-num_bobs 1
-capacity 80
-num_channels_per_bob 1
-first metric "Cost"
-second metric "Bandwidth"
-third metric "Energy"
-DIMM model "ALL"
-mirror_in_bob "F"
"""
PRINTED = {
    "read_nJ": r"Total dynamic read energy per access \(nJ\): (\S+)",
    "write_nJ": r"Total dynamic write energy per access \(nJ\): (\S+)",
    "leak_mW": r"Total leakage power of a bank \(mW\): (\S+)",
    "area_mm2": r"Data array: Area \(mm2\): (\S+)",
}


COLUMNS = ["node_nm", "cell", "ports", "bytes", "width", *PRINTED]


class Macro(NamedTuple):
    """What one run of CACTI is asked for."""

    node_nm: int
    cell: str
    ports: str
    size: int
    width: int


def run(cacti: Path, macro: Macro) -> list[float | int | str] | None:
    """The row of one macro, or None where CACTI finds no organisation."""
    both, read, write = macro.ports.split("/")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tech_params").symlink_to(cacti / "tech_params")
        config = CONFIG.format(
            size=macro.size,
            block=macro.width // 8,
            width=macro.width,
            um=f"{macro.node_nm / 1000:.3f}",
            cell=macro.cell,
            both=both,
            read=read,
            write=write,
        )
        (Path(folder) / "macro.cfg").write_text(config, encoding="utf-8")
        command = [str(cacti / "cacti"), "-infile", "macro.cfg"]
        text = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S).stdout
    found = {name: re.search(pattern, text) for name, pattern in PRINTED.items()}
    if not all(found.values()):
        return None
    return [*macro, *(float(match[1]) for match in found.values() if match)]


def main() -> None:
    """Run all macros and write the table, one row a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cacti", type=Path, help="directory with the binary and tech_params")
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    macros = [
        Macro(node, cell, ports, size, width)
        for node, (cell, ports), size, width in product(NODES, KINDS, SIZES, WIDTHS)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for row in pool.map(lambda macro: run(options.cacti.resolve(), macro), macros) if row]
    head = f'{{"note": {json.dumps(NOTE)},\n"columns": {json.dumps(COLUMNS)},\n"rows": [\n'
    lines = ",\n".join(json.dumps(row) for row in rows)
    options.out.write_text(f"{head}{lines}\n]}}\n", encoding="utf-8")
    print(f"{len(rows)} of {len(macros)} macros in {options.out}")


if __name__ == "__main__":
    main()
