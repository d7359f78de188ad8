"""Words that reach one instance of a keep over the whole layer, by each rule of reuse in time."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from seada.peers.convention import Convention
from seada.peers.nest import Kept, Trip, WholeNest, axis_size

Shift = tuple[int, ...]


def delivered(
    nest: WholeNest, role: str, kept: Kept, convention: Convention, forwarding: tuple[Trip, ...] = ()
) -> tuple[int, Fraction]:
    """(words into one instance, words that its parent sends per instance).

    They differ only where neighbours along the spatial loops `forwarding` hand tiles on.
    """
    tile = nest.tile(role, kept.place)
    if convention.stationarity == "whole":
        return _Walk(nest, role, kept, forwarding).run()
    loops = nest.temporal(kept.place)
    if convention.stationarity == "outward":
        loops = _without_free_loop(nest, role, loops)
    words = tile * prod(trip.trips for trip in loops)
    return words, Fraction(words)


def _without_free_loop(nest: WholeNest, role: str, loops: list[Trip]) -> list[Trip]:
    """The first level outward with a loop decides: its innermost loop is free if irrelevant."""
    if loops and loops[-1].dim not in nest.layer.operand(role).dims:
        return loops[:-1]
    return loops


class _Walk:
    """The odometer with a memory of the last displacement (timeloop_counting rules 2.2, 2.4, 2.6).

    An iteration past the second repeats the third, so each loop is walked three times at most.
    """

    def __init__(self, nest: WholeNest, role: str, kept: Kept, forwarding: tuple[Trip, ...]) -> None:
        self.extents = nest.below(kept.place)
        self.axes = nest.layer.operand(role).axes
        self.full = nest.tile(role, kept.place)
        self.loops = nest.temporal(kept.place)
        self.shifts = [nest.shift(role, trip) for trip in self.loops]
        self.neighbours = [(nest.shift(role, trip), trip.trips) for trip in forwarding]
        self.at: Shift = (0,) * len(self.axes)
        self.last: Shift | None = None
        self.memory: Shift | None = None

    def run(self) -> tuple[int, Fraction]:
        """Words into one instance, and of these those that come from the parent."""
        return self._loop(0)

    def _loop(self, number: int) -> tuple[int, Fraction]:
        if number == len(self.loops):
            return self._step()
        trips, shift = self.loops[number].trips, self.shifts[number]
        start = self.at
        words, sent = self._loop(number + 1)
        for iteration in range(1, min(trips, 3)):
            copies = 1 if iteration == 1 else trips - 2
            self.at = _moved(start, shift, iteration)
            more, also = self._loop(number + 1)
            words += copies * more
            sent += copies * also
        if trips > 3 and self.last is not None:
            self.last = _moved(self.last, shift, trips - 3)
        self.at = start
        return words, sent

    def _step(self) -> tuple[int, Fraction]:
        last, self.last = self.last, self.at
        if last is None:
            return self.full, Fraction(self.full)
        move = tuple(now - before for now, before in zip(self.at, last, strict=True))
        if not any(move):
            return 0, Fraction(0)
        words = self.full
        if self.memory is None or self.memory == move:
            words -= self._overlap(move)
            self.memory = move
        else:
            self.memory = None
        return words, words * self._share(move)

    def _overlap(self, move: Shift) -> int:
        return prod(
            max(0, axis_size(axis, self.extents) - abs(by)) for axis, by in zip(self.axes, move, strict=True)
        )

    def _share(self, move: Shift) -> Fraction:
        """Part of the instances that no neighbour can serve: one per row if the move is that between them."""
        for shift, trips in self.neighbours:
            if move in (shift, tuple(-by for by in shift)):
                return Fraction(1, trips)
        return Fraction(1)


def _moved(at: Shift, shift: Shift, times: int) -> Shift:
    return tuple(x + times * by for x, by in zip(at, shift, strict=True))
