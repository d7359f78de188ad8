"""Transfers of the output between a level and its parent at one transition of the odometer (docs/model.md, section 2).

Rows of the two lists, whose columns combine over dimensions by bitwise and, or, product or maximum:

- per parent instance: work after (bit per level), change (bit per level), new tiles, of these unchanged, old tiles of those
  that work, of these unchanged, then for each level l the old tiles held below the last tile of level l, then for each
  level the deepest loop that moved its tile.
- per child instance: work after, change, unchanged, new tile, old tile, then as above old tile below the last tile of each
  level, and the deepest loops that moved.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_axis import add_row
from seada.model.kernel_chain import combinations, interval, last_interval, reaches, set_slots
from seada.model.kernel_sums import (
    gather,
    last_reduction_positions,
    mark_present,
    reduction_slots,
    reduction_works,
    set_reduction_slots,
)
from seada.model.kernel_words import words_of
from seada.model.nest_arrays import Nest

AND, OR, TIMES, MAX = 0, 1, 2, 3
OUTPUT = 2
FILL, DRAIN = 0, 1


@kernel
def combine_column(kind: int, left: int, right: int) -> int:
    """Combine one column of two rows."""
    if kind == 0:
        return left & right
    if kind == 1:
        return left | right
    if kind == 2:
        return left * right
    return max(left, right)


@kernel
def combine(left, left_count: int, right, right_count: int, width: int, kinds, out, row) -> int:  # type: ignore[no-untyped-def]
    """All pairs of rows of two lists, combined column by column."""
    count = 0
    for i in range(left_count):
        for k in range(right_count):
            for w in range(width):
                row[w] = combine_column(kinds[w], left[i, w], right[k, w])
            count = add_row(out, count, width, row, left[i, width] * right[k, width])
    return count


@kernel
def child_row(nest: Nest, d: int, level: int, j: int, after, before, slots, row) -> None:  # type: ignore[no-untyped-def]
    """Row of one child instance along one dimension; the parent's deepest moving loop comes before its own."""
    start, size = interval(nest, d, nest.cut[OUTPUT, level, d], after, slots)
    old_start, old_size, moving = last_interval(
        nest, d, OUTPUT, level, level, before, slots, j, 1 << 30
    )
    row[0] = 0
    row[1] = 0
    for l in range(1, level):
        above_start, above_size = interval(nest, d, nest.cut[OUTPUT, l, d], after, slots)
        above_old, _, above_moving = last_interval(nest, d, OUTPUT, l, l, before, slots, j, 1 << 30)
        if above_size > 0:
            row[0] |= 1 << l
            if above_start != above_old:
                row[1] |= 1 << l
        row[4 + level + l] = above_moving
    if size > 0:
        row[0] |= 1 << level
    row[2] = 1 if start == old_start else 0
    row[3] = size
    row[4] = old_size if size > 0 else 0
    for l in range(1, level + 1):
        _, row[4 + l], _ = last_interval(nest, d, OUTPUT, l, level, before, slots, j, 1 << 30)
    row[4 + 2 * level] = moving


@kernel
def output_lists(nest: Nest, d: int, level: int, above: int, j: int, after, before, work, parents, members):  # type: ignore[no-untyped-def]
    """Lists of one dimension: (rows of instances outside slot `above`, rows of single children)."""
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
        for k in range(6 + 2 * level):
            row[k] = 0
        for code in range(combinations(nest, d, above, inner)):
            set_slots(nest, d, above, inner, code, slots)
            child_row(nest, d, level, j, after, before, slots, child)
            member_count = add_row(members, member_count, 5 + 2 * level, child, 1)
            if code == 0:
                row[0] = child[0]
                row[1] = child[1]
                for l in range(1, level + 1):
                    row[5 + level + l] = child[4 + level + l]
            row[2] += child[3]
            row[4] += child[4]
            if child[2] and child[3] > 0:
                row[3] += child[3]
                row[5] += child[4]
            for l in range(1, level + 1):
                row[5 + l] += child[4 + l]
        parent_count = add_row(parents, parent_count, 6 + 2 * level, row, 1)
    return parent_count, member_count


@kernel
def joint_lists(nest: Nest, level: int, above: int, j: int, after, before, work):  # type: ignore[no-untyped-def]
    """Lists over all output dimensions, in ``work.parents`` and ``work.members``; returns their lengths."""
    kinds = work.kinds
    width = 6 + 2 * level
    child_width = 5 + 2 * level
    work.parents[0, :] = 1
    work.parents[0, 0] = -1
    work.parents[0, 1] = 0
    for l in range(1, level + 1):
        work.parents[0, 5 + level + l] = 0
    work.members[0, :] = 1
    work.members[0, 0] = -1
    work.members[0, 1] = 0
    for l in range(1, level + 1):
        work.members[0, 4 + level + l] = 0
    parents = 1
    members = 1
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d] or nest.extent[d] == 1:
            continue
        count, member_count = output_lists(nest, d, level, above, j, after, before, work, work.table, work.table2)
        kinds[0] = AND
        kinds[1] = OR
        for k in range(2, 6 + level):
            kinds[k] = TIMES
        for k in range(6 + level, width):
            kinds[k] = MAX
        parents = combine(work.parents, parents, work.table, count, width, kinds, work.spare, work.row)
        for i in range(parents):
            for k in range(width + 1):
                work.parents[i, k] = work.spare[i, k]
        for k in range(2, 5 + level):
            kinds[k] = TIMES
        for k in range(5 + level, child_width):
            kinds[k] = MAX
        members = combine(work.members, members, work.table2, member_count, child_width, kinds, work.spare, work.row)
        for i in range(members):
            for k in range(child_width + 1):
                work.members[i, k] = work.spare[i, k]
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
def shares_at_start(nest: Nest, level: int, positions, work) -> bool:  # type: ignore[no-untyped-def]
    """Whether instances that share elements start their tiles apart, none continuing, at these positions."""
    parent = level - 1
    if reduction_slots(nest, nest.slots_above[OUTPUT, parent], nest.slots_above[OUTPUT, level]) == 1:
        return False
    mark_present(nest, parent, level, positions, work.slots, work.present)
    gather(nest, parent, level, work.present, work.flow2)
    return work.flow2[2] > 0


@kernel
def zero_level(nest: Nest, level: int, j: int, after, before, leave: int, moving, work) -> int:  # type: ignore[no-untyped-def]
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
def deepest_reduction(nest: Nest, stop: int, temporal) -> int:  # type: ignore[no-untyped-def]
    """Deepest reduction loop up to `stop` that is past its first iteration; 0 if none."""
    for l in range(stop, 0, -1):
        if not nest.relevant[OUTPUT, nest.temporal_dim[l]] and temporal[l] > 0:
            return l
    return 0


@kernel
def started_with_sum(nest: Nest, stop: int, floor: int, positions) -> bool:  # type: ignore[no-untyped-def]
    """Whether some reduction loop in (floor, stop) is past its first iteration at these positions."""
    for l in range(floor + 1, stop):
        if not nest.relevant[OUTPUT, nest.temporal_dim[l]] and positions[l] > 0:
            return True
    return False


@kernel
def add_drain(nest: Nest, level: int, elements: int, flow, base: bool, had: bool, complete: bool, times: int, work, amounts, links) -> None:  # type: ignore[no-untyped-def]
    """Charge the parent's side of a drain of `elements` distinct elements per instance."""
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
    reads = elements * (flow[1] if had and not base else flow[1] - 1)
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
def add_fill(nest: Nest, level: int, elements: int, times: int, amounts, links) -> None:  # type: ignore[no-untyped-def]
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
def participants(nest: Nest, level: int, j: int, before, visit: int, work) -> int:  # type: ignore[no-untyped-def]
    """Instances at the level that share the elements of the first one in its present visit."""
    total = reduction_slots(nest, nest.slots_above[OUTPUT, level - 1], nest.slots_above[OUTPUT, level])
    if total == 1 or not nest.uneven_sums:
        return total
    for s in range(nest.slots):
        work.slots[s] = 0
    last_reduction_positions(nest, 1, level, before, work.slots, j, visit, work.positions)
    mark_present(nest, level - 1, level, work.positions, work.slots, work.present)
    count = 0
    for code in range(total):
        count += work.present[code]
    return count


@kernel
def last_positions(nest: Nest, level: int, j: int, before, work) -> None:  # type: ignore[no-untyped-def]
    """Positions of all loops at the first instance's last work before loop j advances, into ``work.past``."""
    work.past[:] = 0
    for d in range(nest.dims):
        extent = nest.extent[d]
        for c in range(nest.cut[OUTPUT, level, d]):
            index = nest.chain_index[d, c]
            step = nest.chain_step[d, c]
            position = 0
            if not nest.chain_is_slot[d, c]:
                position = before[index] if index <= j else (extent + step - 1) // step - 1
                work.past[index] = position
            extent = min(step, extent - position * step)


@kernel
def departed_at(nest: Nest, level: int, temporal, slots) -> int:  # type: ignore[no-untyped-def]
    """Outermost reduction loop that has gone past the last work of these coordinates; 0 if they work or never did."""
    departed = 0
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            continue
        extent = nest.extent[d]
        for c in range(nest.cut[OUTPUT, level, d]):
            index = nest.chain_index[d, c]
            step = nest.chain_step[d, c]
            position = slots[index] if nest.chain_is_slot[d, c] else temporal[index]
            extent = min(step, extent - position * step)
            if extent <= 0:
                return 0
            if not nest.chain_is_slot[d, c] and not reaches(
                nest, d, c + 1, nest.cut[OUTPUT, level, d], slots, extent
            ):
                if position == 0:
                    return 0
                if departed == 0 or index < departed:
                    departed = index
                break
    return departed


@kernel
def stands_at_last(nest: Nest, level: int, floor: int, temporal, slots) -> bool:  # type: ignore[no-untyped-def]
    """Whether all loops above the level that move its tile and are deeper than `floor` are at their last iteration."""
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d]:
            continue
        extent = nest.extent[d]
        for c in range(nest.cut[OUTPUT, level, d]):
            index = nest.chain_index[d, c]
            step = nest.chain_step[d, c]
            is_slot = nest.chain_is_slot[d, c]
            position = slots[index] if is_slot else temporal[index]
            if not is_slot and index > floor and position < (extent + step - 1) // step - 1:
                return False
            extent = min(step, extent - position * step)
    return True


@kernel
def idle_holder(nest: Nest, level: int, temporal, parent_moving: int, work) -> bool:  # type: ignore[no-untyped-def]
    """Whether an instance without work still holds sums of the first one's elements at these positions."""
    if not nest.uneven_sums:
        return False
    first = nest.slots_above[OUTPUT, level - 1]
    stop = nest.slots_above[OUTPUT, level]
    found = False
    for s in range(nest.slots):
        work.slots[s] = 0
    for code in range(1, reduction_slots(nest, first, stop)):
        set_reduction_slots(nest, first, stop, code, work.slots)
        departed = departed_at(nest, level, temporal, work.slots)
        set_reduction_slots(nest, first, stop, 0, work.slots)
        if departed > parent_moving and stands_at_last(nest, level, departed, temporal, work.slots):
            found = True
            break
    return found


@kernel
def complete_below(nest: Nest, level: int, j: int, before, moving: int, work) -> bool:  # type: ignore[no-untyped-def]
    """Whether the last sums that reach the level from below arrive as one."""
    child = level + 1
    total = reduction_slots(nest, nest.slots_above[OUTPUT, level], nest.slots_above[OUTPUT, child])
    visit = 1 << 30 if child == nest.levels[OUTPUT] - 1 else moving
    if total > 1 and nest.uneven_sums:
        for s in range(nest.slots):
            work.slots[s] = 0
        last_reduction_positions(nest, 1, child if visit > moving else level, before, work.slots, j, visit, work.positions)
    mark_present(nest, level, child, work.positions, work.slots, work.present)
    gather(nest, level, child, work.present, work.flow2)
    return work.flow2[1] == 1


@kernel
def visit_flow(nest: Nest, level: int, leave: int, j: int, after, before, parent_moving: int, work) -> bool:  # type: ignore[no-untyped-def]
    """Fill ``work.flow`` with the drain of the sums of one element; False if nothing is held. Keeps ``work.slots``."""
    if leave > 0:
        if not last_reduction_positions(
            nest, leave, level - 1, before, work.slots, j, parent_moving, work.positions
        ):
            return False
        mark_present(nest, level - 1, level, work.positions, work.slots, work.present)
    else:
        mark_present(nest, level - 1, level, after, work.slots, work.present)
    gather(nest, level - 1, level, work.present, work.flow)
    return work.flow[0] > 0


@kernel
def drain_state(nest: Nest, level: int, leave: int, j: int, after, before, moving, work):  # type: ignore[no-untyped-def]
    """(parent had a sum when the visit began, the visit continued it) for the tile that leaves; ``work.slots`` kept."""
    zero = zero_level(nest, level, j, before, before, 0, moving, work)
    low = leave if leave > 0 else level
    last_reduction_positions(nest, low, level, before, work.slots, j, 1 << 30, work.positions)
    had = started_with_sum(nest, moving[level], moving[zero] if zero > 0 else 0, work.positions)
    last_reduction_positions(nest, low, level, before, work.slots, j, moving[level], work.positions)
    return had, had and not shares_at_start(nest, level, work.positions, work)


@kernel
def arrival_state(nest: Nest, level: int, leave: int, j: int, after, before, moving, work) -> bool:  # type: ignore[no-untyped-def]
    """Whether new tiles continue a sum that the parent holds."""
    zero = zero_level(nest, level, j, after, before, leave, moving, work)
    deepest = deepest_reduction(nest, j, after)
    if deepest == 0 or (zero > 0 and ((leave > 0 and leave <= zero) or deepest <= moving[zero])):
        return False
    return not shares_at_start(nest, level, after, work)


@kernel
def set_sharer(nest: Nest, level: int, code: int, work) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """Put the reduction coordinates of parent number `code` into ``work.slots``.

    Where no reduction dimension is ragged, parents that are the first of their sharers down to the same level behave alike, and
    `code` counts these classes.

    Returns
    -------
    (number of parents of this kind, bits of the levels above `level` where it has work is left to the caller: 0)
    """
    for s in range(nest.slots):
        work.slots[s] = 0
    if nest.uneven_sums:
        set_reduction_slots(nest, 0, nest.slots_above[OUTPUT, level - 1], code, work.slots)
        return 1, 0
    if code == 0:
        return 1, 0
    width = reduction_slots(nest, nest.slots_above[OUTPUT, code - 1], nest.slots_above[OUTPUT, code])
    if width == 1:
        return 0, 0
    set_reduction_slots(nest, nest.slots_above[OUTPUT, code - 1], nest.slots_above[OUTPUT, code], 1, work.slots)
    outer = reduction_slots(nest, 0, nest.slots_above[OUTPUT, code - 1])
    inner = reduction_slots(nest, nest.slots_above[OUTPUT, code], nest.slots_above[OUTPUT, level - 1])
    return outer * (width - 1) * inner, 0


@kernel
def reduction_mask(nest: Nest, level: int, after, work) -> int:  # type: ignore[no-untyped-def]
    """Bits of the levels 1..level where the present reduction coordinates have work after the transition."""
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
def output_transfer(nest: Nest, level: int, j: int, after, before, done: bool, final: bool, work, amounts, links) -> None:  # type: ignore[no-untyped-def]
    """Transfers between output level `level` and its parent when loop j advances, or at the end of the layer.

    `done` says whether every reduction loop up to j stood at its last iteration. `amounts` and `links` are added to.
    """
    above = nest.slots_above[OUTPUT, level - 1]
    work.widest[0] = 0
    parents, members = joint_lists(nest, level, above, j, after, before, work)
    moving = work.moving
    moving[0] = 0
    codes = reduction_slots(nest, 0, above) if nest.uneven_sums else level
    for code in range(codes):
        times, _ = set_sharer(nest, level, code, work)
        if times == 0:
            continue
        mask = reduction_mask(nest, level - 1, after, work)
        for i in range(parents):
            row = work.parents[i]
            for l in range(1, level + 1):
                moving[l] = row[5 + level + l]
            works = row[0] & mask
            leave = leaving_level(level, works, row[1], final)
            alive = all_work(level - 1, works) and not final
            count = times * row[6 + 2 * level]
            if leave > 0:
                leaving = row[5 + leave]
                coming = row[2] if alive else 0
            else:
                leaving = row[4] - row[5] if alive else 0
                coming = row[2] - row[3] if alive else 0
            set_sharer(nest, level, code, work)
            if leaving > 0:
                had, base = drain_state(nest, level, leave, j, after, before, moving, work)
                if visit_flow(nest, level, leave, j, after, before, moving[level - 1] if level > 1 else 0, work):
                    complete = done and work.flow[1] == 1
                    last_positions(nest, level, j, before, work)
                    for l in range(1, level):
                        complete = complete and participants(nest, l, j, before, moving[l], work) == 1
                        complete = complete and not idle_holder(nest, l, work.past, moving[l - 1], work)
                    add_drain(nest, level, leaving, work.flow, base, had, complete, count, work, amounts, links)
            set_sharer(nest, level, code, work)
            if coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work):
                add_fill(nest, level, coming, count, amounts, links)
        for i in range(members):
            set_sharer(nest, level, code, work)
            add_member(nest, level, j, after, before, done, final, mask, times, work.members[i], work, amounts, code)


@kernel
def add_member(nest: Nest, level: int, j: int, after, before, done: bool, final: bool, mask: int, times: int, row, work, amounts, code: int) -> None:  # type: ignore[no-untyped-def]
    """Charge the children's side of output transfers for one kind of child."""
    works = row[0] & (mask | 1 << level)
    leave = leaving_level(level, works, row[1], final)
    alive = all_work(level, works) and not final
    moving = work.moving
    for l in range(1, level + 1):
        moving[l] = row[4 + level + l]
    memory = nest.memory[OUTPUT, level]
    count = times * row[5 + 2 * level]
    leaving = 0
    if leave > 0:
        leaving = row[4 + leave]
    elif alive and not row[2]:
        leaving = row[4]
    if leaving > 0 and visit_flow(nest, level, leave, j, after, before, moving[level - 1] if level > 1 else 0, work):
        senders = work.flow[0]
        complete = done
        last_positions(nest, level, j, before, work)
        for l in range(1, level + 1):
            complete = complete and participants(nest, l, j, before, moving[l], work) == 1
            complete = complete and not idle_holder(nest, l, work.past, moving[l - 1], work)
        complete = complete and complete_below(nest, level, j, before, moving[level], work)
        bits = nest.output_bits if complete else nest.element_bits[OUTPUT]
        words = words_of(nest, memory, leaving, bits)
        amounts[6] += count * senders * leaving
        amounts[7] += count * senders * leaving * bits
        amounts[8] += count * senders * words
        amounts[14] = max(amounts[14], words)
    set_sharer(nest, level, code, work)
    coming = row[3] if alive and (leave > 0 or not row[2]) else 0
    if coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work):
        bits = nest.element_bits[OUTPUT]
        words = words_of(nest, memory, coming, bits)
        amounts[9] += count * coming
        amounts[10] += count * coming * bits
        amounts[11] += count * words
        amounts[13] = max(amounts[13], words)


@kernel
def link_peaks(nest: Nest, level: int, j: int, after, before, final: bool, work, links) -> None:  # type: ignore[no-untyped-def]
    """Largest load of the limited links further in than the first fanout below the parent."""
    moving = work.moving
    for f in range(nest.fanouts_above[OUTPUT, level - 1] + 1, nest.fanouts_above[OUTPUT, level]):
        if nest.link_port[f] < 0 or nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            continue
        parents, _ = joint_lists(nest, level, nest.first_slot[f], j, after, before, work)
        set_sharer(nest, level, 0, work)
        mask = reduction_mask(nest, level - 1, after, work)
        for i in range(parents):
            row = work.parents[i]
            for l in range(1, level + 1):
                moving[l] = row[5 + level + l]
            works = row[0] & mask
            leave = leaving_level(level, works, row[1], final)
            alive = all_work(level - 1, works) and not final
            leaving = row[5 + leave] if leave > 0 else (row[4] - row[5] if alive else 0)
            coming = 0 if not alive else (row[2] if leave > 0 else row[2] - row[3])
            set_sharer(nest, level, 0, work)
            if leaving > 0 and visit_flow(
                nest, level, leave, j, after, before, moving[level - 1] if level > 1 else 0, work
            ):
                bits = leaving * work.flow[6 + 4 * f] * work.widest[0]
                links[f, 4] = max(links[f, 4], bits)
            set_sharer(nest, level, 0, work)
            if coming > 0 and arrival_state(nest, level, leave, j, after, before, moving, work):
                links[f, 3] = max(links[f, 3], coming * nest.element_bits[OUTPUT])


@kernel
def step_link_peaks(nest: Nest, level: int, last: int, temporal, work, links) -> None:  # type: ignore[no-untyped-def]
    """As `link_peaks` for the sums that the MACs send in one step."""
    for f in range(nest.fanouts_above[OUTPUT, level - 1] + 1, nest.fanouts_above[OUTPUT, level]):
        if nest.link_port[f] < 0 or nest.first_slot[f] == nest.slots_above[OUTPUT, level - 1]:
            continue
        parents, _ = joint_lists(nest, level, nest.first_slot[f], last, temporal, temporal, work)
        set_sharer(nest, level, 0, work)
        mark_present(nest, level - 1, level, temporal, work.slots, work.present)
        gather(nest, level - 1, level, work.present, work.flow)
        for i in range(parents):
            links[f, 4] = max(links[f, 4], work.parents[i, 2] * work.flow[6 + 4 * f] * work.widest[0])


@kernel
def output_step(nest: Nest, temporal, done: bool, times: int, work, amounts, links) -> None:  # type: ignore[no-untyped-def]
    """Sums that the MACs of one step bring to the innermost keep, `times` such steps."""
    level = nest.levels[OUTPUT] - 1
    last = nest.temporals
    above = nest.slots_above[OUTPUT, level - 1]
    work.widest[0] = 0
    parents, _ = joint_lists(nest, level, above, last, temporal, temporal, work)
    moving = work.moving
    moving[0] = 0
    codes = reduction_slots(nest, 0, above) if nest.uneven_sums else level
    for code in range(codes):
        count, _ = set_sharer(nest, level, code, work)
        if count == 0:
            continue
        mark_present(nest, level - 1, level, temporal, work.slots, work.present)
        gather(nest, level - 1, level, work.present, work.flow)
        if work.flow[0] == 0:
            continue
        for i in range(parents):
            row = work.parents[i]
            for l in range(1, level + 1):
                moving[l] = row[5 + level + l]
            set_sharer(nest, level, code, work)
            zero = zero_level(nest, level, last, temporal, temporal, 0, moving, work)
            held = deepest_reduction(nest, last, temporal) > (moving[zero] if zero > 0 else 0)
            complete = done and work.flow[1] == 1
            for l in range(1, level):
                complete = complete and participants(nest, l, last, temporal, moving[l], work) == 1
                complete = complete and not idle_holder(nest, l, temporal, moving[l - 1], work)
            weight = times * count * row[6 + 2 * level]
            add_drain(nest, level, row[2], work.flow, False, held, complete, weight, work, amounts, links)
    step_link_peaks(nest, level, last, temporal, work, links)
