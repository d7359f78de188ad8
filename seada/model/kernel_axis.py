"""Tiles as products of sets along axes: sizes, overlaps and unions over instances, as short weighted lists.

A *list* is an array of rows of integers with a multiplicity in the last column; equal rows are merged. Lists
of the axes of an operand combine into the list of its tiles by multiplication.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import combinations, interval, last_interval, set_slots
from seada.model.nest_arrays import Ints, Nest, Work


@kernel
def add_row(table: Ints, count: int, width: int, row: Ints, times: int) -> int:
    """Add `times` copies of a row of `width` numbers; returns the new length."""
    if times == 0:
        return count
    for i in range(count):
        same = True
        for k in range(width):
            if table[i, k] != row[k]:
                same = False
                break
        if same:
            table[i, width] += times
            return count
    if count == len(table):
        raise OverflowError("more kinds of tiles than the scratch space holds")
    for k in range(width):
        table[count, k] = row[k]
    table[count, width] = times
    return count + 1


@kernel
def copy_rows(source: Ints, count: int, width: int, target: Ints) -> None:
    """Copy a list."""
    for i in range(count):
        for k in range(width + 1):
            target[i, k] = source[i, k]


@kernel
def multiply(
    left: Ints, left_count: int, right: Ints, right_count: int, width: int, out: Ints, row: Ints
) -> int:
    """Product of two lists, number by number; returns the length of `out`."""
    count = 0
    for i in range(left_count):
        for k in range(right_count):
            for w in range(width):
                row[w] = left[i, w] * right[k, w]
            count = add_row(out, count, width, row, left[i, width] * right[k, width])
    return count


@kernel
def holds(nest: Nest, o: int, a: int, value: int, p0: int, np: int, r0: int, nr: int) -> bool:
    """Whether index `value` of an axis with two dimensions belongs to the tile [p0, p0+np) x [r0, r0+nr)."""
    c1 = nest.axis_coefficient[o, a, 0]
    c2 = nest.axis_coefficient[o, a, 1]
    for r in range(r0, r0 + nr):
        rest = value - c2 * r
        if rest >= c1 * p0 and rest <= c1 * (p0 + np - 1) and rest % c1 == 0:
            return True
    return False


@kernel
def is_run(nest: Nest, o: int, a: int, np: int, nr: int) -> bool:
    """Whether a tile's indices are consecutive."""
    c1 = nest.axis_coefficient[o, a, 0]
    c2 = nest.axis_coefficient[o, a, 1]
    return (c2 == 1 and (np == 1 or nr >= c1)) or (c1 == 1 and (nr == 1 or np >= c2))


@kernel
def clipped(nest: Nest, o: int, a: int, p0: int, np: int, r0: int, nr: int) -> tuple[int, int]:
    """First and one past the last index of a tile of consecutive indices, padding left out."""
    c1 = nest.axis_coefficient[o, a, 0]
    c2 = nest.axis_coefficient[o, a, 1]
    low = max(c1 * p0 + c2 * r0, nest.axis_low[o, a])
    high = min(c1 * (p0 + np - 1) + c2 * (r0 + nr - 1), nest.axis_high[o, a])
    return low, max(low, high + 1)


@kernel
def tally(
    nest: Nest, o: int, a: int, now: Ints, before: Ints, padding: bool, space: Ints, own: int
) -> tuple[int, int]:
    """Mark a tile's indices, and those that it held before; returns its (size, overlap).

    `now` and `before` are (p0, np, r0, nr); an index is marked once per tile even if reached twice. `padding`
    counts too.
    """
    size = 0
    overlap = 0
    c1 = nest.axis_coefficient[o, a, 0]
    c2 = nest.axis_coefficient[o, a, 1]
    for p in range(now[0], now[0] + now[1]):
        for r in range(now[2], now[2] + now[3]):
            value = c1 * p + c2 * r
            if space[2, value] == own:
                continue
            if not padding and (value < nest.axis_low[o, a] or value > nest.axis_high[o, a]):
                continue
            space[2, value] = own
            size += 1
            space[0, value] += 1
            if before[1] > 0 and holds(nest, o, a, value, before[0], before[1], before[2], before[3]):
                overlap += 1
                space[1, value] += 1
    return size, overlap


@kernel
def positions(
    nest: Nest,
    o: int,
    level: int,
    d: int,
    after: Ints,
    before: Ints,
    slots: Ints,
    j: int,
    now: Ints,
    then: Ints,
    part: int,
) -> None:
    """Write (start, size) after and before the transition at j into `now` and `then` from index `part` on."""
    if d < 0:
        now[part], now[part + 1] = 0, 1
        then[part], then[part + 1] = 0, 1
        return
    now[part], now[part + 1] = interval(nest, d, nest.cut[o, level, d], after, slots)
    then[part], then[part + 1], _, _ = last_interval(nest, d, o, level, level, before, slots, j)


@kernel
def pair_sizes(
    nest: Nest, o: int, a: int, now: Ints, then: Ints, padding: bool, space: Ints, own: int
) -> tuple[int, int]:
    """Size of the tile `now` and its overlap with `then`, without marking where indices are consecutive."""
    if now[1] == 0 or now[3] == 0:
        return 0, 0
    if padding and now[1] * now[3] == 1:
        return 1, 0
    if nest.axis_dim[o, a, 0] < 0 or is_run(nest, o, a, now[1], now[3]):
        low, high = clipped(nest, o, a, now[0], now[1], now[2], now[3])
        if then[1] == 0 or then[3] == 0:
            return high - low, 0
        if is_run(nest, o, a, then[1], then[3]):
            low2, high2 = clipped(nest, o, a, then[0], then[1], then[2], then[3])
            return high - low, max(0, min(high, high2) - max(low, low2))
    size, overlap = tally(nest, o, a, now, then, padding, space, own)
    clear(nest, o, a, now, space)
    return size, overlap


@kernel
def clear(nest: Nest, o: int, a: int, now: Ints, space: Ints) -> None:
    """Unmark a tile."""
    for p in range(now[0], now[0] + now[1]):
        for r in range(now[2], now[2] + now[3]):
            value = nest.axis_coefficient[o, a, 0] * p + nest.axis_coefficient[o, a, 1] * r
            space[0, value] = 0
            space[1, value] = 0


@kernel
def add_tile(work: Work, size: int, overlap: int) -> None:
    """Add one instance's tile to the list of members."""
    work.row[0], work.row[1] = size, overlap
    work.lengths[0] = add_row(work.table2, work.lengths[0], 2, work.row, 1)


@kernel
def stand_at(
    nest: Nest, o: int, a: int, level: int, code: int, j: int, after: Ints, before: Ints, work: Work
) -> bool:
    """Put the tile of inner instance `code` along an axis into ``work.now`` and ``then``; False if it has no
    work.
    """
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    above, inner = work.reach[0], work.reach[1]
    width = combinations(nest, d1, above, inner)
    set_slots(nest, d1, above, inner, code % width, work.slots)
    set_slots(nest, d2, above, inner, code // width, work.slots)
    positions(nest, o, level, d1, after, before, work.slots, j, work.now, work.then, 0)
    positions(nest, o, level, d2, after, before, work.slots, j, work.now, work.then, 2)
    return bool(work.now[1] > 0 and work.now[3] > 0)


@kernel
def serve_apart(
    nest: Nest, o: int, a: int, level: int, total: int, j: int, after: Ints, before: Ints, padding: bool,
    work: Work, space: Ints,
) -> bool:  # fmt: skip
    """Add up tiles that share no element into ``work.joined``; False if no instance has work."""
    active = False
    for code in range(total):
        if not stand_at(nest, o, a, level, code, j, after, before, work):
            continue
        active = True
        work.stamps[0] += 1
        size, overlap = pair_sizes(nest, o, a, work.now, work.then, padding, space, work.stamps[0])
        work.joined[0] += size
        work.joined[1] += overlap
        add_tile(work, size, overlap)
    return active


@kernel
def serve_windows(
    nest: Nest, o: int, a: int, level: int, total: int, j: int, after: Ints, before: Ints, padding: bool,
    work: Work, space: Ints,
) -> bool:  # fmt: skip
    """Join tiles that may share elements into ``work.joined``; False if no instance has work."""
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    above, inner = work.reach[0], work.reach[1]
    active = False
    for group in range(separate_groups(nest, o, d1, d2, above, inner)):
        for code in range(total):
            works = stand_at(nest, o, a, level, code, j, after, before, work)
            if not works or group_of(nest, o, d1, d2, above, inner, work.slots) != group:
                continue
            active = True
            work.stamps[0] += 1
            size, overlap = tally(nest, o, a, work.now, work.then, padding, space, work.stamps[0])
            add_tile(work, size, overlap)
        for value in range(nest.span):
            if space[0, value] > 0:
                work.joined[0] += 1
                work.joined[1] += space[1, value] == space[0, value]
                space[0, value] = 0
                space[1, value] = 0
    return active


@kernel
def axis_list(
    nest: Nest, o: int, a: int, level: int, above: int, j: int, after: Ints, before: Ints, padding: bool,
    work: Work, space: Ints,
) -> int:  # fmt: skip
    """List (union, part of it that everyone who needs it had before) along one axis of weight or input.

    ``work.table`` has one row per coordinate of the slots outside slot `above` along this axis: what one
    instance there serves. Slots from `above` to the level join where their fanout multicasts, else add up.
    ``work.table2`` becomes the list of (tile, overlap) of the single instances, its length in
    ``work.lengths[0]``.
    """
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    inner = nest.slots_above[o, level]
    work.reach[0], work.reach[1] = above, inner
    work.slots[: nest.slots] = 0
    outer1 = combinations(nest, d1, 0, above)
    total = combinations(nest, d1, above, inner) * combinations(nest, d2, above, inner)
    count = 0
    work.lengths[0] = 0
    for outer in range(outer1 * combinations(nest, d2, 0, above)):
        set_slots(nest, d1, 0, above, outer % outer1, work.slots)
        set_slots(nest, d2, 0, above, outer // outer1, work.slots)
        work.joined[:] = 0
        if d2 < 0 or total == 1:
            active = serve_apart(nest, o, a, level, total, j, after, before, padding, work, space)
        else:
            active = serve_windows(nest, o, a, level, total, j, after, before, padding, work, space)
        if active:
            count = add_row(work.table, count, 2, work.joined, 1)
    return count


@kernel
def separate_groups(nest: Nest, o: int, d1: int, d2: int, above: int, inner: int) -> int:
    """Coordinates of the slots along an axis whose fanouts do not multicast the operand."""
    count = 1
    for s in range(above, inner):
        if (nest.slot_dim[s] == d1 or nest.slot_dim[s] == d2) and not nest.joins[o, nest.slot_fanout[s]]:
            count *= nest.slot_trips[s]
    return count


@kernel
def group_of(nest: Nest, o: int, d1: int, d2: int, above: int, inner: int, slots: Ints) -> int:
    """Number of the present coordinates among those that do not join."""
    code = 0
    for s in range(above, inner):
        if (nest.slot_dim[s] == d1 or nest.slot_dim[s] == d2) and not nest.joins[o, nest.slot_fanout[s]]:
            code = code * nest.slot_trips[s] + slots[s]
    return code


@kernel
def bystander_list(nest: Nest, o: int, d: int, level: int, above: int, after: Ints, work: Work) -> int:
    """Like `axis_list` for a dimension that the operand does not depend on: how many streams are served."""
    inner = nest.slots_above[o, level]
    slots = work.slots
    count = 0
    work.lengths[0] = 0
    inner_count = combinations(nest, d, above, inner)
    separate = separate_groups(nest, o, d, -1, above, inner)
    for outer in range(combinations(nest, d, 0, above)):
        set_slots(nest, d, 0, above, outer, slots)
        streams = 0
        for group in range(separate):
            served = 0
            for code in range(inner_count):
                set_slots(nest, d, above, inner, code, slots)
                if group_of(nest, o, d, -1, above, inner, slots) != group:
                    continue
                _, size = interval(nest, d, nest.cut[o, level, d], after, slots)
                if size > 0:
                    served = 1
                    add_tile(work, 1, 1)
            streams += served
        if streams > 0:
            work.joined[:] = streams
            count = add_row(work.table, count, 2, work.joined, 1)
    return count
