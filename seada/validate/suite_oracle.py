"""Every counter and every cycle of the fast model against the slow interpreter, on random small problems."""

from __future__ import annotations

from typing import Any

from seada.model.count import count, count_by_walk
from seada.oracle.walk import walk
from seada.validate.problems import Kind, Problem, problems
from seada.validate.result import Row, SuiteResult

FORM = None
SEED, COUNT = 20, 200


def run(data: dict[str, Any], problem_count: int = COUNT) -> SuiteResult:
    """A row per problem: how many counters differ from the interpreter's, by both fast paths."""
    del data
    rows = [_row(number, problem) for number, problem in enumerate(problems(SEED, problem_count, Kind()))]
    return SuiteResult("oracle", tuple(rows))


def _row(number: int, problem: Problem) -> Row:
    expected = walk(*problem)
    differing = 0
    for ours in (count(*problem), count_by_walk(*problem)):
        differing += sum(a != b for a, b in zip(_flat(ours), _flat(expected), strict=True))
    extents = " ".join(f"{dim}{extent}" for dim, extent in problem[0].dims)
    note = f"{len(_flat(expected))} counters and times, latency {expected[1].latency_cycles} cycles"
    return Row(f"problem {number}: {problem[0].kind} {extents}", differing == 0, differing, 0, None, note)


def _flat(result: Any) -> list[float]:
    """All numbers of counts and timing."""
    counts, timing = result
    numbers: list[float] = []
    for row in (*counts.memories, *counts.links):
        for entry in row:
            numbers += vars(entry).values()
    return [*numbers, counts.compute_steps, counts.mode_steps, *vars(timing).values()]
