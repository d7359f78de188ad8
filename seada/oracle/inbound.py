"""Weight and input: tiles that fill, and MACs that read (rules 1, 2, 3, 7 and 10)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from seada.formats import Format
from seada.oracle.ledger import Ledger, Transfer, Width, Widths
from seada.oracle.space import Coords, Crossing, Element, Held, Position, Space

Copies = frozenset[tuple[Coords, Element]]
"""Elements on their way, each with the coordinates of the fanouts passed that do not multicast: the stream it
is in.
"""


class Inbound:
    """What the instances hold of the weight or the input.

    Attributes
    ----------
    tiles : per keep of the chain, by instance
    changed : per keep, the first step and those in which some instance received elements
    """

    def __init__(self, space: Space, ledger: Ledger, role: int, fmt: Format) -> None:
        self.space = space
        self.ledger = ledger
        self.role = role
        self.width = Width.of(fmt, space.layer.channel_elements)
        self.chain = space.chains[role]
        self.tiles: list[dict[Coords, frozenset[Element]]] = [{} for _ in self.chain]
        self.changed: list[set[int]] = [set() for _ in self.chain]

    def fill(self, step: int, position: Position) -> None:
        """Rules 1 and 2 at the beginning of a step."""
        for number in range(1, len(self.chain)):
            self._fill(number, step, position)

    def _fill(self, number: int, step: int, position: Position) -> None:
        child = self.chain[number]
        missing: dict[Coords, Copies] = {}
        for coords in self.space.instances(child.spatial):
            new = self.space.tile(child, position, coords)
            old = self.tiles[number].get(coords)
            if new is None or new == old:
                continue
            self.tiles[number][coords] = new
            if step == 0:
                self.changed[number].add(step)
            if lacking := new - (old or frozenset()):
                self.changed[number].add(step)
                missing[coords] = frozenset(((), element) for element in lacking)
        transfer = self.ledger.transfer(self.role)
        for coords, copies in missing.items():
            transfer.write(child.memory, coords, Counter({self.width: len(copies)}))
        self._serve(transfer, self.chain[number - 1], child, missing, self.width)
        transfer.close(number, "fill", step)

    def compute(self, step: int, macs: Mapping[Coords, Element]) -> None:
        """Rule 7: what the MACs of a step read, without scales; `macs` has the element that each busy lane
        multiplies.
        """
        home = self.chain[-1]
        if len(self.chain) == 1:  # The tensor itself rests here, and padding is no part of it.
            macs = {coords: element for coords, element in macs.items() if self._is_data(element)}
        transfer = self.ledger.transfer(self.role)
        needs: dict[Coords, Copies] = {coords: frozenset({((), element)}) for coords, element in macs.items()}
        self._serve(transfer, home, None, needs, self.width.bare())
        transfer.close(len(self.chain) - 1, "mac", step)

    def _serve(
        self, transfer: Transfer, parent: Held, child: Held | None, needs: dict[Coords, Copies], width: Width
    ) -> None:
        """Join what the children need, fanout by fanout, and read it at the parent."""
        for crossing in self.space.between(parent, child):
            needs = self._cross(transfer, crossing, needs, width)
        for coords, copies in needs.items():
            transfer.read(parent.memory, coords, Counter({width: len(copies)}))

    def _cross(
        self, transfer: Transfer, crossing: Crossing, needs: dict[Coords, Copies], width: Width
    ) -> dict[Coords, Copies]:
        below: Counter[Coords] = Counter()
        for stage in crossing.stages:
            joined: defaultdict[Coords, Copies] = defaultdict(frozenset)
            for coords, copies in needs.items():
                below[coords[: crossing.outer]] += len(copies)
                if not crossing.fanout.multicast[self.role]:
                    copies = frozenset((coords[stage:] + stream, element) for stream, element in copies)
                joined[coords[:stage]] |= copies
            needs = joined
        for outer, root in needs.items():
            passing: Widths = Counter({width: len(root)})
            transfer.cross(crossing.index, outer, passing, Counter({width: below[outer]}))
        return needs

    def _is_data(self, element: Element) -> bool:
        axes = self.space.layer.operands[self.role].axes
        return all(0 <= x < axis.size for x, axis in zip(element, axes, strict=True))
