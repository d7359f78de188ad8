"""The latency recurrence of docs/model.md, section 3, applied literally to the recorded loads of every step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from seada.arch.hardware import Fanout, Memory, Setup
from seada.model.counts import Timing
from seada.workload.layer import ROLES

Port = tuple[str, str]
Busy = dict[Port, Fraction]


@dataclass
class Load:
    """Words (bits on links) of one transfer per kind and port: the most at any instance."""

    most: dict[tuple[str, Port], int] = field(default_factory=lambda: defaultdict(int))
    moved: bool = False

    def add(self, kind: str, port: Port, amount: int) -> None:
        """Note the load of one instance."""
        self.most[kind, port] = max(self.most[kind, port], amount)


class StepLoads:
    """Loads of one transition by keep (role, level)."""

    def __init__(self) -> None:
        self.loads: dict[tuple[str, int], Load] = {}

    def of(self, role: str, level: int) -> Load:
        """The load of that keep."""
        return self.loads.setdefault((role, level), Load())


class Clock:
    """Turns loads into cycles per physical port."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.rates: dict[Port, tuple[Port, Fraction]] = {}
        for node in setup.nodes:
            if isinstance(node, Fanout):
                self._rate((node.name, "link"), (node.name, "link"), node.link_bits_per_cycle)
            else:
                self._memory(node)

    def _memory(self, memory: Memory) -> None:
        name, shared = memory.name, memory.shared_words_per_cycle
        for kind, rate, side in (
            ("read", memory.read_words_per_cycle, "read"),
            ("accumulate", memory.read_words_per_cycle, "read"),
            ("write", memory.write_words_per_cycle, "write"),
        ):
            if shared is not None:
                self._rate((name, kind), (name, "shared"), shared)
            else:
                self._rate((name, kind), (name, side), rate)

    def _rate(self, load: Port, port: Port, rate: float | None) -> None:
        if rate is not None:
            self.rates[load] = (port, Fraction(rate))

    def busy(self, load: Load | None, kind: str) -> Busy:
        """Cycles per port of one kind of transfer."""
        out: Busy = defaultdict(Fraction)
        if load is not None:
            for (which, where), amount in load.most.items():
                if which == kind and where in self.rates:
                    port, rate = self.rates[where]
                    out[port] += amount / rate
        return out


def _sum(parts: list[Busy]) -> Busy:
    out: Busy = defaultdict(Fraction)
    for part in parts:
        for port, cycles in part.items():
            out[port] += cycles
    return out


def _most(busy: Busy) -> Fraction:
    return max(busy.values(), default=Fraction(0))


class Recurrence:
    """One nest of timing levels over the recorded steps."""

    def __init__(
        self,
        setup: Setup,
        keeps: dict[tuple[str, int], tuple[int, str]],
        steps: list[tuple[int, ...]],
        transitions: list[StepLoads],
        macs: list[StepLoads],
    ) -> None:
        self.setup, self.keeps, self.steps = setup, keeps, steps
        self.transitions, self.macs, self.clock = transitions, macs, Clock(setup)
        order = {m.name: i for i, m in enumerate(setup.arch.memories)}
        self.levels = sorted({(position, order[name]) for position, name in keeps.values()})
        self.memory_order = order

    def members(self, g: int, double: bool) -> list[tuple[str, int]]:
        """Keeps of timing level g with that buffering."""
        return [
            keep
            for keep, (position, name) in self.keeps.items()
            if (position, self.memory_order[name]) == self.levels[g] and self.is_double(keep) == double
        ]

    def is_double(self, keep: tuple[str, int]) -> bool:
        """Whether the keep has two buffers or more."""
        memory = self.setup.arch.memories[self.memory_order[self.keeps[keep][1]]]
        return memory.buffers[ROLES.index(keep[0])] >= 2

    def moved(self, g: int, double: bool, transition: int, kind: str) -> Busy:
        """Port cycles of the transfers of a level at a transition."""
        loads = self.transitions[transition].loads
        return _sum([self.clock.busy(loads.get(keep), kind) for keep in self.members(g, double)])

    def split(self, start: int, stop: int, position: int) -> list[tuple[int, int]]:
        """Runs of steps with equal indices of the loops down to `position` (trips of one included)."""
        parts = []
        first = start
        for t in range(start + 1, stop + 1):
            if t == stop or self.prefix(t, position) != self.prefix(first, position):
                parts.append((first, t))
                first = t
        return parts

    def prefix(self, t: int, position: int) -> tuple[int, ...]:
        """Indices of the loops down to a timing position."""
        return self.steps[t][:position]

    def below(self, g: int, start: int, stop: int) -> tuple[Fraction, Busy]:
        """Time and traffic of a pass inside level g - 1 over these steps."""
        if g == len(self.levels):
            mac = [load for step in self.macs[start:stop] for load in step.loads.values()]
            traffic = [self.clock.busy(load, kind) for load in mac for kind in ("fill", "drain")]
            return Fraction((stop - start) * self.setup.mode.cycles_per_step), _sum(traffic)
        parts = [self.step(g, a, b) for a, b in self.split(start, stop, self.levels[g][0])]
        return sum((time for time, _ in parts), Fraction(0)), _sum([busy for _, busy in parts])

    def step(self, g: int, start: int, stop: int) -> tuple[Fraction, Busy]:
        """One step of level g."""
        inner, traffic = self.below(g + 1, start, stop)
        last = stop == len(self.steps)
        fills = self.moved(g, False, start, "fill")
        drains = self.moved(g, False, stop, "drain")
        ahead = {} if last else self.moved(g, True, stop, "fill")
        behind = {} if start == 0 else self.moved(g, True, start, "drain")
        busy = _sum([ahead, behind, traffic])
        time = _most(fills) + max(inner + self.ramp(g, start), _most(busy)) + _most(drains)
        return time, _sum([busy, fills, drains])

    def innermost(self, role: str) -> tuple[str, int] | None:
        """The innermost keep of an operand, if it is not also its outermost."""
        return max((keep for keep in self.keeps if keep[0] == role), key=lambda keep: keep[1], default=None)

    def ramps(self, g: int | None) -> list[tuple[tuple[str, int] | None, int]]:
        """Ramps of fanouts that are paid at changes in level g, or (None) once."""
        found = []
        for node in self.setup.nodes:
            if isinstance(node, Fanout) and node.ramp is not None:
                keep = self.innermost(node.ramp.stationary)
                single = keep is not None and not self.is_double(keep)
                if g is None and not single:
                    found.append((keep, node.ramp.cycles))
                elif g is not None and single and keep in self.members(g, False):
                    found.append((keep, node.ramp.cycles))
        return found

    def ramp(self, g: int, start: int) -> Fraction:
        """Ramp cycles paid when this step of level g begins."""
        total = 0
        for keep, cycles in self.ramps(g):
            assert keep is not None
            load = self.transitions[start].loads.get(keep)
            if start == 0 or (load is not None and load.moved):
                total += cycles
        return Fraction(total)

    def once(self, transition: int, kind: str) -> Fraction:
        """First fills or last drains of double buffers: busiest port or longest chain."""
        loads = self.transitions[transition].loads
        parts = {keep: self.clock.busy(loads.get(keep), kind) for keep in self.keeps if self.is_double(keep)}
        chains: dict[str, Fraction] = defaultdict(Fraction)
        for (role, _), busy in parts.items():
            chains[role] += _most(busy)
        return max([_most(_sum(list(parts.values()))), *chains.values()])


def latency(
    setup: Setup,
    keeps: dict[tuple[str, int], tuple[int, str]],
    steps: list[tuple[int, ...]],
    transitions: list[StepLoads],
    macs: list[StepLoads],
) -> Timing:
    """Timing of the walk; all times exact fractions until the end."""
    recurrence = Recurrence(setup, keeps, steps, transitions, macs)
    body, traffic = recurrence.below(0, 0, len(steps))
    body = max(body, _most(traffic))
    first, last = recurrence.once(0, "fill"), recurrence.once(len(steps), "drain")
    ramp = sum(cycles for _, cycles in recurrence.ramps(None))
    return Timing(
        latency_cycles=ceil(first + body + last + ramp),
        first_fill=float(first),
        body=float(body),
        last_drain=float(last),
        ramp=float(ramp),
        compute=float(len(steps) * setup.mode.cycles_per_step),
    )
