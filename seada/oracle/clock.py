"""Section 3 of `docs/model.md`, literally: nested passes over the transfers that the walk recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from seada.model.counts import Timing
from seada.oracle.ledger import Ledger, Loads, Port
from seada.oracle.space import Held, Position, Space
from seada.workload.layer import ROLES

Changed = list[list[set[int]]]
"""Per role and keep: the steps before which a ramp of that stationary keep is due."""


@dataclass(frozen=True)
class Level:
    """Keeps of one memory with one timing position, as (role, number in its chain)."""

    position: int
    memory: int
    keeps: tuple[tuple[int, int], ...]


class Clock:
    """Reads the time of a walked layer.

    Parameters
    ----------
    space, ledger : of the walk
    steps : positions of the odometer that had work, in order
    changed : in which steps keeps received elements
    """

    def __init__(self, space: Space, ledger: Ledger, steps: list[Position], changed: Changed) -> None:
        self.space = space
        self.ledger = ledger
        self.changed = changed
        moving = [i for i, loop in enumerate(space.temporal) if space.trips[loop] > 1]
        self.moving = [space.temporal[i] for i in moving]
        self.steps = [tuple(position[i] for i in moving) for position in steps]
        self.levels = self._levels()
        self.bandwidths = self._bandwidths()

    def timing(self) -> Timing:
        """The latency of the layer and its parts."""
        end = len(self.steps)
        time, moved = self._pass(0, 0, end)
        body = max([time, *self._times(moved)])
        first = self._overhead("fill", 0)
        last = self._overhead("drain", end)
        ramp = Fraction(self._ramp_per_layer())
        compute = end * self.space.setup.mode.cycles_per_step
        total = ceil(first + body + last + ramp)
        return Timing(total, float(first), float(body), float(last), float(ramp), float(compute))

    def _levels(self) -> list[Level]:
        keeps: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for role, chain in enumerate(self.space.chains):
            for number, held in enumerate(chain[1:], start=1):
                keeps.setdefault((self._position(held), held.memory), []).append((role, number))
        return [Level(position, memory, tuple(keeps[position, memory])) for position, memory in sorted(keeps)]

    def _position(self, held: Held) -> int:
        """Temporal loops down to the innermost one above the keep that changes its tile."""
        dims = self.space.layer.operands[held.role].dims
        above = [i for i in self.moving if i < held.above]
        return max((n for n, i in enumerate(above, start=1) if self.space.loops[i].dim in dims), default=0)

    def _bandwidths(self) -> dict[Port, Fraction]:
        """Words (of a link: bits) per cycle of every port that has a limit."""
        limits: dict[Port, float | None] = {}
        for m, memory in enumerate(self.ledger.memories):
            limits["read", m] = memory.read_words_per_cycle
            limits["write", m] = memory.write_words_per_cycle
            limits["shared", m] = memory.shared_words_per_cycle
        for f, fanout in enumerate(self.ledger.fanouts):
            limits["link", f] = fanout.link_bits_per_cycle
        return {port: Fraction(limit) for port, limit in limits.items() if limit is not None}

    def _times(self, loads: Loads) -> list[Fraction]:
        """Time that each limited port needs for its load, at least one entry."""
        return [Fraction(0), *(loads[port] / limit for port, limit in self.bandwidths.items())]

    def _double(self, keep: tuple[int, int]) -> bool:
        role, number = keep
        return self.ledger.memories[self.space.chains[role][number].memory].buffers[role] > 1

    def _recorded(self, keep: tuple[int, int], kind: str, step: int) -> Loads:
        return self.ledger.transfers[(*keep, kind)].get(step, Counter())

    def _moved(self, level: Level, kind: str, step: int, double: bool) -> Loads:
        """What the single or double-buffered keeps of a level move in one transition."""
        total: Loads = Counter()
        for keep in level.keeps:
            if self._double(keep) == double:
                total += self._recorded(keep, kind, step)
        return total

    def _pass(self, depth: int, begin: int, end: int) -> tuple[Fraction, Loads]:
        """Time of the pass of one level over MAC steps begin..end, and all that moves in it."""
        if depth == len(self.levels):
            return self._macs(begin, end)
        total, moved = Fraction(0), Counter[Port]()
        level = self.levels[depth]
        for start, stop in self._runs(level.position, begin, end):
            fills = self._moved(level, "fill", start, double=False)
            drains = self._moved(level, "drain", stop, double=False)
            time, busy = self._pass(depth + 1, start, stop)
            if stop < len(self.steps):  # The last drains of the layer are added once, outside all passes.
                busy += self._moved(level, "fill", stop, double=True)
            busy += self._moved(level, "drain", start, double=True)
            time += self._ramp(level, start)
            total += max(self._times(fills)) + max([time, *self._times(busy)]) + max(self._times(drains))
            moved += fills + busy + drains
        return total, moved

    def _macs(self, begin: int, end: int) -> tuple[Fraction, Loads]:
        """The innermost pass: MAC steps and their accesses."""
        moved: Loads = Counter()
        for role, chain in enumerate(self.space.chains):
            for step in range(begin, end):
                moved += self._recorded((role, len(chain) - 1), "mac", step)
        return Fraction((end - begin) * self.space.setup.mode.cycles_per_step), moved

    def _runs(self, position: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """MAC steps with one position of the outer loops, as (first, one past the last)."""
        start = begin
        for step in range(begin + 1, end + 1):
            if step == end or self.steps[step][:position] != self.steps[start][:position]:
                yield start, step
                start = step

    def _overhead(self, kind: str, step: int) -> Fraction:
        """First fills or last drains of all double buffers: the busiest port or the longest chain."""
        total: Loads = Counter()
        longest = [Fraction(0)]
        for role, chain in enumerate(self.space.chains):
            times = Fraction(0)
            for number in range(1, len(chain)):
                if self._double((role, number)):
                    loads = self._recorded((role, number), kind, step)
                    total += loads
                    times += max(self._times(loads))
            longest.append(times)
        return max([*self._times(total), *longest])

    def _stationary(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Per ramp: the innermost keep of its stationary operand, and its cycles."""
        for fanout in self.ledger.fanouts:
            if fanout.ramp is not None:
                role = ROLES.index(fanout.ramp.stationary)
                yield (role, len(self.space.chains[role]) - 1), fanout.ramp.cycles

    def _repeats(self, keep: tuple[int, int]) -> bool:
        return keep[1] > 0 and not self._double(keep)

    def _ramp(self, level: Level, step: int) -> int:
        return sum(
            cycles
            for keep, cycles in self._stationary()
            if self._repeats(keep) and keep in level.keeps and step in self.changed[keep[0]][keep[1]]
        )

    def _ramp_per_layer(self) -> int:
        return sum(cycles for keep, cycles in self._stationary() if not self._repeats(keep))
