"""Where every instance stands at every step: boxes of the layer and the elements that they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from seada.arch.hardware import Fanout, Memory, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES, Axis, Layer, Operand

Position = tuple[int, ...]
"""Index of every temporal loop, outermost first."""
Coords = tuple[int, ...]
"""Index of the spatial loops outside an instance, outermost first: its identity."""
Box = dict[str, tuple[int, int]]
"""Start and length by dimension name."""
Element = tuple[int, ...]
"""Coordinates of an element of an operand; outside the tensor for padding."""


@dataclass(frozen=True)
class Held:
    """A keep at its place in the nest.

    Attributes
    ----------
    role, memory : int
        Position in `ROLES` and among the memories of the architecture.
    above : int
        Loops above it, spatial ones included.
    spatial : int
        Spatial loops outside its memory: the length of the coordinates of its instances.
    """

    role: int
    memory: int
    above: int
    spatial: int


@dataclass(frozen=True)
class Crossing:
    """A fanout and the coordinates that it adds: from `outer` to `inner` spatial loops.

    Attributes
    ----------
    stages : spatial loops outside each junction on the way out, the root last; one but for a tree
    """

    index: int
    fanout: Fanout
    outer: int
    inner: int
    stages: tuple[int, ...]


class Space:
    """A layer under a mapping, as coordinates: steps, instances, boxes and tiles.

    Parameters
    ----------
    layer, setup, mapping
        Of a legal mapping (`seada.mapping.check`).
    """

    def __init__(self, layer: Layer, setup: Setup, mapping: Mapping) -> None:
        self.layer = layer
        self.setup = setup
        self.loops = [node for node in mapping.nodes if isinstance(node, Loop)]
        self.trips = _trips(layer, self.loops)
        self.temporal = [i for i, loop in enumerate(self.loops) if not loop.is_spatial]
        self.spatial = [i for i, loop in enumerate(self.loops) if loop.is_spatial]
        self.chains = [self._chain(mapping, role) for role in ROLES]
        self.crossings = self._crossings()
        self.touched = cache(self._touched)
        self.between = cache(self._between)

    def _outside(self, node: str) -> int:
        """Spatial loops of the fanouts outside a node."""
        names = [n.name for n in self.setup.nodes]
        outer = set(names[: names.index(node)])
        return sum(_fanout_of(self.loops[i]) in outer for i in self.spatial)

    def _chain(self, mapping: Mapping, role: str) -> list[Held]:
        """Keeps of one operand, outermost first."""
        names = [memory.name for memory in self.setup.arch.memories]
        chain, above = [], 0
        for node in mapping.nodes:
            if isinstance(node, Keep) and node.operand == role:
                memory = names.index(node.memory)
                chain.append(Held(ROLES.index(role), memory, above, self._outside(node.memory)))
            above += isinstance(node, Loop)
        return chain

    def _crossings(self) -> list[Crossing]:
        fanouts = [node for node in self.setup.nodes if isinstance(node, Fanout)]
        found = []
        for index, fanout in enumerate(fanouts):
            outer = self._outside(fanout.name)
            own = sum(_fanout_of(self.loops[i]) == fanout.name for i in self.spatial)
            found.append(Crossing(index, fanout, outer, outer + own, self._stages(fanout, outer)))
        return found

    def _stages(self, fanout: Fanout, outer: int) -> tuple[int, ...]:
        """A tree branches axis by axis, in their order; any other fanout at its root alone."""
        if fanout.topology != "tree":
            return (outer,)
        stages = [outer]
        for axis, _ in fanout.axes[:-1]:
            stages.append(stages[-1] + sum(self.loops[i].on == f"{fanout.name}.{axis}" for i in self.spatial))
        return tuple(reversed(stages))

    def _between(self, parent: Held, child: Held | None) -> list[Crossing]:
        """Fanouts from a child keep (None: the MACs) out to its parent, innermost first."""
        nodes = self.setup.nodes
        memories = [i for i, node in enumerate(nodes) if isinstance(node, Memory)]
        fanouts = [i for i, node in enumerate(nodes) if isinstance(node, Fanout)]
        last = memories[child.memory] if child else len(nodes)
        inside = [c for c in self.crossings if memories[parent.memory] < fanouts[c.index] < last]
        return inside[::-1]

    def steps(self) -> Iterator[Position]:
        """Positions of the odometer in which the instance with all coordinates zero has work."""
        zero = (0,) * len(self.spatial)
        for position in product(*(range(self.trips[i]) for i in self.temporal)):
            if self.box(position, zero, len(self.loops)) is not None:
                yield position

    def instances(self, spatial: int) -> list[Coords]:
        """Coordinates of all instances below that many spatial loops, in order."""
        return list(product(*(range(self.trips[i]) for i in self.spatial[:spatial])))

    def box(self, position: Position, coords: Coords, above: int) -> Box | None:
        """Sub-box below the first `above` loops; None if any interval is empty."""
        at = dict(zip(self.temporal, position, strict=True))
        at.update(zip(self.spatial, coords, strict=False))
        box = {name: (0, extent) for name, extent in self.layer.dims}
        for i, loop in enumerate(self.loops[:above]):
            start, length = box[loop.dim]
            done = at[i] * loop.step
            if done >= length:
                return None
            box[loop.dim] = (start + done, min(loop.step, length - done))
        return box

    def tile(self, held: Held, position: Position, coords: Coords) -> frozenset[Element] | None:
        """Data elements that an instance of a keep is to hold; None if it has no work."""
        box = self.box(position, coords, held.above)
        return None if box is None else self.elements(held.role, box)

    def elements(self, role: int, box: Box, padding: bool = False) -> frozenset[Element]:
        """Distinct elements of an operand that a box touches, with or without padding."""
        operand = self.layer.operands[role]
        needed = tuple((name, box[name]) for name in operand.dims)
        return self.touched(operand, needed, padding)

    def _touched(
        self, operand: Operand, intervals: tuple[tuple[str, tuple[int, int]], ...], padding: bool
    ) -> frozenset[Element]:
        box = dict(intervals)
        return frozenset(product(*(_coordinates(axis, box, padding) for axis in operand.axes)))


def _fanout_of(loop: Loop) -> str:
    return str(loop.on).partition(".")[0]


def _trips(layer: Layer, loops: list[Loop]) -> list[int]:
    """Trips of each loop for the instance and position with most work."""
    extents = dict(layer.dims)
    trips = []
    for loop in loops:
        trips.append(-(-extents[loop.dim] // loop.step))
        extents[loop.dim] = min(loop.step, extents[loop.dim])
    return trips


def _coordinates(axis: Axis, box: Box, padding: bool) -> set[int]:
    """Coordinates along one axis that a box touches."""
    ranges = [range(box[name][0], box[name][0] + box[name][1]) for name, _ in axis.terms]
    factors = [coefficient for _, coefficient in axis.terms]
    touched = {
        sum(f * x for f, x in zip(factors, point, strict=True)) - axis.offset for point in product(*ranges)
    }
    return {x for x in touched if padding or 0 <= x < axis.size}
