"""The lattice of tile sizes of a layer, and what one visit of every tile moves.

A *node* of the lattice is one tile size per dimension, each a divisor of its extent. Nodes are numbered in
mixed radix, the last dimension fastest, sizes ascending. All that the proof charges is a table over nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from seada.mapper.lattice_kernel import STREAMS
from seada.mapper.problem import SearchSpace
from seada.mapper.problem_kernel import INPUT, OUTPUT, TABLE_LARGEST, TABLE_SUM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Lattice:
    """Tile sizes of one layer.

    Attributes
    ----------
    sizes : (dims, most sizes), ascending, padded with zeros
    counts : (dims,) sizes of each dimension
    strides : (dims,) step of a node's number per size
    tiles : (nodes, dims) the tile sizes of each node
    """

    sizes: Ints
    counts: Ints
    strides: Ints
    tiles: Ints

    @property
    def nodes(self) -> int:
        """How many tile sizes there are over all dimensions together."""
        return len(self.tiles)


def divisors(extent: int) -> list[int]:
    """All divisors, ascending."""
    small = [d for d in range(1, math.isqrt(extent) + 1) if extent % d == 0]
    return sorted({*small, *(extent // d for d in small)})


def build_lattice(space: SearchSpace) -> Lattice:
    """The lattice of divisors of a layer's extents."""
    extents = [int(extent) for extent in space.problem.extents[: len(space.dims)]]
    per_dim = [divisors(extent) for extent in extents]
    counts = np.array([len(own) for own in per_dim], np.int64)
    sizes = np.zeros((len(extents), int(counts.max())), np.int64)
    for d, own in enumerate(per_dim):
        sizes[d, : len(own)] = own
    strides = np.array([math.prod(counts[d + 1 :].tolist()) for d in range(len(counts))], np.int64)
    grid = np.meshgrid(*per_dim, indexing="ij")
    tiles = np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)
    return Lattice(sizes, counts, strides, tiles)


@dataclass(frozen=True)
class Moves:
    """What transfers of whole tiles move, per node.

    Attributes
    ----------
    words : (streams, memories, nodes)
        Fewest whole words in that memory for all tiles of the stream's operand, each once.
    slid : (dims, memories, nodes)
        The same for inputs if every tile brings only what its predecessor along one dimension did not hold;
        equal to `words` for dimensions without a window.
    room : (streams, memories, nodes)
        Words that one tile, the largest, takes in the memory.
    fewest : (streams, memories)
        Least of `words` and `slid` over all tiles.
    """

    words: Floats
    slid: Floats
    room: Floats
    fewest: Floats


def build_moves(space: SearchSpace, lattice: Lattice) -> Moves:
    """Tabulate transfers over the lattice."""
    p = space.problem
    dims, memories = len(space.dims), int(p.memories)
    widths = (p.bits[0], p.bits[1], p.bits[2], min(p.bits[2], p.bits[3]))
    words = np.zeros((STREAMS, memories, lattice.nodes))
    room = np.zeros_like(words)
    for stream in range(STREAMS):
        role = min(stream, OUTPUT)
        total, tiles, largest = _elements(space, lattice, role, -1)
        for m in range(memories):
            words[stream, m] = _words_of(p, m, total, tiles, largest, float(widths[stream]))
            room[stream, m] = _whole(p, m, largest, float(widths[stream]))
    slid = np.broadcast_to(words[INPUT], (dims, memories, lattice.nodes)).copy()
    for d in range(dims):
        if p.window[INPUT, d]:
            total, tiles, largest = _elements(space, lattice, INPUT, d)
            for m in range(memories):
                slid[d, m] = _words_of(p, m, total, tiles, largest, float(widths[INPUT]))
    fewest = words.min(axis=2)
    fewest[INPUT] = np.minimum(fewest[INPUT], slid.min(axis=(0, 2)))
    return Moves(words, slid, room, fewest)


def _elements(space: SearchSpace, lattice: Lattice, role: int, slide: int) -> tuple[Floats, Floats, Floats]:
    """Elements of all tiles together, how many tiles there are, and elements of the largest."""
    p = space.problem
    total, largest = np.ones(lattice.nodes), np.ones(lattice.nodes)
    tiles = np.ones(lattice.nodes)
    for d in range(len(space.dims)):
        if p.relevant[role, d]:
            tiles *= p.extents[d] / lattice.tiles[:, d]
    for a in range(int(p.axes)):
        if p.axis_role[a] != role:
            continue
        first, second, base = int(p.axis_first[a]), int(p.axis_second[a]), int(p.axis_base[a])
        if base < 0:
            total *= p.extents[first]
            largest *= lattice.tiles[:, first]
            continue
        inner = lattice.tiles[:, second] if second >= 0 else np.ones(lattice.nodes, np.int64)
        rows = base + lattice.tiles[:, first] * int(p.axis_row[a]) + inner
        table = space.tables[rows]
        if slide in (first, second) and slide >= 0:
            total *= slid_elements(space, a, slide == first)[lattice.tiles[:, first], inner]
        else:
            total *= table[:, TABLE_SUM]
        largest *= table[:, TABLE_LARGEST]
    return total, tiles, largest


def slid_elements(space: SearchSpace, a: int, along_first: bool) -> Floats:
    """Least new elements over all tiles of a window axis that slides along one dimension, by extents.

    Of the first tile of a run too only that counts which a neighbour would not have held: a run of few tiles
    overlaps with the end of the run before it.
    """
    p = space.problem
    first, second = int(p.axis_first[a]), int(p.axis_second[a])
    n1 = int(p.extents[first])
    n2 = int(p.extents[second]) if second >= 0 else 1
    rows = space.tables[int(p.axis_base[a]) :][: (n1 + 1) * (n2 + 1)].reshape(n1 + 1, n2 + 1, 4)
    column = rows[:, :, 1 if along_first else 2]
    a1, a2 = _steps(space, a)
    e1, e2 = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)[None, :]
    held = _distinct(e1, e2, a1, a2)
    two = _distinct(2 * e1, e2, a1, a2) if along_first else _distinct(e1, 2 * e2, a1, a2)
    kept = np.maximum(2 * held - two, 0)
    tile, extent = (e1, n1) if along_first else (e2, n2)
    other, other_extent = (e2, n2) if along_first else (e1, n1)
    runs = np.ceil(other_extent / np.maximum(other, 1))
    return np.where(tile < extent, np.maximum(column - kept * runs, 0.0), column)


def _steps(space: SearchSpace, a: int) -> tuple[int, int]:
    """Steps of the two dimensions of a window axis, without common factors."""
    p = space.problem
    names = [space.dims[int(d)] for d in (p.axis_first[a], p.axis_second[a]) if d >= 0]
    for axis in space.layer.operands[int(p.axis_role[a])].axes:
        terms = [(name, step) for name, step in axis.terms if name in space.dims]
        if [name for name, _ in terms[:2]] == names:
            steps = [step for _, step in terms[:2]]
            common = math.gcd(*steps)
            return steps[0] // common, (steps[1] // common if len(steps) > 1 else 1)
    raise AssertionError(names)


def _distinct(first: Ints, second: Ints, a: int, b: int) -> Ints:
    """Distinct ``a * i + b * j`` (see `seada.mapper.window_kernel.distinct`)."""
    result: Ints = first * second - np.maximum(0, first - b) * np.maximum(0, second - a)
    return result


def _whole(p: object, m: int, elements: Floats, bits: float) -> Floats:
    """Whole words of a tile."""
    word, aligned = float(p.word_bits[m]), bool(p.aligned[m])  # type: ignore[attr-defined]
    if aligned:
        per_word = math.floor(word / bits)
        return np.ceil(elements / per_word) if per_word else elements * math.ceil(bits / word)
    return np.ceil(elements * bits / word)


def _words_of(p: object, m: int, total: Floats, tiles: Floats, largest: Floats, bits: float) -> Floats:
    """Fewest words of `tiles` transfers that move `total` elements: exact where all tiles are equal."""
    word, aligned = float(p.word_bits[m]), bool(p.aligned[m])  # type: ignore[attr-defined]
    per_element = bits / word
    if aligned:
        per_word = math.floor(word / bits)
        per_element = 1 / per_word if per_word else math.ceil(bits / word)
    equal = total == tiles * largest
    some = np.maximum(total * per_element, np.minimum(tiles, total))
    return np.where(equal, tiles * _whole(p, m, largest, bits), some)


@dataclass(frozen=True)
class Unrolling:
    """Ways to spread a tile over the fanouts between two memories.

    Attributes
    ----------
    trips : (ways, dims) instances along each dimension, over all axes
    per_slot : (ways, slots, dims) the same by slot
    """

    trips: Ints
    per_slot: Ints


def unrollings(space: SearchSpace, first: int, last: int) -> Unrolling:
    """All distinct products of trips that the spatial slots `first` <= slot < `last` allow."""
    p, dims = space.problem, len(space.dims)
    ways: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {(1,) * dims: []}
    for s in range(first, last):
        own = _axis_ways(space, s)
        joined: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
        for (trips, slots), way in product(ways.items(), own):
            both = tuple(a * b for a, b in zip(trips, way, strict=True))
            if all(int(p.extents[d]) % t == 0 for d, t in enumerate(both)):
                joined.setdefault(both, [*slots, (s, way)])
        ways = joined
    per_slot = np.ones((len(ways), len(space.slots), dims), np.int64)
    for number, slots in enumerate(ways.values()):
        for s, way in slots:
            per_slot[number, s] = way
    table = np.array(list(ways), np.int64).reshape(len(ways), dims)
    order = sorted(range(len(ways)), key=lambda i: (-int(table[i].prod()), table[i].tolist()))
    return Unrolling(table[order], per_slot[order])


def _axis_ways(space: SearchSpace, s: int) -> list[tuple[int, ...]]:
    """Trips per dimension on one axis."""
    p, dims = space.problem, len(space.dims)
    ways: list[tuple[int, ...]] = [()]
    for d in range(dims):
        extent, fixed = int(p.extents[d]), int(p.fixed[s, d])
        options = [1] if not p.allowed[s, d] else divisors(extent)
        if fixed:
            options = [min(fixed, extent)]
        ways = [(*way, t) for way in ways for t in options if math.prod(way) * t <= int(p.slot_size[s])]
    return ways
