"""A simulation of one layer at the granularity of tiles, in which transfers share ports as they come.

What moves, and when a tile is first needed, is taken from the interpreter's books; how long it takes is
not. Jobs are the fills and drains of every keep and the runs of MAC steps between them:

- MACs run in order. A run starts when every tile that it uses is there, and with a single buffer for
outputs when the tile before has left. - A fill starts when its parent holds the tile and a buffer is free:
with one buffer when the tile before has been read for the last time, by the MACs or by the keep inside (and
has left, if it is an output), with two when the tile before that has. - A drain starts when the MACs and
the keeps inside are through with the tile. - Jobs that use a port at the same time share its bandwidth
equally; what one cannot use, the others get. A run of MACs takes at least its cycles. - The ramp delays the
first run after the stationary tile of a single-buffered keep has changed; others add it once.

It shares no code with the latency recurrence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from seada.oracle.walk import Walk
from seada.validate.problems import Problem
from seada.workload.layer import ROLES

EPSILON = 1e-9


@dataclass
class Job:
    """One piece of work: its port loads in cycles at full bandwidth, the least time it takes, what it waits
    for.
    """

    name: str
    needs: dict[tuple[str, int], float]
    least: float = 0.0
    after: set[int] = field(default_factory=set)
    left: float = 1.0
    waits: bool = False


@dataclass
class _Keep:
    """The jobs of one keep: by step, the fill and the drain before that step; and when its tile changes."""

    double: bool
    fills: dict[int, int] = field(default_factory=dict)
    drains: dict[int, int] = field(default_factory=dict)
    changes: list[int] = field(default_factory=list)


class EventSimulation:
    """Jobs and their order for one problem; `run` gives the time at which the last one ends.

    Parameters
    ----------
    barriers : bool
    A single-buffered fill waits for the MACs and for all single-buffered drains of earlier steps, and no run
    of MACs starts before the fills and drains of earlier steps are through: no level runs ahead of another.
    independent : bool
    A fill does not wait for the tile of its parent, as if every level had its data at hand.
    urgent : bool
    Ports serve the MACs, and fills of single buffers, before all that could wait.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        barriers: bool = False,
        independent: bool = False,
        urgent: bool = False,
    ) -> None:
        self.urgent = urgent
        self.barriers = barriers
        self.independent = independent
        self.walk = Walk(*problem)
        self.walk.run()
        self.ledger = self.walk.ledger
        self.setup = problem[1]
        self.end = self.walk.compute_steps
        self.jobs: list[Job] = []
        self.rates = self._rates()
        self.keeps = self._keeps()
        self.cuts = sorted({0, self.end, *(step for keep in self.keeps.values() for step in keep.changes)})
        self.macs = self._mac_jobs()
        self._order()

    def _rates(self) -> dict[tuple[str, int], float]:
        limits: dict[tuple[str, int], float | None] = {}
        for m, memory in enumerate(self.ledger.memories):
            limits["read", m] = memory.read_words_per_cycle
            limits["write", m] = memory.write_words_per_cycle
            limits["shared", m] = memory.shared_words_per_cycle
        for f, fanout in enumerate(self.ledger.fanouts):
            limits["link", f] = fanout.link_bits_per_cycle
        return {port: rate for port, rate in limits.items() if rate is not None}

    def _needs(self, key: tuple[int, int, str], step: int) -> dict[tuple[str, int], float]:
        loads: Mapping[tuple[str, int], int] = self.ledger.transfers[key].get(step, {})
        return {port: loads[port] / rate for port, rate in self.rates.items() if loads.get(port)}

    def _add(self, name: str, needs: dict[tuple[str, int], float], least: float = 0.0) -> int:
        self.jobs.append(Job(name, needs, least))
        return len(self.jobs) - 1

    def _keeps(self) -> dict[tuple[int, int], _Keep]:
        keeps = {}
        for role, chain in enumerate(self.walk.space.chains):
            for number in range(1, len(chain)):
                keep = _Keep(self.ledger.memories[chain[number].memory].buffers[role] > 1)
                for kind, found in (("fill", keep.fills), ("drain", keep.drains)):
                    for step in sorted(self.ledger.transfers[role, number, kind]):
                        name = f"{kind} {ROLES[role]} {number} before {step}"
                        found[step] = self._add(name, self._needs((role, number, kind), step))
                        self.jobs[found[step]].waits = keep.double or kind == "drain"
                keep.changes = sorted({*keep.fills, *keep.drains} - {self.end})
                keeps[role, number] = keep
        return keeps

    def _mac_jobs(self) -> list[int]:
        """One job per run of steps between two changes of any tile."""
        found = []
        for start, stop in zip(self.cuts, self.cuts[1:], strict=False):
            needs: defaultdict[tuple[str, int], float] = defaultdict(float)
            for role, chain in enumerate(self.walk.space.chains):
                for step in range(start, stop):
                    for port, time in self._needs((role, len(chain) - 1, "mac"), step).items():
                        needs[port] += time
            least = (stop - start) * self.setup.mode.cycles_per_step + self._ramp(start)
            found.append(self._add(f"macs {start}..{stop}", dict(needs), float(least)))
        return found

    def _ramp(self, step: int) -> int:
        total = 0
        for fanout in self.ledger.fanouts:
            if fanout.ramp is None:
                continue
            role = ROLES.index(fanout.ramp.stationary)
            keep = self.keeps.get((role, len(self.walk.space.chains[role]) - 1))
            repeats = keep is not None and not keep.double
            due = step in self.walk.changed[role][-1] if repeats else step == 0
            total += fanout.ramp.cycles if due else 0
        return total

    def _run_before(self, step: int) -> int | None:
        """The last run of MACs that ends at or before a step."""
        earlier = [job for job, stop in zip(self.macs, self.cuts[1:], strict=True) if stop <= step]
        return earlier[-1] if earlier else None

    def _order(self) -> None:
        for first, second in zip(self.macs, self.macs[1:], strict=False):
            self.jobs[second].after.add(first)
        for (role, number), keep in self.keeps.items():
            outer = self.keeps.get((role, number - 1))
            inner = self.keeps.get((role, number + 1))
            self._order_fills(keep, outer, inner)
            self._order_drains(keep, inner)
            for job, start in zip(self.macs, self.cuts, strict=False):
                self._order_macs(keep, job, start)

    def _wait(self, job: int, other: int | None) -> None:
        if other is not None and other != job:
            self.jobs[job].after.add(other)

    def _order_fills(self, keep: _Keep, outer: _Keep | None, inner: _Keep | None) -> None:
        for step, job in keep.fills.items():
            if self.barriers and not keep.double:
                self._wait(job, self._run_before(step))
                for other in self.keeps.values():
                    if not other.double and other is not keep:
                        self._wait(job, _latest(other.drains, step))
            place = keep.changes.index(step)
            free = place - 1 if keep.double else place  # the change after which a buffer is free
            if free >= 0:
                if inner is None:
                    self._wait(job, self._run_before(keep.changes[free]))
                else:
                    self._wait(job, _latest(inner.fills, keep.changes[free] - 1))
                self._wait(job, _latest(keep.drains, keep.changes[free]))
            self._wait(job, _latest(keep.fills, step - 1))
            if outer is not None and not self.independent:
                self._wait(job, _latest(outer.fills, step))

    def _order_drains(self, keep: _Keep, inner: _Keep | None) -> None:
        for step, job in keep.drains.items():
            self._wait(job, self._run_before(step))
            self._wait(job, _latest(keep.drains, step - 1))
            if inner is not None:
                self._wait(job, _latest(inner.drains, step))

    def _order_macs(self, keep: _Keep, job: int, start: int) -> None:
        self._wait(job, _latest(keep.fills, start))
        changes = [step for step in keep.changes if step <= start]
        back = 2 if keep.double and not self.barriers else 1
        if len(changes) >= back:
            self._wait(job, _latest(keep.drains, changes[-back]))

    def run(self) -> float:
        """Time in cycles until everything has run."""
        waiting = {job: set(self.jobs[job].after) for job in range(len(self.jobs))}
        ready = {job for job, others in waiting.items() if not others}
        followers = defaultdict(list)
        for job, others in waiting.items():
            for other in others:
                followers[other].append(job)
        now = 0.0
        while ready:
            rates = self._shares(sorted(ready))
            step = min(self.jobs[job].left / rate for job, rate in rates.items())
            now += step
            done = []
            for job, rate in rates.items():
                self.jobs[job].left -= rate * step
                if self.jobs[job].left <= EPSILON:
                    done.append(job)
            for job in done:
                ready.discard(job)
                for follower in followers[job]:
                    waiting[follower].discard(job)
                    if not waiting[follower]:
                        ready.add(follower)
        return now

    def _shares(self, active: list[int]) -> dict[int, float]:
        """Progress per cycle of each active job: ports are shared equally, and nobody takes what it cannot
        use.
        """
        free = dict.fromkeys(self.rates, 1.0)
        if not self.urgent:
            return self._fill_up(active, free)
        first = self._fill_up([job for job in active if not self.jobs[job].waits], free)
        return first | self._fill_up([job for job in active if self.jobs[job].waits], free)

    def _fill_up(self, active: list[int], free: dict[tuple[str, int], float]) -> dict[int, float]:
        """Share what is free of each port among some jobs."""
        users: defaultdict[tuple[str, int], int] = defaultdict(int)
        for job in active:
            for port in self.jobs[job].needs:
                users[port] += 1
        rates: dict[int, float] = {}
        rest = list(active)
        while rest:
            limits = {job: self._limit(self.jobs[job], free, users) for job in rest}
            job = min(rest, key=lambda j: (limits[j] * max(self.jobs[j].needs.values(), default=0.0), j))
            rates[job] = limits[job]
            rest.remove(job)
            for port, time in self.jobs[job].needs.items():
                free[port] = max(0.0, free[port] - time * limits[job])
                users[port] -= 1
        return rates

    def _limit(
        self, job: Job, free: dict[tuple[str, int], float], users: dict[tuple[str, int], int]
    ) -> float:
        fastest = 1.0 / job.least if job.least > 0 else 1e12
        shares = [free[port] / users[port] / time for port, time in job.needs.items()]
        return max(1e-12, min([fastest, *shares]))


def _latest(jobs: dict[int, int], step: int) -> int | None:
    """The job of the latest step up to `step`."""
    found = [s for s in jobs if s <= step]
    return jobs[max(found)] if found else None
