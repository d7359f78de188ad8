"""ZigZag and us on one machine in one run: the mapper on GEMM 512^3."""

from __future__ import annotations

from benchmarks.comparison import (
    GEMM,
    OBJECTIVE,
    QUALITY_COLUMNS,
    QUALITY_NOTE,
    chip,
    costed,
    quality_row,
    set_up,
)
from benchmarks.environments import ZIGZAG, ask
from benchmarks.problem import plain_arch, plain_layer, read_mapping
from benchmarks.table import Table
from benchmarks.timing import cpu_seconds, spread
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective

TIMEOUT_S = 600.0
SEARCHES = 3
LOOP_LIMIT = 6  # LOMA's default number of loop factors that it orders
UNROLLINGS = 3  # its default number of spatial mappings


def mapper() -> list[Table]:
    """ZigZag's LOMA and our mapper."""
    setup = set_up(chip(), GEMM)
    request = {
        "arch": plain_arch(setup),
        "layer": plain_layer(GEMM),
        "objective": OBJECTIVE,
        "repeats": SEARCHES,
        "loop_limit": LOOP_LIMIT,
        "unrollings": UNROLLINGS,
    }
    answer = ask(ZIGZAG, request, TIMEOUT_S)
    goal = parse_objective(OBJECTIVE)
    found = map_setup(setup, GEMM, goal, None, None)
    ours = cpu_seconds(SEARCHES, map_setup, setup, GEMM, goal, None, None)
    theirs = spread(answer["cpu_s"])
    mapping = answer["mapping"] and read_mapping(answer["mapping"], GEMM, "pe")
    recosted, own = (costed(GEMM, setup, each) for each in (mapping, found.mapping))
    notes = [f"ZigZag's own latency of its mapping: {answer['latency_cycles']:,.0f} cycles"]
    if recosted.reason:
        notes.append(f"its mapping has no cost here: {recosted.reason}")
    time_notes = [
        f"median (min..max) of {SEARCHES}; LOMA: {LOOP_LIMIT} loop factors, {UNROLLINGS} spatial mappings,",
        f"uneven, no bypass, {answer['costed']:,} mappings costed; seada: bypass and ragged tilings too",
    ]
    columns = ("problem", "ZigZag [s]", "seada [s]", "ZigZag / seada")
    rows = [("free", theirs, ours, theirs.over(ours))]
    version = answer["version"]
    return [
        Table(f"Mapper, GEMM 512^3: CPU time of ZigZag {version} and seada", columns, rows, time_notes),
        Table(
            "Mapper, GEMM 512^3: mappings of ZigZag and seada",
            QUALITY_COLUMNS,
            [quality_row("free", answer["energy_pj"], recosted, own)],
            [QUALITY_NOTE, *notes],
        ),
    ]
