"""The output: partial sums that start, accumulate, drain and come back (rules 4 to 11)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seada.formats import Precision
from seada.oracle.ledger import Ledger, Transfer, Width, Widths
from seada.oracle.space import Coords, Crossing, Element, Held, Position, Space
from seada.workload.layer import ROLES

ROLE = ROLES.index("output")
Sums = dict[Element, list[int]]
"""Per element the sums that travel, each as the number of MACs that it includes."""


@dataclass
class Sum:
    """A sum at rest: how many MACs it includes, and the width at which it was last written."""

    macs: int
    width: Width


@dataclass
class Instance:
    """One instance of an output keep: its tile (None before the first and after a drain) and its sums."""

    tile: frozenset[Element] | None = None
    sums: dict[Element, Sum] = field(default_factory=dict)


@dataclass
class Passage:
    """Sums that pass one instance of a fanout: through its root, and in sum through all branches below it."""

    fanout: int
    instance: Coords
    root: int
    below: int


class Outbound:
    """What the instances hold of the output.

    A sum that a child continues moves there; its parent holds it no longer, so no MAC is ever in two sums.
    """

    def __init__(self, space: Space, ledger: Ledger, precision: Precision) -> None:
        self.space = space
        self.ledger = ledger
        self.partial = Width(precision.accumulator.bits)
        self.whole = Width.of(precision.output, space.layer.channel_elements)
        self.chain = space.chains[ROLE]
        self.held: list[dict[Coords, Instance]] = [
            {coords: Instance() for coords in space.instances(held.spatial)} for held in self.chain
        ]
        self.changed: list[set[int]] = [set() for _ in self.chain]
        layer = space.layer
        self.complete = layer.macs // layer.elements("output")

    def move(self, step: int, position: Position) -> None:
        """Drains, innermost first, then fills, outermost first, at the beginning of a step."""
        starts = [self._starts(number, position) for number in range(len(self.chain))]
        for number in range(len(self.chain) - 1, 0, -1):
            self._drain(number, step, self._leaving(number, starts))
        for number in range(1, len(self.chain)):
            self._fill(number, step, starts[number])

    def finish(self, step: int) -> None:
        """Drain everything at the end of the layer."""
        for number in range(len(self.chain) - 1, 0, -1):
            self._drain(number, step, list(self.held[number]))

    def compute(self, step: int, macs: Mapping[Coords, Element]) -> None:
        """Rule 7: one sum of one MAC from each busy lane."""
        transfer = self.ledger.transfer(ROLE)
        parts: dict[Coords, Sums] = {coords: {element: [1]} for coords, element in macs.items()}
        self._arrive(transfer, len(self.chain) - 1, None, parts)
        transfer.close(len(self.chain) - 1, "mac", step)

    def _starts(self, number: int, position: Position) -> dict[Coords, frozenset[Element]]:
        """New tiles of the active instances whose tile changes."""
        if number == 0:
            return {}
        tiles = {c: self.space.tile(self.chain[number], position, c) for c in self.held[number]}
        return {c: new for c, new in tiles.items() if new is not None and new != self.held[number][c].tile}

    def _leaving(self, number: int, starts: list[dict[Coords, frozenset[Element]]]) -> list[Coords]:
        """Instances whose own tile, or that of any instance outside them, changes."""
        return [
            coords
            for coords in self.held[number]
            if any(coords[: self.chain[n].spatial] in starts[n] for n in range(1, number + 1))
        ]

    def _drain(self, number: int, step: int, leaving: Iterable[Coords]) -> None:
        """Rule 4: whole tiles leave, and arrive at the parent."""
        child = self.chain[number]
        transfer = self.ledger.transfer(ROLE)
        parts: dict[Coords, Sums] = {}
        for coords in leaving:
            instance = self.held[number][coords]
            if instance.tile is None:
                continue
            assert instance.sums.keys() == instance.tile, "every element of a tile that leaves has a sum"
            transfer.read(child.memory, coords, Counter(s.width for s in instance.sums.values()))
            parts[coords] = {element: [s.macs] for element, s in instance.sums.items()}
            self.held[number][coords] = Instance()
        self._arrive(transfer, number - 1, child, parts)
        transfer.close(number, "drain", step)

    def _arrive(self, transfer: Transfer, number: int, child: Held | None, parts: dict[Coords, Sums]) -> None:
        """Rules 4, 6, 9 and 10: add on the way, then at the instances of keep `number`."""
        parent = self.chain[number]
        passages: list[Passage] = []
        for crossing in self.space.between(parent, child):
            parts = _cross(transfer, crossing, parts, passages)
        widths = {
            coords: self._accumulate(transfer, parent, self.held[number][coords], coords, sums)
            for coords, sums in parts.items()
        }
        written = {}
        for coords, sums in parts.items():
            # MACs hand over elements, without scales; their keep scales them when it drains.
            written[coords] = widths[coords] if child else widths[coords].bare()
            count = sum(map(len, sums.values()))
            transfer.write(parent.memory, coords, Counter({written[coords]: count}))
        for passage in passages:
            width = written[passage.instance[: parent.spatial]]
            root, below = Counter({width: passage.root}), Counter({width: passage.below})
            transfer.cross(passage.fanout, passage.instance, root, below)

    def _accumulate(
        self, transfer: Transfer, parent: Held, instance: Instance, coords: Coords, arrivals: Sums
    ) -> Width:
        """Add the arrivals of one step at one instance; the width at which they are written."""
        partial = any(self._stays_partial(instance, element, sums) for element, sums in arrivals.items())
        width = self.partial if partial else self.whole
        reads: Widths = Counter()
        for element, sums in arrivals.items():
            for macs in sums:
                before = instance.sums.get(element)
                if before is not None:
                    reads[before.width] += 1
                    macs += before.macs
                assert macs <= self.complete, "no MAC is in two sums"
                instance.sums[element] = Sum(macs, width)
        transfer.read(parent.memory, coords, reads)
        return width

    def _stays_partial(self, instance: Instance, element: Element, sums: list[int]) -> bool:
        """Whether any of the arriving sums, once added to what is there, lacks a MAC."""
        before = instance.sums.get(element)
        return (before.macs if before else 0) + sums[0] < self.complete

    def _fill(self, number: int, step: int, starts: dict[Coords, frozenset[Element]]) -> None:
        """Rule 5: new tiles start, or continue sums that the parent holds."""
        child, parent = self.chain[number], self.chain[number - 1]
        if starts:
            self.changed[number].add(step)
        sharing: defaultdict[tuple[Coords, Element], list[Coords]] = defaultdict(list)
        for coords, tile in starts.items():
            self.held[number][coords] = Instance(tile)
            for element in tile:
                sharing[coords[: parent.spatial], element].append(coords)
        transfer = self.ledger.transfer(ROLE)
        widths: defaultdict[Coords, Widths] = defaultdict(Counter)
        for (outer, element), children in sharing.items():
            there = self.held[number - 1][outer].sums
            if element in there and not self._apart(parent, child, children):
                before = there.pop(element)
                self.held[number][min(children)].sums[element] = Sum(before.macs, self.partial)
                widths[min(children)][before.width] += 1
        self._send(transfer, parent, child, widths)
        transfer.close(number, "fill", step)

    def _apart(self, parent: Held, child: Held, children: list[Coords]) -> bool:
        """Whether a fanout that does not reduce separates the children."""
        return any(
            len({coords[c.outer : c.inner] for coords in children}) > 1
            for c in self.space.between(parent, child)
            if not c.fanout.reduces
        )

    def _send(self, transfer: Transfer, parent: Held, child: Held, widths: dict[Coords, Widths]) -> None:
        """Move continued sums to the children: read at the parent, written as partial sums."""
        for coords, moved in widths.items():
            transfer.write(child.memory, coords, Counter({self.partial: moved.total()}))
        for crossing in self.space.between(parent, child):
            roots: defaultdict[Coords, Widths] = defaultdict(Counter)
            for coords, moved in widths.items():
                roots[coords[: crossing.outer]] += moved
            for outer, moved in roots.items():
                below = Counter({width: n * len(crossing.stages) for width, n in moved.items()})
                transfer.cross(crossing.index, outer, moved, below)
            widths = roots
        for coords, moved in widths.items():
            transfer.read(parent.memory, coords[: parent.spatial], moved)


def _cross(
    transfer: Transfer, crossing: Crossing, parts: dict[Coords, Sums], passages: list[Passage]
) -> dict[Coords, Sums]:
    """Sums on their way out through a fanout, added there if it reduces (rule 11)."""
    below: Counter[Coords] = Counter()
    for stage in crossing.stages:
        joined: defaultdict[Coords, Sums] = defaultdict(dict)
        for coords, sums in parts.items():
            for element, arriving in sums.items():
                joined[coords[:stage]].setdefault(element, []).extend(arriving)
        for coords, sums in joined.items():
            arrived = sum(map(len, sums.values()))
            below[coords[: crossing.outer]] += arrived
            if crossing.fanout.reduces:
                transfer.add(crossing.index, arrived - len(sums))
                joined[coords] = {element: [sum(arriving)] for element, arriving in sums.items()}
        parts = dict(joined)
    for outer, sums in parts.items():
        passages.append(Passage(crossing.index, outer, sum(map(len, sums.values())), below[outer]))
    return parts
