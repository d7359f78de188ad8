"""Fast estimate of a candidate's energy and latency, over flat arrays.

A candidate is a *genome*: one integer per slot and dimension (the trips of the loop of that dimension in that
slot), then one flag per memory and role (kept there or not), then one loop order per memory. Slots are the
places for loops, outermost first: one temporal slot below each memory and one spatial slot per fanout axis.
Tiles are nested: the tile above a slot is the tile below times the trips, cut at the layer's extent; the
outermost slot takes what is left.

The estimate follows the counting rules with averages where remainders make tiles differ. It only ranks
candidates; every answer is costed by the exact model.
"""

from __future__ import annotations

import numpy as np

from seada.mapper.problem_kernel import (
    ACCUMULATOR_BITS,
    INPUT,
    OUTPUT,
    OUTPUT_BITS,
    WEIGHT,
    FloatArray,
    IntArray,
    Problem,
    Scratch,
)
from seada.mapper.tile_kernel import (
    count_tiles,
    drop_nothing,
    largest_tile,
    reduction_trips,
    scan_above,
    start_union,
    tile_words,
    unroll,
)
from seada.mapper.traffic_kernel import (
    accumulate_macs,
    drain_sums,
    port_cycles,
    read_for_fills,
    read_for_macs,
)
from seada.model.jit import kernel


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
    return int(inner)


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
            kind = role
            if role == OUTPUT:
                inner = next_keep(p, role, m, w)
                child = p.slots if inner == memories else p.memory_slot[inner]
                open_sums = sums_stay_open(p, slot, child, w)
                kind = ACCUMULATOR_BITS if open_sums else OUTPUT_BITS
            scan_above(p, role, slot, w)
            start_union(p, slot, w)
            buffers = p.buffers[m, role] if w.changes > 0 else 1
            words += buffers * tile_words(p, m, largest_tile(p, tables, role, w), kind)
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
    return int(memory)


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
    return float(w.chain)


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
