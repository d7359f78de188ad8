"""Kinds of blocks along each dimension, and kinds of positions of the odometer that they combine to.

A *block* of a dimension is what is left of it below some of its temporal loops. Blocks that differ only in
where they start are one *kind*: all of them where nothing is ragged and no window touches padding. A
*state* is a kind of position above a loop: a kind of block per dimension, and whether the reduction loops
passed are all at zero or all at their last iteration.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import border_boundaries, combinations, insert_boundary, interval, set_slots
from seada.model.nest_arrays import OUTPUT, Nest
from seada.model.regular_arrays import HASHED, KINDS, PARTS, RUN_ROOM, STATES, Regular

ZERO, LAST_ONE = 1, 2  # flags of a state


@kernel
def index_loops(nest: Nest, work: Regular) -> None:
    """Which temporal loops each dimension has, and how many of them each position has passed."""
    for d in range(nest.dims):
        found = 0
        work.passed[d, 0] = 0
        for j in range(1, nest.temporals + 1):
            if nest.temporal_dim[j] == d:
                work.loops_of[d, found] = j
                found += 1
            work.passed[d, j] = found
        work.plain[d] = not nest.uneven[d] and not nest.border[d]
        for c in range(nest.chain_length[d]):
            if nest.chain_is_slot[d, c]:
                work.slot_step[nest.chain_index[d, c]] = nest.chain_step[d, c]
            else:
                work.loop_entry[nest.chain_index[d, c]] = c


@kernel
def find_kinds(nest: Nest, work: Regular, last: int) -> bool:
    """Kinds of blocks of all dimensions down to loop `last`; False if there are too many."""
    total = 0
    for d in range(nest.dims):
        work.kinds_at[d, 0] = total
        work.parent[total] = -1
        work.index[total] = 0
        work.length[total] = 1
        total += 1
        work.kinds_at[d, 1] = total
        for c in range(work.passed[d, last]):
            j = work.loops_of[d, c]
            for v in range(work.kinds_at[d, c], work.kinds_at[d, c + 1]):
                u = v
                for k in range(c - 1, -1, -1):
                    work.after[work.loops_of[d, k]] = work.index[u]
                    u = work.parent[u]
                count = loop_runs(nest, j, work)
                if count < 0 or total + count > KINDS:
                    return False
                work.kids[v, 0] = total
                for r in range(count):
                    work.parent[total] = v
                    work.index[total] = work.runs[r]
                    work.length[total] = work.runs[r + 1] - work.runs[r]
                    total += 1
                work.kids[v, 1] = total
            work.kinds_at[d, c + 2] = total
    return True


@kernel
def loop_runs(nest: Nest, j: int, work: Regular) -> int:
    """Split loop j at the position ``work.after`` into runs of iterations that behave alike, into
    ``work.runs``.

    Returns the number of runs, negative if there is no room for them.
    """
    d = nest.temporal_dim[j]
    step = nest.temporal_step[j]
    entry = work.loop_entry[j]
    runs = work.runs
    extent = nest.extent[d]
    if work.plain[d]:
        if entry > 0:
            extent = nest.chain_step[d, entry - 1]
        runs[0] = 0
        runs[1] = (extent + step - 1) // step
        return 1
    _, extent = interval(nest, d, entry, work.after, work.slots)
    trips = (extent + step - 1) // step
    runs[0] = 0
    if trips > RUN_ROOM and nest.border[d]:
        return -1
    if nest.border[d] == 2:
        for i in range(trips + 1):
            runs[i] = i
        return int(trips)
    count = 1
    if nest.border[d] and trips > 1:
        count = border_boundaries(nest, j, entry, trips, work.after, work.slots, runs)
    if nest.uneven[d]:
        stop = 0
        for c in range(entry):
            if nest.chain_is_slot[d, c]:
                stop = nest.chain_index[d, c] + 1
        for code in range(combinations(nest, d, 0, stop) - 1, -1, -1):
            set_slots(nest, d, 0, stop, code, work.slots)
            _, own = interval(nest, d, entry, work.after, work.slots)
            own_trips = (own + step - 1) // step
            for boundary in range(own_trips - 1, own_trips + 1):
                if 0 < boundary < trips and count < RUN_ROOM:
                    count = insert_boundary(runs, count, boundary)
        work.slots[: nest.slots] = 0
    runs[count] = trips
    return count


@kernel
def first_state(nest: Nest, work: Regular) -> None:
    """The state before all loops."""
    for d in range(nest.dims):
        work.state_kind[0, d] = work.kinds_at[d, 0]
    work.state_flags[0] = ZERO | LAST_ONE
    work.state_times[0] = 1
    work.states_at[0] = 0
    work.states_at[1] = 1


@kernel
def state_number(nest: Nest, work: Regular, depth: int, s: int, d: int, kind: int, flags: int) -> int:
    """Number that tells states of one depth apart: those of state s with the kind of dimension d replaced."""
    key = flags
    for k in range(nest.dims):
        c = work.passed[k, depth]
        own = kind if k == d else work.state_kind[s, k]
        key = key * (work.kinds_at[k, c + 1] - work.kinds_at[k, c]) + own - work.kinds_at[k, c]
    return key


@kernel
def find_state(nest: Nest, work: Regular, depth: int, s: int, d: int, kind: int, flags: int) -> int:
    """The state at `depth` that state s turns into; a new one if it was not met before, -1 without room."""
    key = state_number(nest, work, depth, s, d, kind, flags)
    place = (key * 0x9E3779B1 + depth) % HASHED
    while work.hash_stamp[place] == work.stamp:
        found = work.hash_item[place]
        if work.state_key[found] == key and found >= work.states_at[depth]:
            return int(found)
        place = (place + 1) % HASHED
    new = work.states_at[depth + 1]
    if new == STATES:
        return -1
    work.hash_stamp[place] = work.stamp
    work.hash_item[place] = new
    for k in range(nest.dims):
        work.state_kind[new, k] = work.state_kind[s, k]
    work.state_kind[new, d] = kind
    work.state_flags[new] = flags
    work.state_key[new] = key
    work.state_times[new] = 0
    work.states_at[depth + 1] = new + 1
    return int(new)


@kernel
def add_part(
    nest: Nest, work: Regular, depth: int, s: int, kind: int, flags: int, index: int, length: int, part: int
) -> bool:
    """Part of the loop below `depth` in state s: so many iterations that lead to one state."""
    child = find_state(nest, work, depth + 1, s, nest.temporal_dim[depth + 1], kind, flags)
    if child < 0 or part == PARTS:
        return False
    work.state_times[child] += work.state_times[s] * length
    work.part_state[part] = child
    work.part_length[part] = length
    work.part_index[part] = index
    return True


@kernel
def split_state(nest: Nest, work: Regular, depth: int, s: int, part: int) -> int:
    """Parts of the next loop in state s, from number `part` on; returns the next free number, -1 without
    room.

    The first and the last iteration of a reduction loop stand alone.
    """
    d = nest.temporal_dim[depth + 1]
    v = work.state_kind[s, d]
    flags = work.state_flags[s]
    begin, end = work.kids[v, 0], work.kids[v, 1]
    trips = work.index[end - 1] + work.length[end - 1]
    work.state_parts[s, 0] = part
    for u in range(begin, end):
        if nest.relevant[OUTPUT, d]:
            if not add_part(nest, work, depth, s, u, flags, work.index[u], work.length[u], part):
                return -1
            part += 1
            continue
        i = work.index[u]
        stop = i + work.length[u]
        while i < stop:
            following = i + 1 if i == 0 or i == trips - 1 else min(stop, trips - 1)
            kept = flags
            if i > 0:
                kept &= LAST_ONE
            if following < trips:
                kept &= ZERO
            if not add_part(nest, work, depth, s, u, kept, i, following - i, part):
                return -1
            part += 1
            i = following
    work.state_parts[s, 1] = part
    return part
