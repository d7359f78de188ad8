"""Exact choice of one candidate per slot: integer programming with HiGHS, and products of two sums.

A slot is a layer, or several layers that must agree. Rounding in the solver never lets a limit be broken:
every answer is checked in floating-point sums of the exact figures, and an answer that fails is cut off
and solved again.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from seada.errors import SeadaError

Vector = NDArray[np.float64]

# Sums within one part in a million count as equal when ties are broken by a further cost.
TIE = 1e-6
# Relative rounding of products and of weighted sums.
_ROUNDING = 1e-9
# HiGHS works to absolute tolerances of 1e-6 .. 1e-7; figures are scaled to this size.
_SCALE = 1e4
_MAX_CUTS = 20
_MARGIN = 1e-6


@dataclass(frozen=True)
class Limit:
    """``row . choice + constant <= bound``."""

    row: Vector
    constant: float
    bound: float

    def value(self, chosen: NDArray[np.intp]) -> float:
        """The left side for the chosen variables."""
        return float(self.row[chosen].sum()) + self.constant

    def holds(self, chosen: NDArray[np.intp]) -> bool:
        """Whether it is kept, up to the rounding of sums."""
        taken = self.row[chosen]
        size = max(float(np.abs(taken).sum()), abs(self.constant), abs(self.bound))
        return self.value(chosen) <= self.bound + 1e-12 * size


@dataclass(frozen=True)
class Slots:
    """Variables 0 .. n-1 in consecutive runs, one run per slot, of which one is chosen.

    Attributes
    ----------
    sizes : tuple of int
        Candidates per slot.
    """

    sizes: tuple[int, ...]

    @property
    def starts(self) -> NDArray[np.intp]:
        """First variable of each slot."""
        return np.cumsum([0, *self.sizes[:-1]]).astype(np.intp)

    def matrix(self) -> NDArray[np.float64]:
        """One row per slot that adds up its variables."""
        return np.repeat(np.eye(len(self.sizes)), self.sizes, axis=1)

    def least(self, figures: Vector) -> Vector:
        """Least figure of each slot."""
        result: Vector = np.minimum.reduceat(figures, self.starts)
        return result

    def pick(self, figures: Vector) -> NDArray[np.intp]:
        """The first variable with the largest figure of each slot."""
        ends = [*self.starts[1:], len(figures)]
        best = [s + int(np.argmax(figures[s:e])) for s, e in zip(self.starts, ends, strict=True)]
        return np.array(best, dtype=np.intp)


def minimise(slots: Slots, cost: Vector, limits: list[Limit]) -> NDArray[np.intp] | None:
    """The variables of a choice with least total cost within all limits; None if there is none.

    Parameters
    ----------
    cost : array of shape (variables,)
    limits : list of Limit

    Raises
    ------
    SeadaError
        If the solver fails.
    """
    if not limits:
        return slots.pick(-cost)
    cuts: list[NDArray[np.intp]] = []
    while len(cuts) <= 2 * _MAX_CUTS:
        # Where many choices lie within the solver's tolerance of a limit, it is drawn in by that much.
        margin = 0.0 if len(cuts) < _MAX_CUTS else _MARGIN
        chosen = _solve(slots, cost, limits, cuts, margin)
        if chosen is None or all(limit.holds(chosen) for limit in limits):
            return chosen
        cuts.append(chosen)
    raise SeadaError("the integer program does not settle within the precision of its solver")


def _solve(
    slots: Slots, cost: Vector, limits: list[Limit], cuts: list[NDArray[np.intp]], margin: float
) -> NDArray[np.intp] | None:
    """One run of HiGHS; its tolerances are absolute, so all figures are scaled to what is left to decide."""
    variables = len(cost)
    allowed = np.ones(variables)
    constraints = [LinearConstraint(slots.matrix(), 1, 1)]
    for limit in limits:
        least = slots.least(limit.row)
        row = limit.row - np.repeat(least, slots.sizes)
        room = limit.bound - limit.constant - float(least.sum())
        room += 1e-12 * max(abs(limit.bound), abs(limit.constant), float(np.abs(least).sum()))
        if room < 0:
            return None
        # A candidate that alone breaks the limit is out, whatever the others are.
        allowed[row > room] = 0
        row = np.where(row > room, 0, row) / max(room, 1e-300)
        constraints.append(LinearConstraint(row[None] * _SCALE, -np.inf, _SCALE * (1 - margin)))
    for cut in cuts:
        taken = np.zeros((1, variables))
        taken[0, cut] = 1
        constraints.append(LinearConstraint(taken, -np.inf, len(slots.sizes) - 1))
    reduced = (cost - np.repeat(slots.least(cost), slots.sizes)) * allowed
    with _quiet():
        result = milp(
            reduced * (_SCALE / max(float(reduced.max()), 1e-300)),
            constraints=constraints,
            integrality=np.ones(variables, dtype=np.int64),
            bounds=Bounds(0, allowed),
            options={"mip_rel_gap": 0.0},
        )
    if result.status == 2:
        return None
    if result.x is None:
        raise SeadaError(f"the integer program failed: {result.message}")
    return slots.pick(result.x)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the solver's own prints (HiGHS as of SciPy 1.17 leaves one in) out of standard output.

    They come from C, so the file descriptor itself is turned away for the moment.
    """
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:
        # There is no standard output that could be disturbed.
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(sink)


def minimise_then(slots: Slots, costs: list[Vector], limits: list[Limit]) -> NDArray[np.intp] | None:
    """Least first cost; among these least second cost, and so on."""
    chosen: NDArray[np.intp] | None = None
    limits = list(limits)
    for cost in costs:
        found = minimise(slots, cost, limits)
        if found is None:
            return chosen
        chosen = found
        best = float(cost[chosen].sum())
        limits.append(Limit(cost, 0.0, best + TIE * abs(best)))
    return chosen


@dataclass(frozen=True)
class Product:
    """``(first . choice + first_constant) * (second . choice + second_constant)``, all figures 0 or more."""

    first: Vector
    first_constant: float
    second: Vector
    second_constant: float

    def factors(self, chosen: NDArray[np.intp]) -> tuple[float, float]:
        """Both factors for the chosen variables."""
        first = float(self.first[chosen].sum()) + self.first_constant
        return first, float(self.second[chosen].sum()) + self.second_constant

    def value(self, chosen: NDArray[np.intp]) -> float:
        """The product for the chosen variables."""
        first, second = self.factors(chosen)
        return first * second


def minimise_product(slots: Slots, product: Product, limits: list[Limit]) -> NDArray[np.intp] | None:
    """A choice with the least product within all limits.

    A product of two positive sums is quasi-concave, so its least value lies at a corner of the convex
    hull of the choices' (first, second) pairs. The corners of the lower left hull are the optima of
    weighted sums; they are visited by bisecting the weights, leaving out intervals whose triangle below
    the chord cannot hold a better one.
    """
    left = minimise_then(slots, [product.first, product.second], limits)
    if left is None:
        return None
    right = minimise_then(slots, [product.second, product.first], limits)
    assert right is not None
    best = min(left, right, key=product.value)
    open_intervals = [(left, right)]
    while open_intervals:
        low, high = open_intervals.pop()
        (x0, y0), (x1, y1) = product.factors(low), product.factors(high)
        # No point between two corners lies left of the one or below the other.
        if x1 <= x0 or y0 <= y1 or x0 * y1 >= product.value(best) * (1 - _ROUNDING):
            continue
        weighted = product.first * (y0 - y1) + product.second * (x1 - x0)
        middle = minimise(slots, weighted, limits)
        assert middle is not None
        x, y = product.factors(middle)
        chord = x0 * (y0 - y1) + y0 * (x1 - x0)
        if x * (y0 - y1) + y * (x1 - x0) >= chord * (1 - _ROUNDING):
            continue
        best = min(best, middle, key=product.value)
        open_intervals += [(low, middle), (middle, high)]
    return best


def minimise_within_product(
    slots: Slots,
    solve: Callable[[list[Limit]], NDArray[np.intp] | None],
    value: Callable[[NDArray[np.intp]], float],
    product: Product,
    bound: float,
    limits: list[Limit],
) -> NDArray[np.intp] | None:
    """The best choice with ``product <= bound``, where `solve` finds the best one within linear limits.

    The set below a hyperbola is not convex. On an interval of the first factor it lies below the chord,
    which is linear: solve with the chord; if the answer breaks the product, split the interval at its
    first factor, where the chords of both halves cut it off.
    """
    ends = []
    for row in (product.first, -product.first):
        extreme = minimise(slots, row, limits)
        if extreme is None:
            return None
        ends.append(product.factors(extreme)[0])
    best: NDArray[np.intp] | None = None
    open_intervals = [(ends[0], ends[1])]
    while open_intervals:
        low, high = open_intervals.pop()
        relaxed = solve([*limits, *_below_chord(product, bound, low, high)])
        if relaxed is None or (best is not None and value(relaxed) >= value(best)):
            continue
        first, second = product.factors(relaxed)
        if first * second <= bound * (1 + 2 * _ROUNDING):
            best = relaxed
        else:
            split = min(max(first, low), high)
            open_intervals += [(low, split), (split, high)]
    return best


def _below_chord(product: Product, bound: float, low: float, high: float) -> list[Limit]:
    """First factor in low..high, and the second below the chord of ``bound / first`` there."""
    bound *= 1 + _ROUNDING
    tolerance = 1e-12 * abs(high)
    inside = [
        Limit(product.first, product.first_constant, high + tolerance),
        Limit(-product.first, -product.first_constant, -low + tolerance),
    ]
    at_low, at_high = bound / max(low, 1e-300), bound / max(high, 1e-300)
    slope = (at_low - at_high) / (high - low) if high > low else 0.0
    row = product.second + slope * product.first
    constant = product.second_constant + slope * product.first_constant
    return [*inside, Limit(row, constant, at_low + slope * low)]


def supported_points(slots: Slots, cost: Vector, loss: Vector) -> list[NDArray[np.intp]]:
    """All corners of the lower left convex hull of (total cost, total loss), from the cheapest on.

    Without limits the optimum of a weighted sum falls apart into slots: every slot walks along its own
    hull, and the steps of all slots are taken in the order of loss saved per cost.
    """
    ends = [*slots.starts[1:], len(cost)]
    hulls = [_hull(cost, loss, range(s, e)) for s, e in zip(slots.starts, ends, strict=True)]
    steps = []
    for slot, hull in enumerate(hulls):
        for position, (before, after) in enumerate(itertools.pairwise(hull)):
            gain = (loss[before] - loss[after]) / (cost[after] - cost[before])
            steps.append((-float(gain), slot, position, after))
    current = np.array([hull[0] for hull in hulls], dtype=np.intp)
    points = [current.copy()]
    for _, slot, _, after in sorted(steps):
        current[slot] = after
        points.append(current.copy())
    return points


def _hull(cost: Vector, loss: Vector, variables: Sequence[int]) -> list[int]:
    """Corners of one slot's lower left hull, by rising cost and falling loss."""
    hull: list[int] = []
    for v in sorted(variables, key=lambda i: (cost[i], loss[i], i)):
        if hull and (loss[v] >= loss[hull[-1]] or cost[v] <= cost[hull[-1]]):
            continue
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            # b goes if it lies on or above the line from a to v.
            if (loss[b] - loss[a]) * (cost[v] - cost[a]) < (loss[v] - loss[a]) * (cost[b] - cost[a]):
                break
            hull.pop()
        hull.append(v)
    return hull
