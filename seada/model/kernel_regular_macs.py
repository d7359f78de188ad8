"""What the MACs of a regular nest read and write at the innermost keeps."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import interval
from seada.model.kernel_regular_axis import active, add_one, multiply_list, start_list
from seada.model.kernel_regular_moves import link_slot, sharers
from seada.model.kernel_regular_states import LAST_ONE, ZERO
from seada.model.kernel_words import words_of
from seada.model.nest_arrays import COMPLETE, OUTPUT, Nest
from seada.model.regular_arrays import ROWS, Regular


@kernel
def split_sizes(work: Regular, count: int, step: int, apart: bool) -> int:
    """Replace every block of ``work.list2`` (size, -, copies) by those of a loop over it; or by its first."""
    if not apart:
        for i in range(count):
            work.list2[i, 0] = min(work.list2[i, 0], step)
        return count
    present = count
    for i in range(present):
        extent = work.list2[i, 0]
        trips = (extent + step - 1) // step
        if trips == 1:
            continue
        copies = work.list2[i, 2]
        rest = extent - (trips - 1) * step
        work.list2[i, 0] = step
        if rest == step:
            work.list2[i, 2] = copies * trips
            continue
        work.list2[i, 2] = copies * (trips - 1)
        place = 0
        while place < count and work.list2[place, 0] != rest:
            place += 1
        if place <= i or place >= count or place < present:
            place = count
        if place == count:
            if count == ROWS:
                raise OverflowError("more kinds of tiles than the scratch space holds")
            work.list2[place, 0] = rest
            work.list2[place, 2] = 0
            count += 1
        work.list2[place, 2] += copies
    return count


@kernel
def plain_steps(
    nest: Nest, o: int, d: int, entry: int, extent: int, low: int, everywhere: bool, work: Regular
) -> None:
    """As `dimension_steps` where no trip is ragged."""
    size, copies = 1, 1
    for c in range(entry):
        # the entry may lie inside slots whose instances the step serves together
        if nest.chain_is_slot[d, c] and nest.chain_index[d, c] >= low:
            size *= nest.slot_trips[nest.chain_index[d, c]]
    for c in range(entry, nest.chain_length[d]):
        trips = extent // nest.chain_step[d, c]
        extent = nest.chain_step[d, c]
        if not nest.chain_is_slot[d, c]:
            copies *= trips
        elif nest.chain_index[d, c] >= low:
            size *= trips
        elif everywhere:
            copies *= trips
    add_one(work, size if nest.relevant[o, d] else 1, 0, copies)


@kernel
def dimension_steps(
    nest: Nest, o: int, d: int, entry: int, extent: int, low: int, everywhere: bool, work: Regular
) -> None:
    """List along d of the elements that the slots from `low` on touch in a step, with the number of such
    steps.

    Over the loops from chain entry `entry` on, of a block of that extent; `everywhere` adds up the
    coordinates of the slots before `low` too, else only the first counts. The list is ``work.one``.
    """
    work.lengths[2] = 0
    if not nest.uneven[d]:
        plain_steps(nest, o, d, entry, extent, low, everywhere, work)
        return
    work.list2[0, 0] = extent
    work.list2[0, 2] = 1
    count = 1
    for c in range(entry, nest.chain_length[d]):
        inside = nest.chain_is_slot[d, c] and nest.chain_index[d, c] >= low
        if inside and nest.relevant[o, d]:
            continue
        apart = not nest.chain_is_slot[d, c] or (everywhere and not inside)
        count = split_sizes(work, count, nest.chain_step[d, c], apart)
    for i in range(count):
        size = 1
        if nest.relevant[o, d]:
            size = points(nest, d, entry, work.list2[i, 0], low)
        add_one(work, size, 0, work.list2[i, 2])


@kernel
def points(nest: Nest, d: int, entry: int, extent: int, low: int) -> int:
    """Coordinates of the slots from `low` on that have work in a block of that extent."""
    total = 0
    while extent > 0:
        # peel off, coordinate by coordinate of the outermost slot, the blocks that it covers
        step = 0
        for c in range(entry, nest.chain_length[d]):
            if nest.chain_is_slot[d, c] and nest.chain_index[d, c] >= low:
                step = nest.chain_step[d, c]
                break
        if step == 0:
            return 1
        block = min(step, extent)
        total += inner_points(nest, d, entry, block, low)
        extent -= block
    return total


@kernel
def inner_points(nest: Nest, d: int, entry: int, extent: int, low: int) -> int:
    """As `points` below the first of these slots; two of them along one dimension at most."""
    seen = 0
    for c in range(entry, nest.chain_length[d]):
        if nest.chain_is_slot[d, c] and nest.chain_index[d, c] >= low:
            seen += 1
            if seen == 2:
                step = nest.chain_step[d, c]
                return int((extent + step - 1) // step)
    return 1


@kernel
def all_steps(nest: Nest, o: int, low: int, work: Regular) -> None:
    """List in ``work.list`` of the elements of a step at one instance outside slot `low`, over the whole
    layer and all instances.
    """
    start_list(work)
    for d in range(nest.dims):
        dimension_steps(nest, o, d, 0, nest.extent[d], low, True, work)
        multiply_list(work)


@kernel
def steps_of_state(nest: Nest, o: int, s: int, depth: int, low: int, sums: int, work: Regular) -> int:
    """As `all_steps` for the first instance, below a state at that depth.

    sums: 0 all dimensions; 1 those of the output only. Returns how many steps the other ones have.
    """
    start_list(work)
    others = 1
    for d in range(nest.dims):
        entry = 0
        passed = work.passed[d, depth]
        if passed > 0:
            entry = work.loop_entry[work.loops_of[d, passed - 1]] + 1
        extent = nest.extent[d]
        if entry > 0:
            if work.plain[d]:
                extent = nest.chain_step[d, entry - 1]
            else:
                v = work.state_kind[s, d]
                for k in range(passed - 1, -1, -1):
                    work.after[work.loops_of[d, k]] = work.index[v]
                    v = work.parent[v]
                _, extent = interval(nest, d, entry, work.after, work.slots)
        dimension_steps(nest, o, d, entry, extent, low, False, work)
        if sums == 1 and not nest.relevant[OUTPUT, d]:
            steps = 0
            for i in range(work.lengths[2]):
                steps += work.one[i, 2]
            others *= steps
        else:
            multiply_list(work)
    return others


@kernel
def total_through(nest: Nest, o: int, split: int, work: Regular) -> int:
    """Elements of all steps through the instances outside slot `split`."""
    total = 1
    for d in range(nest.dims):
        dimension_steps(
            nest, o, d, 0, nest.extent[d], nest.slots if nest.relevant[o, d] else split, True, work
        )
        steps = 0
        for i in range(work.lengths[2]):
            steps += work.one[i, 0] * work.one[i, 2]
        total *= steps
    return total


@kernel
def count_input_macs(nest: Nest, o: int, work: Regular) -> None:
    """Reads of weight or input by all MACs."""
    level = nest.levels[o] - 1
    low = nest.slots_above[o, level - 1]
    bits = nest.element_bits[o]
    memory = nest.memory[o, level - 1]
    all_steps(nest, o, low, work)
    counts = work.counts[o, level]
    for i in range(work.lengths[0]):
        elements, copies = work.list[i, 0], work.list[i, 2]
        counts[0] += elements * copies
        counts[1] += elements * copies * bits
        counts[2] += words_of(nest, memory, elements, bits) * copies
    for f in range(nest.fanouts_above[o, level - 1], nest.fanouts):
        hops = 0
        for i in range(max(1, nest.branches[f])):
            hops += total_through(nest, o, link_slot(nest, f, i), work)
        work.link_counts[o, f, 0] += hops
        work.link_counts[o, f, 1] += hops * bits


@kernel
def reduction_steps(nest: Nest, low: int, work: Regular) -> tuple[int, int]:
    """(steps of the reduction over all instances outside slot `low` that share an output, how many)."""
    steps = 1
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d]:
            dimension_steps(nest, OUTPUT, d, 0, nest.extent[d], low, True, work)
            own = 0
            for i in range(work.lengths[2]):
                own += work.one[i, 2]
            steps *= own
    return steps, sharers(nest, 0, low)


@kernel
def count_output_macs(nest: Nest, work: Regular) -> None:
    """Sums that all MACs write to, and read from, the innermost keep of the output."""
    level = nest.levels[OUTPUT] - 1
    low = nest.slots_above[OUTPUT, level - 1]
    wide, memory = nest.element_bits[OUTPUT], nest.memory[OUTPUT, level - 1]
    steps, sharing = reduction_steps(nest, low, work)
    narrow = nest.element_bits[COMPLETE] if sharing == 1 else wide
    start_list(work)
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            dimension_steps(nest, OUTPUT, d, 0, nest.extent[d], low, True, work)
            multiply_list(work)
    counts = work.counts[OUTPUT, level]
    for i in range(work.lengths[0]):
        elements, copies = work.list[i, 0], work.list[i, 2]
        words = words_of(nest, memory, elements, wide)
        last = words_of(nest, memory, elements, narrow)
        counts[3] += elements * copies * steps
        counts[4] += elements * copies * ((steps - 1) * wide + narrow)
        counts[5] += copies * ((steps - 1) * words + last)
        counts[0] += elements * copies * (steps - sharing)
        counts[1] += elements * copies * (steps - sharing) * wide
        counts[2] += copies * (steps - sharing) * words
    if work.unread > 0:
        each = work.list[0, 0]
        counts[0] -= work.unread
        counts[1] -= work.unread * wide
        counts[2] -= work.unread // each * words_of(nest, memory, each, wide)
    count_output_links(nest, level, low, work)


@kernel
def last_through(nest: Nest, split: int, work: Regular) -> int:
    """As `total_through` of the output, over the last steps of the reduction only."""
    total = 1
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            dimension_steps(nest, OUTPUT, d, 0, nest.extent[d], nest.slots, True, work)
            steps = 0
            for i in range(work.lengths[2]):
                steps += work.one[i, 0] * work.one[i, 2]
            total *= steps
            continue
        extent = nest.extent[d]
        for c in range(nest.chain_length[d]):
            step = nest.chain_step[d, c]
            if not nest.chain_is_slot[d, c]:
                last = (extent + step - 1) // step - 1
                work.after[nest.chain_index[d, c]] = last
                extent -= last * step
            extent = min(extent, step)
        total *= active(nest, OUTPUT, nest.levels[OUTPUT] - 1, d, 0, split, work)
    return total


@kernel
def count_output_links(nest: Nest, level: int, low: int, work: Regular) -> None:
    """Hops and additions of the sums of all MACs; what leaves a fanout instance is one less than its
    additions.
    """
    wide = nest.element_bits[OUTPUT]
    saved = wide - nest.element_bits[COMPLETE] if sharers(nest, 0, low) == 1 else 0
    links = work.link_counts[OUTPUT]
    for f in range(nest.fanouts_above[OUTPUT, level - 1], nest.fanouts):
        outside = total_through(nest, OUTPUT, nest.first_slot[f], work)
        inside = total_through(nest, OUTPUT, nest.first_slot[f + 1], work)
        for i in range(max(1, nest.branches[f])):
            split = link_slot(nest, f, i)
            hops = total_through(nest, OUTPUT, split, work)
            links[f, 0] += hops
            links[f, 1] += hops * wide
            if saved != 0:
                links[f, 1] -= last_through(nest, split, work) * saved
        links[f, 2] += inside - outside


@kernel
def add_load(nest: Nest, work: Regular, item: int, port: int, amount: int) -> None:
    """Add words (of a link: bits) to a port in the pass of an item."""
    if port >= 0:
        work.item_traffic[item, port] += amount * nest.port_ticks[port]


@kernel
def pass_of_macs(nest: Nest, item: int, depth: int, work: Regular) -> None:
    """Time and port traffic of the steps of the MACs below the state of an item."""
    s = work.item_state[item]
    flags = work.state_flags[s]
    work.item_ticks[item] = 0
    for p in range(nest.ports):
        work.item_traffic[item, p] = 0
    for o in range(3):
        level = nest.levels[o] - 1
        low = nest.slots_above[o, level - 1]
        memory = nest.memory[o, level - 1]
        bits = nest.element_bits[o]
        others = steps_of_state(nest, o, s, depth, low, 1 if o == OUTPUT else 0, work)
        narrow = nest.element_bits[COMPLETE] if sharers(nest, 0, low) == 1 else bits
        ends = 1 if flags & LAST_ONE else 0
        reads, writes, link, steps = 0, 0, 0, 0
        for i in range(work.lengths[0]):
            elements, copies = work.list[i, 0], work.list[i, 2]
            words = words_of(nest, memory, elements, bits)
            steps += copies
            if o < OUTPUT:
                reads += words * copies
                link += elements * copies * bits
                continue
            reads += words * copies * (others - (1 if flags & ZERO else 0))
            writes += copies * ((others - ends) * words + ends * words_of(nest, memory, elements, narrow))
            link += elements * copies * ((others - ends) * bits + ends * narrow)
        add_load(nest, work, item, nest.read_port[memory], reads)
        add_load(nest, work, item, nest.write_port[memory], writes)
        for f in range(nest.fanouts_above[o, level - 1], nest.fanouts):
            add_load(nest, work, item, nest.link_port[f], link)
        if o == 0:
            work.item_ticks[item] = steps * nest.cycles_per_step * nest.ticks_per_cycle


@kernel
def count_steps(nest: Nest, work: Regular) -> None:
    """Steps of the first PE, and of all PEs."""
    first, every = 1, 1
    lanes = nest.first_slot[nest.lanes_fanout]
    for d in range(nest.dims):
        own, total = 0, 0
        # as an operand that does not depend on d: slots inside `low` count once
        steps_along(nest, d, 0, work)
        for i in range(work.lengths[2]):
            own += work.one[i, 2]
        steps_along(nest, d, lanes, work)
        for i in range(work.lengths[2]):
            total += work.one[i, 2]
        first *= own
        every *= total
    work.steps[0] = first
    work.steps[1] = every


@kernel
def steps_along(nest: Nest, d: int, low: int, work: Regular) -> None:
    """Steps along d at all coordinates of the slots before `low`."""
    work.lengths[2] = 0
    work.list2[0, 0] = nest.extent[d]
    work.list2[0, 2] = 1
    count = 1
    for c in range(nest.chain_length[d]):
        apart = not nest.chain_is_slot[d, c] or nest.chain_index[d, c] < low
        count = split_sizes(work, count, nest.chain_step[d, c], apart)
    for i in range(count):
        add_one(work, 1, 0, work.list2[i, 2])
