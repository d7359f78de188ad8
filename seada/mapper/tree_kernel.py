"""Branch and bound over nested tiles: every mapping whose lower bound stays below a threshold.

Levels run from the outermost memory inwards. A level chooses which operands the next memory keeps, the tile
below the loops in between (`U`), their order, and how the fanouts spread that tile over instances (`E` is
what one of them gets). What the levels chosen so far move is known; what is left is bounded from below by
tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seada.mapper.problem_kernel import INPUT, OUTPUT
from seada.model.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ENERGY = 0
# Of the tables of what is left: some loop moves every operand; one operand, or all, are left alone.
MOVING, ALONE, ALL_ALONE, VARIANTS = 0, 1, 4, 5
PARTIAL, COMPLETE = 2, 3


class Tree(NamedTuple):
    """Tables of the search; nodes, ways and states are numbered, criteria are energy (pJ) and ports (cycles).

    Attributes
    ----------
    words, slid, room : see `seada.mapper.lattice.Moves`
    read, write : (memories, criteria) per word
    masks, mask_count : per level, operands kept there as flags
    trips, first_way : ways of unrolling of all levels, and where each level's begin
    most_parallel : (levels, nodes) most instances that share the tile, inner levels included
    state, left : number of a state (parents of the three operands) per level, and what is left below it
    rest : (states, masks, criteria, nodes) what is left below a level's loops, by the tile there, but for the
        transfers into the level itself
    shares : (memories, 3) whether each level's fanouts multicast (reduce) the operand
    """

    extents: Floats
    tiles: Floats
    sizes: Ints
    counts: Ints
    strides: Ints
    relevant: Ints
    words: Floats
    slid: Floats
    room: Floats
    size_words: Floats
    buffers: Ints
    home: Ints
    read: Floats
    write: Floats
    masks: Ints
    mask_count: Ints
    trips: Ints
    first_way: Ints
    most_parallel: Floats
    state: Ints
    left: Floats
    rest: Floats
    shares: Ints
    orders: Ints
    windows: Ints
    steps: Ints
    macs: Floats
    bits: Floats
    word_bits: Floats
    powers: Floats
    constants: Floats


class Path(NamedTuple):
    """The branch in hand, per level; the last axis of `chosen`: mask, tile U, order, way, tile E."""

    chosen: Ints
    visits: Floats
    parent: Ints
    spent: Floats
    parallel: Floats
    changes: Ints
    spread: Floats
    counters: Ints


@kernel
def value_of(t: Tree, energy: float, latency: float) -> float:
    """The objective with leakage."""
    energy += t.constants[0] * latency
    a, b = t.powers[0], t.powers[1]
    first = 1.0 if a == 0 else (energy if a == 1 else energy**a)
    second = 1.0 if b == 0 else (latency if b == 1 else latency**b)
    return first * second


@kernel
def state_of(parent: Ints, memories: int) -> int:
    """Number of a triple of parents."""
    return int((parent[0] * memories + parent[1]) * memories + parent[2])


@kernel
def visits_below(t: Tree, role: int, outer: int, inner: int, order: int, before: float) -> float:
    """How often irrelevant loops bring back what the operand's tile holds, below the loops of one memory.

    Loops run from tile `outer` to tile `inner`. `before` is the number above them: nothing is added if no
    loop moves the tile.
    """
    tiles = t.tiles
    count = 1.0
    resting = True
    for position in range(len(t.extents)):
        d = t.orders[order, position]
        moves = tiles[outer, d] != tiles[inner, d]
        if t.relevant[role, d] != 0:
            if moves:
                resting = False
        else:
            count *= t.extents[d] / (tiles[outer, d] if resting else tiles[inner, d])
    return before if resting else count


@kernel
def slides_along(t: Tree, outer: int, inner: int, order: int) -> int:
    """Dimension of the innermost loop that moves the input's tile, -1 if none does."""
    for position in range(len(t.extents)):
        d = t.orders[order, position]
        if t.relevant[INPUT, d] != 0 and t.tiles[outer, d] != t.tiles[inner, d]:
            return int(d)
    return -1


@kernel
def slides(t: Tree, d: int, tile: int, inner: int) -> bool:
    """Whether an instance's window overlaps with its next one along `d`, `tile` away."""
    for k in range(len(t.windows)):
        for side in range(2):
            if t.windows[k, side] == d:
                other = t.windows[k, 1 - side]
                step, other_step = t.steps[k, side], t.steps[k, 1 - side]
                span = step * (t.tiles[inner, d] - 1) + other_step * (t.tiles[inner, other] - 1) + 1
                return bool(span > step * t.tiles[tile, d])
    return True


@kernel
def add(spent: Floats, words: float, price: Floats) -> None:
    """Charge words at a price per criterion."""
    for c in range(len(price)):
        spent[c] += words * price[c]


@kernel
def charge_reads(
    t: Tree, role: int, parent: int, tile: int, slide: int, visits: float, joined: float, spent: Floats
) -> None:
    """What one operand moves at its parent (all instances), if `tile` is what one transfer covers."""
    if role != OUTPUT:
        words = t.words[role, parent, tile]
        if role == INPUT and slide >= 0:
            words = t.slid[slide, parent, tile]
        add(spent, words * visits / joined, t.read[parent])
        return
    again = max(0.0, visits / joined - 1.0)
    partial = t.words[PARTIAL, parent, tile]
    add(spent, again * partial + t.words[COMPLETE, parent, tile], t.write[parent])
    add(spent, again * partial, t.read[parent])


@kernel
def charge_writes(
    t: Tree, role: int, child: int, tile: int, slide: int, visits: float, spread: float, spent: Floats
) -> None:
    """What one operand moves at its child because of the parent; sums also leave again."""
    if role != OUTPUT:
        words = t.words[role, child, tile]
        if role == INPUT and slide >= 0:
            words = t.slid[slide, child, tile]
        add(spent, words * visits * spread, t.write[child])
        return
    again = max(0.0, visits - 1.0) * t.words[PARTIAL, child, tile]
    add(spent, again, t.write[child])
    add(spent, again, t.read[child])


@kernel
def charge_macs(
    t: Tree, parent: Ints, lanes: Ints, joined: Floats, apart: Floats, overlap: float, spent: Floats
) -> None:
    """What the MACs read and write at each operand's innermost keep.

    Parameters
    ----------
    lanes : (dims,) trips of the unrolling next to the MACs
    joined, apart : (3,) instances between keep and lanes that share an element, and all of them
    overlap : most MACs of overlapping windows that share an input element at one step
    """
    steps = t.macs[0]
    for d in range(len(lanes)):
        steps /= lanes[d]
    for role in range(3):
        p = parent[role]
        served = 1.0
        for d in range(len(lanes)):
            if t.relevant[role, d] != 0:
                served *= lanes[d]
        elements = steps * served / joined[role]
        if role == INPUT:
            elements /= overlap
        least = steps / apart[role]
        bits = t.bits[role]
        scale = t.macs[1] if role == INPUT and p == t.home[INPUT] else 1.0
        if role != OUTPUT:
            words = max(elements * bits / t.word_bits[p], least) * scale
            add(spent, words, t.read[p])
            continue
        outputs = t.macs[3]
        narrow = min(t.bits[2], t.bits[3])
        written = ((elements - outputs) * bits + outputs * narrow) / t.word_bits[p]
        add(spent, max(written, least), t.write[p])
        again = elements - (outputs if p == t.home[OUTPUT] else 0.0)
        add(spent, max(0.0, again) * narrow / t.word_bits[p], t.read[p])


@kernel
def macs_by_way(
    t: Tree, parent: Ints, ways: Ints, level: int, joined: Floats, apart: Floats, lanes: Ints
) -> Floats:
    """Least that the MACs cost for each way of unrolling the level outside of the lanes, (ways, criteria).

    `joined` and `apart` are of the levels outside of it.
    """
    criteria = t.read.shape[1]
    dims = len(t.extents)
    result = np.full((len(ways), criteria), np.inf)
    near, all_near = np.ones(3), np.ones(3)
    spent = np.zeros(criteria)
    for way in range(len(ways)):
        for role in range(3):
            near[role], all_near[role] = joined[role], apart[role]
            if parent[role] < level:
                for d in range(dims):
                    all_near[role] *= ways[way, d]
                    if t.shares[level, role] != 0 and t.relevant[role, d] == 0:
                        near[role] *= ways[way, d]
        for lane in range(len(lanes)):
            lane_count, overlap = 1.0, 1.0
            for d in range(dims):
                lane_count *= lanes[lane, d]
            for k in range(len(t.windows)):
                first = min(t.extents[t.windows[k, 0]], all_near[INPUT] * lane_count)
                second = min(t.extents[t.windows[k, 1]], all_near[INPUT] * lane_count)
                if apart[INPUT] == 1.0:
                    outside = parent[INPUT] < level
                    first = float(
                        lanes[lane, t.windows[k, 0]] * (ways[way, t.windows[k, 0]] if outside else 1)
                    )
                    second = float(
                        lanes[lane, t.windows[k, 1]] * (ways[way, t.windows[k, 1]] if outside else 1)
                    )
                overlap *= first * second / (first + second - 1.0)
            spent[:] = 0.0
            charge_macs(t, parent, lanes[lane], near, all_near, overlap, spent)
            spent[ENERGY] += t.macs[0] / lane_count * t.constants[2]
            for c in range(criteria):
                result[way, c] = min(result[way, c], spent[c])
    return result


@kernel
def fits(t: Tree, memory: int, mask: Ints, node: int, changes: Ints, parallel: float) -> bool:
    """Whether the kept tiles can fit; buffers count where a loop is known to move the tile."""
    if t.size_words[memory] < 0:
        return True
    words = 0.0
    for role in range(3):
        if mask[role] == 0:
            continue
        stream = COMPLETE if role == OUTPUT else role
        buffers = t.buffers[memory, role] if changes[role] != 0 else 1
        words += buffers * t.room[stream, memory, node]
    return bool(words <= t.size_words[memory])


@kernel
def known_alone(t: Tree, path: Path, level: int, role: int, node: int, c: int) -> float:
    """What an operand moves at its parent if no loop moves its tile below tile `node`."""
    parent = path.parent[level - 1, role]
    visits = path.visits[level - 1, role] / path.spread[level - 1, role]
    if role == OUTPUT:
        again = max(0.0, visits - 1.0) * t.words[PARTIAL, parent, node]
        ends = t.words[COMPLETE, parent, node] * t.write[parent, c]
        return float(ends + again * (t.write[parent, c] + t.read[parent, c]))
    words = t.words[role, parent, node]
    if role == INPUT:
        for d in range(len(t.extents)):
            words = min(words, t.slid[d, parent, node])
    return float(words * visits * t.read[parent, c])


@kernel
def bound_left(t: Tree, path: Path, level: int, spent: Floats, parallel: float, total: Floats) -> float:
    """Lower bound of the objective: `spent` so far, and the least that levels from `level` on still spend."""
    memories = len(t.size_words)
    criteria = len(spent)
    node = path.chosen[level - 1, 4]
    parent = path.parent[level - 1]
    row = t.state[level, state_of(parent, memories)]
    for c in range(criteria):
        least = t.left[row, MOVING, c, node]
        everything = t.left[row, ALL_ALONE, c, node]
        for role in range(3):
            known = known_alone(t, path, level, role, node, c)
            least = min(least, t.left[row, ALONE + role, c, node] + known)
        least = min(least, everything)
        total[c] = spent[c] + least
    most = parallel * t.most_parallel[level, node]
    latency = t.macs[0] / most * t.constants[1]
    for c in range(1, criteria):
        latency = max(latency, total[c])
    return value_of(t, total[ENERGY], latency)


@kernel
def next_tile(t: Tree, digits: Ints, limit: Ints) -> int:
    """Advance to the next tile that divides the tile `limit`; its node, or -1 after the last."""
    for d in range(len(digits) - 1, -1, -1):
        while True:
            digits[d] += 1
            if digits[d] > limit[d]:
                break
            if t.sizes[d, limit[d]] % t.sizes[d, digits[d]] == 0:
                node = 0
                for k in range(len(digits)):
                    node += digits[k] * t.strides[k]
                return node
        digits[d] = 0
    return -1


@kernel
def inner_tile(t: Tree, node: int, way: int) -> int:
    """What one instance gets of a tile, or -1 if the way of unrolling does not divide it."""
    result = 0
    for d in range(len(t.counts)):
        digit = (node // t.strides[d]) % t.counts[d]
        trips = t.trips[way, d]
        if trips > 1:
            size = t.sizes[d, digit]
            if size % trips != 0:
                return -1
            size //= trips
            digit -= 1
            while t.sizes[d, digit] != size:
                digit -= 1
        result += digit * t.strides[d]
    return int(result)


@kernel
def descend(t: Tree, path: Path, level: int, threshold: float, leaves: Ints, bounds: Floats) -> bool:
    """Collect leaves below a branch; False if there is no room for more.

    Parameters
    ----------
    leaves : (room, levels, 5), filled up to ``path.counters[0]``
    bounds : (room,) lower bound of each leaf's objective
    """
    memories = len(t.size_words)
    dims = len(t.extents)
    outer = path.chosen[level - 1, 4]
    spent = np.zeros(t.read.shape[1])
    total = np.zeros(t.read.shape[1])
    if level == memories:
        return add_leaves(t, path, threshold, leaves, bounds)
    limit = np.zeros(dims, np.int64)
    for d in range(dims):
        limit[d] = (outer // t.strides[d]) % t.counts[d]
    digits = np.zeros(dims, np.int64)
    seen = np.zeros((len(t.orders), 5))
    row = t.state[level, state_of(path.parent[level - 1], memories)]
    for mask in range(t.mask_count[level]):
        kept = t.masks[level, mask]
        digits[:] = 0
        digits[dims - 1] = -1
        while True:
            tile = next_tile(t, digits, limit)
            if tile < 0:
                break
            most = path.parallel[level - 1] * t.most_parallel[level, tile]
            path.counters[1] += 1
            kinds = 0
            for order in range(len(t.orders)):
                slide = slides_along(t, outer, tile, order)
                for role in range(3):
                    seen[kinds, role] = visits_below(
                        t, role, outer, tile, order, path.visits[level - 1, role]
                    )
                seen[kinds, 3] = (
                    slide if slide >= 0 and t.slid[slide, 0, tile] != t.words[INPUT, 0, tile] else -1
                )
                known = False
                for other in range(kinds):
                    same = True
                    for k in range(4):
                        same = same and seen[other, k] == seen[kinds, k]
                    known = known or same
                if known:
                    continue
                slide = int(seen[kinds, 3])
                kinds += 1
                for role in range(3):
                    path.visits[level, role] = seen[kinds - 1, role]
                    path.parent[level, role] = level if kept[role] != 0 else path.parent[level - 1, role]
                    path.changes[level, role] = path.changes[level - 1, role]
                    for d in range(dims):
                        if t.relevant[role, d] != 0 and t.tiles[outer, d] != t.tiles[tile, d]:
                            path.changes[level, role] = 1
                for c in range(len(spent)):
                    spent[c] = path.spent[level - 1, c]
                for role in range(3):
                    if kept[role] != 0:
                        charge_reads(
                            t,
                            role,
                            path.parent[level - 1, role],
                            tile,
                            slide,
                            path.visits[level, role],
                            path.spread[level - 1, role],
                            spent,
                        )
                        charge_writes(t, role, level, tile, slide, path.visits[level, role], 1.0, spent)
                latency = t.macs[0] / most * t.constants[1]
                for c in range(1, len(spent)):
                    latency = max(latency, spent[c] + t.rest[row, mask, c, tile])
                if value_of(t, spent[ENERGY] + t.rest[row, mask, ENERGY, tile], latency) > threshold:
                    continue
                for way in range(t.first_way[level], t.first_way[level + 1]):
                    inner = inner_tile(t, tile, way)
                    if inner < 0 or not fits(t, level, kept, inner, path.changes[level], 1.0):
                        continue
                    spread = 1.0
                    for c in range(len(spent)):
                        path.spent[level, c] = path.spent[level - 1, c]
                    run = slide if slide >= 0 and slides(t, slide, tile, inner) else -1
                    path.parallel[level] = path.parallel[level - 1]
                    for d in range(dims):
                        path.parallel[level] *= t.trips[way, d]
                    for role in range(3):
                        spread = 1.0
                        for d in range(dims):
                            if t.relevant[role, d] == 0:
                                spread *= t.trips[way, d]
                        if kept[role] != 0:
                            charge_reads(
                                t,
                                role,
                                path.parent[level - 1, role],
                                tile,
                                run,
                                path.visits[level, role],
                                path.spread[level - 1, role],
                                path.spent[level],
                            )
                            charge_writes(
                                t,
                                role,
                                level,
                                inner,
                                run,
                                path.visits[level, role],
                                spread,
                                path.spent[level],
                            )
                            path.spread[level, role] = 1.0
                        else:
                            path.spread[level, role] = path.spread[level - 1, role] * (
                                spread if t.shares[level, role] != 0 else 1.0
                            )
                        path.visits[level, role] *= spread
                    path.chosen[level, 0] = mask
                    path.chosen[level, 1] = tile
                    path.chosen[level, 2] = order
                    path.chosen[level, 3] = way
                    path.chosen[level, 4] = inner
                    path.counters[2] += 1
                    bound = 0.0
                    if level + 1 < memories:
                        bound = bound_left(t, path, level + 1, path.spent[level], path.parallel[level], total)
                    if bound <= threshold and not descend(t, path, level + 1, threshold, leaves, bounds):
                        return False
                    for role in range(3):
                        path.visits[level, role] = seen[kinds - 1, role]
    return True


@kernel
def add_leaves(t: Tree, path: Path, threshold: float, leaves: Ints, bounds: Floats) -> bool:
    """Unrollings next to the MACs, as leaves."""
    memories = len(t.size_words)
    dims = len(t.extents)
    joined, apart = np.ones(3), np.ones(3)
    together = np.ones(dims)
    spent = np.zeros(t.read.shape[1])
    outer = path.chosen[memories - 1, 4]
    for role in range(3):
        for level in range(path.parent[memories - 1, role] + 1, memories):
            way = path.chosen[level, 3]
            for d in range(dims):
                apart[role] *= t.trips[way, d]
                if t.shares[level, role] != 0 and t.relevant[role, d] == 0:
                    joined[role] *= t.trips[way, d]
                if role == INPUT:
                    together[d] *= t.trips[way, d]
    for way in range(t.first_way[memories], t.first_way[memories + 1]):
        if inner_tile(t, outer, way) < 0:
            continue
        for c in range(len(spent)):
            spent[c] = path.spent[memories - 1, c]
        lanes = t.trips[way]
        overlap = 1.0
        for k in range(len(t.windows)):
            first = together[t.windows[k, 0]] * lanes[t.windows[k, 0]]
            second = together[t.windows[k, 1]] * lanes[t.windows[k, 1]]
            overlap *= first * second / (first + second - 1.0)
        charge_macs(t, path.parent[memories - 1], lanes, joined, apart, overlap, spent)
        parallel, lane_count = path.parallel[memories - 1], 1.0
        for d in range(dims):
            lane_count *= lanes[d]
        spent[ENERGY] += t.macs[0] / lane_count * t.constants[2]
        latency = t.macs[0] / (parallel * lane_count) * t.constants[1]
        for c in range(1, len(spent)):
            latency = max(latency, spent[c])
        bound = value_of(t, spent[ENERGY], latency)
        if bound > threshold:
            continue
        number = path.counters[0]
        if number == len(leaves):
            return False
        path.counters[0] += 1
        for level in range(1, memories):
            leaves[number, level] = path.chosen[level]
        leaves[number, memories, 3] = way
        bounds[number] = bound
    return True
