"""Our latency against a simulation of tiles in which transfers share ports as they come.

Rows beyond 10 % name the assumption that makes the difference: the one that, changed in the simulation,
brings it to our figure or past it.
"""

from __future__ import annotations

from typing import Any

from seada.model.count import count_with_ports
from seada.validate.event_simulation import EventSimulation
from seada.validate.problems import Kind, Problem, problems
from seada.validate.result import Row, SuiteResult, group_rows, relative_error

FORM = None
SEED, COUNT = 41, 200
KIND = Kind(memories=(3,), most_macs=400, limited=True)
LIMIT = 0.10
GROUP = "latency over the simulation"
ASSUMPTIONS: tuple[tuple[str, dict[str, bool]], ...] = (
    (
        "the simulation lets levels run ahead of each other, the recurrence ends a step of a level first",
        {"barriers": True},
    ),
    (
        "in the simulation drains and prefetches share ports with what the MACs wait for",
        {"urgent": True},
    ),
    ("in the simulation a prefetch waits for the tile of its parent", {"independent": True}),
    (
        "levels run ahead and ports are shared, which the recurrence does not have",
        {"barriers": True, "urgent": True},
    ),
)


def run(data: dict[str, Any], problem_count: int = COUNT) -> SuiteResult:
    """A row per problem, and one that neither figure is below the bound of any port."""
    del data
    rows: list[Row] = []
    for number, problem in enumerate(problems(SEED, problem_count, KIND)):
        rows += _rows(number, problem)
    group = group_rows(GROUP, tuple(rows), median_below=0.03, within=(0.95, LIMIT))
    return SuiteResult("events", tuple(rows), (group,))


def _rows(number: int, problem: Problem) -> tuple[Row, Row]:
    _, timing, ports = count_with_ports(*problem)
    ours = timing.first_fill + timing.body + timing.last_drain + timing.ramp  # before rounding up
    simulated = EventSimulation(problem).run()
    error = relative_error(ours, simulated)
    assert error is not None
    extents = " ".join(f"{dim}{extent}" for dim, extent in problem[0].dims)
    name = f"nest {number}: {problem[0].kind} {extents}"
    note = "" if abs(error) <= LIMIT else _cause(problem, ours, error)
    bound = max([timing.compute, *ports.values()])
    holds = ours >= bound - 1e-6 and simulated >= bound - 1e-6
    lower = min(ours, simulated)
    return (
        Row(name, True, ours, simulated, error, note, GROUP),
        Row(f"{name}: not below its ports", holds, lower, bound, relative_error(lower, bound)),
    )


def _cause(problem: Problem, ours: float, error: float) -> str:
    """The first assumption that brings the simulation within the limit of ours, or to its other side."""
    for text, changed in ASSUMPTIONS:
        other = relative_error(ours, EventSimulation(problem, **changed).run())
        assert other is not None
        if abs(other) <= LIMIT or (other > 0) != (error > 0):
            return text
    return "no single assumption explains it"
