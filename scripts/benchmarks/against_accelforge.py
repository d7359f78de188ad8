"""AccelForge and us on one machine in one run: the cost of a given mapping, and the mapper."""

from __future__ import annotations

from typing import Any

import seada
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
from benchmarks.environments import ACCELFORGE, ask
from benchmarks.own import CONV_3X3, batch_rows
from benchmarks.problem import plain_arch, plain_layer, plain_mapping, read_mapping, weight_stationary
from benchmarks.table import Cell, Table
from benchmarks.timing import cpu_seconds, spread
from seada.arch.hardware import Arch
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective
from seada.mapping.nest import Loop, Mapping
from seada.model.evaluate import evaluate_mapping
from seada.peers.convention import parse_convention
from seada.peers.cost import cost_under
from seada.workload.line import parse_layer

THEIRS = parse_convention("accelforge")
TIMEOUT_S = 600.0
EVALUATIONS = 20
SEARCHES = 3
BATCH = 2000
AGREEMENT = 1e-6  # AccelForge computes in single precision


def one_mapping() -> Table:
    """Cost of one given mapping of a 3x3 convolution on three memories."""
    layer = parse_layer(CONV_3X3)
    setup = set_up(chip(), layer)
    order, steps = batch_rows(BATCH, ragged=False)
    mapping = _with_steps(order, steps[0])
    answer = ask(ACCELFORGE, _request(setup.arch, layer, "evaluate", EVALUATIONS, mapping), TIMEOUT_S)
    theirs, parsed = spread(answer["cpu_s"]), spread(answer["cpu_s_parsed_before"])
    same = cost_under(THEIRS, layer, setup, mapping)
    difference = abs(same.energy_pj / answer["energy_pj"] - 1)
    batch = seada.Batch(layer, setup, order)
    batch.cost(steps[:2])
    evaluate_mapping(layer, setup, mapping)
    given = (layer, setup, mapping)
    ours = {
        "one, by AccelForge's rules": cpu_seconds(EVALUATIONS, cost_under, THEIRS, *given),
        "one, checked, by our rules": cpu_seconds(EVALUATIONS, evaluate_mapping, *given),
        "in a batch of 2,000, by our rules": cpu_seconds(EVALUATIONS, batch.cost, steps).scaled(1 / BATCH),
    }
    rows: list[tuple[Cell, ...]] = [
        ("AccelForge evaluate_mapping", theirs.scaled(1e6), None),
        ("AccelForge, its chip parsed before", parsed.scaled(1e6), theirs.over(parsed)),
    ]
    rows += [(f"seada, {name}", took.scaled(1e6), theirs.over(took)) for name, took in ours.items()]
    agree = "agree" if difference <= AGREEMENT else "DISAGREE"
    return Table(
        f"Cost of one given mapping: AccelForge {answer['version']} and seada",
        ("what", "a mapping [us]", "AccelForge / this"),
        rows,
        [
            f"3x3 convolution 64-64-56-56, three memories; median (min..max) of {EVALUATIONS} after warm-up",
            f"energies {agree}: {answer['energy_pj'] / 1e6:.3f} uJ, recounted {same.energy_pj / 1e6:.3f} uJ",
            "the batch: 2,000 tilings of that order of loops, the given mapping one of them",
        ],
    )


def mapper() -> list[Table]:
    """The mappers on GEMM 512^3, free and held to a weight-stationary array."""
    arch = chip()
    times: list[tuple[Cell, ...]] = []
    quality: list[tuple[Cell, ...]] = []
    goal = parse_objective(OBJECTIVE)
    problems = {"weight stationary": weight_stationary(arch, GEMM), "free": arch}
    ask(ACCELFORGE, _request(problems["weight stationary"], GEMM, "map", 1, None), TIMEOUT_S)  # byte code
    for name, own in problems.items():
        request = _request(own, GEMM, "map", 2, None)
        answers = [ask(ACCELFORGE, request, TIMEOUT_S) for _ in range(SEARCHES)]
        first, again = (spread([answer["cpu_s"][i] for answer in answers]) for i in (0, 1))
        setup = set_up(own, GEMM)
        found = map_setup(setup, GEMM, goal, None, None)
        ours = cpu_seconds(SEARCHES, map_setup, setup, GEMM, goal, None, None)
        times.append((name, first, again, ours, first.over(ours), _proof(found.optimal, found.gap)))
        theirs = read_mapping(answers[0]["mapping"], GEMM, "pe")
        sides = [costed(GEMM, setup, each) for each in (theirs, found.mapping)]
        quality.append(quality_row(name, answers[0]["energy_pj"], *sides))
    columns = ("problem", "AccelForge [s]", "again [s]", "seada [s]", "AccelForge / seada", "our proof")
    notes = [
        f"median (min..max) of {SEARCHES}; AccelForge: first search of a process, import and parsing apart",
        "again: the same search a second time in that process, where it has memoised its symbolic models",
        "AccelForge: optimal over perfect tilings by its rules; seada: by its own rules, ragged tilings too",
    ]
    quality_notes = [
        QUALITY_NOTE,
        "ours is not recounted by AccelForge's rules: there every loop outside a keep fetches its tile again",
        "and the same reuse is written as another nest",
    ]
    version = answers[0]["version"]
    return [
        Table(f"Mapper, GEMM 512^3: CPU time of AccelForge {version} and seada", columns, times, notes),
        Table(
            "Mapper, GEMM 512^3: mappings of AccelForge and seada", QUALITY_COLUMNS, quality, quality_notes
        ),
    ]


def _request(arch: Arch, layer: Any, task: str, repeats: int, mapping: Mapping | None) -> dict[str, Any]:
    return {
        "arch": plain_arch(set_up(arch, layer)),
        "layer": plain_layer(layer),
        "objective": OBJECTIVE,
        "task": task,
        "repeats": repeats,
        "mapping": None if mapping is None else plain_mapping(mapping, layer),
    }


def _with_steps(order: Mapping, steps: Any) -> Mapping:
    remaining = iter(steps)
    return Mapping(
        tuple(
            Loop(node.dim, int(next(remaining)), node.on) if isinstance(node, Loop) else node
            for node in order.nodes
        )
    )


def _proof(optimal: bool, gap: float | None) -> str:
    if optimal:
        return "optimal"
    return "none" if gap is None else f"gap {100 * gap:.1f} %"
