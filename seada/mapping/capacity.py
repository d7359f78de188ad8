"""What the tiles of a mapping take in each memory: elements, width, buffers, whole words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seada.errors import Violation
from seada.formats import Format
from seada.mapping.placed import Nest, PlacedKeep, is_reduction
from seada.mapping.tile import largest_tile, words
from seada.workload.layer import ROLES


@dataclass(frozen=True)
class Occupancy:
    """Room that one keep takes in one instance of its memory.

    Attributes
    ----------
    elements : int
        Of the largest tile that occurs.
    bits : int
        Per element, without scales; the accumulator's for outputs that may be partial.
    buffers : int
        Tiles held: the memory's, or one if the tile never changes.
    words : int
        In all, buffers included.
    """

    memory: str
    operand: str
    elements: int
    bits: int
    buffers: int
    words: int

    def __str__(self) -> str:
        buffers = f"{self.buffers} buffers of " if self.buffers > 1 else ""
        return f"{self.operand} {buffers}{self.elements} x {self.bits} bit = {self.words} words"


def occupancies(nest: Nest) -> list[Occupancy]:
    """Room that each keep takes, in the order of the mapping."""
    return [_occupancy(nest, placed) for placed in nest.keeps]


def capacity_violations(nest: Nest) -> Iterator[Violation]:
    """One violation per memory whose tiles do not fit together."""
    taken = occupancies(nest)
    for memory in nest.setup.arch.memories:
        if memory.size_words is None:
            continue
        inside = [occupancy for occupancy in taken if occupancy.memory == memory.name]
        need = sum(occupancy.words for occupancy in inside)
        if need > memory.size_words:
            what = " + ".join(map(str, inside))
            yield Violation("capacity", memory.name, what, f"{need} words", f"{memory.size_words} words")


def _occupancy(nest: Nest, placed: PlacedKeep) -> Occupancy:
    role, memory = placed.keep.operand, nest.memory(placed)
    steps: dict[str, list[int]] = {}
    for loop in nest.loops:
        if loop.position < placed.position and loop.moves:
            steps.setdefault(loop.loop.dim, []).append(loop.loop.step)
    elements = largest_tile(nest.layer, role, steps)
    fmt = _format(nest, placed)
    buffers = memory.buffers[ROLES.index(role)] if _changes(nest, placed) else 1
    taken = buffers * words(elements, fmt, nest.layer.channel_elements, memory.word_bits, memory.packing)
    return Occupancy(memory.name, role, elements, fmt.bits, buffers, taken)


def _changes(nest: Nest, placed: PlacedKeep) -> bool:
    """Whether a temporal loop above the keep moves its tile."""
    relevant = nest.layer.operand(placed.keep.operand).dims
    return any(p.loop.dim in relevant and p.position < placed.position for p in nest.temporal)


def _format(nest: Nest, placed: PlacedKeep) -> Format:
    precision = nest.setup.precision
    if placed.keep.operand == "weight":
        return precision.weight
    if placed.keep.operand == "input":
        return precision.input
    return precision.output if receives_complete_sums(nest, placed) else precision.accumulator


def receives_complete_sums(nest: Nest, placed: PlacedKeep) -> bool:
    """Whether a keep of the output only ever receives complete sums, and so holds the output's format.

    So it is if every instance of the keep gets whole sums (no spatial reduction above it), all fanouts
    between it and its child add up what they carry, and the child (the MACs, if there is none) finishes a
    tile before it goes on to the next: no temporal loop over an output dimension stands inside a temporal
    reduction loop and above the child, whose tile it would change.
    """
    chain = nest.chains["output"]
    child = chain[chain.index(placed) + 1] if placed is not chain[-1] else None
    inner = len(nest.setup.nodes) if child is None else child.index
    for loop, index, _ in nest.spatial:
        if loop.moves and is_reduction(nest, loop) and index < inner:
            below = index > placed.index
            if not below or not nest.fanout(index).reduces:
                return False
    reducing = False
    for loop in nest.temporal:
        if child is not None and loop.position > child.position:
            break
        if is_reduction(nest, loop):
            reducing = True
        elif reducing:
            return False
    return not (reducing and child is None)
