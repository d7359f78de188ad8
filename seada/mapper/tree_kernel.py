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

from seada.mapper.lattice_kernel import COMPLETE, PARTIAL
from seada.mapper.problem_kernel import INPUT, OUTPUT
from seada.model.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ENERGY = 0
# Of the tables of what is left: some loop moves every operand; one operand, or all, are left alone.
MOVING, ALONE, ALL_ALONE, VARIANTS = 0, 1, 4, 5
# Of the outcome of an order: visits of the three operands, slide, order.
SLIDE, ORDER, OUTCOME = 3, 4, 5
LEAVES, TILES, UNROLLINGS = 0, 1, 2


class Tree(NamedTuple):
    """Tables of the search; nodes, ways and states are numbered, criteria are energy (pJ) and ports (cycles).

    Attributes
    ----------
    words, slid, room, fewest : see `seada.mapper.lattice.Moves`
    read, write : (memories, criteria) per word
    masks, mask_count : per level, operands kept there as flags
    trips, first_way : ways of unrolling of all levels, and where each level's begin
    most_parallel : (levels, nodes) most instances that share the tile, inner levels included
    state, left : number of a state (parents of the three operands) per level, and what is left below it
    rest : (states, masks, criteria, nodes) what is left below a level's loops, by the tile there, but for the
        transfers into the level itself
    shares : (memories, 3) whether each level's fanouts multicast (reduce) the operand
    macs : MACs of the layer, share of them on data, elements of the output
    constants : leakage in pJ per cycle, cycles and energy of a step
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
    fewest: Floats
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
    """The branch in hand, per level.

    Attributes
    ----------
    chosen : (levels, 5) mask, tile U, order, way, tile E
    visits : (levels, 3) how often irrelevant loops and instances bring back an operand's tile E
    spread : (levels, 3) instances since the parent that share an element
    crossed : (levels, 3) whether there are any instances since the parent
    changes : (levels, 3) whether a loop moves the operand's tile
    counters : leaves, tiles U and unrollings looked at
    """

    chosen: Ints
    visits: Floats
    parent: Ints
    spent: Floats
    parallel: Floats
    changes: Ints
    spread: Floats
    crossed: Ints
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
def least_value(t: Tree, spent: Floats, left: Floats, at_once: float) -> float:
    """The objective of what is spent and left per criterion, if `at_once` MACs run at the same time."""
    latency = t.macs[0] / at_once * t.constants[1]
    for c in range(1, len(spent)):
        latency = max(latency, spent[c] + left[c])
    return value_of(t, spent[ENERGY] + left[ENERGY], latency)


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
    t: Tree, path: Path, level: int, role: int, tile: int, slide: int, visits: float, spent: Floats
) -> None:
    """What one operand moves at its parent above `level` (all instances), if one transfer covers `tile`."""
    parent, joined = path.parent[level - 1, role], path.spread[level - 1, role]
    # Instances further out join their tiles, which may fill words that each tile alone leaves in part empty.
    crossed = path.crossed[level - 1, role] != 0
    if role != OUTPUT:
        words = t.slid[slide, parent, tile] if role == INPUT and slide >= 0 else t.words[role, parent, tile]
        if crossed:
            words = t.fewest[role, parent]
        add(spent, words * visits / joined, t.read[parent])
        return
    again = max(0.0, visits / joined - 1.0)
    again *= t.fewest[PARTIAL, parent] if crossed else t.words[PARTIAL, parent, tile]
    ends = t.fewest[COMPLETE, parent] if crossed else t.words[COMPLETE, parent, tile]
    add(spent, again + ends, t.write[parent])
    add(spent, again, t.read[parent])


@kernel
def charge_writes(
    t: Tree, level: int, role: int, tile: int, slide: int, visits: float, spread: float, spent: Floats
) -> None:
    """What one operand moves at `level` because of its parent; sums also leave again."""
    if role != OUTPUT:
        words = t.slid[slide, level, tile] if role == INPUT and slide >= 0 else t.words[role, level, tile]
        add(spent, words * visits * spread, t.write[level])
        return
    again = max(0.0, visits - 1.0) * t.words[PARTIAL, level, tile]
    add(spent, again, t.write[level])
    add(spent, again, t.read[level])


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
        outputs = t.macs[2]
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
def fits(t: Tree, memory: int, mask: Ints, node: int, changes: Ints) -> bool:
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
def least_slide(t: Tree, role: int, node: int, parent: int) -> int:
    """Dimension along which sliding moves fewest words of an operand, -1 for operands without windows."""
    slide = -1
    if role == INPUT and len(t.windows) > 0:
        slide = 0
        for d in range(1, len(t.extents)):
            if t.slid[d, parent, node] < t.slid[slide, parent, node]:
                slide = d
    return slide


@kernel
def bound_left(t: Tree, path: Path, level: int) -> float:
    """Lower bound of the objective: what is spent, and the least that levels from `level` on still spend."""
    memories = len(t.size_words)
    criteria = t.read.shape[1]
    node = path.chosen[level - 1, 4]
    row = t.state[level, state_of(path.parent[level - 1], memories)]
    least, alone = np.zeros(criteria), np.zeros(criteria)
    for c in range(criteria):
        least[c] = min(t.left[row, MOVING, c, node], t.left[row, ALL_ALONE, c, node])
    for role in range(3):
        # An operand that no loop moves is read as often as its tile changes above.
        slide = least_slide(t, role, node, path.parent[level - 1, role])
        alone[:] = 0.0
        charge_reads(t, path, level, role, node, slide, path.visits[level - 1, role], alone)
        for c in range(criteria):
            least[c] = min(least[c], t.left[row, ALONE + role, c, node] + alone[c])
    at_once = path.parallel[level - 1] * t.most_parallel[level, node]
    return least_value(t, path.spent[level - 1], least, at_once)


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
def outcomes_of_orders(t: Tree, path: Path, level: int, tile: int, outcomes: Floats) -> int:
    """How orders of the loops down to `tile` differ: fills rows of `outcomes`, returns how many there are."""
    outer = path.chosen[level - 1, 4]
    count = 0
    for order in range(len(t.orders)):
        row = outcomes[count]
        for role in range(3):
            row[role] = visits_below(t, role, outer, tile, order, path.visits[level - 1, role])
        slide = slides_along(t, outer, tile, order)
        row[SLIDE] = slide if slide >= 0 and t.slid[slide, 0, tile] != t.words[INPUT, 0, tile] else -1
        row[ORDER] = order
        new = True
        for other in range(count):
            same = True
            for k in range(ORDER):
                same = same and outcomes[other, k] == row[k]
            new = new and not same
        count += 1 if new else 0
    return count


@kernel
def enter_level(t: Tree, path: Path, level: int, kept: Ints, tile: int) -> None:
    """Parents and moving tiles below the loops of a level."""
    outer = path.chosen[level - 1, 4]
    for role in range(3):
        path.parent[level, role] = level if kept[role] != 0 else path.parent[level - 1, role]
        path.changes[level, role] = path.changes[level - 1, role]
        for d in range(len(t.extents)):
            if t.relevant[role, d] != 0 and t.tiles[outer, d] != t.tiles[tile, d]:
                path.changes[level, role] = 1


@kernel
def spend_before_unrolling(
    t: Tree, path: Path, level: int, kept: Ints, tile: int, outcome: Floats, spent: Floats
) -> None:
    """Least that the loops of a level make its memory and the parents move, however `tile` is unrolled."""
    spent[:] = path.spent[level - 1]
    slide = int(outcome[SLIDE])
    for role in range(3):
        if kept[role] != 0:
            charge_reads(t, path, level, role, tile, slide, outcome[role], spent)
            charge_writes(t, level, role, tile, slide, outcome[role], 1.0, spent)


@kernel
def unroll_tile(
    t: Tree, path: Path, level: int, kept: Ints, tile: int, outcome: Floats, way: int, inner: int
) -> None:
    """Spread `tile` over instances that get `inner` each, and charge what the level moves."""
    path.spent[level] = path.spent[level - 1]
    path.parallel[level] = path.parallel[level - 1]
    slide = int(outcome[SLIDE])
    if slide >= 0 and not slides(t, slide, tile, inner):
        slide = -1
    instances = 1.0
    for d in range(len(t.extents)):
        instances *= t.trips[way, d]
    path.parallel[level] *= instances
    for role in range(3):
        visits = outcome[role]
        spread = 1.0
        for d in range(len(t.extents)):
            if t.relevant[role, d] == 0:
                spread *= t.trips[way, d]
        if kept[role] != 0:
            charge_reads(t, path, level, role, tile, slide, visits, path.spent[level])
            charge_writes(t, level, role, inner, slide, visits, spread, path.spent[level])
            path.spread[level, role] = 1.0
            path.crossed[level, role] = 0
        else:
            shared = spread if t.shares[level, role] != 0 else 1.0
            path.spread[level, role] = path.spread[level - 1, role] * shared
            path.crossed[level, role] = 1 if instances > 1 else path.crossed[level - 1, role]
        path.visits[level, role] = visits * spread
    path.chosen[level, 1] = tile
    path.chosen[level, 2] = int(outcome[ORDER])
    path.chosen[level, 3] = way
    path.chosen[level, 4] = inner


@kernel
def descend(t: Tree, path: Path, level: int, threshold: float, leaves: Ints, bounds: Floats) -> bool:
    """Collect leaves below a branch; False if there is no room for more.

    Parameters
    ----------
    leaves : (room, levels, 5), filled up to ``path.counters[LEAVES]``
    bounds : (room,) lower bound of each leaf's objective
    """
    memories, dims = len(t.size_words), len(t.extents)
    if level == memories:
        return add_leaves(t, path, threshold, leaves, bounds)
    spent = np.zeros(t.read.shape[1])
    outcomes = np.zeros((len(t.orders) + 1, OUTCOME))
    digits, limit = np.zeros(dims, np.int64), np.zeros(dims, np.int64)
    for d in range(dims):
        limit[d] = (path.chosen[level - 1, 4] // t.strides[d]) % t.counts[d]
    row = t.state[level, state_of(path.parent[level - 1], memories)]
    for mask in range(t.mask_count[level]):
        kept = t.masks[level, mask]
        path.chosen[level, 0] = mask
        digits[:] = 0
        digits[dims - 1] = -1
        while True:
            tile = next_tile(t, digits, limit)
            if tile < 0:
                break
            path.counters[TILES] += 1
            at_once = path.parallel[level - 1] * t.most_parallel[level, tile]
            rest = t.rest[row, mask, :, tile]
            if least_value(t, path.spent[level - 1], rest, at_once) > threshold:
                continue
            enter_level(t, path, level, kept, tile)
            for number in range(outcomes_of_orders(t, path, level, tile, outcomes)):
                outcome = outcomes[number]
                spend_before_unrolling(t, path, level, kept, tile, outcome, spent)
                if least_value(t, spent, rest, at_once) > threshold:
                    continue
                for way in range(t.first_way[level], t.first_way[level + 1]):
                    inner = inner_tile(t, tile, way)
                    if inner < 0 or not fits(t, level, kept, inner, path.changes[level]):
                        continue
                    path.counters[UNROLLINGS] += 1
                    unroll_tile(t, path, level, kept, tile, outcome, way, inner)
                    if level + 1 < memories and bound_left(t, path, level + 1) > threshold:
                        continue
                    if not descend(t, path, level + 1, threshold, leaves, bounds):
                        return False
    return True


@kernel
def add_leaves(t: Tree, path: Path, threshold: float, leaves: Ints, bounds: Floats) -> bool:
    """Unrollings next to the MACs, as leaves."""
    memories = len(t.size_words)
    dims = len(t.extents)
    joined, apart = np.ones(3), np.ones(3)
    together = np.ones(dims)
    spent, nothing = np.zeros(t.read.shape[1]), np.zeros(t.read.shape[1])
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
        spent[:] = path.spent[memories - 1]
        lanes = t.trips[way]
        overlap = 1.0
        for k in range(len(t.windows)):
            first = together[t.windows[k, 0]] * lanes[t.windows[k, 0]]
            second = together[t.windows[k, 1]] * lanes[t.windows[k, 1]]
            overlap *= first * second / (first + second - 1.0)
        charge_macs(t, path.parent[memories - 1], lanes, joined, apart, overlap, spent)
        lane_count = 1.0
        for d in range(dims):
            lane_count *= lanes[d]
        spent[ENERGY] += t.macs[0] / lane_count * t.constants[2]
        bound = least_value(t, spent, nothing, path.parallel[memories - 1] * lane_count)
        if bound > threshold:
            continue
        number = path.counters[LEAVES]
        if number == len(leaves):
            return False
        path.counters[LEAVES] += 1
        for level in range(1, memories):
            leaves[number, level] = path.chosen[level]
        leaves[number, memories, 3] = way
        bounds[number] = bound
    return True
