"""Partial sums: which instances hold a sum of an element, what is left after the additions on the way.

The sums of one element come from the coordinates of the slots over reduction dimensions. ``flow`` describes one
meeting of such sums, per element: senders, sums left for the parent, and per fanout additions and hops.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import interval, reaches
from seada.model.nest_arrays import Nest


@kernel
def reduction_slots(nest: Nest, first: int, stop: int) -> int:
    """Coordinates of the slots `first..stop` over reduction dimensions."""
    count = 1
    for s in range(first, stop):
        if not nest.relevant[2, nest.slot_dim[s]]:
            count *= nest.slot_trips[s]
    return count


@kernel
def set_reduction_slots(nest: Nest, first: int, stop: int, code: int, slots) -> None:  # type: ignore[no-untyped-def]
    """Write coordinate number `code`, the innermost slot fastest."""
    for s in range(stop - 1, first - 1, -1):
        if not nest.relevant[2, nest.slot_dim[s]]:
            slots[s] = code % nest.slot_trips[s]
            code //= nest.slot_trips[s]


@kernel
def reduction_works(nest: Nest, level: int, temporal, slots) -> bool:  # type: ignore[no-untyped-def]
    """Whether the reduction coordinates of an instance at the level have work at these temporal positions."""
    for d in range(nest.dims):
        if not nest.relevant[2, d]:
            _, size = interval(nest, d, nest.cut[2, level, d], temporal, slots)
            if size == 0:
                return False
    return True


@kernel
def last_reduction_positions(nest: Nest, low: int, level: int, before, slots, j: int, visit: int, out) -> bool:  # type: ignore[no-untyped-def]
    """Temporal positions of the reduction loops at the last work of an instance at the level before loop j advances.

    Loops above level `low` look at the work of level `low`, those further in at that of the next level inward. Loops
    deeper than `visit` stand at zero, where a visit began. False if the instance had no work there.
    """
    out[:] = 0
    for d in range(nest.dims):
        if nest.relevant[2, d]:
            continue
        extent = nest.extent[d]
        at = low
        for c in range(nest.cut[2, level, d]):
            while nest.cut[2, at, d] <= c:
                at += 1
            index = nest.chain_index[d, c]
            step = nest.chain_step[d, c]
            if nest.chain_is_slot[d, c]:
                position = slots[index]
            elif index > visit:
                position = 0
            elif index <= j:
                position = before[index]
            else:
                trips = (extent + step - 1) // step
                rest = extent - (trips - 1) * step
                if trips > 1 and rest < step:
                    if not reaches(nest, d, c + 1, nest.cut[2, at, d], slots, rest):
                        trips -= 1
                position = trips - 1
            if not nest.chain_is_slot[d, c]:
                out[index] = position
            extent = min(step, extent - position * step)
            if extent <= 0:
                return False
    return True


@kernel
def mark_present(nest: Nest, parent: int, level: int, temporal, slots, present) -> None:  # type: ignore[no-untyped-def]
    """Set 1 for each reduction coordinate between parent and level with work at these positions; `slots` holds the parent's."""
    first = nest.slots_above[2, parent]
    stop = nest.slots_above[2, level]
    total = reduction_slots(nest, first, stop)
    for code in range(total):
        if nest.uneven_sums:
            set_reduction_slots(nest, first, stop, code, slots)
            present[code] = 1 if reduction_works(nest, level, temporal, slots) else 0
        else:
            present[code] = 1
    set_reduction_slots(nest, first, stop, 0, slots)


@kernel
def gather(nest: Nest, parent: int, level: int, present, flow) -> None:  # type: ignore[no-untyped-def]
    """Move the sums of one element from a level outward to its parent level.

    `present` holds 1 per reduction coordinate with a sum (and is used up). `flow` receives: 0 senders, 1 sums left at
    the parent, 2 whether a fanout that does not reduce separates some of them; then four numbers a fanout: sums that
    leave it outward, sums that enter it from inside, additions, sums that leave its first instance.
    """
    total = reduction_slots(nest, nest.slots_above[2, parent], nest.slots_above[2, level])
    flow[:] = 0
    for code in range(total):
        flow[0] += present[code]
    for f in range(nest.fanouts_above[2, level] - 1, nest.fanouts_above[2, parent] - 1, -1):
        width = reduction_slots(nest, nest.first_slot[f], nest.first_slot[f + 1])
        total //= width
        for prefix in range(total):
            arriving = 0
            places = 0
            for x in range(width):
                arriving += present[prefix * width + x]
                places += min(1, present[prefix * width + x])
            flow[4 + 4 * f] += arriving
            if nest.joins[2, f]:
                flow[5 + 4 * f] += max(0, arriving - 1)
                arriving = min(1, arriving)
            elif places > 1:
                flow[2] = 1
            flow[3 + 4 * f] += arriving
            if prefix == 0:
                flow[6 + 4 * f] = arriving
            present[prefix] = arriving
    flow[1] = present[0]
