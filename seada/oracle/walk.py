"""Entry point of the interpreter: walk a whole layer, then read the clock."""

from __future__ import annotations

from seada.arch.hardware import LANES, Setup
from seada.mapping.nest import Mapping
from seada.model.counts import Access, Counts, LinkCount, Timing
from seada.oracle.clock import Clock
from seada.oracle.inbound import Inbound
from seada.oracle.ledger import Ledger
from seada.oracle.outbound import Outbound
from seada.oracle.space import Box, Coords, Position, Space
from seada.workload.layer import ROLES, Layer


def walk(layer: Layer, setup: Setup, mapping: Mapping) -> tuple[Counts, Timing]:
    """Count a legal mapping by carrying out every step of it.

    Time and memory grow with MACs and tiles: for layers of some 10^4 MACs at most.
    """
    return Walk(layer, setup, mapping).run()


class Walk:
    """One layer being walked."""

    def __init__(self, layer: Layer, setup: Setup, mapping: Mapping) -> None:
        self.space = Space(layer, setup, mapping)
        self.setup = setup
        self.ledger = Ledger(setup)
        precision = setup.precision
        self.weight = Inbound(self.space, self.ledger, 0, precision.weight)
        self.input = Inbound(self.space, self.ledger, 1, precision.input)
        self.output = Outbound(self.space, self.ledger, precision)
        self.mode_steps = 0
        self.compute_steps = 0
        self.changed: list[list[set[int]]] = []

    def run(self) -> tuple[Counts, Timing]:
        """Walk all steps, drain, and sum up."""
        steps = list(self.space.steps())
        for step, position in enumerate(steps):
            self.output.move(step, position)
            self.weight.fill(step, position)
            self.input.fill(step, position)
            self._compute(step, position)
        self.output.finish(len(steps))
        self.compute_steps = len(steps)
        self.changed = [self.weight.changed, self.input.changed, self.output.changed]
        timing = Clock(self.space, self.ledger, steps, self.changed).timing()
        return self._counts(len(steps)), timing

    def _compute(self, step: int, position: Position) -> None:
        """One MAC of every lane that has work."""
        points: dict[Coords, Box] = {}
        for coords in self.space.instances(len(self.space.spatial)):
            box = self.space.box(position, coords, len(self.space.loops))
            if box is not None:
                points[coords] = box
        needs = []
        for role in range(len(ROLES)):
            touched = {c: self.space.elements(role, box, padding=True) for c, box in points.items()}
            needs.append({coords: next(iter(elements)) for coords, elements in touched.items()})
        self.weight.compute(step, needs[0])
        self.input.compute(step, needs[1])
        self.output.compute(step, needs[2])
        self.mode_steps += len({self._pe(coords) for coords in points})

    def _pe(self, coords: Coords) -> Coords:
        lanes = [crossing for crossing in self.space.crossings if crossing.fanout.name == LANES]
        return coords[: lanes[0].outer] if lanes else coords

    def _counts(self, steps: int) -> Counts:
        memories, links = self.setup.arch.memories, self.ledger.fanouts
        return Counts(
            tuple(self._accesses(m) for m in range(len(memories))),
            tuple(self._links(f) for f in range(len(links))),
            steps,
            self.mode_steps,
        )

    def _accesses(self, memory: int) -> tuple[Access, Access, Access]:
        books = self.ledger.accesses
        return books[memory, 0], books[memory, 1], books[memory, 2]

    def _links(self, fanout: int) -> tuple[LinkCount, LinkCount, LinkCount]:
        books = self.ledger.links
        return books[fanout, 0], books[fanout, 1], books[fanout, 2]
