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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seada.model.jit import kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WEIGHT, INPUT, OUTPUT = 0, 1, 2
ACCUMULATOR_BITS, OUTPUT_BITS = 2, 3
# Columns of Problem.axes.
AXIS_ROLE, AXIS_FIRST, AXIS_SECOND, AXIS_BASE, AXIS_ROW = 0, 1, 2, 3, 4
# Columns of Problem.tables.
TABLE_SUM, TABLE_SLIDE_FIRST, TABLE_SLIDE_SECOND, TABLE_LARGEST = 0, 1, 2, 3
# Columns of Problem.slots.
SLOT_SPATIAL, SLOT_OWNER, SLOT_SIZE = 0, 1, 2
# Columns of Problem.memories.
SIZE, WORD, READ_ENERGY, WRITE_ENERGY, READ_RATE, WRITE_RATE, SHARED_RATE, ALIGNED = 0, 1, 2, 3, 4, 5, 6, 7
ACCUMULATES = 8
# Columns of Problem.fanouts; columns 0 and 1 tell whether weight and input are multicast.
REDUCES, ADDITION_ENERGY, MESH, HOP_ENERGY, LINK_RATE, RAMP_ROLE, RAMP_CYCLES = 2, 3, 4, 5, 6, 7, 8
# Entries of Problem.compute.
STEP_CYCLES, STEP_ENERGY, LEAKAGE, LANE_SLOT = 0, 1, 2, 3


class Problem(NamedTuple):
    """One layer on one set-up as arrays.

    Attributes
    ----------
    extents : (dims,) of the layer; dimensions of extent 1 are left out
    relevant : (3, dims), 1 where the operand depends on the dimension
    axes : (axes, 5) role, first and second dimension (-1 if none), base row in `tables` (-1 if plain), row length
    tables : (rows, 4) for axes that are no plain dimension, by the extents of the two dimensions: elements
        summed over all tiles; the same if only elements new since the last tile along the first (second)
        dimension count; elements of the largest tile
    slots : (slots, 3) spatial or not, index of the memory or fanout, instances of the axis
    allowed : (slots, dims), 1 where a loop may stand
    fixed : (slots, dims) trips demanded by a constraint, 0 where free
    memories, fanouts, compute : coefficients, see the columns above
    memory_slots : (memories,) slot below each memory
    buffers, keeps : (memories, 3) tiles held; 0 never, 1 may, 2 must keep
    bits : weight, input, accumulator, output
    orders : (orders, dims) dimensions innermost first
    """

    extents: IntArray
    relevant: IntArray
    axes: IntArray
    tables: FloatArray
    slots: IntArray
    allowed: IntArray
    fixed: IntArray
    memories: FloatArray
    fanouts: FloatArray
    compute: FloatArray
    memory_slots: IntArray
    buffers: IntArray
    keeps: IntArray
    bits: FloatArray
    orders: IntArray


class Scratch(NamedTuple):
    """Work space of one estimate, so that the inner loop allocates nothing.

    Attributes
    ----------
    above : (slots + 1, dims) extents above each slot
    trips : (slots, dims)
    dropped : (dims,) trips of loops that leave a tile alone
    union : (dims,) extents joined over multicasting fanouts
    reads, writes : (memories,) words
    fill : (memories, 2) words of the first tiles by port
    link_bits : (fanouts,)
    active : (slots + 1,) average number of instances with work
    state : (8,) results of inner functions, see the names below
    """

    above: IntArray
    trips: IntArray
    dropped: IntArray
    union: IntArray
    reads: FloatArray
    writes: FloatArray
    fill: FloatArray
    link_bits: FloatArray
    active: FloatArray
    state: FloatArray


# Entries of Scratch.state.
ENERGY, SLIDE_DIM, SLIDE_TRIPS, EXPOSED, RAMP, CHAIN, SEPARATE, CHANGES = 0, 1, 2, 3, 4, 5, 6, 7


@kernel
def ceil_div(numerator: int, denominator: int) -> int:
    """Quotient rounded up."""
    return -(-numerator // denominator)


@kernel
def unroll(p: Problem, genome: IntArray, w: Scratch) -> None:
    """Extents above each slot, trips, and average active instances below each slot, from a genome."""
    slots, dims = p.slots.shape[0], p.extents.shape[0]
    for d in range(dims):
        w.above[slots, d] = 1
        for s in range(slots - 1, 0, -1):
            w.above[s, d] = min(p.extents[d], w.above[s + 1, d] * genome[s * dims + d])
        w.above[0, d] = p.extents[d]
        for s in range(slots):
            w.trips[s, d] = ceil_div(w.above[s, d], w.above[s + 1, d])
    for s in range(slots + 1):
        active = 1.0
        for d in range(dims):
            active *= ceil_div(p.extents[d], w.above[s, d])
            for outer in range(s):
                if p.slots[outer, SLOT_SPATIAL] == 0:
                    active /= w.trips[outer, d]
        w.active[s] = max(1.0, active)


@kernel
def spatial_fits(p: Problem, w: Scratch) -> bool:
    """Whether no axis has more trips than instances and every loop stands where it may."""
    for s in range(p.slots.shape[0]):
        if p.slots[s, SLOT_SPATIAL] == 0:
            continue
        used = 1
        for d in range(p.extents.shape[0]):
            trips = w.trips[s, d]
            if trips > 1 and p.allowed[s, d] == 0:
                return False
            if p.fixed[s, d] > 0 and trips != min(p.fixed[s, d], p.extents[d]):
                return False
            used *= trips
        if used > p.slots[s, SLOT_SIZE]:
            return False
    return True


@kernel
def largest_tile(p: Problem, role: int, extents: IntArray) -> float:
    """Elements of the largest tile of an operand with these extents."""
    elements = 1.0
    for a in range(p.axes.shape[0]):
        if p.axes[a, AXIS_ROLE] != role:
            continue
        first = extents[p.axes[a, AXIS_FIRST]]
        if p.axes[a, AXIS_BASE] < 0:
            elements *= first
        else:
            second = extents[p.axes[a, AXIS_SECOND]] if p.axes[a, AXIS_SECOND] >= 0 else 1
            row = p.axes[a, AXIS_BASE] + first * p.axes[a, AXIS_ROW] + second
            elements *= p.tables[row, TABLE_LARGEST]
    return elements


@kernel
def summed_tiles(p: Problem, role: int, extents: IntArray, slide_dim: int, slide_trips: float) -> float:
    """Elements of all tiles of an operand together, each position of its own dimensions visited once.

    Along `slide_dim` all but one of `slide_trips` tiles bring only what the tile before did not hold.
    """
    elements = 1.0
    for a in range(p.axes.shape[0]):
        if p.axes[a, AXIS_ROLE] != role:
            continue
        first_dim, second_dim = p.axes[a, AXIS_FIRST], p.axes[a, AXIS_SECOND]
        if p.axes[a, AXIS_BASE] < 0:
            elements *= p.extents[first_dim]
            continue
        second = extents[second_dim] if second_dim >= 0 else 1
        row = p.axes[a, AXIS_BASE] + extents[first_dim] * p.axes[a, AXIS_ROW] + second
        total = p.tables[row, TABLE_SUM]
        if slide_dim >= 0 and (slide_dim == first_dim or slide_dim == second_dim):
            column = TABLE_SLIDE_FIRST if slide_dim == first_dim else TABLE_SLIDE_SECOND
            total = total / slide_trips + p.tables[row, column] * (slide_trips - 1.0) / slide_trips
        elements *= total
    return elements


@kernel
def tile_words(p: Problem, memory: int, elements: float, bits: float) -> float:
    """Whole words of one transfer or tile."""
    word = p.memories[memory, WORD]
    if p.memories[memory, ALIGNED] > 0:
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
def scan_above(p: Problem, genome: IntArray, role: int, slot: int, w: Scratch) -> float:
    """Loops above a keep: which leave its tile alone, and which one moves it.

    Fills ``w.dropped`` and the slide entries of ``w.state``; returns the steps of one instance at which its
    tile changes (the first one included).
    """
    dims = p.extents.shape[0]
    order_start = p.slots.shape[0] * dims + 3 * p.memories.shape[0]
    fills = 1.0
    moving = False
    w.dropped[:] = 1
    w.state[SLIDE_DIM] = -1
    w.state[SLIDE_TRIPS] = 1
    for s in range(slot - 1, -1, -1):
        if p.slots[s, SLOT_SPATIAL] != 0:
            continue
        order = genome[order_start + p.slots[s, SLOT_OWNER]]
        for position in range(dims):
            d = p.orders[order, position]
            trips = w.trips[s, d]
            if trips == 1:
                continue
            if not moving and p.relevant[role, d] == 0:
                w.dropped[d] *= trips
                continue
            # A window slides only if its own tile is the step of the loop, with no instances in between.
            if not moving and w.above[s + 1, d] == w.above[slot, d]:
                w.state[SLIDE_DIM] = d
                w.state[SLIDE_TRIPS] = trips
            moving = True
            fills *= trips
    w.state[CHANGES] = 1.0 if moving else 0.0
    return fills


@kernel
def positions(p: Problem, extents: IntArray, w: Scratch, role: int, only_irrelevant: bool) -> float:
    """Tiles of these extents along all (or all irrelevant) dimensions, loops in ``w.dropped`` taken out."""
    count = 1.0
    for d in range(p.extents.shape[0]):
        if only_irrelevant and p.relevant[role, d] != 0:
            continue
        count *= max(1.0, ceil_div(p.extents[d], extents[d]) / w.dropped[d])
    return count


@kernel
def join_axis(p: Problem, s: int, role: int, w: Scratch) -> None:
    """Join the tiles of one spatial slot into ``w.union`` (multicast, or reduction of an output)."""
    fanout = p.slots[s, SLOT_OWNER]
    column = REDUCES if role == OUTPUT else role
    joins = p.fanouts[fanout, column] > 0
    for d in range(p.extents.shape[0]):
        trips = w.trips[s, d]
        if trips == 1:
            continue
        if joins or (role == OUTPUT and p.relevant[OUTPUT, d] != 0):
            w.union[d] = min(p.extents[d], w.union[d] * trips)
        else:
            w.state[SEPARATE] *= trips


@kernel
def charge_link(p: Problem, s: int, hops_in: float, hops_out: float, bits: float, w: Scratch) -> None:
    """Energy and bits of one fanout whose outermost axis is slot `s`."""
    fanout = p.slots[s, SLOT_OWNER]
    hops = hops_in if p.fanouts[fanout, MESH] > 0 else hops_out
    w.state[ENERGY] += hops * bits * p.fanouts[fanout, HOP_ENERGY]
    w.link_bits[fanout] += hops_out * bits / w.active[s]


@kernel
def is_outermost_axis(p: Problem, s: int) -> bool:
    """Whether slot `s` is the outermost axis of its fanout."""
    return (
        s == 0 or p.slots[s - 1, SLOT_SPATIAL] == 0 or p.slots[s - 1, SLOT_OWNER] != p.slots[s, SLOT_OWNER]
    )


@kernel
def has_link_cost(p: Problem, s: int) -> bool:
    """Whether traffic through the fanout of slot `s` costs energy or time."""
    fanout = p.slots[s, SLOT_OWNER]
    return p.fanouts[fanout, HOP_ENERGY] > 0 or p.fanouts[fanout, LINK_RATE] > 0


@kernel
def read_for_fills(p: Problem, role: int, parent: int, child: int, fills: float, w: Scratch) -> float:
    """Charge the fills of a weight or input keep in memory `child` from memory `parent`; words of one fill."""
    top, bottom = p.memory_slots[parent], p.memory_slots[child]
    slide, slide_trips = int(w.state[SLIDE_DIM]), w.state[SLIDE_TRIPS]
    bits = p.bits[role]
    w.union[:] = w.above[bottom]
    w.state[SEPARATE] = 1.0
    total = summed_tiles(p, role, w.union, slide, slide_trips) * positions(p, w.union, w, role, True)
    transfers = positions(p, w.union, w, role, False)
    tile = largest_tile(p, role, w.union)
    written = moved_words(p, child, transfers, total, tile, bits)
    w.writes[child] += written
    w.state[ENERGY] += written * p.memories[child, WRITE_ENERGY]
    inside = total
    for s in range(bottom - 1, top, -1):
        if p.slots[s, SLOT_SPATIAL] == 0:
            continue
        join_axis(p, s, role, w)
        if is_outermost_axis(p, s) and has_link_cost(p, s):
            outside = summed_tiles(p, role, w.union, slide, slide_trips) * positions(p, w.union, w, role, True)
            charge_link(p, s, inside, outside, bits, w)
            inside = outside
    total = summed_tiles(p, role, w.union, slide, slide_trips) * positions(p, w.union, w, role, True)
    transfers = positions(p, w.union, w, role, False) / w.state[SEPARATE]
    largest = largest_tile(p, role, w.union) * w.state[SEPARATE]
    read = moved_words(p, parent, transfers, total, largest, bits)
    w.reads[parent] += read
    w.state[ENERGY] += read * p.memories[parent, READ_ENERGY]
    first_read = tile_words(p, parent, largest, bits)
    first_write = tile_words(p, child, tile, bits)
    w.fill[parent, 0] += first_read
    w.fill[child, 1] += first_write
    slowest = max(port_cycles(p, parent, first_read, 0.0), port_cycles(p, child, 0.0, first_write))
    w.state[CHAIN] += slowest
    return slowest * min(1.0, total / (transfers * largest)) * (fills - 1.0)


@kernel
def port_cycles(p: Problem, memory: int, reads: float, writes: float) -> float:
    """Cycles that the busiest port of a memory needs for these words."""
    cycles = 0.0
    if p.memories[memory, READ_RATE] > 0:
        cycles = max(cycles, reads / p.memories[memory, READ_RATE])
    if p.memories[memory, WRITE_RATE] > 0:
        cycles = max(cycles, writes / p.memories[memory, WRITE_RATE])
    if p.memories[memory, SHARED_RATE] > 0:
        cycles = max(cycles, (reads + writes) / p.memories[memory, SHARED_RATE])
    return cycles


@kernel
def read_for_macs(p: Problem, role: int, parent: int, w: Scratch) -> None:
    """Charge the reads of a weight or input by the MACs at its innermost keep."""
    bits = p.bits[role]
    w.union[:] = 1
    w.dropped[:] = 1
    w.state[SEPARATE] = 1.0
    inside = positions(p, w.union, w, role, False)
    macs = inside
    for s in range(p.slots.shape[0] - 1, p.memory_slots[parent], -1):
        if p.slots[s, SLOT_SPATIAL] == 0:
            continue
        join_axis(p, s, role, w)
        if is_outermost_axis(p, s) and has_link_cost(p, s):
            outside = positions(p, w.union, w, role, False) * largest_tile(p, role, w.union)
            charge_link(p, s, inside, outside, bits, w)
            inside = outside
    steps = positions(p, w.union, w, role, False)
    joined = 1.0
    for d in range(p.extents.shape[0]):
        joined *= w.union[d]
    used = macs / (steps * joined)
    steps /= w.state[SEPARATE]
    largest = largest_tile(p, role, w.union) * w.state[SEPARATE]
    words = moved_words(p, parent, steps, steps * largest * used, largest, bits)
    w.reads[parent] += words
    w.state[ENERGY] += words * p.memories[parent, READ_ENERGY]


@kernel
def reduction_trips(p: Problem, slot: int, spatial: bool, w: Scratch) -> float:
    """Trips of reduction loops above a slot: temporal ones that are not dropped, or spatial ones."""
    trips = 1.0
    for s in range(slot):
        if (p.slots[s, SLOT_SPATIAL] != 0) != spatial:
            continue
        for d in range(p.extents.shape[0]):
            if p.relevant[OUTPUT, d] == 0:
                trips *= w.trips[s, d]
    if not spatial:
        for d in range(p.extents.shape[0]):
            trips /= w.dropped[d]
    return trips


@kernel
def add_on_the_way(p: Problem, bottom: int, top: int, sums: float, bits: float, w: Scratch) -> float:
    """Sums that arrive above slot `top` of `sums` that leave slot `bottom`; charges additions and links."""
    leaving = sums
    for s in range(bottom - 1, top, -1):
        if p.slots[s, SLOT_SPATIAL] == 0:
            continue
        fanout = p.slots[s, SLOT_OWNER]
        before = sums
        join_axis(p, s, OUTPUT, w)
        if p.fanouts[fanout, REDUCES] > 0:
            for d in range(p.extents.shape[0]):
                if p.relevant[OUTPUT, d] == 0:
                    sums /= w.trips[s, d]
        w.state[ENERGY] += (before - sums) * p.bits[ACCUMULATOR_BITS] * p.fanouts[fanout, ADDITION_ENERGY]
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
def drain_sums(p: Problem, genome: IntArray, parent: int, child: int, w: Scratch) -> float:
    """Charge drains and returning fills of the output between two memories; exposed cycles if single buffered."""
    top, bottom = p.memory_slots[parent], p.memory_slots[child]
    changes = scan_above(p, genome, OUTPUT, bottom, w)
    visits = reduction_trips(p, bottom, False, w)
    outside = reduction_trips(p, top, True, w)
    w.union[:] = w.above[bottom]
    w.state[SEPARATE] = 1.0
    outputs = summed_tiles(p, OUTPUT, w.union, -1, 1.0)
    drained = outputs * positions(p, w.union, w, OUTPUT, True)
    transfers = positions(p, w.union, w, OUTPUT, False)
    own_complete = outputs if reduction_trips(p, bottom, True, w) == 1.0 else 0.0
    read = write_sums(p, child, transfers, drained, min(own_complete, drained), w)
    arrived = add_on_the_way(p, bottom, top, drained, p.bits[ACCUMULATOR_BITS], w)
    arrivals = max(1.0, positions(p, w.union, w, OUTPUT, False) / w.state[SEPARATE])
    complete = outputs if outside == 1.0 and w.state[SEPARATE] == 1.0 else 0.0
    written = write_sums(p, parent, arrivals, arrived, min(complete, arrived), w)
    returned, added = 0.0, 0.0
    if w.state[SEPARATE] == 1.0:
        returned = outputs * outside * (visits - 1.0)
    else:
        added = max(0.0, arrived - outputs * outside)
    again = max(returned, added)
    if again > 0:
        accumulator = p.bits[ACCUMULATOR_BITS]
        share = again / arrived
        words = moved_words(p, parent, arrivals * share, again, arrived / arrivals, accumulator)
        w.reads[parent] += words
        w.state[ENERGY] += words * p.memories[parent, READ_ENERGY]
    if returned > 0:
        words = moved_words(
            p, child, transfers * returned / drained, returned, drained / transfers, p.bits[ACCUMULATOR_BITS]
        )
        w.writes[child] += words
        w.state[ENERGY] += words * p.memories[child, WRITE_ENERGY]
    w.reads[child] += read
    w.writes[parent] += written
    w.state[ENERGY] += (
        read * p.memories[child, READ_ENERGY] + written * p.memories[parent, WRITE_ENERGY]
    )
    last_write, last_read = written / arrivals, read / transfers
    w.fill[parent, 1] += last_write
    w.fill[child, 0] += last_read
    slowest = max(port_cycles(p, parent, 0.0, last_write), port_cycles(p, child, last_read, 0.0))
    w.state[CHAIN] += slowest
    return slowest * (changes - 1.0) * (1.0 + returned / max(1.0, arrived))


@kernel
def accumulate_macs(p: Problem, genome: IntArray, parent: int, w: Scratch) -> None:
    """Charge what the MACs write to and read from the innermost keep of the output."""
    slot = p.memory_slots[parent]
    scan_above(p, genome, OUTPUT, slot, w)
    outside = reduction_trips(p, slot, True, w)
    outputs = summed_tiles(p, OUTPUT, w.above[slot], -1, 1.0)
    visits = reduction_trips(p, slot, False, w)
    continued = outputs * (visits - 1.0) if slot > 0 else 0.0
    started = outputs * outside * visits - continued if slot > 0 else outputs
    w.union[:] = 1
    w.dropped[:] = 1
    w.state[SEPARATE] = 1.0
    macs = positions(p, w.union, w, OUTPUT, False)
    arrived = add_on_the_way(p, p.slots.shape[0], slot, macs, p.bits[ACCUMULATOR_BITS], w)
    steps = max(1.0, positions(p, w.union, w, OUTPUT, False) / w.state[SEPARATE])
    complete = outputs if outside == 1.0 and w.state[SEPARATE] == 1.0 else 0.0
    words = write_sums(p, parent, steps, arrived, min(complete, arrived), w)
    w.writes[parent] += words
    w.state[ENERGY] += words * p.memories[parent, WRITE_ENERGY]
    again = max(0.0, arrived - started)
    if again > 0:
        words = moved_words(
            p, parent, steps * again / arrived, again, arrived / steps, p.bits[ACCUMULATOR_BITS]
        )
        w.reads[parent] += words
        w.state[ENERGY] += words * p.memories[parent, READ_ENERGY]


@kernel
def sums_stay_open(p: Problem, genome: IntArray, slot: int, child: int, w: Scratch) -> bool:
    """Whether a keep of the output at `slot` ever receives sums that are not complete.

    `child` is the slot of the next inner keep of the output, or the number of slots for the MACs.
    """
    if reduction_trips(p, slot, True, w) > 1:
        return True
    for s in range(slot, child):
        fanout = p.slots[s, SLOT_OWNER]
        if p.slots[s, SLOT_SPATIAL] != 0 and p.fanouts[fanout, REDUCES] == 0:
            for d in range(p.extents.shape[0]):
                if p.relevant[OUTPUT, d] == 0 and w.trips[s, d] > 1:
                    return True
    if child == p.slots.shape[0]:
        w.dropped[:] = 1
    else:
        scan_above(p, genome, OUTPUT, child, w)
    return reduction_trips(p, child, False, w) > 1.5


@kernel
def next_keep(p: Problem, genome: IntArray, role: int, memory: int) -> int:
    """Next inner memory that keeps the operand; the number of memories if the MACs are next."""
    base = p.slots.shape[0] * p.extents.shape[0]
    inner = memory + 1
    while inner < p.memories.shape[0] and genome[base + 3 * inner + role] == 0:
        inner += 1
    return inner


@kernel
def fits(p: Problem, genome: IntArray, w: Scratch) -> bool:
    """Whether the tiles of every memory fit, all buffers counted."""
    memories, dims = p.memories.shape[0], p.extents.shape[0]
    base = p.slots.shape[0] * dims
    for m in range(memories):
        if p.memories[m, SIZE] < 0:
            continue
        words = 0.0
        slot = p.memory_slots[m]
        for role in range(3):
            if genome[base + 3 * m + role] == 0:
                continue
            bits = p.bits[role]
            if role == OUTPUT:
                inner = next_keep(p, genome, role, m)
                child = p.slots.shape[0] if inner == memories else p.memory_slots[inner]
                open_sums = sums_stay_open(p, genome, slot, child, w)
                bits = p.bits[ACCUMULATOR_BITS] if open_sums else p.bits[OUTPUT_BITS]
            scan_above(p, genome, role, slot, w)
            buffers = p.buffers[m, role] if w.state[CHANGES] > 0 else 1
            words += buffers * tile_words(p, m, largest_tile(p, role, w.above[slot]), bits)
            if words > p.memories[m, SIZE]:
                return False
    return True


@kernel
def accumulation_allowed(p: Problem, genome: IntArray, w: Scratch) -> bool:
    """Whether sums from several instances meet only in memories that accumulate."""
    base = p.slots.shape[0] * p.extents.shape[0]
    memories = p.memories.shape[0]
    for m in range(memories):
        if genome[base + 3 * m + OUTPUT] == 0 or p.memories[m, ACCUMULATES] > 0:
            continue
        inner = next_keep(p, genome, OUTPUT, m)
        child = p.slots.shape[0] if inner == memories else p.memory_slots[inner]
        for s in range(p.memory_slots[m], child):
            fanout = p.slots[s, SLOT_OWNER]
            if p.slots[s, SLOT_SPATIAL] != 0 and p.fanouts[fanout, REDUCES] == 0:
                for d in range(p.extents.shape[0]):
                    if p.relevant[OUTPUT, d] == 0 and w.trips[s, d] > 1:
                        return False
    return True


@kernel
def charge_chain(p: Problem, genome: IntArray, role: int, w: Scratch) -> float:
    """Charge everything that one operand moves; returns the cycles of its first fills (last drains)."""
    memories = p.memories.shape[0]
    w.state[CHAIN] = 0.0
    parent = 0
    while True:
        child = next_keep(p, genome, role, parent)
        if child == memories:
            break
        slot = p.memory_slots[child]
        if role == OUTPUT:
            exposed = drain_sums(p, genome, parent, child, w)
        else:
            fills = scan_above(p, genome, role, slot, w)
            exposed = read_for_fills(p, role, parent, child, fills, w)
        if p.buffers[child, role] == 1:
            w.state[EXPOSED] += exposed
        parent = child
    if role == OUTPUT:
        accumulate_macs(p, genome, parent, w)
    else:
        read_for_macs(p, role, parent, w)
    charge_ramps(p, genome, role, parent, w)
    return w.state[CHAIN]


@kernel
def charge_ramps(p: Problem, genome: IntArray, role: int, innermost: int, w: Scratch) -> None:
    """Cycles of array fill and drain for fanouts whose stationary operand is `role`."""
    for f in range(p.fanouts.shape[0]):
        if p.fanouts[f, RAMP_ROLE] != role:
            continue
        times = 1.0
        if innermost > 0 and p.buffers[innermost, role] == 1:
            times = scan_above(p, genome, role, p.memory_slots[innermost], w)
        w.state[RAMP] += times * p.fanouts[f, RAMP_CYCLES]


@kernel
def estimate(p: Problem, genome: IntArray, w: Scratch) -> tuple[float, float]:
    """Energy in pJ and latency in cycles of a candidate; infinite if it is no legal mapping."""
    unroll(p, genome, w)
    if not spatial_fits(p, w) or not fits(p, genome, w) or not accumulation_allowed(p, genome, w):
        return np.inf, np.inf
    w.reads[:] = 0
    w.writes[:] = 0
    w.fill[:] = 0
    w.link_bits[:] = 0
    w.state[:] = 0
    first_fill = max(charge_chain(p, genome, WEIGHT, w), charge_chain(p, genome, INPUT, w))
    for m in range(p.memories.shape[0]):
        first_fill = max(first_fill, port_cycles(p, m, w.fill[m, 0], w.fill[m, 1]))
    w.fill[:] = 0
    last_drain = charge_chain(p, genome, OUTPUT, w)
    for m in range(p.memories.shape[0]):
        last_drain = max(last_drain, port_cycles(p, m, w.fill[m, 0], w.fill[m, 1]))
    steps, pe_steps = 1.0, 1.0
    for d in range(p.extents.shape[0]):
        for s in range(p.slots.shape[0]):
            if p.slots[s, SLOT_SPATIAL] == 0:
                steps *= w.trips[s, d]
        pe_steps *= ceil_div(p.extents[d], w.above[int(p.compute[LANE_SLOT]), d])
    body = steps * p.compute[STEP_CYCLES] + w.state[EXPOSED]
    for m in range(p.memories.shape[0]):
        active = w.active[p.memory_slots[m]]
        body = max(body, port_cycles(p, m, w.reads[m] / active, w.writes[m] / active))
    for f in range(p.fanouts.shape[0]):
        if p.fanouts[f, LINK_RATE] > 0:
            body = max(body, w.link_bits[f] / p.fanouts[f, LINK_RATE])
    latency = np.ceil(first_fill + body + last_drain + w.state[RAMP])
    energy = w.state[ENERGY] + pe_steps * p.compute[STEP_ENERGY] + latency * p.compute[LEAKAGE]
    return energy, latency
