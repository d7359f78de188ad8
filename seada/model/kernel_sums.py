"""Partial sums: which instances hold a sum of an element, what is left after the additions on the way.

The sums of one element come from the coordinates of the slots over reduction dimensions. ``flow`` describes
one meeting of such sums, per element: senders, sums left for the parent, and per fanout additions and hops.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import interval, last_index, reaches
from seada.model.nest_arrays import OUTPUT, Ints, Nest, Work


@kernel
def reduction_slots(nest: Nest, first: int, stop: int) -> int:
    """Coordinates of the slots `first..stop` over reduction dimensions."""
    count = 1
    for s in range(first, stop):
        if not nest.relevant[OUTPUT, nest.slot_dim[s]]:
            count *= nest.slot_trips[s]
    return count


@kernel
def set_reduction_slots(nest: Nest, first: int, stop: int, code: int, slots: Ints) -> None:
    """Write coordinate number `code`, the innermost slot fastest."""
    for s in range(stop - 1, first - 1, -1):
        if not nest.relevant[OUTPUT, nest.slot_dim[s]]:
            slots[s] = code % nest.slot_trips[s]
            code //= nest.slot_trips[s]


@kernel
def reduction_works(nest: Nest, level: int, temporal: Ints, slots: Ints) -> bool:
    """Whether the reduction coordinates of an instance at the level have work at these temporal positions."""
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d]:
            _, size = interval(nest, d, nest.cut[OUTPUT, level, d], temporal, slots)
            if size == 0:
                return False
    return True


@kernel
def last_reduction_positions(
    nest: Nest, low: int, level: int, moving: Ints, before: Ints, slots: Ints, j: int, visit: int, out: Ints
) -> bool:
    """Positions of the reduction loops at the last work of an instance at the level before loop j advances.

    Loops that the visit of level `low` outlasts look at the work of the next level inward, and so on up to
    `level`: an instance that goes idle keeps what it has while its parent's visit lasts. Loops deeper than
    `visit` stand at zero, where a visit began. False if the instance had no work there.
    """
    out[:] = 0
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            continue
        extent = nest.extent[d]
        at = low
        for c in range(nest.cut[OUTPUT, level, d]):
            index = nest.chain_index[d, c]
            step = nest.chain_step[d, c]
            while not nest.chain_is_slot[d, c] and at < level and index > moving[at]:
                at += 1
            if nest.chain_is_slot[d, c]:
                position = slots[index]
            elif index > visit:
                position = 0
            elif index <= j:
                position = before[index]
            else:
                position = last_index(nest, d, c, nest.cut[OUTPUT, at, d], slots, extent)
            if not nest.chain_is_slot[d, c]:
                out[index] = position
            extent = min(step, extent - position * step)
            if extent <= 0:
                return False
    return True


@kernel
def mark_present(nest: Nest, parent: int, level: int, temporal: Ints, slots: Ints, present: Ints) -> None:
    """Set 1 for each reduction coordinate between parent and level with work at these positions; `slots`
    holds the parent's.
    """
    first = nest.slots_above[OUTPUT, parent]
    stop = nest.slots_above[OUTPUT, level]
    total = reduction_slots(nest, first, stop)
    for code in range(total):
        if nest.uneven_sums:
            set_reduction_slots(nest, first, stop, code, slots)
            present[code] = 1 if reduction_works(nest, level, temporal, slots) else 0
        else:
            present[code] = 1
    set_reduction_slots(nest, first, stop, 0, slots)


@kernel
def gather(nest: Nest, parent: int, level: int, present: Ints, flow: Ints) -> None:
    """Move the sums of one element from a level outward to its parent level.

    `present` holds 1 per reduction coordinate with a sum (and is used up). `flow` receives: 0 senders, 1 sums
    left at the parent, 2 whether a fanout that does not reduce separates some of them; then four numbers a
    fanout: sums that leave it outward, sums that enter a level of its branches from inside, additions, sums
    that leave its first instance.
    """
    total = reduction_slots(nest, nest.slots_above[OUTPUT, parent], nest.slots_above[OUTPUT, level])
    flow[:] = 0
    for code in range(total):
        flow[0] += present[code]
    for f in range(nest.fanouts_above[OUTPUT, level] - 1, nest.fanouts_above[OUTPUT, parent] - 1, -1):
        stop = nest.first_slot[f + 1]
        for branch in range(max(1, nest.branches[f]) - 1, -1, -1):
            start = nest.branch_slot[f, branch - 1] if branch > 0 else nest.first_slot[f]
            total = gather_branch(nest, f, start, stop, total, present, flow)
            stop = start
        for prefix in range(total):
            flow[3 + 4 * f] += present[prefix]
        flow[6 + 4 * f] = present[0]
    flow[1] = present[0]


@kernel
def gather_branch(nest: Nest, f: int, start: int, stop: int, total: int, present: Ints, flow: Ints) -> int:
    """Move sums through one level of branches of a fanout: the slots `start..stop`; returns how many
    coordinates are left of `total`.
    """
    width = reduction_slots(nest, start, stop)
    total //= width
    for prefix in range(total):
        arriving = 0
        places = 0
        for x in range(width):
            arriving += present[prefix * width + x]
            places += min(1, present[prefix * width + x])
        flow[4 + 4 * f] += arriving
        if nest.joins[OUTPUT, f]:
            flow[5 + 4 * f] += max(0, arriving - 1)
            arriving = min(1, arriving)
        elif places > 1:
            flow[2] = 1
        present[prefix] = arriving
    return total


@kernel
def departure(nest: Nest, level: int, positions: Ints, slots: Ints) -> int:
    """Outermost reduction loop that at these positions is past the last work of an instance at the level.

    0 if it has work, or none since the loops outside began.
    """
    departed = 0
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            continue
        extent = nest.extent[d]
        for c in range(nest.cut[OUTPUT, level, d]):
            index = nest.chain_index[d, c]
            is_slot = nest.chain_is_slot[d, c]
            position = slots[index] if is_slot else positions[index]
            extent = min(nest.chain_step[d, c], extent - position * nest.chain_step[d, c])
            if extent > 0 and (is_slot or reaches(nest, d, c + 1, nest.cut[OUTPUT, level, d], slots, extent)):
                continue
            if is_slot or position == 0:
                return 0
            if departed == 0 or index < departed:
                departed = index
            break
    return departed


@kernel
def last_positions(nest: Nest, positions: Ints) -> None:
    """Positions of the reduction loops in the last step of the layer."""
    positions[:] = 0
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            continue
        extent = nest.extent[d]
        for c in range(nest.chain_length[d]):
            if not nest.chain_is_slot[d, c]:
                trips = (extent + nest.chain_step[d, c] - 1) // nest.chain_step[d, c]
                positions[nest.chain_index[d, c]] = trips - 1
                extent -= (trips - 1) * nest.chain_step[d, c]
            extent = min(extent, nest.chain_step[d, c])


@kernel
def settle_ends(nest: Nest, work: Work) -> None:
    """Which sharers of one element work to the end, and when the others departed (fields of `WORK`)."""
    last_positions(nest, work.positions)
    slots = work.slots
    for s in range(nest.slots):
        slots[s] = 0
    for level in range(1, nest.levels[OUTPUT]):
        first, stop = nest.slots_above[OUTPUT, level - 1], nest.slots_above[OUTPUT, level]
        mark_present(nest, level - 1, level, work.positions, slots, work.present)
        total = reduction_slots(nest, first, stop)
        work.workers[level] = 0
        for code in range(total):
            work.workers[level] += work.present[code]
        gather(nest, level - 1, level, work.present, work.flow)
        work.ends_as_one[level] = work.flow[1] == 1
        work.departs[level] = 0
        work.departs_apart[level] = 0
        if not nest.uneven_sums or level == nest.levels[OUTPUT] - 1:  # A MAC holds nothing.
            continue
        for code in range(1, total):
            set_reduction_slots(nest, first, stop, code, slots)
            departed = departure(nest, level, work.positions, slots)
            set_reduction_slots(nest, first, stop, 0, slots)
            work.departs[level] = max(work.departs[level], departed)
            if departed > work.departs_apart[level]:
                for other in range(total):
                    work.present[other] = 1 if other == 0 or other == code else 0
                gather(nest, level - 1, level, work.present, work.flow)
                if work.flow[1] > 1:
                    work.departs_apart[level] = departed
