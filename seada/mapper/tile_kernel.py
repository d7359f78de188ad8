"""Tiles of a candidate: extents, how many there are, their elements and words, and what leaves them alone."""

from __future__ import annotations

import numpy as np

from seada.mapper.problem_kernel import (
    OUTPUT,
    TABLE_LARGEST,
    TABLE_SLIDE_FIRST,
    TABLE_SLIDE_SECOND,
    TABLE_SUM,
    FloatArray,
    IntArray,
    Problem,
    Scratch,
)
from seada.model.jit import kernel


@kernel
def unroll(p: Problem, genome: IntArray, w: Scratch) -> bool:
    """Extents above and trips in each slot; False if a spatial slot holds more than it may."""
    slots, dims = p.slots, p.dims
    for m in range(p.memories):
        for role in range(3):
            w.kept[m, role] = genome[slots * dims + 3 * m + role]
        w.chosen[m] = genome[slots * dims + 3 * p.memories + m]
    for d in range(dims):
        w.above[slots, d] = 1.0
    for s in range(slots - 1, 0, -1):
        used = 1.0
        for d in range(dims):
            below, extent = w.above[s + 1, d], p.extents[d]
            trips = float(genome[s * dims + d])
            if below * trips > extent:
                trips = np.ceil(extent / below)
            w.above[s, d] = min(extent, below * trips)
            w.trips[s, d] = trips
            used *= trips
            if trips > 1 and p.allowed[s, d] == 0:
                return False
            if p.fixed[s, d] > 0 and trips != min(p.fixed[s, d], extent):
                return False
        if p.slot_spatial[s] != 0 and used > p.slot_size[s]:
            return False
    for d in range(dims):
        w.above[0, d] = p.extents[d]
        w.trips[0, d] = np.ceil(p.extents[d] / w.above[1, d])
    return True


@kernel
def count_steps(p: Problem, w: Scratch, d: int) -> None:
    """Temporal steps of the first instance below each slot along one dimension, remainders exact."""
    w.inner[p.slots, d] = 1.0
    for s in range(p.slots - 1, -1, -1):
        step = w.above[s + 1, d]
        if p.slot_spatial[s] != 0:
            w.inner[s, d] = w.inner[s + 1, d]
            continue
        whole = np.floor(w.above[s, d] / step)
        rest = w.above[s, d] - whole * step
        steps = whole * w.inner[s + 1, d]
        # The remainder of one loop runs down through the loops inside it.
        inner = s + 1
        while rest > 0 and inner < p.slots:
            step = w.above[inner + 1, d]
            if p.slot_spatial[inner] != 0:
                if rest >= step:
                    steps += w.inner[inner + 1, d]
                    rest = 0.0
            else:
                whole = np.floor(rest / step)
                steps += whole * w.inner[inner + 1, d]
                rest -= whole * step
            inner += 1
        w.inner[s, d] = steps + (1.0 if rest > 0 else 0.0)


@kernel
def count_tiles(p: Problem, w: Scratch) -> None:
    """Tiles along each dimension above each slot, and how many instances share them there."""
    for d in range(p.dims):
        count_steps(p, w, d)
    for s in range(p.slots + 1):
        active = 1.0
        for d in range(p.dims):
            above = w.above[s, d]
            w.counts[s, d] = p.extents[d] if above == 1.0 else np.ceil(p.extents[d] / above)
            active *= p.extents[d] / above * w.inner[s, d] / w.inner[0, d]
        w.active[s] = max(1.0, active)


@kernel
def largest_tile(p: Problem, tables: FloatArray, role: int, w: Scratch) -> float:
    """Elements of the largest tile of an operand with the extents in ``w.span``."""
    elements = 1.0
    for a in range(p.axes):
        if p.axis_role[a] != role:
            continue
        first = w.span[p.axis_first[a]]
        if p.axis_base[a] < 0:
            elements *= first
        else:
            second = w.span[p.axis_second[a]] if p.axis_second[a] >= 0 else 1.0
            row = p.axis_base[a] + int(first) * p.axis_row[a] + int(second)
            elements *= tables[row, TABLE_LARGEST]
    return elements


@kernel
def summed_tiles(p: Problem, tables: FloatArray, role: int, w: Scratch) -> float:
    """Elements of all tiles with extents ``w.span`` together, each position of the operand visited once.

    Along ``w.slide_dim`` all but one of ``w.slide_trips`` tiles bring only what the tile before did not hold.
    """
    elements = 1.0
    for a in range(p.axes):
        if p.axis_role[a] != role:
            continue
        first_dim, second_dim = p.axis_first[a], p.axis_second[a]
        if p.axis_base[a] < 0:
            elements *= p.extents[first_dim]
            continue
        second = w.span[second_dim] if second_dim >= 0 else 1.0
        row = p.axis_base[a] + int(w.span[first_dim]) * p.axis_row[a] + int(second)
        total = tables[row, TABLE_SUM]
        if w.slide_dim >= 0 and (w.slide_dim == first_dim or w.slide_dim == second_dim):
            column = TABLE_SLIDE_FIRST if w.slide_dim == first_dim else TABLE_SLIDE_SECOND
            total += (tables[row, column] - total) * (w.slide_trips - 1.0) / w.slide_trips
        elements *= total
    return elements


@kernel
def whole_words(p: Problem, memory: int, elements: float, bits: float) -> float:
    """Whole words of one access of elements of one width."""
    word = p.word_bits[memory]
    if p.aligned[memory] > 0:
        per_word = np.floor(word / bits)
        if per_word >= 1:
            return float(np.ceil(elements / per_word))
        return float(elements * np.ceil(bits / word))
    return float(np.ceil(elements * bits / word))


@kernel
def tile_words(p: Problem, memory: int, elements: float, kind: int) -> float:
    """Whole words of one tile or transfer with its scales; kinds are those of ``p.bits``."""
    if p.scale_bits[kind] == 0:
        return whole_words(p, memory, elements, p.bits[kind])
    scales = np.ceil(elements / p.scale_group[kind])
    if p.aligned[memory] > 0:
        apart = whole_words(p, memory, scales, p.scale_bits[kind])
        return whole_words(p, memory, elements, p.bits[kind]) + apart
    bits = elements * p.bits[kind] + scales * p.scale_bits[kind]
    return float(np.ceil(bits / p.word_bits[memory]))


@kernel
def link_bits(p: Problem, kind: int) -> float:
    """Bits of one element on a link, with its share of a scale."""
    return float(p.bits[kind] + p.scale_bits[kind] / p.scale_group[kind])


@kernel
def moved_words(
    p: Problem, memory: int, transfers: float, total: float, largest: float, kind: int, scaled: bool
) -> float:
    """Words of `transfers` transfers that move `total` elements together, at most `largest` each."""
    if total <= 0 or transfers <= 0:
        return 0.0
    share = total / (transfers * largest)
    if scaled:
        words = tile_words(p, memory, largest, kind)
    else:
        words = whole_words(p, memory, largest, p.bits[kind])
    return transfers * max(1.0, words * min(1.0, share))


@kernel
def drop_nothing(p: Problem, w: Scratch) -> None:
    """Count every loop."""
    for d in range(p.dims):
        w.dropped[d] = 1.0


@kernel
def scan_above(p: Problem, role: int, slot: int, w: Scratch) -> float:
    """Loops above a keep: which leave its tile alone, and which one moves it.

    Fills ``w.dropped`` and the slide entries of ``w.state``; returns the steps of one instance at which its
    tile changes (the first one included).
    """
    dims = p.dims
    fills = 1.0
    moving = False
    drop_nothing(p, w)
    w.slide_dim = -1
    w.slide_trips = 1
    for s in range(slot - 1, -1, -1):
        if p.slot_spatial[s] != 0:
            continue
        order = w.chosen[p.slot_owner[s]]
        for position in range(dims):
            d = p.order[order, position]
            trips = w.trips[s, d]
            if trips == 1:
                continue
            if not moving and p.relevant[role, d] == 0:
                w.dropped[d] *= trips
                w.drop_slot[d] = s
                continue
            # A window slides only if its own tile is the step of the loop, with no instances in between.
            if not moving and w.above[s + 1, d] == w.above[slot, d]:
                w.slide_dim = d
                w.slide_trips = trips
            moving = True
            fills *= trips
    w.changes = 1 if moving else 0
    return fills


@kernel
def positions(p: Problem, w: Scratch, role: int, only_irrelevant: bool) -> float:
    """Transfers along all (or all irrelevant) dimensions; dropped loops count once."""
    count = 1.0
    for d in range(p.dims):
        if not only_irrelevant or p.relevant[role, d] == 0:
            count *= w.tiles[d]
    return count


@kernel
def start_union(p: Problem, slot: int, w: Scratch) -> None:
    """Begin a transfer with the tile above a slot."""
    for d in range(p.dims):
        w.span[d] = w.above[slot, d]
        w.tiles[d] = w.counts[slot, d]
        w.joined[d] = 1.0
        if w.dropped[d] > 1.0:
            w.tiles[d] = w.counts[w.drop_slot[d], d]
            for s in range(w.drop_slot[d] + 1, slot):
                if p.slot_spatial[s] != 0:
                    w.tiles[d] *= w.trips[s, d]
    w.spread = 1.0
    w.separate = 1.0


@kernel
def join_axis(p: Problem, s: int, bottom: int, role: int, w: Scratch) -> None:
    """Join the tiles of one spatial slot into one transfer (multicast, or reduction of an output).

    `bottom` is the slot where the transfer began. Tiles of neighbours touch if the step of the spatial loop
    is what is joined already; else temporal loops inside keep them apart.
    """
    fanout = p.slot_owner[s]
    joins = p.joins[fanout, role] > 0
    for d in range(p.dims):
        trips = w.trips[s, d]
        if trips == 1:
            continue
        if not joins and (role != OUTPUT or p.relevant[OUTPUT, d] == 0):
            w.separate *= trips
            continue
        w.joined[d] *= trips
        if w.dropped[d] > 1.0:
            w.tiles[d] = w.counts[s, d] if s < w.drop_slot[d] else w.tiles[d] / trips
            continue
        if w.above[s + 1, d] == w.span[d]:
            w.span[d] = w.above[s, d]
            w.tiles[d] = w.counts[s, d]
            continue
        between = 1.0
        for inner in range(s + 1, bottom):
            if p.slot_spatial[inner] == 0:
                between *= w.trips[inner, d]
        w.tiles[d] = w.counts[s, d] * between
        if p.window[role, d] != 0:
            w.spread *= trips
        else:
            w.span[d] = min(p.extents[d], w.span[d] * trips)


@kernel
def reduction_trips(p: Problem, slot: int, spatial: bool, w: Scratch) -> float:
    """Trips of reduction loops above a slot: temporal ones that are not dropped, or spatial ones."""
    trips = 1.0
    for s in range(slot):
        if (p.slot_spatial[s] != 0) != spatial:
            continue
        for d in range(p.dims):
            if p.relevant[OUTPUT, d] == 0:
                trips *= w.trips[s, d]
    if not spatial:
        for d in range(p.dims):
            trips /= w.dropped[d]
    return trips
