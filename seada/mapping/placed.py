"""A mapping whose names are known, with every loop and keep at its place: what the checks reason with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seada.arch.hardware import Fanout, Memory, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES, Layer


@dataclass(frozen=True)
class PlacedLoop:
    """A loop at its place in the list, with the trips that the extents give it."""

    loop: Loop
    position: int
    trips: int

    @property
    def moves(self) -> bool:
        """Whether it has more than one trip."""
        return self.trips > 1


@dataclass(frozen=True)
class PlacedKeep:
    """A keep at its place in the list; `index` counts the nodes of the set-up."""

    keep: Keep
    position: int
    index: int


@dataclass(frozen=True)
class Nest:
    """A mapping whose names are all known, sorted for the checks.

    Attributes
    ----------
    loops, keeps : in the order of the list
    left : mapping
        Extent of each dimension below all loops.
    """

    layer: Layer
    setup: Setup
    loops: tuple[PlacedLoop, ...]
    keeps: tuple[PlacedKeep, ...]
    left: dict[str, int]

    @cached_property
    def chains(self) -> dict[str, list[PlacedKeep]]:
        """Keeps by operand, outermost first."""
        return {role: [placed for placed in self.keeps if placed.keep.operand == role] for role in ROLES}

    @cached_property
    def spatial(self) -> list[tuple[PlacedLoop, int, str]]:
        """Spatial loops with the index of their fanout's node and their axis."""
        indices = {node.name: i for i, node in enumerate(self.setup.nodes)}
        found = []
        for placed in self.loops:
            if placed.loop.on is not None:
                fanout, _, axis = placed.loop.on.partition(".")
                found.append((placed, indices[fanout], axis))
        return found

    @cached_property
    def temporal(self) -> list[PlacedLoop]:
        """Temporal loops with more than one trip."""
        return [placed for placed in self.loops if placed.moves and not placed.loop.is_spatial]

    def memory(self, placed: PlacedKeep) -> Memory:
        """The memory of a keep."""
        node = self.setup.nodes[placed.index]
        assert isinstance(node, Memory)
        return node

    def fanout(self, index: int) -> Fanout:
        """The fanout at that index of the nodes."""
        node = self.setup.nodes[index]
        assert isinstance(node, Fanout)
        return node


def place(layer: Layer, setup: Setup, mapping: Mapping) -> Nest:
    """Sort a mapping whose names are known into loops and keeps."""
    indices = {node.name: i for i, node in enumerate(setup.nodes)}
    extents = dict(layer.dims)
    loops: list[PlacedLoop] = []
    keeps: list[PlacedKeep] = []
    for position, node in enumerate(mapping.nodes):
        if isinstance(node, Keep):
            keeps.append(PlacedKeep(node, position, indices[node.memory]))
        else:
            loops.append(PlacedLoop(node, position, -(-extents[node.dim] // node.step)))
            extents[node.dim] = min(node.step, extents[node.dim])
    return Nest(layer, setup, tuple(loops), tuple(keeps), extents)


def is_reduction(nest: Nest, placed: PlacedLoop) -> bool:
    """Whether the loop runs over a reduction dimension."""
    return placed.loop.dim in nest.layer.reduction_dims
