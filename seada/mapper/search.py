"""From a search space to the best mapping: estimates say where to look, the exact model what is best."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seada.errors import InfeasibleError
from seada.mapper.anneal_kernel import Archive, neighbour, neighbours, search
from seada.mapper.estimate_kernel import estimate
from seada.mapper.genome import Genome, smallest_candidate, to_mapping
from seada.mapper.objective import Objective
from seada.mapper.problem import SearchSpace, new_scratch
from seada.mapper.result import SearchStats
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.cost import Cost
from seada.model.evaluate import cost_of

DEFAULT_EVALUATIONS = 250_000
# Exact costs: of the best estimates, then of the best one's neighbours as long as that helps, each until
# `PATIENCE` in a row are no better. Estimates are within a few per cent, so that the best is among the first.
EXACT_EVALUATIONS = 48
POLISHED, POLISH_ROUNDS = 24, 3
PATIENCE = 16
DESCENT_LIMIT = 20_000
# Proposals of one run of annealing, at least, if the budget is small.
SHORTEST_RUN = 50
FIRST_SEED = 7919


@dataclass(frozen=True)
class Stage:
    """One round of annealing: from how many of the best, at which share of the budget and temperatures.

    `tilt` is the exponent of a metric that the objective leaves out, which leads towards better ties.
    """

    starts: int
    share: float
    hottest: float
    coldest: float
    tilt: float = 0.0


# Many short runs from scratch, then longer ones from the best of these: a candidate's keeps and loop orders
# settle early in a run, so that breadth comes first. Shares are of all proposals and add up to 1.
STAGES = (
    Stage(40, 0.4, 0.3, 0.01),
    Stage(10, 0.25, 0.2, 0.01),
    Stage(4, 0.15, 0.15, 0.005),
    Stage(2, 0.2, 0.1, 0.002),
)
# Where the objective is one metric: what good ones cost in the other.
TIE_STAGE = Stage(4, 0.2, 0.1, 0.002, tilt=0.1)


@dataclass(frozen=True)
class Found:
    """The best mapping of a search, with its exact cost and how it was found."""

    mapping: Mapping
    cost: Cost
    stats: SearchStats


def new_archive(length: int, capacity: int) -> Archive:
    """An empty archive for candidates of `length` integers."""
    return Archive(
        genomes=np.zeros((capacity, length), np.int64),
        scores=np.full((capacity, 2), np.inf),
        metrics=np.full((capacity, 2), np.inf),
        counters=np.zeros(2, np.int64),
    )


class Clock:
    """CPU time since the start, and whether a limit (None: no limit) has passed."""

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self.started = time.perf_counter()
        self.cpu_started = time.process_time()

    @property
    def over(self) -> bool:
        """Whether the limit of wall time has passed."""
        return self.limit_s is not None and time.perf_counter() - self.started > self.limit_s

    @property
    def cpu_s(self) -> float:
        """CPU seconds since the start."""
        return time.process_time() - self.cpu_started


def find_best(
    space: SearchSpace, objective: Objective, max_evaluations: int | None, time_s: float | None
) -> Found:
    """Search by stages of annealing, then cost the best candidates exactly.

    Parameters
    ----------
    max_evaluations : int, optional
        Estimated candidates, about (a descent is finished); `DEFAULT_EVALUATIONS` if neither limit is given.
    time_s : float, optional
        Wall time; with it the answer depends on the machine.

    Raises
    ------
    InfeasibleError
        If no mapping is legal.
    """
    clock = Clock(time_s)
    start = first_candidate(space)
    archive, ties = (new_archive(space.genome_length, EXACT_EVALUATIONS) for _ in range(2))
    powers = np.array([objective.energy_power, objective.latency_power])
    budget = max_evaluations or DEFAULT_EVALUATIONS
    stopped_by = "evaluations"
    # Without a limit on evaluations a time limit is used up by repeating the rounds with new seeds.
    rounds = 1 if time_s is None or max_evaluations is not None else 1_000_000
    seeds = _seeds()
    for _ in range(rounds):
        if not _anneal(space, start, powers, budget, clock, archive, ties, seeds):
            stopped_by = "time"
            break
    mapping, cost, exact = _exact_best(space, objective, (archive, ties), clock)
    estimated, illegal = (int(n) for n in archive.counters + ties.counters)
    return Found(mapping, cost, SearchStats(clock.cpu_s, estimated - illegal + exact, illegal, stopped_by))


def _seeds() -> Iterator[int]:
    seed = FIRST_SEED
    while True:
        yield seed
        seed += FIRST_SEED


def _anneal(
    space: SearchSpace,
    start: Genome,
    powers: NDArray[np.float64],
    budget: int,
    clock: Clock,
    archive: Archive,
    ties: Archive,
    seeds: Iterator[int],
) -> bool:
    """All stages once; False if time ran out (at least one run is finished).

    Candidates of the tilted stage go to `ties`.
    """
    pool: list[tuple[float, float, Genome]] = []
    for stage in STAGES if powers.all() else (*STAGES, TIE_STAGE):
        runs = max(1, min(stage.starts, int(budget * stage.share) // SHORTEST_RUN))
        starts = [entry[2] for entry in pool[:runs]] or [start] * runs
        steps = int(budget * stage.share) // runs
        limit = min(DESCENT_LIMIT, max(steps, budget // 20))
        for genome in starts:
            if clock.over and np.isfinite(archive.scores[0, 0]):
                return False
            own = _run(space, genome, powers, stage, steps, limit, next(seeds))
            merge(ties if stage.tilt else archive, own)
            pool.append((own.scores[0, 0], own.scores[0, 1], own.genomes[0].copy()))
        pool.sort(key=lambda entry: entry[:2])
        pool = _distinct(pool)
    return True


def _run(
    space: SearchSpace,
    start: Genome,
    powers: NDArray[np.float64],
    stage: Stage,
    steps: int,
    limit: int,
    seed: int,
) -> Archive:
    """One run of annealing and descent; its archive."""
    archive = new_archive(len(start), EXACT_EVALUATIONS)
    tilted = np.where(powers == 0, stage.tilt, powers)
    temperatures = np.array([stage.hottest, stage.coldest])
    scratch = new_scratch()
    search(space.problem, space.tables, start, tilted, steps, limit, temperatures, seed, scratch, archive)
    return archive


def _distinct(pool: list[tuple[float, float, Genome]]) -> list[tuple[float, float, Genome]]:
    """One entry per cost, in order."""
    return list({entry[:2]: entry for entry in reversed(pool)}.values())[::-1]


def merge(archive: Archive, other: Archive) -> None:
    """Add another archive's candidates and counters, keeping the best distinct ones in order."""
    scores = np.concatenate([archive.scores, other.scores])
    _, first = np.unique(scores, axis=0, return_index=True)
    best = first[: len(archive.scores)]
    genomes = np.concatenate([archive.genomes, other.genomes])[best]
    metrics = np.concatenate([archive.metrics, other.metrics])[best]
    count = len(best)
    archive.scores[:] = np.inf
    archive.scores[:count], archive.genomes[:count], archive.metrics[:count] = scores[best], genomes, metrics
    archive.counters[:] += other.counters


def first_candidate(space: SearchSpace) -> Genome:
    """A legal candidate with the smallest tiles.

    Raises
    ------
    InfeasibleError
        If there is none; names memory or fanout, operand or dimension, need and have.
    """
    genome = smallest_candidate(space)
    scratch = new_scratch()
    memories = int(space.problem.memories)
    for order in range(int(space.problem.orders)):
        genome[-memories:] = order
        if np.isfinite(estimate(space.problem, space.tables, genome, scratch)[0]):
            return genome
    violations = check(space.layer, space.setup, to_mapping(space, genome))
    reasons = "; ".join(str(violation) for violation in violations) or "no legal mapping was found"
    raise InfeasibleError(
        f"layer {space.layer.name} fits nowhere on {space.setup.arch.name} at {space.setup.precision}, "
        f"not even with tiles of one element: {reasons}"
    )


class _ExactChoice:
    """Costs candidates by the exact model, each mapping once, and remembers the best legal one."""

    def __init__(self, space: SearchSpace, objective: Objective) -> None:
        self.space = space
        self.objective = objective
        self.seen: set[Mapping] = set()
        self.evaluated = 0
        self.best: tuple[tuple[float, float, float], str, Mapping, Cost] | None = None
        self.genome: Genome | None = None

    def consider_all(self, genomes: Iterable[Genome], clock: Clock) -> None:
        """Cost candidates in order, until time is over or too many in a row are no better."""
        idle = 0
        for genome in genomes:
            if self.best is not None and (clock.over or idle >= PATIENCE):
                break
            before = self.genome
            self.consider(genome)
            idle = idle + 1 if self.genome is before else 0

    def consider(self, genome: Genome) -> None:
        """Cost a candidate; ties go to the mapping that comes first as text."""
        mapping = to_mapping(self.space, genome)
        layer, setup = self.space.layer, self.space.setup
        if mapping in self.seen:
            return
        self.seen.add(mapping)
        if check(layer, setup, mapping):
            return
        try:
            cost = cost_of(layer, setup, mapping)
        except OverflowError:
            # The exact model numbers its steps in 62 bits; nests beyond that are left out.
            return
        self.evaluated += 1
        entry = (self.objective.key(cost.energy_pj, cost.latency_cycles), repr(mapping), mapping, cost)
        if self.best is None or entry[:2] < self.best[:2]:
            self.best, self.genome = entry, genome.copy()


def _exact_best(
    space: SearchSpace, objective: Objective, archives: tuple[Archive, ...], clock: Clock
) -> tuple[Mapping, Cost, int]:
    """The best legal candidate of the archives by the exact model, then of its neighbours."""
    choice = _ExactChoice(space, objective)
    for archive in archives:
        choice.consider_all(archive.genomes[np.isfinite(archive.scores[:, 0])], clock)
    for _ in range(POLISH_ROUNDS):
        centre = choice.genome
        if centre is None or clock.over:
            break
        choice.consider_all(_near(space, objective, centre), clock)
        if choice.genome is centre:
            break
    if choice.best is None:
        raise InfeasibleError(
            f"layer {space.layer.name} on {space.setup.arch.name}: no candidate of the search could be costed"
        )
    return choice.best[2], choice.best[3], choice.evaluated


def _near(space: SearchSpace, objective: Objective, centre: Genome) -> list[Genome]:
    """The neighbours of a candidate with the best estimates."""
    problem, scratch = space.problem, new_scratch()
    scored: list[tuple[tuple[float, float, float], int, Genome]] = []
    for index in range(neighbours(problem)):
        genome = centre.copy()
        if neighbour(problem, genome, index):
            energy, latency = estimate(problem, space.tables, genome, scratch)
            if np.isfinite(energy):
                scored.append((objective.key(energy, latency), index, genome))
    scored.sort(key=lambda entry: entry[:2])
    return [genome for _, _, genome in scored[:POLISHED]]
