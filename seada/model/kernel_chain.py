"""Where one instance stands along one dimension: intervals of the first, last and given positions of the
odometer.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.nest_arrays import OUTPUT, RUNS, Ints, Nest


@kernel
def reaches(nest: Nest, d: int, start: int, stop: int, slots: Ints, extent: int) -> bool:
    """Whether an instance has work below chain entry `start` of a tile of that extent."""
    for c in range(start, stop):
        step = nest.chain_step[d, c]
        if nest.chain_is_slot[d, c]:
            extent -= slots[nest.chain_index[d, c]] * step
            if extent <= 0:
                return False
        extent = min(extent, step)
    return True


@kernel
def interval(nest: Nest, d: int, stop: int, temporal: Ints, slots: Ints) -> tuple[int, int]:
    """(start, size) at the given temporal indices and slot coordinates; size 0 if there is no work."""
    start = 0
    extent = nest.extent[d]
    for c in range(stop):
        index = nest.chain_index[d, c]
        position = slots[index] if nest.chain_is_slot[d, c] else temporal[index]
        step = nest.chain_step[d, c]
        start += position * step
        extent = min(step, extent - position * step)
        if extent <= 0:
            return 0, 0
    return start, extent


@kernel
def last_index(nest: Nest, d: int, c: int, stop: int, slots: Ints, extent: int) -> int:
    """Last iteration of the loop at chain entry c, over that extent, that leaves the instance work down to
    `stop`.
    """
    step = nest.chain_step[d, c]
    trips = (extent + step - 1) // step
    rest = extent - (trips - 1) * step
    if trips > 1 and rest < step and not reaches(nest, d, c + 1, stop, slots, rest):
        trips -= 1
    return int(trips - 1)


@kernel
def last_interval(
    nest: Nest, d: int, operand: int, low: int, high: int, temporal: Ints, slots: Ints, j: int
) -> tuple[int, int, int, int]:
    """Interval at the last work before loop j advances, and what led there.

    Loops up to j stand at `temporal`; deeper ones at their last index that leaves the instance work. Loops
    above level `low` look at the work of level `low`, those between levels at that of the inner one, up to
    level `high`.

    Returns
    -------
    (start, size, moving, standing) : the deepest loop above level `high` with more than one trip for this
    instance, and the deepest that is not at its last iteration.
    """
    start = 0
    extent = nest.extent[d]
    moving = 0
    standing = 0
    level = low
    for c in range(nest.cut[operand, high, d]):
        while nest.cut[operand, level, d] <= c:
            level += 1
        index = nest.chain_index[d, c]
        step = nest.chain_step[d, c]
        if nest.chain_is_slot[d, c]:
            position = slots[index]
        else:
            last = last_index(nest, d, c, nest.cut[operand, level, d], slots, extent)
            position = temporal[index] if index <= j else last
            if last > 0:
                moving = index
            if position < last:
                standing = index
        start += position * step
        extent = min(step, extent - position * step)
        if extent <= 0:
            return 0, 0, moving, standing
    return start, extent, moving, standing


@kernel
def set_slots(nest: Nest, d: int, first: int, stop: int, code: int, slots: Ints) -> int:
    """Write coordinate number `code` into the slots `first..stop` of dimension d; returns how many exist."""
    count = 1
    for s in range(first, stop):
        if nest.slot_dim[s] == d:
            slots[s] = code % nest.slot_trips[s]
            code //= nest.slot_trips[s]
            count *= nest.slot_trips[s]
    return count


@kernel
def combinations(nest: Nest, d: int, first: int, stop: int) -> int:
    """Number of coordinates of the slots `first..stop` of dimension d."""
    count = 1
    for s in range(first, stop):
        if nest.slot_dim[s] == d:
            count *= nest.slot_trips[s]
    return count


@kernel
def find_runs(nest: Nest, j: int, temporal: Ints, slots: Ints, runs: Ints) -> int:
    """Split loop j at the present position into runs of iterations that behave alike.

    `runs` receives the first index of each run; the number of runs is returned and ``runs[count]`` is the
    trips. The first and last iteration of a reduction loop stand alone, as does every iteration that can
    touch padding. Where partial sums are uneven, the last iteration of every loop does.
    """
    d = nest.temporal_dim[j]
    step = nest.temporal_step[j]
    position = 0
    while nest.chain_is_slot[d, position] or nest.chain_index[d, position] != j:
        position += 1
    for s in range(nest.slots):
        slots[s] = 0
    _, extent = interval(nest, d, position, temporal, slots)
    trips = (extent + step - 1) // step
    runs[0] = 0
    if trips == 1:
        runs[1] = 1
        return 1
    if nest.border[d] == 2:
        require_room(trips)
        for i in range(trips + 1):
            runs[i] = i
        return int(trips)
    count = 1
    if nest.border[d]:
        count = border_boundaries(nest, j, position, trips, temporal, slots, runs)
    if not nest.relevant[OUTPUT, d]:
        count = insert_boundary(runs, count, 1)
    if nest.uneven[d]:
        stop = 0
        for c in range(position):
            if nest.chain_is_slot[d, c]:
                stop = nest.chain_index[d, c] + 1
        for code in range(combinations(nest, d, 0, stop) - 1, -1, -1):
            set_slots(nest, d, 0, stop, code, slots)
            _, own = interval(nest, d, position, temporal, slots)
            own_trips = (own + step - 1) // step
            for boundary in range(own_trips - 1 - nest.uneven_sums, own_trips + 1):
                if 0 < boundary < trips:
                    count = insert_boundary(runs, count, boundary)
        for s in range(nest.slots):
            slots[s] = 0
    if nest.uneven_sums or not nest.relevant[OUTPUT, d]:
        count = insert_boundary(runs, count, trips - 1)
    runs[count] = trips
    return count


@kernel
def require_room(count: int) -> None:
    """Raise if a loop has more kinds of iterations than the scratch space holds."""
    if count > RUNS - 2:
        raise OverflowError("a loop has more than 2046 kinds of iterations that differ")


@kernel
def insert_boundary(runs: Ints, count: int, boundary: int) -> int:
    """Insert into the ascending list if absent; returns the new length."""
    require_room(count)
    place = count
    while place > 0 and runs[place - 1] > boundary:
        place -= 1
    if place > 0 and runs[place - 1] == boundary:
        return count
    for i in range(count, place, -1):
        runs[i] = runs[i - 1]
    runs[place] = boundary
    return count + 1


@kernel
def border_boundaries(
    nest: Nest, j: int, position: int, trips: int, temporal: Ints, slots: Ints, runs: Ints
) -> int:
    """Runs of a loop whose windows may touch padding: those that do stand alone."""
    d = nest.temporal_dim[j]
    step = nest.temporal_step[j]
    axis = nest.border_axis[d]
    own = 0 if nest.axis_dim[1, axis, 0] == d else 1
    coefficient = nest.axis_coefficient[1, axis, own]
    reach = 0
    if nest.axis_dim[1, axis, 1 - own] >= 0:
        other = nest.axis_dim[1, axis, 1 - own]
        reach = nest.axis_coefficient[1, axis, 1 - own] * (nest.extent[other] - 1)
    start, _ = interval(nest, d, position, temporal, slots)
    spread = 0
    for c in range(position):
        if nest.chain_is_slot[d, c]:
            spread += (nest.slot_trips[nest.chain_index[d, c]] - 1) * nest.chain_step[d, c]
    count = 1
    previous_free = False
    for i in range(trips):
        low = coefficient * (start + i * step)
        high = coefficient * min(start + i * step + spread + step - 1, nest.extent[d] - 1) + reach
        free = low >= nest.axis_low[1, axis] and high <= nest.axis_high[1, axis]
        if i > 0 and not (free and previous_free):
            require_room(count)
            runs[count] = i
            count += 1
        previous_free = free
    return count
