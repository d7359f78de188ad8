"""What one operand moves between two memories, or a memory and the MACs: energy, port and link loads."""

from __future__ import annotations

from seada.mapper.problem_kernel import (
    ACCUMULATOR_BITS,
    BUS,
    OUTPUT,
    OUTPUT_BITS,
    TREE,
    FloatArray,
    Problem,
    Scratch,
)
from seada.mapper.tile_kernel import (
    drop_nothing,
    join_axis,
    largest_tile,
    link_bits,
    moved_words,
    positions,
    reduction_trips,
    scan_above,
    start_union,
    summed_tiles,
    tile_words,
)
from seada.model.jit import kernel


@kernel
def is_outermost_axis(p: Problem, s: int) -> bool:
    """Whether slot `s` is the outermost axis of its fanout."""
    return s == 0 or p.slot_spatial[s - 1] == 0 or p.slot_owner[s - 1] != p.slot_owner[s]


@kernel
def charge_link(p: Problem, s: int, hops_in: float, hops_out: float, bits: float, w: Scratch) -> None:
    """Energy and bits of one fanout whose outermost axis is slot `s`; of a tree, or of the branches there."""
    fanout = p.slot_owner[s]
    hops = hops_out if p.topology[fanout] == BUS else hops_in
    w.energy += hops * bits * p.hop_energy[fanout]
    if is_outermost_axis(p, s):
        w.link_bits[fanout] += hops_out * bits / w.active[s]


@kernel
def charges_link(p: Problem, s: int) -> bool:
    """Whether traffic past the axis of slot `s` costs: past all axes of a fanout, of a tree past each."""
    fanout = p.slot_owner[s]
    if p.topology[fanout] != TREE and not is_outermost_axis(p, s):
        return False
    return bool(p.hop_energy[fanout] > 0 or p.link_rate[fanout] > 0)


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
    return int(level)


@kernel
def read_for_fills(p: Problem, tables: FloatArray, role: int, parent: int, child: int, w: Scratch) -> None:
    """Charge the fills of a weight or input keep in memory `child` from memory `parent`."""
    top, bottom = p.memory_slot[parent], p.memory_slot[child]
    fills = scan_above(p, role, bottom, w)
    start_union(p, bottom, w)
    total = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
    transfers = positions(p, w, role, False)
    tile = largest_tile(p, tables, role, w)
    written = moved_words(p, child, transfers, total, tile, role, True)
    w.energy += written * p.write_energy[child]
    inside = total
    for s in range(bottom - 1, top, -1):
        if p.slot_spatial[s] == 0:
            continue
        join_axis(p, s, bottom, role, w)
        if charges_link(p, s):
            outside = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
            charge_link(p, s, inside, outside, link_bits(p, role), w)
            inside = outside
    total = summed_tiles(p, tables, role, w) * positions(p, w, role, True)
    transfers = positions(p, w, role, False) / w.separate
    largest = largest_tile(p, tables, role, w) * w.spread * w.separate
    read = moved_words(p, parent, transfers, total, largest, role, True)
    w.energy += read * p.read_energy[parent]
    first_read = tile_words(p, parent, largest, role)
    first_write = tile_words(p, child, tile, role)
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
    for s in range(p.slots - 1, p.memory_slot[parent], -1):
        if p.slot_spatial[s] == 0:
            continue
        join_axis(p, s, bottom, role, w)
        if charges_link(p, s):
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
    words = moved_words(p, parent, steps, steps * largest * used, largest, role, False)
    w.load_reads[parent] += words / w.active[p.memory_slot[parent]]
    w.energy += words * p.read_energy[parent]


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
        if charges_link(p, s):
            charge_link(p, s, leaving, sums, bits, w)
            leaving = sums
    return sums


@kernel
def write_sums(
    p: Problem, memory: int, transfers: float, sums: float, complete: float, scaled: bool
) -> float:
    """Words of sums of which `complete` are written at output width, `scaled` with their scales."""
    largest = sums / transfers
    share = complete / sums
    words = moved_words(p, memory, transfers * share, complete, largest, OUTPUT_BITS, scaled)
    return words + moved_words(
        p, memory, transfers * (1.0 - share), sums - complete, largest, ACCUMULATOR_BITS, False
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
    read = write_sums(p, child, transfers, drained, min(own_complete, drained), True)
    arrived = add_on_the_way(p, bottom, top, outputs, p.bits[ACCUMULATOR_BITS], w)
    arrivals = max(1.0, positions(p, w, OUTPUT, False) / w.separate)
    complete = outputs if outside == 1.0 and w.separate == 1.0 else 0.0
    written = write_sums(p, parent, arrivals, arrived, min(complete, arrived), True)
    returned, added = 0.0, 0.0
    if w.separate == 1.0:
        returned = outputs * outside * (visits - 1.0)
    else:
        added = max(0.0, arrived - outputs * outside)
    read_again, filled = 0.0, 0.0
    if max(returned, added) > 0:
        share = max(returned, added) / arrived
        again = arrived * share
        read_again = moved_words(
            p, parent, arrivals * share, again, arrived / arrivals, ACCUMULATOR_BITS, False
        )
    if returned > 0:
        share = returned / drained
        filled = moved_words(
            p, child, transfers * share, returned, drained / transfers, ACCUMULATOR_BITS, False
        )
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
    words = write_sums(p, parent, steps, arrived, min(complete, arrived), False)
    w.load_writes[parent] += words / w.active[slot]
    w.energy += words * p.write_energy[parent]
    again = max(0.0, arrived - started)
    if again > 0:
        words = moved_words(
            p, parent, steps * again / arrived, again, arrived / steps, ACCUMULATOR_BITS, False
        )
        w.load_reads[parent] += words / w.active[slot]
        w.energy += words * p.read_energy[parent]
