"""Fast estimate of a candidate's energy and latency, over flat arrays.

A candidate is a *genome*: one integer per slot and dimension (the trips of the loop of that dimension in that
slot), then one flag per memory and role (kept there or not), then one loop order per memory. Slots are the places
for loops, outermost first: one temporal slot below each memory and one spatial slot per fanout axis. Tiles are
nested: the tile above a slot is the tile below times the trips, cut at the layer's extent; the outermost slot
takes what is left.

The estimate follows the counting rules with averages where remainders make tiles differ, and with all transfers
of double-buffered keeps overlapped. It only ranks candidates; every answer is costed by the exact model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seada.model.jit import kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WEIGHT, INPUT, OUTPUT = 0, 1, 2
ACCUMULATOR_BITS, OUTPUT_BITS = 2, 3
# Columns of `tables`.
TABLE_SUM, TABLE_SLIDE_FIRST, TABLE_SLIDE_SECOND, TABLE_LARGEST = 0, 1, 2, 3

MAX_DIMS, MAX_MEMORIES, MAX_FANOUTS, MAX_SLOTS, MAX_AXES, MAX_ORDERS = 12, 10, 9, 28, 24, 64
MAX_LEVELS = 3 * MAX_MEMORIES

# One layer on one set-up. Records of fixed size keep the compiled code free of reference counting, which took
# nine tenths of the time when the same fields were arrays in a tuple. Extents are floats like all counts here:
# exact up to 2^53, and faster to divide.
PROBLEM = np.dtype(
    [
        ("dims", np.int64),
        ("slots", np.int64),
        ("memories", np.int64),
        ("fanouts", np.int64),
        ("axes", np.int64),
        ("orders", np.int64),
        # Per dimension, and per operand and dimension: 1 where the operand depends on it.
        ("extents", np.float64, (MAX_DIMS,)),
        ("relevant", np.int64, (3, MAX_DIMS)),
        # 1 where the dimension is one of two that make a sliding window of the operand.
        ("window", np.int64, (3, MAX_DIMS)),
        # Per operand axis; `axis_base` is a row of `tables`, or -1 for a plain dimension; `axis_second` may be -1.
        ("axis_role", np.int64, (MAX_AXES,)),
        ("axis_first", np.int64, (MAX_AXES,)),
        ("axis_second", np.int64, (MAX_AXES,)),
        ("axis_base", np.int64, (MAX_AXES,)),
        ("axis_row", np.int64, (MAX_AXES,)),
        # Per slot: 1 if spatial, index of its memory or fanout, instances of its axis; loops allowed and fixed.
        ("slot_spatial", np.int64, (MAX_SLOTS,)),
        ("slot_owner", np.int64, (MAX_SLOTS,)),
        ("slot_size", np.int64, (MAX_SLOTS,)),
        ("allowed", np.int64, (MAX_SLOTS, MAX_DIMS)),
        ("fixed", np.int64, (MAX_SLOTS, MAX_DIMS)),
        # Per memory; sizes in words, -1 without limit; rates in words per cycle, 0 without limit.
        ("memory_slot", np.int64, (MAX_MEMORIES,)),
        ("size_words", np.float64, (MAX_MEMORIES,)),
        ("word_bits", np.float64, (MAX_MEMORIES,)),
        ("read_energy", np.float64, (MAX_MEMORIES,)),
        ("write_energy", np.float64, (MAX_MEMORIES,)),
        ("read_rate", np.float64, (MAX_MEMORIES,)),
        ("write_rate", np.float64, (MAX_MEMORIES,)),
        ("shared_rate", np.float64, (MAX_MEMORIES,)),
        ("aligned", np.int64, (MAX_MEMORIES,)),
        ("accumulates", np.int64, (MAX_MEMORIES,)),
        ("buffers", np.int64, (MAX_MEMORIES, 3)),
        # 0 never, 1 may, 2 must.
        ("keeps", np.int64, (MAX_MEMORIES, 3)),
        # Memory where each operand rests; role that a constraint makes stationary, dimension of kernel rows that
        # a constraint keeps together (-1 if none).
        ("home", np.int64, (3,)),
        ("stationary", np.int64),
        ("row_dim", np.int64),
        # Per fanout; `joins` by role: multicast of weight and input, reduction of output.
        ("joins", np.int64, (MAX_FANOUTS, 3)),
        ("addition_energy", np.float64, (MAX_FANOUTS,)),
        ("mesh", np.int64, (MAX_FANOUTS,)),
        ("hop_energy", np.float64, (MAX_FANOUTS,)),
        ("link_rate", np.float64, (MAX_FANOUTS,)),
        ("ramp_role", np.int64, (MAX_FANOUTS,)),
        ("ramp_cycles", np.float64, (MAX_FANOUTS,)),
        ("step_cycles", np.float64),
        ("step_energy", np.float64),
        ("leakage", np.float64),
        ("lane_slot", np.int64),
        # Weight, input, accumulator, output.
        ("bits", np.float64, (4,)),
        # Loop orders, dimensions innermost first.
        ("order", np.int64, (MAX_ORDERS, MAX_DIMS)),
    ]
)

# Work space of one estimate, so that the inner loop allocates nothing.
SCRATCH = np.dtype(
    [
        # Of the candidate: operands kept, order per memory; extents above each slot, trips in it, tiles of
        # these extents along each dimension, temporal steps of one instance inside them, and the number of
        # instances that share the tiles if the busiest counts.
        ("kept", np.int64, (MAX_MEMORIES, 3)),
        ("chosen", np.int64, (MAX_MEMORIES,)),
        ("above", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("trips", np.float64, (MAX_SLOTS, MAX_DIMS)),
        ("counts", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("inner", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("active", np.float64, (MAX_SLOTS + 1,)),
        # Of the keep in hand: trips of loops that leave its tile alone and the outermost slot with such a
        # loop of this dimension, whether the tile changes at all, the loop
        # along which it slides. Of a transfer through fanouts: extents of the joined tile, such transfers along
        # each dimension, instances joined, those of them whose windows lie apart, instances not joined.
        ("dropped", np.float64, (MAX_DIMS,)),
        ("drop_slot", np.int64, (MAX_DIMS,)),
        ("changes", np.int64),
        ("slide_dim", np.int64),
        ("slide_trips", np.float64),
        ("span", np.float64, (MAX_DIMS,)),
        ("tiles", np.float64, (MAX_DIMS,)),
        ("joined", np.float64, (MAX_DIMS,)),
        ("spread", np.float64),
        ("separate", np.float64),
        # Sums: words of the first tiles (or last ones) by port, bits per fanout instance.
        ("first_reads", np.float64, (MAX_MEMORIES,)),
        ("first_writes", np.float64, (MAX_MEMORIES,)),
        # Per instance: words by port that one pass moves so far, from the MACs outwards.
        ("load_reads", np.float64, (MAX_MEMORIES,)),
        ("load_writes", np.float64, (MAX_MEMORIES,)),
        # Per keep below the outermost of its operand: steps at which its tile changes, the memories on both
        # sides, words per instance at their ports without the first fill or last drain, cycles that nothing
        # overlaps.
        ("levels", np.int64),
        ("level_steps", np.float64, (MAX_LEVELS,)),
        ("level_parent", np.int64, (MAX_LEVELS,)),
        ("level_child", np.int64, (MAX_LEVELS,)),
        ("level_words", np.float64, (MAX_LEVELS, 4)),
        ("level_exposed", np.float64, (MAX_LEVELS,)),
        ("link_bits", np.float64, (MAX_FANOUTS,)),
        ("energy", np.float64),
        ("ramp", np.float64),
        ("chain", np.float64),
    ]
)

# Records of these types; numpy has no static type for the fields of a record.
Problem = Any
Scratch = Any


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
def tile_words(p: Problem, memory: int, elements: float, bits: float) -> float:
    """Whole words of one transfer or tile."""
    word = p.word_bits[memory]
    if p.aligned[memory] > 0:
        per_word = np.floor(word / bits)
        return np.ceil(elements / per_word) if per_word >= 1 else elements * np.ceil(bits / word)
    return np.ceil(elements * bits / word)


@kernel
def moved_words(
    p: Problem, memory: int, transfers: float, total: float, largest: float, bits: float
) -> float:
    """Words of `transfers` transfers that move `total` elements together, at most `largest` each."""
    if total <= 0 or transfers <= 0:
        return 0.0
    share = total / (transfers * largest)
    return transfers * max(1.0, tile_words(p, memory, largest, bits) * min(1.0, share))


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

    `bottom` is the slot where the transfer began. Tiles of neighbours touch if the step of the spatial loop is
    what is joined already; else temporal loops inside keep them apart.
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
def charge_link(p: Problem, s: int, hops_in: float, hops_out: float, bits: float, w: Scratch) -> None:
    """Energy and bits of one fanout whose outermost axis is slot `s`."""
    fanout = p.slot_owner[s]
    hops = hops_in if p.mesh[fanout] > 0 else hops_out
    w.energy += hops * bits * p.hop_energy[fanout]
    w.link_bits[fanout] += hops_out * bits / w.active[s]


@kernel
def is_outermost_axis(p: Problem, s: int) -> bool:
    """Whether slot `s` is the outermost axis of its fanout."""
    return s == 0 or p.slot_spatial[s - 1] == 0 or p.slot_owner[s - 1] != p.slot_owner[s]


@kernel
def has_link_cost(p: Problem, s: int) -> bool:
    """Whether traffic through the fanout of slot `s` costs energy or time."""
    fanout = p.slot_owner[s]
    return p.hop_energy[fanout] > 0 or p.link_rate[fanout] > 0


@kernel
def port_cycles(p: Problem, memory: int, reads: float, writes: float) -> float:
    """Cycles that the busiest port of a memory needs for these words."""
    cycles = 0.0
    if p.read_rate[memory] > 0:
        cycles = max(cycles, reads / p.read_rate[memory])
    if p.write_rate[memory] > 0:
        cycles = max(cycles, writes / p.write_rate[memory])
    if p.shared_rate[memory] > 0:
        cycles = max(cycles, (reads + writes) / p.shared_rate[memory])
    return cycles


@kernel
def add_level(p: Problem, parent: int, child: int, steps: float, w: Scratch) -> int:
    """Number of a new level of the timing, without words yet."""
    level = w.levels
    w.levels += 1
    w.level_steps[level] = max(1.0, steps)
    w.level_parent[level] = parent
    w.level_child[level] = child
    w.level_exposed[level] = 0.0
    for port in range(4):
        w.level_words[level, port] = 0.0
    return level


@kernel
def read_for_fills(
    p: Problem, tables: FloatArray, role: int, parent: int, child: int, w: Scratch
) -> None:
    """Charge the fills of a weight or input keep in memory `child` from memory `parent`."""
    top, bottom = p.memory_slot[parent], p.memory_slot[child]
    fills = scan_above(p, role, bottom, w)
    bits = p.bits[role]
    start_union(p, bottom, w)
    total = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
    transfers = positions(p, w, role, False)
    tile = largest_tile(p, tables, role, w)
    written = moved_words(p, child, transfers, total, tile, bits)
    w.energy += written * p.write_energy[child]
    inside = total
    for s in range(bottom - 1, top, -1):
        if p.slot_spatial[s] == 0:
            continue
        join_axis(p, s, bottom, role, w)
        if is_outermost_axis(p, s) and has_link_cost(p, s):
            outside = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
            charge_link(p, s, inside, outside, bits, w)
            inside = outside
    total = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
    transfers = positions(p, w, role, False) / w.separate
    largest = largest_tile(p, tables, role, w) * w.spread * w.separate
    read = moved_words(p, parent, transfers, total, largest, bits)
    w.energy += read * p.read_energy[parent]
    first_read = tile_words(p, parent, largest, bits)
    first_write = tile_words(p, child, tile, bits)
    w.first_reads[parent] += first_read
    w.first_writes[child] += first_write
    slowest = max(port_cycles(p, parent, first_read, 0.0), port_cycles(p, child, 0.0, first_write))
    w.chain += slowest
    level = add_level(p, parent, child, fills, w)
    w.level_words[level, 0] = read / w.active[top] - first_read
    w.level_words[level, 3] = written / w.active[bottom] - first_write
    if p.buffers[child, role] == 1:
        w.level_exposed[level] = slowest * min(1.0, total / (transfers * largest)) * (fills - 1.0)


@kernel
def read_for_macs(p: Problem, tables: FloatArray, role: int, parent: int, w: Scratch) -> None:
    """Charge the reads of a weight or input by the MACs at its innermost keep."""
    bits = p.bits[role]
    drop_nothing(p, w)
    bottom = p.slots
    start_union(p, bottom, w)
    inside = positions(p, w, role, False)
    macs = inside
    for s in range(p.slots - 1, p.memory_slot[parent], -1):
        if p.slot_spatial[s] == 0:
            continue
        join_axis(p, s, bottom, role, w)
        if is_outermost_axis(p, s) and has_link_cost(p, s):
            outside = positions(p, w, role, False) * largest_tile(p, tables, role, w) * w.spread
            charge_link(p, s, inside, outside, bits, w)
            inside = outside
    steps = positions(p, w, role, False)
    # Idle instances leave elements out only along dimensions of the operand.
    used = 1.0
    for d in range(p.dims):
        if p.relevant[role, d] != 0:
            used *= p.extents[d] / (w.tiles[d] * w.joined[d])
    steps /= w.separate
    largest = largest_tile(p, tables, role, w) * w.spread * w.separate
    words = moved_words(p, parent, steps, steps * largest * used, largest, bits)
    w.load_reads[parent] += words / w.active[p.memory_slot[parent]]
    w.energy += words * p.read_energy[parent]


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


@kernel
def add_on_the_way(p: Problem, bottom: int, top: int, outputs: float, bits: float, w: Scratch) -> float:
    """Sums that arrive above slot `top` of those that leave slot `bottom`; charges additions and links."""
    sums = outputs * positions(p, w, OUTPUT, True)
    leaving = sums
    for s in range(bottom - 1, top, -1):
        if p.slot_spatial[s] == 0:
            continue
        fanout = p.slot_owner[s]
        before = sums
        join_axis(p, s, bottom, OUTPUT, w)
        sums = outputs * positions(p, w, OUTPUT, True)
        w.energy += (before - sums) * p.bits[ACCUMULATOR_BITS] * p.addition_energy[fanout]
        if is_outermost_axis(p, s) and has_link_cost(p, s):
            charge_link(p, s, leaving, sums, bits, w)
            leaving = sums
    return sums


@kernel
def write_sums(p: Problem, memory: int, transfers: float, sums: float, complete: float, w: Scratch) -> float:
    """Words of sums of which `complete` are written at output width."""
    largest = sums / transfers
    share = complete / sums
    words = moved_words(p, memory, transfers * share, complete, largest, p.bits[OUTPUT_BITS])
    return words + moved_words(
        p, memory, transfers * (1.0 - share), sums - complete, largest, p.bits[ACCUMULATOR_BITS]
    )


@kernel
def drain_sums(p: Problem, tables: FloatArray, parent: int, child: int, w: Scratch) -> None:
    """Charge drains and returning fills of the output between two memories."""
    top, bottom = p.memory_slot[parent], p.memory_slot[child]
    changes = scan_above(p, OUTPUT, bottom, w)
    visits = reduction_trips(p, bottom, False, w)
    outside = reduction_trips(p, top, True, w)
    start_union(p, bottom, w)
    outputs = summed_tiles(p, tables, OUTPUT, w)
    drained = outputs * positions(p, w, OUTPUT, True)
    transfers = positions(p, w, OUTPUT, False)
    own_complete = outputs if reduction_trips(p, bottom, True, w) == 1.0 else 0.0
    read = write_sums(p, child, transfers, drained, min(own_complete, drained), w)
    arrived = add_on_the_way(p, bottom, top, outputs, p.bits[ACCUMULATOR_BITS], w)
    arrivals = max(1.0, positions(p, w, OUTPUT, False) / w.separate)
    complete = outputs if outside == 1.0 and w.separate == 1.0 else 0.0
    written = write_sums(p, parent, arrivals, arrived, min(complete, arrived), w)
    returned, added = 0.0, 0.0
    if w.separate == 1.0:
        returned = outputs * outside * (visits - 1.0)
    else:
        added = max(0.0, arrived - outputs * outside)
    accumulator = p.bits[ACCUMULATOR_BITS]
    read_again, filled = 0.0, 0.0
    if max(returned, added) > 0:
        share = max(returned, added) / arrived
        read_again = moved_words(p, parent, arrivals * share, arrived * share, arrived / arrivals, accumulator)
    if returned > 0:
        share = returned / drained
        filled = moved_words(p, child, transfers * share, returned, drained / transfers, accumulator)
    w.energy += read * p.read_energy[child] + written * p.write_energy[parent]
    w.energy += read_again * p.read_energy[parent] + filled * p.write_energy[child]
    last_write, last_read = written / arrivals, read / transfers
    w.first_writes[parent] += last_write
    w.first_reads[child] += last_read
    slowest = max(port_cycles(p, parent, 0.0, last_write), port_cycles(p, child, last_read, 0.0))
    w.chain += slowest
    level = add_level(p, parent, child, changes, w)
    w.level_words[level, 0] = read_again / w.active[top]
    w.level_words[level, 1] = written / w.active[top] - last_write
    w.level_words[level, 2] = read / w.active[bottom] - last_read
    w.level_words[level, 3] = filled / w.active[bottom]
    if p.buffers[child, OUTPUT] == 1:
        w.level_exposed[level] = slowest * (changes - 1.0) * (1.0 + returned / max(1.0, arrived))


@kernel
def accumulate_macs(p: Problem, tables: FloatArray, parent: int, w: Scratch) -> None:
    """Charge what the MACs write to and read from the innermost keep of the output."""
    slot = p.memory_slot[parent]
    scan_above(p, OUTPUT, slot, w)
    outside = reduction_trips(p, slot, True, w)
    start_union(p, slot, w)
    outputs = summed_tiles(p, tables, OUTPUT, w)
    visits = reduction_trips(p, slot, False, w)
    resting = parent == p.home[OUTPUT]
    continued = 0.0 if resting else outputs * (visits - 1.0)
    started = outputs if resting else outputs * outside * visits - continued
    drop_nothing(p, w)
    bottom = p.slots
    start_union(p, bottom, w)
    arrived = add_on_the_way(p, bottom, slot, outputs, p.bits[ACCUMULATOR_BITS], w)
    steps = max(1.0, positions(p, w, OUTPUT, False) / w.separate)
    complete = outputs if outside == 1.0 and w.separate == 1.0 else 0.0
    words = write_sums(p, parent, steps, arrived, min(complete, arrived), w)
    w.load_writes[parent] += words / w.active[slot]
    w.energy += words * p.write_energy[parent]
    again = max(0.0, arrived - started)
    if again > 0:
        words = moved_words(
            p, parent, steps * again / arrived, again, arrived / steps, p.bits[ACCUMULATOR_BITS]
        )
        w.load_reads[parent] += words / w.active[slot]
        w.energy += words * p.read_energy[parent]


@kernel
def sums_stay_open(p: Problem, slot: int, child: int, w: Scratch) -> bool:
    """Whether a keep of the output at `slot` ever receives sums that are not complete.

    `child` is the slot of the next inner keep of the output, or the number of slots for the MACs.
    """
    if reduction_trips(p, slot, True, w) > 1:
        return True
    for s in range(slot, child):
        fanout = p.slot_owner[s]
        if p.slot_spatial[s] != 0 and p.joins[fanout, OUTPUT] == 0:
            for d in range(p.dims):
                if p.relevant[OUTPUT, d] == 0 and w.trips[s, d] > 1:
                    return True
    if child == p.slots:
        drop_nothing(p, w)
    else:
        scan_above(p, OUTPUT, child, w)
    return reduction_trips(p, child, False, w) > 1.5


@kernel
def next_keep(p: Problem, role: int, memory: int, w: Scratch) -> int:
    """Next inner memory that keeps the operand; the number of memories if the MACs are next."""
    inner = memory + 1
    while inner < p.memories and w.kept[inner, role] == 0:
        inner += 1
    return inner


@kernel
def fits(p: Problem, tables: FloatArray, w: Scratch) -> bool:
    """Whether the tiles of every memory fit, all buffers counted."""
    memories = p.memories
    for m in range(memories):
        if p.size_words[m] < 0:
            continue
        words = 0.0
        slot = p.memory_slot[m]
        for role in range(3):
            if w.kept[m, role] == 0:
                continue
            bits = p.bits[role]
            if role == OUTPUT:
                inner = next_keep(p, role, m, w)
                child = p.slots if inner == memories else p.memory_slot[inner]
                open_sums = sums_stay_open(p, slot, child, w)
                bits = p.bits[ACCUMULATOR_BITS] if open_sums else p.bits[OUTPUT_BITS]
            scan_above(p, role, slot, w)
            start_union(p, slot, w)
            buffers = p.buffers[m, role] if w.changes > 0 else 1
            words += buffers * tile_words(p, m, largest_tile(p, tables, role, w), bits)
            if words > p.size_words[m]:
                return False
    return True


@kernel
def accumulation_allowed(p: Problem, w: Scratch) -> bool:
    """Whether sums from several instances meet only in memories that accumulate."""
    memories = p.memories
    for m in range(memories):
        if w.kept[m, OUTPUT] == 0 or p.accumulates[m] > 0:
            continue
        inner = next_keep(p, OUTPUT, m, w)
        child = p.slots if inner == memories else p.memory_slot[inner]
        for s in range(p.memory_slot[m], child):
            fanout = p.slot_owner[s]
            if p.slot_spatial[s] != 0 and p.joins[fanout, OUTPUT] == 0:
                for d in range(p.dims):
                    if p.relevant[OUTPUT, d] == 0 and w.trips[s, d] > 1:
                        return False
    return True


@kernel
def innermost_keep(p: Problem, role: int, w: Scratch) -> int:
    """The memory that feeds the MACs with an operand (or takes their sums)."""
    memory = p.memories - 1
    while w.kept[memory, role] == 0:
        memory -= 1
    return memory


@kernel
def follows_dataflow(p: Problem, w: Scratch) -> bool:
    """Whether the declared dataflow holds: see `Constraints.dataflow`."""
    if p.row_dim >= 0:
        last = max(innermost_keep(p, WEIGHT, w), innermost_keep(p, INPUT, w))
        for s in range(p.slots):
            if w.trips[s, p.row_dim] > 1 and (p.slot_spatial[s] != 0 or s < p.memory_slot[last]):
                return False
    if p.stationary < 0:
        return True
    role = p.stationary
    inner = innermost_keep(p, role, w)
    if inner == p.home[role]:
        return True
    outer = inner - 1
    while w.kept[outer, role] == 0:
        outer -= 1
    resting = False
    for s in range(p.memory_slot[outer], p.memory_slot[inner]):
        if p.slot_spatial[s] != 0:
            continue
        order = w.chosen[p.slot_owner[s]]
        for position in range(p.dims - 1, -1, -1):
            d = p.order[order, position]
            if w.trips[s, d] > 1 and p.relevant[role, d] == 0:
                resting = True
            elif w.trips[s, d] > 1 and resting:
                return False
    return True


@kernel
def charge_chain(p: Problem, tables: FloatArray, role: int, w: Scratch) -> float:
    """Charge everything that one operand moves; returns the cycles of its first fills (last drains)."""
    memories = p.memories
    w.chain = 0.0
    parent = p.home[role]
    while True:
        child = next_keep(p, role, parent, w)
        if child == memories:
            break
        if role == OUTPUT:
            drain_sums(p, tables, parent, child, w)
        else:
            read_for_fills(p, tables, role, parent, child, w)
        parent = child
    if role == OUTPUT:
        accumulate_macs(p, tables, parent, w)
    else:
        read_for_macs(p, tables, role, parent, w)
    charge_ramps(p, role, parent, w)
    return w.chain


@kernel
def charge_ramps(p: Problem, role: int, innermost: int, w: Scratch) -> None:
    """Cycles of array fill and drain for fanouts whose stationary operand is `role`."""
    for f in range(p.fanouts):
        if p.ramp_role[f] != role:
            continue
        times = 1.0
        if innermost != p.home[role] and p.buffers[innermost, role] == 1:
            times = scan_above(p, role, p.memory_slot[innermost], w)
        w.ramp += times * p.ramp_cycles[f]


@kernel
def clear_sums(p: Problem, w: Scratch) -> None:
    """Begin a new estimate."""
    for m in range(p.memories):
        w.load_reads[m] = 0.0
        w.load_writes[m] = 0.0
    for f in range(p.fanouts):
        w.link_bits[f] = 0.0
    w.levels = 0
    w.energy = 0.0
    w.ramp = 0.0


@kernel
def clear_first(p: Problem, w: Scratch) -> None:
    """Begin to sum up first fills or last drains."""
    for m in range(p.memories):
        w.first_reads[m] = 0.0
        w.first_writes[m] = 0.0


@kernel
def pass_cycles(p: Problem, compute: float, w: Scratch) -> float:
    """Cycles of the whole nest, level by level from the inside.

    In all steps of a level but one, the pass below overlaps with the level's transfers for a neighbouring
    step and with all that inner levels move on the same ports.
    """
    cycles = compute
    for m in range(p.memories):
        cycles = max(cycles, port_cycles(p, m, w.load_reads[m], w.load_writes[m]))
    for _ in range(w.levels):
        level = 0
        for other in range(1, w.levels):
            if w.level_steps[other] > w.level_steps[level]:
                level = other
        steps = w.level_steps[level]
        w.level_steps[level] = 0.0
        overlapped = cycles * (steps - 1.0) / steps
        alone = cycles / steps
        for side in range(2):
            memory = w.level_parent[level] if side == 0 else w.level_child[level]
            reads, writes = w.level_words[level, 2 * side], w.level_words[level, 2 * side + 1]
            inside = (steps - 1.0) / steps
            overlapped = max(
                overlapped,
                port_cycles(
                    p, memory, reads + inside * w.load_reads[memory], writes + inside * w.load_writes[memory]
                ),
            )
            w.load_reads[memory] += reads
            w.load_writes[memory] += writes
        cycles = overlapped + alone + w.level_exposed[level]
    return cycles


@kernel
def estimate(p: Problem, tables: FloatArray, genome: IntArray, w: Scratch) -> tuple[float, float]:
    """Energy in pJ and latency in cycles of a candidate; infinite if it is no legal mapping."""
    if not unroll(p, genome, w) or not fits(p, tables, w):
        return np.inf, np.inf
    if not accumulation_allowed(p, w) or not follows_dataflow(p, w):
        return np.inf, np.inf
    count_tiles(p, w)
    clear_sums(p, w)
    first_fill, last_drain = 0.0, 0.0
    for role in range(3):
        if role != INPUT:
            clear_first(p, w)
        longest = charge_chain(p, tables, role, w)
        for m in range(p.memories):
            longest = max(longest, port_cycles(p, m, w.first_reads[m], w.first_writes[m]))
        if role == OUTPUT:
            last_drain = longest
        else:
            first_fill = max(first_fill, longest)
    steps, pe_steps = 1.0, 1.0
    for d in range(p.dims):
        steps *= w.inner[0, d]
        pe_steps *= w.counts[p.lane_slot, d]
    body = pass_cycles(p, steps * p.step_cycles, w)
    for f in range(p.fanouts):
        if p.link_rate[f] > 0:
            body = max(body, w.link_bits[f] / p.link_rate[f])
    latency = np.ceil(first_fill + body + last_drain + w.ramp)
    energy = w.energy + pe_steps * p.step_energy + latency * p.leakage
    return energy, latency
