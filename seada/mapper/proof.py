"""From a search space to the tables of the branch and bound, and from its leaves back to candidates.

The tables cover the *perfect* tilings of the space: every tile divides the next outer one. `map_layer`
searches more than these (remainders), so that its own bound stays the one of `seada.mapper.bound`.

What is proven here is the optimum without remainders; no command asks for it yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from seada.mapper.bound import macs_on_data, touched_elements
from seada.mapper.genome import Genome
from seada.mapper.lattice import Lattice, Moves, Unrolling, build_lattice, build_moves, unrollings
from seada.mapper.lattice_kernel import COMPLETE, PARTIAL, least_inside, least_unrolled, quotients
from seada.mapper.objective import Objective
from seada.mapper.problem import SearchSpace
from seada.mapper.problem_kernel import INPUT, OUTPUT
from seada.mapper.tree_kernel import ALL_ALONE, ALONE, MOVING, VARIANTS, Path, Tree, macs_by_way

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROLE_COUNT = 3


@dataclass
class Tables:
    """Everything that the tables of one layer are made of; `inside` is filled as it is asked for."""

    space: SearchSpace
    lattice: Lattice
    moves: Moves
    ways: list[Unrolling]
    read: Floats
    write: Floats
    inside: dict[int, Ints] = field(default_factory=dict)

    @property
    def memories(self) -> int:
        """Memories of the chip."""
        return int(self.space.problem.memories)


def prepare(space: SearchSpace) -> Tables:
    """Lattice, transfers, unrollings and prices of a layer."""
    lattice = build_lattice(space)
    ports = _ports(space)
    return Tables(space, lattice, build_moves(space, lattice), _ways(space), *ports)


def _ways(space: SearchSpace) -> list[Unrolling]:
    """Per level, how fanouts spread a tile; level 0 has none."""
    p = space.problem
    slots = [int(s) for s in p.memory_slot[: int(p.memories)]] + [len(space.slots)]
    return [unrollings(space, 0, 0)] + [
        unrollings(space, before + 1, after) for before, after in pairwise(slots)
    ]


def _ports(space: SearchSpace) -> tuple[Floats, Floats]:
    """Price of a word read or written in each memory: energy, then cycles of each limited port."""
    p = space.problem
    reads, writes = [], []
    columns = 1
    for m in range(int(p.memories)):
        instances = space.setup.arch.instances(space.setup.arch.memories[m].name)
        read, write = [(0, float(p.read_energy[m]))], [(0, float(p.write_energy[m]))]
        if p.shared_rate[m] > 0:
            read.append((columns, 1 / float(p.shared_rate[m]) / instances))
            write.append(read[-1])
            columns += 1
        if p.read_rate[m] > 0:
            read.append((columns, 1 / float(p.read_rate[m]) / instances))
            columns += 1
        if p.write_rate[m] > 0:
            write.append((columns, 1 / float(p.write_rate[m]) / instances))
            columns += 1
        reads.append(read)
        writes.append(write)
    tables = np.zeros((2, len(reads), columns))
    for table, rows in zip(tables, (reads, writes), strict=True):
        for m, row in enumerate(rows):
            for column, price in row:
                table[m, column] = price
    return tables[0], tables[1]


def build_tree(tables: Tables, objective: Objective) -> Tree:
    """All tables of the search, what is left below every tile included."""
    space, lattice = tables.space, tables.lattice
    p, dims, memories = space.problem, len(space.dims), tables.memories
    masks, mask_count = _masks(space)
    first_way = np.cumsum([0, *(len(ways.trips) for ways in tables.ways)]).astype(np.int64)
    windows, steps = _windows(space)
    layer = space.layer
    macs = layer.macs
    tree = Tree(
        extents=p.extents[:dims].astype(np.float64),
        tiles=lattice.tiles.astype(np.float64),
        sizes=lattice.sizes,
        counts=lattice.counts,
        strides=lattice.strides,
        relevant=p.relevant[:, :dims].astype(np.int64),
        words=tables.moves.words,
        slid=tables.moves.slid,
        room=tables.moves.room,
        fewest=tables.moves.fewest,
        size_words=p.size_words[:memories].astype(np.float64),
        buffers=p.buffers[:memories].astype(np.int64),
        home=p.home.astype(np.int64),
        read=tables.read,
        write=tables.write,
        masks=masks,
        mask_count=mask_count,
        trips=np.concatenate([ways.trips for ways in tables.ways]),
        first_way=first_way,
        most_parallel=_most_parallel(tables),
        state=np.full((memories + 1, memories**3), -1, np.int64),
        left=np.zeros((0, VARIANTS, 1, 1)),
        rest=np.zeros((0, 1, 1, 1)),
        shares=_shares(space),
        orders=p.order[: int(p.orders), :dims].astype(np.int64),
        windows=windows,
        steps=steps,
        macs=np.array(
            [macs, macs_on_data(layer) / macs, touched_elements(layer, layer.operands[OUTPUT])],
            np.float64,
        ),
        bits=p.bits.astype(np.float64),
        word_bits=p.word_bits[:memories].astype(np.float64),
        powers=np.array([objective.energy_power, objective.latency_power], np.float64),
        constants=np.array([p.leakage, p.step_cycles, p.step_energy], np.float64),
    )
    return _with_left(tables, tree)


def _masks(space: SearchSpace) -> tuple[Ints, Ints]:
    """Operands that each level may keep."""
    p, memories = space.problem, int(space.problem.memories)
    masks = np.zeros((memories + 1, 8, ROLE_COUNT), np.int64)
    count = np.zeros(memories + 1, np.int64)
    for m in range(1, memories):
        options = []
        for role in range(ROLE_COUNT):
            code = int(p.keeps[m, role])
            home = int(p.home[role]) == m
            options.append((0,) if code == 0 or home else (1,) if code == 2 else (1, 0))
        for kept in product(*options):
            masks[m, count[m]] = kept
            count[m] += 1
    return masks, count


def _windows(space: SearchSpace) -> tuple[Ints, Ints]:
    """Pairs of dimensions that make windows of the input, and their steps."""
    pairs, steps = [], []
    for axis in space.layer.operands[INPUT].axes:
        terms = [(space.dims.index(d), step) for d, step in axis.terms if d in space.dims]
        if len(terms) == 2:
            pairs.append([terms[0][0], terms[1][0]])
            steps.append([terms[0][1], terms[1][1]])
    shape = (len(pairs), 2)
    return np.array(pairs, np.int64).reshape(shape), np.array(steps, np.int64).reshape(shape)


def _shares(space: SearchSpace) -> Ints:
    """Per level and role, whether all its fanouts multicast (reduce)."""
    p, memories = space.problem, int(space.problem.memories)
    shares = np.ones((memories + 1, ROLE_COUNT), np.int64)
    level = 0
    for s in range(len(space.slots)):
        if p.slot_spatial[s] == 0:
            level += 1
        else:
            shares[level] *= p.joins[p.slot_owner[s]].astype(np.int64)
    return shares


def _most_parallel(tables: Tables) -> Floats:
    """Most MACs at once below a tile of each level, over the ways that divide it."""
    lattice, memories = tables.lattice, tables.memories
    most = np.ones((memories + 1, lattice.nodes))
    inner = np.ones(lattice.nodes)
    for level in range(memories, 0, -1):
        ways = tables.ways[level].trips
        own = np.ones(lattice.nodes)
        for trips in ways:
            divided = np.all(lattice.tiles % trips == 0, axis=1)
            own = np.maximum(own, np.where(divided, float(np.prod(trips)), 1.0))
        inner = inner.max() * own
        most[level] = inner
    return most


def _with_left(tables: Tables, tree: Tree) -> Tree:
    """Fill in the least that every criterion still needs, from the innermost level outwards."""
    memories, criteria = tables.memories, tables.read.shape[1]
    states = _states(tree, memories)
    below = {parent: np.zeros((1, criteria, 1)) for parent in states[memories]}
    rows: list[Floats] = []
    rests: list[Floats] = []
    for level in range(memories - 1, 0, -1):
        own = [_left_of(tables, tree, level, parent, below) for parent in states[level]]
        below = {}
        for parent, (left, rest) in zip(states[level], own, strict=True):
            tree.state[level, _code(parent, memories)] = len(rows)
            rows.append(left)
            rests.append(rest)
            below[parent] = left
    return tree._replace(left=np.stack(rows), rest=np.stack(rests))


Parents = tuple[int, int, int]


def _code(parent: Parents, memories: int) -> int:
    return (parent[0] * memories + parent[1]) * memories + parent[2]


def _states(tree: Tree, memories: int) -> list[list[Parents]]:
    """Per level, the parents that its operands can have above it."""
    start: Parents = (int(tree.home[0]), int(tree.home[1]), int(tree.home[2]))
    states: list[list[Parents]] = [[], [start]]
    for level in range(1, memories):
        inner = {_after(parent, mask, level): None for parent in states[level] for mask in _kept(tree, level)}
        states.append(list(inner))
    return states


def _kept(tree: Tree, level: int) -> list[Ints]:
    return list(tree.masks[level, : tree.mask_count[level]])


def _after(parent: Parents, mask: Ints, level: int) -> Parents:
    w, i, o = (level if mask[role] else parent[role] for role in range(ROLE_COUNT))
    return (w, i, o)


def _macs_per_way(tables: Tables, tree: Tree, parent: Parents, level: int) -> Floats:
    """Least that the MACs cost, per way to unroll the innermost level before the lanes; nothing elsewhere."""
    ways, memories = tables.ways[level].trips, tables.memories
    if level < memories - 1:
        return np.zeros((len(ways), tables.read.shape[1]))
    joined, apart = np.ones(ROLE_COUNT), np.ones(ROLE_COUNT)
    for role in range(ROLE_COUNT):
        for outer in range(parent[role] + 1, level):
            instances = float(np.prod(tables.ways[outer].trips, axis=1).max())
            apart[role] *= instances
            joined[role] *= instances if tree.shares[outer, role] else 1.0
    lanes = tables.ways[memories].trips
    return macs_by_way(tree, np.array(parent, np.int64), ways, level, joined, apart, lanes)


def _left_of(
    tables: Tables, tree: Tree, level: int, parent: Parents, below: dict[Parents, Floats]
) -> tuple[Floats, Floats]:
    """Least still needed below every tile of one instance above `level`, (variants, criteria, nodes); and
    below the loops there without the transfers into the level, (masks, criteria, nodes).
    """
    lattice, criteria = tables.lattice, tables.read.shape[1]
    result = np.full((VARIANTS, criteria, lattice.nodes), np.inf)
    rest = np.full((tree.masks.shape[1], criteria, lattice.nodes), np.inf)
    for number, mask in enumerate(_kept(tree, level)):
        after = _after(parent, mask, level)
        extra = _macs_per_way(tables, tree, after, level)
        for variant, inner in enumerate(below[after]):
            reads = _reads_of(tables, tree, level, mask, parent, after, variant)
            _add_variant(tables, tree, level, mask, inner, extra, reads, result)
        inner = below[after].min(axis=0)
        rest[number] = _unrolled(tables, tree, level, mask, [], inner, extra)
    return result, rest


Reads = dict[int, tuple[Floats, Floats]]


def _reads_of(
    tables: Tables, tree: Tree, level: int, mask: Ints, parent: Parents, after: Parents, variant: int
) -> Reads:
    """Per operand that moves between memories at this level: its cost if loops here move it, or if it rests.

    An operand that the loops of the next level leave alone is read there as often as its tile changes here.
    """
    reads: Reads = {}
    for role in range(ROLE_COUNT):
        alone = variant in (ALONE + role, ALL_ALONE)
        parents = ([parent[role]] if mask[role] else []) + ([after[role]] if alone else [])
        costs = [_reads_moving(tables, tree, level, role, p, spread_from=parent[role]) for p in parents]
        if costs:
            reads[role] = (sum(c[0] for c in costs), sum(c[1] for c in costs))  # type: ignore[assignment]
    return reads


def _add_variant(
    tables: Tables,
    tree: Tree,
    level: int,
    mask: Ints,
    inner: Floats,
    extra: Floats,
    reads: Reads,
    result: Floats,
) -> None:
    """Lower `result` to what one choice of keeps and one variant of the next level need."""
    lattice, shape = tables.lattice, result.shape[1:]
    everything = np.ones(len(lattice.counts), np.int64)
    for resting in (None, *reads):
        others = [r for r in reads if r != resting]
        written = [r for r in others if mask[r]]
        moving = _unrolled(tables, tree, level, mask, written, inner, extra)
        moving += sum((reads[r][0] for r in others), np.zeros(shape))
        whole = moving.copy()
        least_inside(whole, lattice.sizes, lattice.counts, lattice.strides, everything)
        if resting is None:
            result[MOVING] = np.minimum(result[MOVING], whole)
            continue
        result[MOVING] = np.minimum(result[MOVING], whole + reads[resting][1])
        free = (tree.relevant[resting] == 0).astype(np.int64)
        least_inside(moving, lattice.sizes, lattice.counts, lattice.strides, free)
        result[ALONE + resting] = np.minimum(result[ALONE + resting], moving)
    bare = _unrolled(tables, tree, level, mask, [], inner, extra)
    result[ALL_ALONE] = np.minimum(result[ALL_ALONE], bare)


def _irrelevant_counts(tree: Tree, role: int) -> Floats:
    """Tiles along the dimensions that do not concern an operand, per node."""
    counts = tree.extents / tree.tiles
    chosen: Floats = np.where(tree.relevant[role] == 0, counts, 1.0)
    return np.asarray(chosen.prod(axis=1), np.float64)


def _reads_moving(
    tables: Tables, tree: Tree, level: int, role: int, parent: int, spread_from: int
) -> tuple[Floats, Floats]:
    """Cost at the parent (and of returns at the child) per node: by the tile below the loops if its
    irrelevant loops bring it back, by the tile above them if it rests.
    """
    spread = 1.0
    for outer in range(min(parent, spread_from) + 1, level):
        spread *= float(np.prod(tables.ways[outer].trips, axis=1).max())
    visits = np.maximum(1.0, _irrelevant_counts(tree, role) / spread)
    both = []
    for rests in (False, True):
        # The words are not known by the tile above, nor where instances in between join their tiles.
        fewest = rests or spread > 1
        if role == OUTPUT:
            again, ends = _words(tree, PARTIAL, parent, fewest), _words(tree, COMPLETE, parent, fewest)
            again = again * (visits - 1.0)
            cost = np.outer(tree.write[parent], again + ends) + np.outer(tree.read[parent], again)
        else:
            cost = np.outer(tree.read[parent], _words(tree, role, parent, fewest) * visits)
        both.append(cost)
    return both[0], both[1]


def _words(tree: Tree, stream: int, memory: int, fewest: bool = False) -> Floats:
    """Least words of a stream per tile, however inputs slide; with `fewest` whatever the tile."""
    words: Floats = tree.words[stream, memory]
    if fewest:
        return np.full_like(words, tree.fewest[stream, memory])
    if stream == INPUT:
        words = np.minimum(words, tree.slid[:, memory].min(axis=0))
    return words


def _unrolled(
    tables: Tables, tree: Tree, level: int, mask: Ints, charged: list[int], below: Floats, extra: Floats
) -> Floats:
    """Per tile below the loops: least over its unrollings of what `charged` operands write, and the rest."""
    lattice = tables.lattice
    values = np.broadcast_to(below, (below.shape[0], lattice.nodes)).copy()
    for role in charged:
        if role == OUTPUT:
            continue
        words = _words(tree, role, level)
        values += np.outer(tree.write[level], words * _irrelevant_counts(tree, role))
    values[:, ~_may_fit(tables, tree, level, mask)] = np.inf
    result = np.empty_like(values)
    least_unrolled(values, _inside(tables, level), extra, result)
    return result


def _may_fit(tables: Tables, tree: Tree, level: int, mask: Ints) -> NDArray[np.bool_]:
    """Tiles that can fit a memory in the best case."""
    size = float(tree.size_words[level])
    if size < 0:
        return np.ones(tables.lattice.nodes, np.bool_)
    instances = math.prod(float(np.prod(tables.ways[m].trips, axis=1).max()) for m in range(1, level + 1))
    words = np.zeros(tables.lattice.nodes)
    for role in range(ROLE_COUNT):
        if mask[role]:
            counts = tree.extents / tree.tiles
            tiles = np.where(tree.relevant[role] != 0, counts, 1.0).prod(axis=1)
            buffers = np.where(tiles > instances, tree.buffers[level, role], 1)
            words += buffers * tree.room[COMPLETE if role == OUTPUT else role, level]
    return words <= size


def _inside(tables: Tables, level: int) -> Ints:
    """The tile that each way of unrolling a level leaves of every tile."""
    if level not in tables.inside:
        lattice = tables.lattice
        tables.inside[level] = quotients(
            tables.ways[level].trips, lattice.sizes, lattice.counts, lattice.strides, lattice.nodes
        )
    return tables.inside[level]


def new_path(tree: Tree) -> Path:
    """The branch above the outermost memory."""
    levels, criteria = len(tree.size_words) + 1, tree.read.shape[1]
    path = Path(
        chosen=np.zeros((levels, 5), np.int64),
        visits=np.ones((levels, ROLE_COUNT)),
        parent=np.zeros((levels, ROLE_COUNT), np.int64),
        spent=np.zeros((levels, criteria)),
        parallel=np.ones(levels),
        changes=np.zeros((levels, ROLE_COUNT), np.int64),
        spread=np.ones((levels, ROLE_COUNT)),
        crossed=np.zeros((levels, ROLE_COUNT), np.int64),
        counters=np.zeros(3, np.int64),
    )
    path.chosen[0, 4] = len(tree.tiles) - 1
    path.parent[:] = tree.home
    return path


def to_genome(tables: Tables, tree: Tree, leaf: Ints) -> Genome:
    """A leaf as a candidate of the search."""
    space = tables.space
    dims, memories = len(space.dims), tables.memories
    trips = np.ones((len(space.slots), dims), np.int64)
    keeps = np.zeros((memories, ROLE_COUNT), np.int64)
    orders = np.zeros(memories, np.int64)
    for role in range(ROLE_COUNT):
        keeps[int(tree.home[role]), role] = 1
    slots = [int(s) for s in space.problem.memory_slot[:memories]]
    outer = tree.tiles[-1].astype(np.int64)
    for level in range(1, memories + 1):
        _, tile, order, way, inner = (int(x) for x in leaf[level])
        per_slot = tables.ways[level].per_slot[way - int(tree.first_way[level])]
        below = tree.trips[way] if level == memories else tree.tiles[tile].astype(np.int64)
        trips[slots[level - 1]] = outer // below
        trips *= per_slot
        if level < memories:
            keeps[level] |= tree.masks[level, leaf[level, 0]]
            orders[level - 1] = order
            outer = tree.tiles[inner].astype(np.int64)
    return np.concatenate([trips.ravel(), keeps.ravel(), orders])
