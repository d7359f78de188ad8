"""Reads, fills and updates of every keep over the whole layer, per instance, by the rules of a convention.

Sources: the published descriptions and outputs of Timeloop (Parashar et al., ISPASS 2019), AccelForge (PyPI
1.0.467) and FactorFlow (2024), recounted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from seada.peers.convention import Convention
from seada.peers.delivered import delivered
from seada.peers.nest import Kept, Trip, WholeNest, axis_size
from seada.workload.layer import ROLES

INFINITE = 1 << 62


@dataclass(frozen=True)
class Tally:
    """Accesses of one operand at one keep, in words per used instance.

    Attributes
    ----------
    reads : what children take, or partial sums that are read to be added to
    fills : what comes from outside
    updates : sums that arrive from inside
    drains : output tiles that are read when they leave
    forwarded : words that the instance hands to neighbours, included in `reads`
    held : distinct words that an instance ever holds; `tile` at a time
    instances : used
    """

    memory: int
    role: str
    reads: Fraction
    fills: int
    updates: int
    drains: int
    forwarded: Fraction
    held: int
    tile: int
    instances: int

    @property
    def writes(self) -> int:
        """Fills and updates."""
        return self.fills + self.updates

    @property
    def all_reads(self) -> Fraction:
        """Reads and drains."""
        return self.reads + self.drains


def tallies(nest: WholeNest, convention: Convention, forwarding: frozenset[str] = frozenset()) -> list[Tally]:
    """All keeps of all operands; `forwarding` names fanouts whose neighbours hand on inputs."""
    result = []
    for role in ROLES:
        chain = nest.chains[role]
        for number, kept in enumerate(chain):
            inner = chain[number + 1] if number + 1 < len(chain) else None
            result.append(_tally(nest, role, number, kept, inner, convention, forwarding))
    return result


def _tally(
    nest: WholeNest,
    role: str,
    number: int,
    kept: Kept,
    inner: Kept | None,
    convention: Convention,
    forwarding: frozenset[str],
) -> Tally:
    served, _ = _exchange(nest, role, kept, inner, convention, forwarding)
    fills, handed = 0, Fraction(0)
    if number > 0:
        outer = nest.chains[role][number - 1]
        rows = _rows(nest, role, outer, kept, forwarding)
        fills, sent = delivered(nest, role, kept, convention, rows)
        handed = fills - sent
    held = _held(nest, role, kept)
    instances = prod(trip.trips for trip in nest.spatial(-1, kept.place))
    tile = nest.tile(role, kept.place)
    if role != "output":
        return Tally(kept.memory, role, served + handed, fills, 0, 0, handed, held, tile, instances)
    drains = fills if number > 0 and convention.drain == "read" else 0
    returning = max(0, fills - held) if number > 0 else 0
    updates = int(served)
    return Tally(
        kept.memory,
        role,
        Fraction(updates - held),
        returning,
        updates,
        drains,
        Fraction(0),
        held,
        tile,
        instances,
    )


def _exchange(
    nest: WholeNest,
    role: str,
    kept: Kept,
    inner: Kept | None,
    convention: Convention,
    forwarding: frozenset[str],
) -> tuple[Fraction, int]:
    """(words that one instance of a keep exchanges with everything inside, words into one inner instance)."""
    if inner is None:
        steps = prod(trip.trips for trip in nest.temporal(INFINITE))
        return Fraction(steps * _different(nest, role, kept.place, INFINITE, convention)), steps
    rows = _rows(nest, role, kept, inner, forwarding)
    words, sent = delivered(nest, role, inner, convention, rows)
    return sent * _different(nest, role, kept.place, inner.place, convention), words


def _rows(
    nest: WholeNest, role: str, outer: Kept, inner: Kept, forwarding: frozenset[str]
) -> tuple[Trip, ...]:
    """Spatial loops along which neighbours hand on tiles: of inputs, between memories with none between."""
    if role == "output" or inner.memory != outer.memory + 1:
        return ()
    loops = nest.spatial(outer.place, inner.place)
    return tuple(t for t in loops if t.fanout is not None and nest.fanouts[t.fanout].name in forwarding)


def _different(nest: WholeNest, role: str, start: int, stop: int, convention: Convention) -> int:
    """Inner instances below one outer one that need different data."""
    loops = nest.spatial(start, stop)
    if convention.multicast == "irrelevant":
        dims = nest.layer.operand(role).dims
        return prod(trip.trips for trip in loops if trip.dim in dims)
    total = 1
    for fanout in sorted({trip.fanout for trip in loops if trip.fanout is not None}):
        places = {(0,) * len(nest.layer.operand(role).axes)}
        for trip in loops:
            if trip.fanout == fanout:
                shift = nest.shift(role, trip)
                places = {
                    tuple(x + k * by for x, by in zip(at, shift, strict=True))
                    for at in places
                    for k in range(trip.trips)
                }
        total *= len(places)
    return total


def _held(nest: WholeNest, role: str, kept: Kept) -> int:
    """Distinct words that one instance ever holds: all loops of time together, as one box."""
    extents = nest.below(kept.place)
    for trip in nest.temporal(kept.place):
        extents[trip.dim] *= trip.trips
    operand = nest.layer.operand(role)
    return prod(axis_size(axis, extents) for axis in operand.axes)
