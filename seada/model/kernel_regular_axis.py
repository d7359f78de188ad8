"""What instances hold along one axis before and after a transition: sizes, overlaps, unions."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_axis import is_run, pair_sizes, tally
from seada.model.kernel_chain import combinations, interval, last_interval, set_slots
from seada.model.nest_arrays import Ints, Nest
from seada.model.regular_arrays import Regular


@kernel
def below(nest: Nest, d: int, cut: int) -> int:
    """Extent of a block below the first `cut` loops of its dimension, where none is ragged."""
    return int(nest.extent[d]) if cut == 0 else int(nest.chain_step[d, cut - 1])


@kernel
def stays(nest: Nest, work: Regular, d: int, cut: int, j: int) -> bool:
    """Whether no loop from j inward, among the first `cut` loops of d, moves."""
    for c in range(cut - 1, -1, -1):
        if not nest.chain_is_slot[d, c]:
            return bool(nest.chain_index[d, c] < j)
    return True


@kernel
def add_one(work: Regular, size: int, overlap: int, copies: int) -> None:
    """Add a row to the list ``work.one``."""
    count = work.lengths[2]
    for i in range(count):
        if work.one[i, 0] == size and work.one[i, 1] == overlap:
            work.one[i, 2] += copies
            return
    if count == len(work.one):
        raise OverflowError("more kinds of tiles than the scratch space holds")
    work.one[count, 0] = size
    work.one[count, 1] = overlap
    work.one[count, 2] = copies
    work.lengths[2] = count + 1


@kernel
def start_list(work: Regular) -> None:
    """``work.list`` becomes the list of one tile of one element."""
    work.list[0, 0] = 1
    work.list[0, 1] = 1
    work.list[0, 2] = 1
    work.lengths[0] = 1


@kernel
def multiply_list(work: Regular) -> None:
    """Multiply ``work.list`` by ``work.one``."""
    if work.lengths[2] == 1:
        for i in range(work.lengths[0]):
            for k in range(3):
                work.list[i, k] *= work.one[0, k]
        return
    count = 0
    for i in range(work.lengths[0]):
        for m in range(work.lengths[2]):
            size = work.list[i, 0] * work.one[m, 0]
            overlap = work.list[i, 1] * work.one[m, 1]
            copies = work.list[i, 2] * work.one[m, 2]
            place = 0
            while place < count and (work.list2[place, 0] != size or work.list2[place, 1] != overlap):
                place += 1
            if place == count:
                if count == len(work.list2):
                    raise OverflowError("more kinds of tiles than the scratch space holds")
                work.list2[count, 0] = size
                work.list2[count, 1] = overlap
                work.list2[count, 2] = 0
                count += 1
            work.list2[place, 2] += copies
    for i in range(count):
        for k in range(3):
            work.list[i, k] = work.list2[i, k]
    work.lengths[0] = count


@kernel
def locate(nest: Nest, o: int, level: int, d: int, j: int, work: Regular, part: int) -> None:
    """(start, size) along d after and before the transition at j, into ``now`` and ``then``."""
    if d < 0:
        work.now[part], work.now[part + 1] = 0, 1
        work.then[part], work.then[part + 1] = 0, 1
        return
    cut = nest.cut[o, level, d]
    work.now[part], work.now[part + 1] = interval(nest, d, cut, work.after, work.slots)
    work.then[part], work.then[part + 1], _, _ = last_interval(
        nest, d, o, level, level, work.before, work.slots, j
    )


@kernel
def place_child(nest: Nest, o: int, a: int, level: int, low: int, code: int, j: int, work: Regular) -> bool:
    """Stand at instance `code` of the slots from `low` to the level along an axis; False if it is idle."""
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    high = nest.slots_above[o, level]
    width = 1
    if d1 >= 0:
        width = set_slots(nest, d1, low, high, code, work.slots)
    if d2 >= 0:
        set_slots(nest, d2, low, high, code // width, work.slots)
    locate(nest, o, level, d1, j, work, 0)
    locate(nest, o, level, d2, j, work, 2)
    return bool(work.now[1] > 0 and work.now[3] > 0)


@kernel
def axis_plain(nest: Nest, o: int, a: int, work: Regular) -> bool:
    """Whether an axis has one dimension at most, all of whose blocks are alike."""
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    return bool(d2 < 0 and (d1 < 0 or work.plain[d1]))


@kernel
def find_breaks(nest: Nest, d: int, low: int, high: int, j: int, work: Regular) -> int:
    """Split the instances of the slots from `low` to `high` along d into runs that behave alike.

    ``work.breaks`` receives where the runs begin, and the number of instances at its end. Returns how many
    runs there are, 0 if every instance must be looked at (more than one slot). With one slot, only where the
    block before or after the transition ends does an instance have less than a full share.
    """
    found, own = 0, 0
    for s in range(low, high):
        if nest.slot_dim[s] == d:
            found += 1
            own = s
    if found != 1:
        return 0
    entry = 0
    while not (nest.chain_is_slot[d, entry] and nest.chain_index[d, entry] == own):
        entry += 1
    step, total = nest.chain_step[d, entry], nest.slot_trips[own]
    _, extent = interval(nest, d, entry, work.after, work.slots)
    last = nest.extent[d]
    for c in range(entry):
        size = nest.chain_step[d, c]
        if not nest.chain_is_slot[d, c]:
            index = nest.chain_index[d, c]
            position = work.before[index] if index <= j else (last + size - 1) // size - 1
            last -= position * size
        last = min(last, size)
    work.breaks[0] = 0
    count = 1
    first, second = min(extent // step, last // step), max(extent // step, last // step)
    for value in (first, first + 1, second, second + 1):
        if work.breaks[count - 1] < value < total:
            work.breaks[count] = value
            count += 1
    work.breaks[count] = total
    return count


@kernel
def along_axis(
    nest: Nest, o: int, a: int, level: int, low: int, split: int, j: int, work: Regular, space: Ints
) -> tuple[int, int]:
    """(union, part of it that all who need it had before) of the instances between slots `split` and the
    level.

    Summed over the coordinates of the slots from `low` to `split`. ``work.one`` becomes the list of the
    single instances' (tile, overlap).
    """
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    high = nest.slots_above[o, level]
    work.lengths[2] = 0
    if axis_plain(nest, o, a, work):
        if d1 < 0:
            add_one(work, 1, 1, 1)
            return 1, 1
        size = below(nest, d1, nest.cut[o, level, d1])
        copies = combinations(nest, d1, low, high)
        kept = size if stays(nest, work, d1, nest.cut[o, level, d1], j) else 0
        add_one(work, size, kept, copies)
        return copies * size, copies * kept
    if d2 >= 0 and work.plain[d1] and work.plain[d2]:
        if plain_windows(nest, o, a, level, low, split, j, work):
            return int(work.starts[0]), int(work.starts[1])
        work.lengths[2] = 0
    width = combinations(nest, d1, low, high)
    if d2 >= 0:
        width *= combinations(nest, d2, low, high)
    apart = (
        d2 < 0
        or split == high
        or combinations(nest, d1, split, high) * combinations(nest, d2, split, high) == 1
    )
    union = 0
    kept = 0
    runs = find_breaks(nest, d1, low, high, j, work) if d2 < 0 and not nest.border[d1] else 0
    if runs > 0:
        for r in range(runs):
            code, copies = work.breaks[r], work.breaks[r + 1] - work.breaks[r]
            if place_child(nest, o, a, level, low, code, j, work):
                work.stamp += 1
                size, overlap = pair_sizes(nest, o, a, work.now, work.then, False, space, work.stamp)
                add_one(work, size, overlap, copies)
                union += size * copies
                kept += overlap * copies
        clear_slots(nest, work)
        return union, kept
    if apart:
        for code in range(width):
            if place_child(nest, o, a, level, low, code, j, work):
                work.stamp += 1
                size, overlap = pair_sizes(nest, o, a, work.now, work.then, False, space, work.stamp)
                add_one(work, size, overlap, 1)
                union += size
                kept += overlap
        clear_slots(nest, work)
        return union, kept
    outer1 = combinations(nest, d1, low, split)
    for outer in range(outer1 * combinations(nest, d2, low, split)):
        set_slots(nest, d1, low, split, outer % outer1, work.slots)
        set_slots(nest, d2, low, split, outer // outer1, work.slots)
        some, both = join_windows(nest, o, a, level, split, j, work, space)
        union += some
        kept += both
    clear_slots(nest, work)
    return union, kept


@kernel
def offset(nest: Nest, d: int, low: int, high: int, code: int, work: Regular) -> int:
    """How far instance `code` of the slots from `low` to `high` stands along d."""
    far = 0
    for s in range(low, high):
        if nest.slot_dim[s] == d:
            far += code % nest.slot_trips[s] * work.slot_step[s]
            code //= nest.slot_trips[s]
    return far


@kernel
def sort_starts(work: Regular, count: int) -> int:
    """Sort ``work.starts`` and drop equal ones; returns how many are left."""
    for i in range(1, count):
        value = work.starts[i]
        k = i
        while k > 0 and work.starts[k - 1] > value:
            work.starts[k] = work.starts[k - 1]
            k -= 1
        work.starts[k] = value
    left = 0
    for i in range(count):
        if i == 0 or work.starts[i] != work.starts[left - 1]:
            work.starts[left] = work.starts[i]
            left += 1
    return left


@kernel
def plain_windows(
    nest: Nest, o: int, a: int, level: int, low: int, split: int, j: int, work: Regular
) -> bool:
    """As `along_axis` where all windows are runs of one length and moved by the same distance.

    The results are left in ``starts[0..1]``. False if the windows have gaps or are too many. Of an element in
    several windows, the last one that begins before it (moves forward) or the first one that ends after it
    (moves back) decides whether all of them had it.
    """
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    high = nest.slots_above[o, level]
    locate(nest, o, level, d1, j, work, 0)
    locate(nest, o, level, d2, j, work, 2)
    c1, c2 = nest.axis_coefficient[o, a, 0], nest.axis_coefficient[o, a, 1]
    if not is_run(nest, o, a, work.now[1], work.now[3]):
        return False
    length = c1 * (work.now[1] - 1) + c2 * (work.now[3] - 1) + 1
    shift = c1 * (work.then[0] - work.now[0]) + c2 * (work.then[2] - work.now[2])
    inner1, inner2 = combinations(nest, d1, split, high), combinations(nest, d2, split, high)
    outer = combinations(nest, d1, low, split) * combinations(nest, d2, low, split)
    if inner1 * inner2 > len(work.starts):
        return False
    for code in range(inner1 * inner2):
        work.starts[code] = c1 * offset(nest, d1, split, high, code % inner1, work) + c2 * offset(
            nest, d2, split, high, code // inner1, work
        )
    count = sort_starts(work, inner1 * inner2)
    union, kept = 0, 0
    for i in range(count):
        start = work.starts[i]
        end = min(start + length, work.starts[i + 1]) if i + 1 < count else start + length
        union += end - start
        if shift > 0:
            kept += max(0, end - start - shift)
        elif shift < 0:
            begin = max(start, work.starts[i - 1] + length) if i > 0 else start
            kept += max(0, start + length + shift - begin)
    if shift == 0:
        kept = union
    add_one(work, length, max(0, length - abs(shift)), inner1 * inner2 * outer)
    work.starts[0] = union * outer
    work.starts[1] = kept * outer
    return True


@kernel
def clear_slots(nest: Nest, work: Regular) -> None:
    """Stand at the first instance."""
    for s in range(nest.slots):
        work.slots[s] = 0


@kernel
def join_windows(
    nest: Nest, o: int, a: int, level: int, split: int, j: int, work: Regular, space: Ints
) -> tuple[int, int]:
    """Union, and part that all had before, of windows that may overlap."""
    d1, d2 = nest.axis_dim[o, a, 0], nest.axis_dim[o, a, 1]
    high = nest.slots_above[o, level]
    least, most = nest.span, -1
    for code in range(combinations(nest, d1, split, high) * combinations(nest, d2, split, high)):
        if not place_child(nest, o, a, level, split, code, j, work):
            continue
        work.stamp += 1
        size, overlap = tally(nest, o, a, work.now, work.then, False, space, work.stamp)
        add_one(work, size, overlap, 1)
        c1, c2 = nest.axis_coefficient[o, a, 0], nest.axis_coefficient[o, a, 1]
        start = c1 * work.now[0] + c2 * work.now[2]
        least = min(least, start)
        most = max(most, start + c1 * (work.now[1] - 1) + c2 * (work.now[3] - 1))
    union = 0
    kept = 0
    for value in range(least, most + 1):
        if space[0, value] > 0:
            union += 1
            kept += space[1, value] == space[0, value]
            space[0, value] = 0
            space[1, value] = 0
    return union, kept


@kernel
def active(nest: Nest, o: int, level: int, d: int, low: int, stop: int, work: Regular) -> int:
    """Instances of the slots from `low` to `stop` that work along d after the transition."""
    total = combinations(nest, d, low, stop)
    if total == 1 or not nest.uneven[d]:
        return int(total)
    count = 0
    for code in range(total):
        set_slots(nest, d, low, stop, code, work.slots)
        _, size = interval(nest, d, nest.cut[o, level, d], work.after, work.slots)
        count += size > 0
    clear_slots(nest, work)
    return count


__all__ = ["is_run"]
