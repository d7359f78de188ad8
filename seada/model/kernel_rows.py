"""Tiles of the output around one transition, as lists of rows: per parent instance and per child instance.

Rows of the two lists, whose columns combine over dimensions by bitwise and, or, product or maximum:

- per parent instance: work after (bit per level), change (bit per level), new tiles, of these unchanged, old
  tiles of those that work, of these unchanged, then for each level l: the old tiles held below the last tile
  of level l; the deepest loop that moves the tile of level l; and the deepest of these that stood before its
  last iteration. Then for each mark (see `mark_reductions`), of the children that no loop deeper than the
  mark moves: old tiles, of these unchanged, and old tiles below the last tile of each level.
- per child instance: work after, change, unchanged, new tile, old tile, then as above for each level; and
  where partial sums are uneven, of the old tile below the last tile of each level what separated children
  hold parts of.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_axis import add_row, copy_rows
from seada.model.kernel_chain import combinations, interval, last_index, last_interval, set_slots
from seada.model.nest_arrays import OUTPUT, Ints, Nest, Work

AND, OR, TIMES, MAX = 0, 1, 2, 3


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
    for lev in range(1, level + 1):
        above_start, above_size = interval(nest, d, nest.cut[OUTPUT, lev, d], after, slots)
        above_old, old_size, moving, standing = last_interval(nest, d, OUTPUT, lev, lev, before, slots, j)
        if above_size > 0:
            row[0] |= 1 << lev
            if above_start != above_old:
                row[1] |= 1 << lev
        row[4 + level + lev] = moving
        row[4 + 2 * level + lev] = standing
        if lev == level:
            row[1] &= (1 << level) - 1
            row[2] = 1 if start == above_old else 0
            row[3] = size
            row[4] = old_size if size > 0 else 0
    for lev in range(1, level + 1):
        _, row[4 + lev], _, _ = last_interval(nest, d, OUTPUT, lev, level, before, slots, j)
        if nest.uneven_sums:
            row[4 + 3 * level + lev] = shared_tail(nest, d, level, row[4 + lev], work)


@kernel
def shared_tail(nest: Nest, d: int, level: int, extent: int, work: Work) -> int:
    """Of a tile, what belongs to the last tiles of children that departed while others went on, by one
    dimension.
    """
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
                elif sorting == 1 and index > floor and position != last_index(nest, d, c, stop, slots, size):
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
    """Lists of one dimension: rows of instances outside slot `above` in ``work.table``, of children in
    ``table2``.
    """
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
        row[: parent_width(level, work)] = 0
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
            for lev in range(1, level + 1):
                row[5 + lev] += child[4 + lev]
            for i in range(work.marks[0]):
                if child[4 + 2 * level] < work.marks[1 + i]:
                    add_early(level, i, child, row)
        parent_count = add_row(work.table, parent_count, parent_width(level, work), row, 1)
    return parent_count, member_count


@kernel
def add_early(level: int, i: int, child: Ints, row: Ints) -> None:
    """Add a child to what a parent's row has of those that no loop deeper than mark number i moves."""
    base = 6 + 3 * level + i * (2 + level)
    row[base] += child[4]
    if child[2] and child[3] > 0:
        row[base + 1] += child[4]
    for lev in range(1, level + 1):
        row[base + 1 + lev] += child[4 + lev]


@kernel
def parent_width(level: int, work: Work) -> int:
    """Columns of a parent's row before its multiplicity."""
    return int(6 + 3 * level + work.marks[0] * (2 + level))


@kernel
def mark_reductions(nest: Nest, level: int, work: Work) -> None:
    """Set ``work.marks`` (number, then loops) to the reduction loops above the level.

    None if the children of one parent instance all have the same loops that move their tiles.
    """
    work.marks[0] = 0
    first, stop = nest.slots_above[OUTPUT, level - 1], nest.slots_above[OUTPUT, level]
    mixed = False
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d] or not nest.uneven[d]:
            continue
        split, moves = False, False
        for c in range(nest.cut[OUTPUT, level, d]):
            if nest.chain_is_slot[d, c]:
                split = split or first <= nest.chain_index[d, c] < stop
            else:
                moves = True
        mixed = mixed or (split and moves)
    if not mixed:
        return
    for loop in range(1, nest.temporals + 1):
        d = nest.temporal_dim[loop]
        if nest.relevant[OUTPUT, d]:
            continue
        for c in range(nest.cut[OUTPUT, level, d]):
            if not nest.chain_is_slot[d, c] and nest.chain_index[d, c] == loop:
                work.marks[0] += 1
                work.marks[work.marks[0]] = loop


@kernel
def child_width(nest: Nest, level: int) -> int:
    """Columns of a child's row before its multiplicity."""
    return int(5 + (4 if nest.uneven_sums else 3) * level)


@kernel
def column_kinds(level: int, fixed: int, width: int, kinds: Ints) -> None:
    """How the columns of a row with `fixed` leading ones combine over dimensions."""
    kinds[0] = AND
    kinds[1] = OR
    for k in range(2, width):
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
    width = parent_width(level, work)
    member_width = child_width(nest, level)
    column_kinds(level, 6, width, kinds)
    clear_row(work.parents[0], width, kinds)
    column_kinds(level, 5, member_width, kinds)
    clear_row(work.members[0], member_width, kinds)
    parents = 1
    members = 1
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d] or nest.extent[d] == 1:
            continue
        count, member_count = output_lists(nest, d, level, above, j, after, before, work)
        column_kinds(level, 6, width, kinds)
        parents = combine(work.parents, parents, work.table, count, width, kinds, work.spare, work.row)
        copy_rows(work.spare, parents, width, work.parents)
        column_kinds(level, 5, member_width, kinds)
        members = combine(
            work.members, members, work.table2, member_count, member_width, kinds, work.spare, work.row
        )
        copy_rows(work.spare, members, member_width, work.members)
    return parents, members
