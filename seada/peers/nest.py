"""A mapping as these tools see it: whole trips, levels, and what each operand keeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from seada.arch.hardware import Fanout, Setup
from seada.mapping.nest import Keep, Mapping
from seada.workload.layer import ROLES, Axis, Layer


@dataclass(frozen=True)
class Trip:
    """A loop with more than one trip.

    Attributes
    ----------
    step : extent of its body
    level : number of memories with a keep before it in the list (the level that it belongs to)
    fanout : number of the fanout of a spatial loop, None for time
    place : position in the list of nodes
    """

    dim: str
    trips: int
    step: int
    level: int
    fanout: int | None
    axis: str
    place: int


@dataclass(frozen=True)
class Kept:
    """A keep of one operand: memory by number, position in the list, extents of its tile."""

    memory: int
    place: int
    extents: dict[str, int]


class WholeNest:
    """A mapping with trips padded to whole ones.

    Attributes
    ----------
    trips : the loops with more than one trip, outermost first
    chains : keeps by role, outermost first
    """

    def __init__(self, layer: Layer, setup: Setup, mapping: Mapping) -> None:
        self.layer = layer
        self.setup = setup
        memories = {memory.name: m for m, memory in enumerate(setup.arch.memories)}
        self.fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
        fanouts = {fanout.name: f for f, fanout in enumerate(self.fanouts)}
        left = dict(layer.dims)
        trips: list[Trip] = []
        kept: list[tuple[str, int, int, dict[str, int]]] = []
        seen: list[int] = []
        for place, node in enumerate(mapping.nodes):
            if isinstance(node, Keep):
                memory = memories[node.memory]
                if memory not in seen:
                    seen.append(memory)
                kept.append((node.operand, memory, place, dict(left)))
                continue
            count = -(-left[node.dim] // node.step)
            left[node.dim] = min(node.step, left[node.dim])
            if count > 1:
                name, _, axis = (node.on or "").partition(".")
                fanout = fanouts[name] if node.on else None
                trips.append(Trip(node.dim, count, node.step, len(seen), fanout, axis, place))
        self.trips = tuple(trips)
        self.chains = {
            role: [Kept(m, place, extents) for operand, m, place, extents in kept if operand == role]
            for role in ROLES
        }

    @cached_property
    def padded(self) -> dict[str, int]:
        """Extents with all trips whole."""
        return {
            name: prod(trip.trips for trip in self.trips if trip.dim == name) for name, _ in self.layer.dims
        }

    def below(self, place: int) -> dict[str, int]:
        """Extents below a position, all trips whole."""
        return {
            name: prod(t.trips for t in self.trips if t.dim == name and t.place > place)
            for name, _ in self.layer.dims
        }

    def temporal(self, place: int) -> list[Trip]:
        """Temporal loops above a position."""
        return [trip for trip in self.trips if trip.fanout is None and trip.place < place]

    def spatial(self, start: int, stop: int) -> list[Trip]:
        """Spatial loops between two positions."""
        return [trip for trip in self.trips if trip.fanout is not None and start < trip.place < stop]

    def tile(self, role: str, place: int) -> int:
        """Elements of the tile below a position, padding included."""
        extents = self.below(place)
        return prod(axis_size(axis, extents) for axis in self.layer.operand(role).axes)

    def shift(self, role: str, trip: Trip) -> tuple[int, ...]:
        """How far one iteration of a loop moves the tile of an operand, per axis."""
        size = prod(t.trips for t in self.trips if t.dim == trip.dim and t.place > trip.place)
        return tuple(dict(axis.terms).get(trip.dim, 0) * size for axis in self.layer.operand(role).axes)


def axis_size(axis: Axis, extents: dict[str, int]) -> int:
    """Length of the interval that a box touches along one axis: these tools keep boxes, gaps and all."""
    return sum(coefficient * (extents[name] - 1) for name, coefficient in axis.terms) + 1


def axis_scale(axis: Axis) -> int:
    """Step between neighbouring indices of an axis with one dimension: gaps that no box can have."""
    return axis.terms[0][1] if len(axis.terms) == 1 else 1
