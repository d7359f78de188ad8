"""Many mappings of one order of loops and keeps, costed in one call: steps in, energies and latencies out."""

from __future__ import annotations

from typing import Any

from seada.model.batch_arrays import IS_KEEP, IS_SPATIAL, Program
from seada.model.jit import kernel
from seada.model.kernel_regular import count_regular
from seada.model.kernel_words import tile_words
from seada.model.nest_arrays import CHAIN, COMPLETE, OUTPUT, SLOTS, TEMPORAL, Ints, Nest
from seada.model.regular_arrays import Regular

COSTED, OTHER, REFUSED = 0, 1, 2  # by the closed form; left to the slower path; not legal
PJ_PER_J = 1e12


@kernel
def lay_out(nest: Nest, program: Program, steps: Ints) -> bool:
    """Write the loops of one row of steps into the nest; False if they do not cover the layer."""
    for d in range(nest.dims):
        nest.chain_length[d] = 0
        nest.uneven[d] = 0
    left = nest.extent.copy()
    room = program.axis_size.copy()
    temporal, slots, column = 0, 0, 0
    for o in range(3):
        nest.levels[o] = 1
    for node in range(program.nodes):
        if program.kind[node] == IS_KEEP:
            place_keep(nest, program, node, temporal, slots)
            continue
        step = steps[column]
        column += 1
        d = program.dim[node]
        if step < 1 or step > left[d]:
            return False
        trips = (left[d] + step - 1) // step
        ragged = left[d] % step != 0
        left[d] = step
        if trips == 1:
            continue
        spatial = program.kind[node] == IS_SPATIAL
        if temporal + 1 > TEMPORAL - 1 or slots + 1 > SLOTS - 1 or nest.chain_length[d] == CHAIN:
            return False
        if ragged:
            nest.uneven[d] = 1
        c = nest.chain_length[d]
        nest.chain_length[d] = c + 1
        nest.chain_step[d, c] = step
        nest.chain_is_slot[d, c] = spatial
        if spatial:
            axis = program.axis[node]
            room[axis] //= trips
            if room[axis] == 0:
                return False
            nest.chain_index[d, c] = slots
            nest.slot_dim[slots] = d
            nest.slot_trips[slots] = trips
            nest.slot_fanout[slots] = program.fanout[node]
            nest.slot_axis[slots] = program.axis_of_fanout[node]
            slots += 1
        else:
            temporal += 1
            nest.chain_index[d, c] = temporal
            nest.temporal_dim[temporal] = d
            nest.temporal_step[temporal] = step
    for d in range(nest.dims):
        if left[d] != 1:
            return False
    nest.temporals = temporal
    nest.slots = slots
    close_nest(nest, program)
    return True


@kernel
def place_keep(nest: Nest, program: Program, node: int, temporal: int, slots: int) -> None:
    """The next level of an operand, at the present place."""
    o, m = program.operand[node], program.memory[node]
    level = nest.levels[o] - 1
    nest.levels[o] = level + 2
    nest.memory[o, level] = m
    nest.slots_above[o, level] = slots
    nest.fanouts_above[o, level] = program.outside[m]
    nest.double_buffered[o, level] = program.buffers[m, o] >= 2
    changes = 0
    for j in range(1, temporal + 1):
        if nest.relevant[o, nest.temporal_dim[j]]:
            changes = j
    nest.changes_at[o, level] = changes
    for d in range(nest.dims):
        nest.cut[o, level, d] = nest.chain_length[d]


@kernel
def close_nest(nest: Nest, program: Program) -> None:
    """What follows from all loops and keeps together: slots by fanout, the MACs, timing levels."""
    for f in range(nest.fanouts + 1):
        count = 0
        for s in range(nest.slots):
            count += nest.slot_fanout[s] < f
        nest.first_slot[f] = count
    for f in range(nest.fanouts):
        for i in range(nest.branches[f]):
            nest.branch_slot[f, i] = branch_slot(nest, f, i)
    nest.uneven_sums = 0
    for s in range(nest.slots):
        d = nest.slot_dim[s]
        if nest.uneven[d] and program.is_reduction[d]:
            nest.uneven_sums = 1
    nest.last_change = 0
    for o in range(3):
        level = nest.levels[o] - 1
        nest.memory[o, level] = -1
        nest.slots_above[o, level] = nest.slots
        nest.fanouts_above[o, level] = nest.fanouts
        nest.changes_at[o, level] = nest.temporals
        nest.timing_level[o, 0] = -1
        nest.timing_level[o, level] = -1
        for d in range(nest.dims):
            nest.cut[o, level, d] = nest.chain_length[d]
        for k in range(1, level):
            nest.last_change = max(nest.last_change, nest.changes_at[o, k])
    number_levels(nest, program)


@kernel
def branch_slot(nest: Nest, f: int, branch: int) -> int:
    """Slots outside the instances at one level of branches of a fanout."""
    if branch == nest.branches[f] - 1:
        return int(nest.first_slot[f + 1])
    slot = nest.first_slot[f]
    while slot < nest.first_slot[f + 1] and nest.slot_axis[slot] <= branch:
        slot += 1
    return int(slot)


@kernel
def number_levels(nest: Nest, program: Program) -> None:
    """Timing levels in the order of position, then memory."""
    levels = 0
    for position in range(nest.last_change + 1):
        for m in range(program.memories):
            found = False
            for o in range(3):
                for k in range(1, nest.levels[o] - 1):
                    if nest.changes_at[o, k] == position and nest.memory[o, k] == m:
                        nest.timing_level[o, k] = levels
                        found = True
            if found:
                nest.timing_position[levels] = position
                levels += 1
    nest.timing_levels = levels


@kernel
def surely_fits(nest: Nest, program: Program) -> bool:
    """Whether all tiles fit even with padding stored and outputs at the wider of their two widths."""
    for m in range(program.memories):
        if program.size_words[m] < 0:
            continue
        taken = 0
        for o in range(3):
            for level in range(nest.levels[o] - 1):
                if nest.memory[o, level] == m:
                    buffers = program.buffers[m, o] if nest.changes_at[o, level] > 0 else 1
                    elements = tile_elements(nest, o, level)
                    words = tile_words(nest, m, o, elements)
                    if o == OUTPUT:
                        words = max(words, tile_words(nest, m, COMPLETE, elements))
                    taken += buffers * words
        if taken > program.size_words[m]:
            return False
    return True


@kernel
def tile_elements(nest: Nest, o: int, level: int) -> int:
    """Elements of a whole tile, gaps between strided windows counted."""
    elements = 1
    for a in range(nest.axis_count[o]):
        reach = 1
        single = nest.axis_dim[o, a, 1] < 0
        for t in range(2):
            d = nest.axis_dim[o, a, t]
            if d < 0:
                continue
            cut = nest.cut[o, level, d]
            extent = nest.extent[d] if cut == 0 else nest.chain_step[d, cut - 1]
            reach += (extent - 1) * (1 if single else nest.axis_coefficient[o, a, t])
        elements *= reach
    return elements


@kernel
def latency(nest: Nest, work: Regular) -> int:
    """Cycles of the layer from its parts in ticks."""
    ticks = nest.ticks_per_cycle
    once = 0
    for o in range(3):
        if nest.levels[o] < 3 or nest.double_buffered[o, nest.levels[o] - 2]:
            once += nest.ramp_cycles[o]
    total = work.extreme[0] + work.body + work.extreme[1] + once * ticks
    return int((total + ticks - 1) // ticks)


@kernel
def energy(nest: Nest, program: Program, work: Regular, cycles: int, words: Ints) -> float:
    """Energy in pJ, summed in the order of `seada.model.evaluate.energy_breakdown`."""
    for m in range(program.memories):
        for o in range(3):
            words[m, o, 0] = 0
            words[m, o, 1] = 0
    for o in range(3):
        for level in range(1, nest.levels[o]):
            outer, inner = nest.memory[o, level - 1], nest.memory[o, level]
            words[outer, o, 0] += work.counts[o, level, 2]
            words[outer, o, 1] += work.counts[o, level, 5]
            if inner >= 0:
                words[inner, o, 0] += work.counts[o, level, 8]
                words[inner, o, 1] += work.counts[o, level, 11]
    total = 0.0
    for m in range(program.memories):
        for o in range(3):
            total += words[m, o, 0] * program.read_pj[m] + words[m, o, 1] * program.write_pj[m]
    for f in range(nest.fanouts):
        bits, added = 0, 0
        for o in range(3):
            bits += work.link_counts[o, f, 1]
            added += work.link_counts[o, f, 2]
        total += bits * program.hop_pj[f]
        total += added * program.accumulator_bits * program.addition_pj[f]
    total += work.steps[1] * program.mac_pj
    idle = 0.0
    if program.idle_fraction != 0.0:
        slots = program.pes * cycles / nest.cycles_per_step
        idle = (slots - work.steps[1]) * program.idle_fraction * program.mac_pj
    total += idle + program.unused_pj * cycles
    total += program.leakage_w * cycles / program.clock_hz * PJ_PER_J
    return float(total)


@kernel
def cost_batch(
    nest: Nest,
    program: Program,
    steps: Ints,
    work: Regular,
    space: Ints,
    words: Ints,
    energies: Any,
    latencies: Ints,
    status: Ints,
) -> None:
    """Cost of every row of steps; rows that the closed form does not take are marked `OTHER` or `REFUSED`."""
    for row in range(len(steps)):
        if not lay_out(nest, program, steps[row]):
            status[row] = REFUSED
            continue
        if not surely_fits(nest, program) or not count_regular(nest, work, space):
            status[row] = OTHER
            continue
        status[row] = COSTED
        latencies[row] = latency(nest, work)
        energies[row] = energy(nest, program, work, latencies[row], words)


__all__ = ["COSTED", "OTHER", "REFUSED", "cost_batch"]
