"""Transfers of the output between a level and its parent at one transition of the odometer (docs/model.md, section 2).

Rows of the two lists, whose columns combine over dimensions by bitwise and, or, product or maximum:

- per parent instance: work after (bit per level), change (bit per level), new tiles, of these unchanged, old tiles of
  those that work, of these unchanged, then for each level l: the old tiles held below the last tile of level l; the
  deepest loop that moves the tile of level l; and the deepest of these that stood before its last iteration.
- per child instance: work after, change, unchanged, new tile, old tile, then as above for each level; and where partial
  sums are uneven, of the old tile below the last tile of each level what separated children hold parts of.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_axis import add_row, copy_rows
from seada.model.kernel_chain import combinations, interval, last_index, last_interval, set_slots
from seada.model.kernel_sums import (
    gather,
    last_reduction_positions,
    mark_present,
    reduction_slots,
    reduction_works,
    set_reduction_slots,
)
from seada.model.kernel_words import words_of, words_of_two
from seada.model.nest_arrays import Ints, Nest, Work

AND, OR, TIMES, MAX = 0, 1, 2, 3
OUTPUT = 2
DEEPEST = 1 << 30  # below every loop


@kernel
def combine_column(kind: int, left: int, right: int) -> int:
    """Combine one column of two rows."""
    if kind == AND:
        return left & right
    if kind == OR:
        return left | right
    if kind == TIMES:
        return left * right
    return max(left, right)


@kernel
def combine(
    left: Ints, left_count: int, right: Ints, right_count: int, width: int, kinds: Ints, out: Ints, row: Ints
) -> int:
    """All pairs of rows of two lists, combined column by column."""
    count = 0
    for i in range(left_count):
        for k in range(right_count):
            for w in range(width):
                row[w] = combine_column(kinds[w], left[i, w], right[k, w])
            count = add_row(out, count, width, row, left[i, width] * right[k, width])
    return count


@kernel
def child_row(
    nest: Nest, d: int, level: int, j: int, after: Ints, before: Ints, work: Work, row: Ints
) -> None:
    """Row of one child instance along one dimension."""
    slots = work.slots
    start, size = interval(nest, d, nest.cut[OUTPUT, level, d], after, slots)
    row[0] = 0
    row[1] = 0
    for l in range(1, level + 1):
        above_start, above_size = interval(nest, d, nest.cut[OUTPUT, l, d], after, slots)
        above_old, old_size, moving, standing = last_interval(nest, d, OUTPUT, l, l, before, slots, j)
        if above_size > 0:
            row[0] |= 1 << l
            if above_start != above_old:
                row[1] |= 1 << l
        row[4 + level + l] = moving
        row[4 + 2 * level + l] = standing
        if l == level:
            row[1] &= (1 << level) - 1
            row[2] = 1 if start == above_old else 0
            row[3] = size
            row[4] = old_size if size > 0 else 0
    for l in range(1, level + 1):
        _, row[4 + l], _, _ = last_interval(nest, d, OUTPUT, l, level, before, slots, j)
        if nest.uneven_sums:
            row[4 + 3 * level + l] = shared_tail(nest, d, level, row[4 + l], work)


@kernel
def shared_tail(nest: Nest, d: int, level: int, extent: int, work: Work) -> int:
    """Of a tile, what belongs to the last tiles of children that departed while others went on, by one dimension."""
    floor = work.departs_apart[level + 1]
    if floor == 0 or level + 1 >= nest.levels[OUTPUT] - 1:
        return extent
    slots = work.slots
    first, stop = nest.cut[OUTPUT, level, d], nest.cut[OUTPUT, level + 1, d]
    places = 1
    most = extent
    for c in range(first, stop):
        places *= (most + nest.chain_step[d, c] - 1) // nest.chain_step[d, c]
        most = min(most, nest.chain_step[d, c])
    total = 0
    for place in range(places):
        for sorting in range(2):
            rest = place
            most = extent
            size = extent
            for c in range(first, stop):
                step = nest.chain_step[d, c]
                index = nest.chain_index[d, c]
                trips = (most + step - 1) // step
                most = min(most, step)
                position = rest % trips
                rest //= trips
                if nest.chain_is_slot[d, c]:
                    slots[index] = position
                elif sorting == 1 and index > floor:
                    if position != last_index(nest, d, c, stop, slots, size):
                        size = 0
                if sorting == 1 and size > 0:
                    size = max(0, min(step, size - position * step))
        total += size
    for c in range(first, stop):
        if nest.chain_is_slot[d, c]:
            slots[nest.chain_index[d, c]] = 0
    return total


@kernel
def output_lists(
    nest: Nest, d: int, level: int, above: int, j: int, after: Ints, before: Ints, work: Work
) -> tuple[int, int]:
    """Lists of one dimension: rows of instances outside slot `above` in ``work.table``, of children in ``table2``."""
    slots = work.slots
    for s in range(nest.slots):
        slots[s] = 0
    inner = nest.slots_above[OUTPUT, level]
    child = work.child
    row = work.row
    parent_count = 0
    member_count = 0
    for outer in range(combinations(nest, d, 0, above)):
        set_slots(nest, d, 0, above, outer, slots)
        for k in range(6 + level):
            row[k] = 0
        for code in range(combinations(nest, d, above, inner)):
            set_slots(nest, d, above, inner, code, slots)
            child_row(nest, d, level, j, after, before, work, child)
            member_count = add_row(work.table2, member_count, child_width(nest, level), child, 1)
            if code == 0:
                row[0] = child[0]
                row[1] = child[1]
                for k in range(level + 1, 3 * level + 1):
                    row[5 + k] = child[4 + k]
            row[2] += child[3]
            row[4] += child[4]
            if child[2] and child[3] > 0:
                row[3] += child[3]
                row[5] += child[4]
            for l in range(1, level + 1):
                row[5 + l] += child[4 + l]
        parent_count = add_row(work.table, parent_count, 6 + 3 * level, row, 1)
    return parent_count, member_count


@kernel
def child_width(nest: Nest, level: int) -> int:
    """Columns of a child's row before its multiplicity."""
    return int(5 + (4 if nest.uneven_sums else 3) * level)


@kernel
def column_kinds(level: int, fixed: int, kinds: Ints) -> None:
    """How the columns of a row with `fixed` leading ones combine over dimensions."""
    kinds[0] = AND
    kinds[1] = OR
    for k in range(2, fixed + 4 * level):
        kinds[k] = MAX if fixed + level <= k < fixed + 3 * level else TIMES


@kernel
def clear_row(row: Ints, width: int, kinds: Ints) -> None:
    """Make a row neutral, once."""
    for k in range(width):
        row[k] = 1 if kinds[k] == TIMES else 0
    row[0] = -1
    row[width] = 1


@kernel
def joint_lists(
    nest: Nest, level: int, above: int, j: int, after: Ints, before: Ints, work: Work
) -> tuple[int, int]:
    """Lists over all output dimensions, in ``work.parents`` and ``work.members``; returns their lengths."""
    kinds = work.kinds
    width = 6 + 3 * level
    member_width = child_width(nest, level)
    column_kinds(level, 6, kinds)
    clear_row(work.parents[0], width, kinds)
    column_kinds(level, 5, kinds)
    clear_row(work.members[0], member_width, kinds)
    parents = 1
    members = 1
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d] or nest.extent[d] == 1:
            continue
        count, member_count = output_lists(nest, d, level, above, j, after, before, work)
        column_kinds(level, 6, kinds)
        parents = combine(work.parents, parents, work.table, count, width, kinds, work.spare, work.row)
        copy_rows(work.spare, parents, width, work.parents)
        column_kinds(level, 5, kinds)
        members = combine(
            work.members, members, work.table2, member_count, member_width, kinds, work.spare, work.row
        )
        copy_rows(work.spare, members, member_width, work.members)
    return parents, members


@kernel
def leaving_level(level: int, works: int, changes: int, final: bool) -> int:
    """Outermost level above `level` whose tile leaves at this transition; 0 if none."""
    if final:
        return 1
    for l in range(1, level):
        if not works >> l & 1:
            return 0
        if changes >> l & 1:
            return l
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
    """Deepest level above `level` whose instance started its present visit at zero though others may continue; 0 if none.

    `moving` holds the deepest loop that moved the tile of each level; levels from `leave` on start a new visit now.
    """
    for l in range(level - 1, 0, -1):
        first = nest.slots_above[OUTPUT, l - 1]
        for s in range(first, nest.slots_above[OUTPUT, l]):
            if not nest.relevant[OUTPUT, nest.slot_dim[s]] and work.slots[s] > 0:
                return l
        if leave > 0 and l >= leave:
            shared = shares_at_start(nest, l, after, work)
        else:
            last_reduction_positions(nest, 1, l, before, work.slots, j, moving[l], work.positions)
            shared = shares_at_start(nest, l, work.positions, work)
        if shared:
            return l
    return 0


@kernel
def deepest_reduction(nest: Nest, stop: int, temporal: Ints) -> int:
    """Deepest reduction loop up to `stop` that is past its first iteration; 0 if none."""
    for l in range(stop, 0, -1):
        if not nest.relevant[OUTPUT, nest.temporal_dim[l]] and temporal[l] > 0:
            return l
    return 0


@kernel
def started_with_sum(nest: Nest, stop: int, floor: int, positions: Ints) -> bool:
    """Whether some reduction loop in (floor, stop) is past its first iteration at these positions."""
    for l in range(floor + 1, stop):
        if not nest.relevant[OUTPUT, nest.temporal_dim[l]] and positions[l] > 0:
            return True
    return False


@kernel
def add_drain(
    nest: Nest, level: int, elements: int, flow: Ints, adds: bool, complete: bool, times: int,
    work: Work, amounts: Ints, links: Ints,
) -> None:  # fmt: skip
    """Charge the parent's side of a drain of `elements` distinct elements per instance.

    `adds` says whether the first sum of an element is added to one that the parent holds.
    """
    if elements == 0 or flow[1] == 0:
        return
    memory = nest.memory[OUTPUT, level - 1]
    bits = nest.output_bits if complete else nest.element_bits[OUTPUT]
    work.widest[0] = max(work.widest[0], bits)
    arriving = elements * flow[1]
    amounts[3] += times * arriving
    amounts[4] += times * arriving * bits
    words = words_of(nest, memory, arriving, bits)
    amounts[5] += times * words
    amounts[15] = max(amounts[15], words)
    reads = elements * (flow[1] if adds else flow[1] - 1)
    wide = nest.element_bits[OUTPUT]
    words = words_of(nest, memory, reads, wide)
    amounts[0] += times * reads
    amounts[1] += times * reads * wide
    amounts[2] += times * words
    amounts[16] = max(amounts[16], words)
    for f in range(nest.fanouts_above[OUTPUT, level - 1], nest.fanouts_above[OUTPUT, level]):
        hops = elements * (flow[4 + 4 * f] if nest.link_is_mesh[f] else flow[3 + 4 * f])
        links[f, 0] += times * hops
        links[f, 1] += times * hops * bits
        links[f, 2] += times * elements * flow[5 + 4 * f]
        if nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            links[f, 4] = max(links[f, 4], elements * flow[6 + 4 * f] * bits)


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
        links[f, 0] += times * elements
        links[f, 1] += times * elements * bits
        if nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            links[f, 3] = max(links[f, 3], elements * bits)


@kernel
def shared_elsewhere(nest: Nest, level: int, row: Ints, base: int, width: int, work: Work) -> bool:
    """Whether, once all MACs are done, other instances of the levels 1..level hold parts of the first one's sums.

    They do if they work to the end, or if they departed in the present visit of their parent and the first one stands at
    the tile that they held on to. `row` has the deepest loops that move the tiles from `base` on, and `width` columns
    further those not at their last iteration.
    """
    outer = 0
    for l in range(1, level + 1):
        if work.workers[l] > 1:
            return True
        departs = work.departs[l]
        if departs > outer and departs > row[base + width + l]:
            return True
        outer = row[base + l]
    return False


@kernel
def visit_flow(
    nest: Nest, level: int, leave: int, j: int, after: Ints, before: Ints, moving: Ints, work: Work
) -> bool:
    """Fill ``work.flow`` with the drain of the sums of one element; False if nothing is held. Keeps ``work.slots``."""
    if leave > 0:
        if not last_reduction_positions(
            nest, leave, level - 1, before, work.slots, j, moving[level - 1], work.positions
        ):
            return False
        mark_present(nest, level - 1, level, work.positions, work.slots, work.present)
    else:
        mark_present(nest, level - 1, level, after, work.slots, work.present)
    gather(nest, level - 1, level, work.present, work.flow)
    return bool(work.flow[0] > 0)


@kernel
def drain_state(
    nest: Nest, level: int, leave: int, j: int, before: Ints, moving: Ints, work: Work
) -> tuple[bool, bool]:
    """(parent had a sum when the visit began, the visit continued it) for the tile that leaves."""
    zero = zero_level(nest, level, j, before, before, 0, moving, work)
    low = leave if leave > 0 else level
    last_reduction_positions(nest, low, level, before, work.slots, j, DEEPEST, work.positions)
    had = started_with_sum(nest, moving[level], moving[zero] if zero > 0 else 0, work.positions)
    last_reduction_positions(nest, low, level, before, work.slots, j, moving[level], work.positions)
    return had, had and not shares_at_start(nest, level, work.positions, work)


@kernel
def arrival_state(
    nest: Nest, level: int, leave: int, j: int, after: Ints, before: Ints, moving: Ints, work: Work
) -> bool:
    """Whether new tiles continue a sum that the parent holds."""
    zero = zero_level(nest, level, j, after, before, leave, moving, work)
    deepest = deepest_reduction(nest, j, after)
    if deepest == 0 or (zero > 0 and ((leave > 0 and leave <= zero) or deepest <= moving[zero])):
        return False
    return not shares_at_start(nest, level, after, work)


@kernel
def set_sharer(nest: Nest, level: int, code: int, work: Work) -> int:
    """Put the reduction coordinates of parent number `code` into ``work.slots``; returns how many are alike.

    Where no reduction dimension is ragged, parents that are the first of their sharers down to the same level behave
    alike, and `code` counts these classes. Number 0 is the first parent.
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
    outer = reduction_slots(nest, 0, nest.slots_above[OUTPUT, code - 1])
    inner = reduction_slots(nest, nest.slots_above[OUTPUT, code], nest.slots_above[OUTPUT, level - 1])
    return outer * (width - 1) * inner


@kernel
def reduction_mask(nest: Nest, level: int, after: Ints, work: Work) -> int:
    """Bits of the levels 0..level where the present reduction coordinates have work after the transition."""
    mask = 1 << 0
    for l in range(1, level + 1):
        if not nest.uneven_sums or reduction_works(nest, l, after, work.slots):
            mask |= 1 << l
    return mask


@kernel
def all_work(level: int, works: int) -> bool:
    """Whether the bits of the levels 1..level are all set."""
    for l in range(1, level + 1):
        if not works >> l & 1:
            return False
    return True


@kernel
def take_moving(row: Ints, base: int, level: int, work: Work) -> Ints:
    """Copy the deepest moving loops of the levels out of a row, where they begin after `base`."""
    moving: Ints = work.moving
    moving[0] = 0
    for l in range(1, level + 1):
        moving[l] = row[base + l]
    return moving


@kernel
def parent_moves(level: int, row: Ints, mask: int, final: bool) -> tuple[int, int, int]:
    """(outermost level whose tile leaves, elements that children drain, elements that they begin) of a parent's row."""
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

    `done` says whether every reduction loop up to j stood at its last iteration. `amounts` and `links` are added to.
    """
    above = nest.slots_above[OUTPUT, level - 1]
    work.widest[0] = 0
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
            count = times * row[6 + 3 * level]
            set_sharer(nest, level, code, work)
            if leaving > 0:
                had, continued = drain_state(nest, level, leave, j, before, moving, work)
                if visit_flow(nest, level, leave, j, after, before, moving, work):
                    complete = ends and work.flow[1] == 1
                    if complete and shared_elsewhere(nest, level - 1, row, 5 + level, level, work):
                        complete = False
                    add_drain(
                        nest,
                        level,
                        leaving,
                        work.flow,
                        had and not continued,
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
    if work.departs_apart[level + 1] > row[4 + 2 * level]:
        return int(row[4 + 3 * level + (leave if leave > 0 else level)])
    return 0


@kernel
def add_member(
    nest: Nest, level: int, j: int, after: Ints, before: Ints, ends: bool, final: bool, mask: int, times: int,
    row: Ints, work: Work, amounts: Ints,
) -> None:  # fmt: skip
    """Charge the children's side of output transfers for one kind of child, whose parent is in ``work.slots``.

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
        words = words_of_two(nest, memory, partial, wide, whole, nest.output_bits)
        amounts[6] += count * senders * leaving
        amounts[7] += count * senders * (partial * wide + whole * nest.output_bits)
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
                bits = leaving * work.flow[6 + 4 * f] * work.widest[0]
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
            links[f, 4] = max(links[f, 4], work.parents[i, 2] * work.flow[6 + 4 * f] * work.widest[0])


@kernel
def output_step(nest: Nest, temporal: Ints, done: bool, work: Work, amounts: Ints, links: Ints) -> None:
    """Sums that the MACs of one step bring to the innermost keep."""
    level = nest.levels[OUTPUT] - 1
    last = nest.temporals
    above = nest.slots_above[OUTPUT, level - 1]
    work.widest[0] = 0
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
            complete = done and code == 0 and work.flow[1] == 1
            if complete and shared_elsewhere(nest, level - 1, row, 5 + level, level, work):
                complete = False
            add_drain(
                nest,
                level,
                row[2],
                work.flow,
                held,
                complete,
                count * row[6 + 3 * level],
                work,
                amounts,
                links,
            )
    step_link_peaks(nest, level, temporal, work, links)
