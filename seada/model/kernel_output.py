"""Transfers of the output between a level and its parent at one transition of the odometer (docs/model.md,
2).
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_rows import child_width, joint_lists, mark_reductions, parent_width
from seada.model.kernel_sums import (
    gather,
    last_reduction_positions,
    mark_present,
    reduction_slots,
    reduction_works,
    set_reduction_slots,
)
from seada.model.kernel_words import scales_of, tile_bits, tile_words, words_of, words_of_sums
from seada.model.nest_arrays import COMPLETE, OUTPUT, Ints, Nest, Work

DEEPEST = 1 << 30  # below every loop


@kernel
def leaving_level(level: int, works: int, changes: int, final: bool) -> int:
    """Outermost level above `level` whose tile leaves at this transition; 0 if none."""
    if final:
        return 1
    for lev in range(1, level):
        if not works >> lev & 1:
            return 0
        if changes >> lev & 1:
            return lev
    return 0


@kernel
def shares_at_start(nest: Nest, level: int, positions: Ints, work: Work) -> bool:
    """Whether instances that share elements start their tiles apart, none continuing, at these positions."""
    parent = level - 1
    if reduction_slots(nest, nest.slots_above[OUTPUT, parent], nest.slots_above[OUTPUT, level]) == 1:
        return False
    mark_present(nest, parent, level, positions, work.slots, work.present)
    gather(nest, parent, level, work.present, work.flow2)
    return bool(work.flow2[2] > 0)


@kernel
def zero_level(
    nest: Nest, level: int, j: int, after: Ints, before: Ints, leave: int, moving: Ints, work: Work
) -> int:
    """Deepest level above `level` whose instance started its present visit at zero though others may
    continue; 0 if none.

    `moving` holds the deepest loop that moved the tile of each level; levels from `leave` on start a new
    visit now.
    """
    for lev in range(level - 1, 0, -1):
        first = nest.slots_above[OUTPUT, lev - 1]
        for s in range(first, nest.slots_above[OUTPUT, lev]):
            if not nest.relevant[OUTPUT, nest.slot_dim[s]] and work.slots[s] > 0:
                return lev
        if leave > 0 and lev >= leave:
            shared = shares_at_start(nest, lev, after, work)
        else:
            last_reduction_positions(nest, 1, lev, moving, before, work.slots, j, moving[lev], work.positions)
            shared = shares_at_start(nest, lev, work.positions, work)
        if shared:
            return lev
    return 0


@kernel
def deepest_reduction(nest: Nest, stop: int, temporal: Ints) -> int:
    """Deepest reduction loop up to `stop` that is past its first iteration; 0 if none."""
    for lev in range(stop, 0, -1):
        if not nest.relevant[OUTPUT, nest.temporal_dim[lev]] and temporal[lev] > 0:
            return lev
    return 0


@kernel
def started_with_sum(nest: Nest, stop: int, floor: int, positions: Ints) -> bool:
    """Whether some reduction loop in (floor, stop) is past its first iteration at these positions."""
    for lev in range(floor + 1, stop):
        if not nest.relevant[OUTPUT, nest.temporal_dim[lev]] and positions[lev] > 0:
            return True
    return False


@kernel
def add_drain(
    nest: Nest, level: int, elements: int, flow: Ints, adding: int, complete: bool, times: int,
    work: Work, amounts: Ints, links: Ints,
) -> None:  # fmt: skip
    """Charge the parent's side of a drain of `elements` distinct elements per instance.

    The first sum of `adding` of them is added to one that the parent holds.
    """
    if elements == 0 or flow[1] == 0:
        return
    memory = nest.memory[OUTPUT, level - 1]
    scaled = complete and nest.scale_bits[COMPLETE] > 0 and level < nest.levels[OUTPUT] - 1
    bits = nest.element_bits[COMPLETE if complete else OUTPUT]
    work.arrived[1 if complete else 0] = 1
    arriving = elements * flow[1]
    amounts[3] += times * arriving
    amounts[4] += times * (tile_bits(nest, COMPLETE, arriving) if scaled else arriving * bits)
    words = words_of(nest, memory, arriving, bits)
    if scaled:
        words = tile_words(nest, memory, COMPLETE, arriving)
    amounts[5] += times * words
    amounts[15] = max(amounts[15], words)
    reads = elements * (flow[1] - 1) + adding
    wide = nest.element_bits[OUTPUT]
    words = words_of(nest, memory, reads, wide)
    amounts[0] += times * reads
    amounts[1] += times * reads * wide
    amounts[2] += times * words
    amounts[16] = max(amounts[16], words)
    for f in range(nest.fanouts_above[OUTPUT, level - 1], nest.fanouts_above[OUTPUT, level]):
        hops = elements * flow[(4 if nest.branches[f] > 0 else 3) + 4 * f]
        links[f, 0] += times * hops
        links[f, 1] += times * hops * bits
        links[f, 2] += times * elements * flow[5 + 4 * f]
        if scaled:
            work.scaled_hops[f] += times * hops
        if nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            passing = elements * flow[6 + 4 * f]
            passing_bits = tile_bits(nest, COMPLETE, passing) if scaled else passing * bits
            links[f, 4] = max(links[f, 4], passing_bits)


@kernel
def clear_arrivals(nest: Nest, work: Work) -> None:
    """Begin a transfer of sums."""
    work.arrived[:] = 0
    for f in range(nest.fanouts):
        work.scaled_hops[f] = 0


@kernel
def widest_arrival(nest: Nest, level: int, sums: int, work: Work) -> int:
    """Bits of so many sums at the wider of the widths at which sums arrived in this transfer."""
    bits = sums * nest.element_bits[OUTPUT] if work.arrived[0] else 0
    if work.arrived[1] and level < nest.levels[OUTPUT] - 1:
        return max(bits, tile_bits(nest, COMPLETE, sums))
    if work.arrived[1]:
        return int(max(bits, sums * nest.element_bits[COMPLETE]))
    return int(bits)


@kernel
def add_fill(nest: Nest, level: int, elements: int, times: int, amounts: Ints, links: Ints) -> None:
    """Charge the parent's side of sums that come back down, one child per element."""
    if elements == 0:
        return
    bits = nest.element_bits[OUTPUT]
    words = words_of(nest, nest.memory[OUTPUT, level - 1], elements, bits)
    amounts[0] += times * elements
    amounts[1] += times * elements * bits
    amounts[2] += times * words
    amounts[12] = max(amounts[12], words)
    for f in range(nest.fanouts_above[OUTPUT, level - 1], nest.fanouts_above[OUTPUT, level]):
        hops = elements * max(1, nest.branches[f])
        links[f, 0] += times * hops
        links[f, 1] += times * hops * bits
        if nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            links[f, 3] = max(links[f, 3], elements * bits)


@kernel
def shared_elsewhere(nest: Nest, level: int, row: Ints, base: int, width: int, work: Work) -> bool:
    """Whether, once all MACs are done, other instances of the levels 1..level hold parts of the first one's
    sums.

    They do if they work to the end, or if they departed in the present visit of their parent and the first
    one stands at the tile that they held on to. `row` has the deepest loops that move the tiles from `base`
    on, and `width` columns further those not at their last iteration.
    """
    outer = 0
    for lev in range(1, level + 1):
        if work.workers[lev] > 1:
            return True
        departs = work.departs[lev]
        if departs > outer and departs > row[base + width + lev]:
            return True
        outer = max(outer, row[base + lev])
    return False


@kernel
def visit_flow(
    nest: Nest, level: int, leave: int, j: int, after: Ints, before: Ints, moving: Ints, work: Work
) -> bool:
    """Fill ``work.flow`` with the drain of the sums of one element; False if nothing is held. Keeps
    ``work.slots``.
    """
    if leave > 0:
        if not last_reduction_positions(
            nest, leave, level - 1, moving, before, work.slots, j, moving[level - 1], work.positions
        ):
            return False
        mark_present(nest, level - 1, level, work.positions, work.slots, work.present)
    else:
        mark_present(nest, level - 1, level, after, work.slots, work.present)
    gather(nest, level - 1, level, work.present, work.flow)
    return bool(work.flow[0] > 0)


@kernel
def returning(
    nest: Nest, level: int, leave: int, j: int, before: Ints, row: Ints, leaving: int, work: Work
) -> int:
    """Of the elements that leave the children of a parent, how many are added to a sum that the parent holds.

    These are the ones that it held when the children's visit began, and that they did not continue. Children
    whose visits began at different times stand in classes, split at the reduction loops in ``work.marks``.
    """
    moving = work.moving
    zero = zero_level(nest, level, j, before, before, 0, moving, work)
    floor = moving[zero] if zero > 0 else 0
    low = leave if leave > 0 else level
    total = 0
    below = 0
    for i in range(work.marks[0] + 1):
        upto = leaving
        began = moving[level]
        if i < work.marks[0]:
            base = 6 + 3 * level + i * (2 + level)
            upto = row[base + 1 + leave] if leave > 0 else row[base] - row[base + 1]
        if work.marks[0] > 0:
            began = max(moving[level - 1], work.marks[i] if i > 0 else 0)
        count = upto - below
        below = upto
        if count == 0:
            continue
        last_reduction_positions(nest, low, level, moving, before, work.slots, j, DEEPEST, work.positions)
        if not started_with_sum(nest, began + 1, floor, work.positions):
            continue
        last_reduction_positions(nest, low, level, moving, before, work.slots, j, began, work.positions)
        if shares_at_start(nest, level, work.positions, work):
            total += count
    return int(total)


@kernel
def some_work(nest: Nest, level: int, after: Ints, work: Work) -> bool:
    """Whether some child of the parent in ``work.slots`` has work here, as far as the reduction goes."""
    if not nest.uneven_sums:
        return True
    mark_present(nest, level - 1, level, after, work.slots, work.present)
    total = reduction_slots(nest, nest.slots_above[OUTPUT, level - 1], nest.slots_above[OUTPUT, level])
    return bool(work.present[:total].max() > 0)


@kernel
def arrival_state(
    nest: Nest, level: int, leave: int, j: int, after: Ints, before: Ints, moving: Ints, work: Work
) -> bool:
    """Whether new tiles continue a sum that the parent holds."""
    zero = zero_level(nest, level, j, after, before, leave, moving, work)
    deepest = deepest_reduction(nest, j, after)
    if deepest == 0 or (zero > 0 and ((leave > 0 and leave <= zero) or deepest <= moving[zero])):
        return False
    return some_work(nest, level, after, work) and not shares_at_start(nest, level, after, work)


@kernel
def set_sharer(nest: Nest, level: int, code: int, work: Work) -> int:
    """Put the reduction coordinates of parent number `code` into ``work.slots``; returns how many are alike.

    Where no reduction dimension is ragged, parents whose deepest level with a coordinate other than 0 is the
    same behave alike (see `zero_level`), and `code` counts these classes. Number 0 is the first parent.
    """
    for s in range(nest.slots):
        work.slots[s] = 0
    if nest.uneven_sums:
        set_reduction_slots(nest, 0, nest.slots_above[OUTPUT, level - 1], code, work.slots)
        return 1
    if code == 0:
        return 1
    width = reduction_slots(nest, nest.slots_above[OUTPUT, code - 1], nest.slots_above[OUTPUT, code])
    if width == 1:
        return 0
    set_reduction_slots(
        nest, nest.slots_above[OUTPUT, code - 1], nest.slots_above[OUTPUT, code], 1, work.slots
    )
    return reduction_slots(nest, 0, nest.slots_above[OUTPUT, code - 1]) * (width - 1)


@kernel
def reduction_mask(nest: Nest, level: int, after: Ints, work: Work) -> int:
    """Bits of the levels 0..level where the present reduction coordinates have work after the transition."""
    mask = 1 << 0
    for lev in range(1, level + 1):
        if not nest.uneven_sums or reduction_works(nest, lev, after, work.slots):
            mask |= 1 << lev
    return mask


@kernel
def all_work(level: int, works: int) -> bool:
    """Whether the bits of the levels 1..level are all set."""
    wanted = (2 << level) - 2
    return works & wanted == wanted


@kernel
def take_moving(row: Ints, base: int, level: int, work: Work) -> Ints:
    """Deepest loops at which the visits of the levels begin, of a row with what moves them from `base` on.

    A visit also begins where that of the parent does.
    """
    moving: Ints = work.moving
    moving[0] = 0
    for lev in range(1, level + 1):
        moving[lev] = max(moving[lev - 1], row[base + lev])
    return moving


@kernel
def parent_moves(level: int, row: Ints, mask: int, final: bool) -> tuple[int, int, int]:
    """(outermost level whose tile leaves, elements that children drain, elements that they begin) of a
    parent's row.
    """
    works = row[0] & mask
    leave = leaving_level(level, works, row[1], final)
    alive = all_work(level - 1, works) and not final
    if leave > 0:
        return leave, row[5 + leave], row[2] if alive else 0
    return 0, row[4] - row[5] if alive else 0, row[2] - row[3] if alive else 0


@kernel
def output_transfer(
    nest: Nest, level: int, j: int, after: Ints, before: Ints, done: bool, final: bool,
    work: Work, amounts: Ints, links: Ints,
) -> None:  # fmt: skip
    """Transfers between output level `level` and its parent when loop j advances, or at the end of the layer.

    `done` says whether every reduction loop up to j stood at its last iteration. `amounts` and `links` are
    added to.
    """
    above = nest.slots_above[OUTPUT, level - 1]
    clear_arrivals(nest, work)
    mark_reductions(nest, level, work)
    parents, members = joint_lists(nest, level, above, j, after, before, work)
    codes = reduction_slots(nest, 0, above) if nest.uneven_sums else level
    for code in range(codes):
        times = set_sharer(nest, level, code, work)
        if times == 0:
            continue
        mask = reduction_mask(nest, level - 1, after, work)
        ends = done and code == 0
        for i in range(parents):
            row = work.parents[i]
            moving = take_moving(row, 5 + level, level, work)
            leave, leaving, coming = parent_moves(level, row, mask, final)
            count = times * row[parent_width(level, work)]
            set_sharer(nest, level, code, work)
            if leaving > 0:
                adding = returning(nest, level, leave, j, before, row, leaving, work)
                if visit_flow(nest, level, leave, j, after, before, moving, work):
                    complete = ends and work.flow[1] == 1
                    if complete and shared_elsewhere(nest, level - 1, row, 5 + level, level, work):
                        complete = False
                    add_drain(
                        nest,
                        level,
                        leaving,
                        work.flow,
                        adding,
                        complete,
                        count,
                        work,
                        amounts,
                        links,
                    )
            set_sharer(nest, level, code, work)
            if coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work):
                add_fill(nest, level, coming, count, amounts, links)
        for i in range(members):
            set_sharer(nest, level, code, work)
            add_member(
                nest, level, j, after, before, ends, final, mask, times, work.members[i], work, amounts
            )
    for f in range(nest.fanouts_above[OUTPUT, level - 1], nest.fanouts_above[OUTPUT, level]):
        links[f, 1] += scales_of(nest, COMPLETE, work.scaled_hops[f]) * nest.scale_bits[COMPLETE]


@kernel
def partial_elements(
    nest: Nest, level: int, leave: int, leaving: int, ends: bool, row: Ints, work: Work
) -> int:
    """Elements of a child's leaving tile that were last written at the width of a partial sum."""
    if (
        not ends
        or shared_elsewhere(nest, level, row, 4 + level, level, work)
        or not work.ends_as_one[level + 1]
    ):
        return leaving
    if work.departs_apart[level + 1] > work.moving[level]:
        return int(row[4 + 3 * level + (leave if leave > 0 else level)])
    return 0


@kernel
def add_member(
    nest: Nest, level: int, j: int, after: Ints, before: Ints, ends: bool, final: bool, mask: int, times: int,
    row: Ints, work: Work, amounts: Ints,
) -> None:  # fmt: skip
    """Charge the children's side of output transfers for one kind of child, whose parent is in
    ``work.slots``.

    `ends` says whether this transition ends the reduction, below the first parent.
    """
    works = row[0] & (mask | 1 << level)
    leave = leaving_level(level, works, row[1], final)
    alive = all_work(level, works) and not final
    moving = take_moving(row, 4 + level, level, work)
    memory = nest.memory[OUTPUT, level]
    count = times * row[child_width(nest, level)]
    wide = nest.element_bits[OUTPUT]
    leaving = row[4 + leave] if leave > 0 else (row[4] if alive and not row[2] else 0)
    coming = row[3] if alive and (leave > 0 or not row[2]) else 0
    continues = coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work)
    if leaving > 0 and visit_flow(nest, level, leave, j, after, before, moving, work):
        senders = work.flow[0]
        partial = partial_elements(nest, level, leave, leaving, ends, row, work)
        whole = leaving - partial
        words = words_of_sums(nest, memory, partial, whole)
        amounts[6] += count * senders * leaving
        amounts[7] += count * senders * (partial * wide + tile_bits(nest, COMPLETE, whole))
        amounts[8] += count * senders * words
        amounts[14] = max(amounts[14], words)
    if continues:
        words = words_of(nest, memory, coming, wide)
        amounts[9] += count * coming
        amounts[10] += count * coming * wide
        amounts[11] += count * words
        amounts[13] = max(amounts[13], words)


@kernel
def link_peaks(
    nest: Nest, level: int, j: int, after: Ints, before: Ints, final: bool, work: Work, links: Ints
) -> None:
    """Largest load of the limited links further in than the first fanout below the parent."""
    work.marks[0] = 0
    for f in range(nest.fanouts_above[OUTPUT, level - 1] + 1, nest.fanouts_above[OUTPUT, level]):
        if nest.link_port[f] < 0 or nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            continue
        parents, _ = joint_lists(nest, level, nest.first_slot[f], j, after, before, work)
        set_sharer(nest, level, 0, work)
        mask = reduction_mask(nest, level - 1, after, work)
        for i in range(parents):
            row = work.parents[i]
            moving = take_moving(row, 5 + level, level, work)
            leave, leaving, coming = parent_moves(level, row, mask, final)
            set_sharer(nest, level, 0, work)
            if leaving > 0 and visit_flow(nest, level, leave, j, after, before, moving, work):
                bits = widest_arrival(nest, level, leaving * work.flow[6 + 4 * f], work)
                links[f, 4] = max(links[f, 4], bits)
            set_sharer(nest, level, 0, work)
            if coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work):
                links[f, 3] = max(links[f, 3], coming * nest.element_bits[OUTPUT])


@kernel
def step_link_peaks(nest: Nest, level: int, temporal: Ints, work: Work, links: Ints) -> None:
    """As `link_peaks` for the sums that the MACs send in one step."""
    for f in range(nest.fanouts_above[OUTPUT, level - 1] + 1, nest.fanouts_above[OUTPUT, level]):
        if nest.link_port[f] < 0 or nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            continue
        parents, _ = joint_lists(nest, level, nest.first_slot[f], nest.temporals, temporal, temporal, work)
        set_sharer(nest, level, 0, work)
        mark_present(nest, level - 1, level, temporal, work.slots, work.present)
        gather(nest, level - 1, level, work.present, work.flow)
        for i in range(parents):
            bits = widest_arrival(nest, level, work.parents[i, 2] * work.flow[6 + 4 * f], work)
            links[f, 4] = max(links[f, 4], bits)


@kernel
def output_step(nest: Nest, temporal: Ints, done: bool, work: Work, amounts: Ints, links: Ints) -> None:
    """Sums that the MACs of one step bring to the innermost keep."""
    level = nest.levels[OUTPUT] - 1
    last = nest.temporals
    above = nest.slots_above[OUTPUT, level - 1]
    clear_arrivals(nest, work)
    work.marks[0] = 0
    parents, _ = joint_lists(nest, level, above, last, temporal, temporal, work)
    codes = reduction_slots(nest, 0, above) if nest.uneven_sums else level
    for code in range(codes):
        count = set_sharer(nest, level, code, work)
        if count == 0:
            continue
        mark_present(nest, level - 1, level, temporal, work.slots, work.present)
        gather(nest, level - 1, level, work.present, work.flow)
        if work.flow[0] == 0:
            continue
        for i in range(parents):
            row = work.parents[i]
            moving = take_moving(row, 5 + level, level, work)
            set_sharer(nest, level, code, work)
            zero = zero_level(nest, level, last, temporal, temporal, 0, moving, work)
            held = deepest_reduction(nest, last, temporal) > (moving[zero] if zero > 0 else 0)
            adding = row[2] if held else 0
            complete = done and code == 0 and work.flow[1] == 1
            if complete and shared_elsewhere(nest, level - 1, row, 5 + level, level, work):
                complete = False
            add_drain(
                nest,
                level,
                row[2],
                work.flow,
                adding,
                complete,
                count * row[6 + 3 * level],
                work,
                amounts,
                links,
            )
    step_link_peaks(nest, level, temporal, work, links)
