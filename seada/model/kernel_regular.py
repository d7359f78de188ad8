"""Exact counts and cycles of regular nests in closed form, by kinds of transitions.

Regular is a nest in which instances that keep sums of one output drain them together, and all sums meet on
their way (every fanout between multicasts and reduces what it has to); the smaller conditions are in
`is_regular`. All else is left to the general walk. Both follow docs/model.md.

Transitions are told apart by the loop that advances and the state above it; steps by the transitions before
and after them. A step's time needs the pass below it, so steps are listed from outside in and timed from
inside out.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_regular_macs import count_input_macs, count_output_macs, count_steps, pass_of_macs
from seada.model.kernel_regular_moves import input_move, output_move, sharers
from seada.model.kernel_regular_states import (
    LAST_ONE,
    ZERO,
    find_kinds,
    first_state,
    index_loops,
    split_state,
)
from seada.model.nest_arrays import OUTPUT, Ints, Nest
from seada.model.regular_arrays import HANDLES, HASHED, ITEMS, LINKS, LOADS, Regular

SINGLE_FILL, DOUBLE_FILL, SINGLE_DRAIN, DOUBLE_DRAIN = 0, 1, 2, 3
FIRST, LAST = 0, 1  # handles of the first fill and the last drain


@kernel
def zone_is_regular(nest: Nest, o: int, level: int) -> bool:
    """Whether the slots between a level and its parent join what passes them."""
    low, high = nest.slots_above[o, level - 1], nest.slots_above[o, level]
    for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
        if nest.link_port[f] >= 0 and nest.first_slot[f] > low:
            return False
    for s in range(low, high):
        d = nest.slot_dim[s]
        if nest.joins[o, nest.slot_fanout[s]] or (o == OUTPUT and nest.relevant[OUTPUT, d]):
            continue
        if o == OUTPUT or not nest.relevant[o, d] or in_window(nest, o, d):
            return False
    return True


@kernel
def in_window(nest: Nest, o: int, d: int) -> bool:
    """Whether an axis of the operand has this dimension and another."""
    for a in range(nest.axis_count[o]):
        if nest.axis_dim[o, a, 1] >= 0 and (nest.axis_dim[o, a, 0] == d or nest.axis_dim[o, a, 1] == d):
            return True
    return False


@kernel
def macs_are_regular(nest: Nest, o: int) -> bool:
    """Whether the elements of one step of the MACs follow from the dimensions one by one."""
    level = nest.levels[o] - 1
    low = nest.slots_above[o, level - 1]
    for a in range(nest.axis_count[o]):
        found = 0
        for t in range(2):
            d = nest.axis_dim[o, a, t]
            if d < 0:
                continue
            for s in range(low, nest.slots):
                if nest.slot_dim[s] == d:
                    found += 1
                    break
        if found > 1:
            return False
    for d in range(nest.dims):
        if not nest.uneven[d] or not nest.relevant[o, d]:
            continue
        inside = 0
        for c in range(nest.chain_length[d]):
            if nest.chain_is_slot[d, c] and nest.chain_index[d, c] >= low:
                inside += 1
            elif inside > 0:
                return False
        if inside > 2 or (inside > 0 and o == OUTPUT and sharers(nest, 0, low) > 1):
            return False
    return True


@kernel
def sums_keep_together(nest: Nest) -> bool:
    """Whether all instances that keep sums of an output drain it in one step.

    So it is if none of them idles, or only in loops inside those that change the tile: at a change all work
    (along a dimension that one loop alone unrolls; of two, some instances may never work).
    """
    level = nest.levels[OUTPUT] - 2
    for s in range(nest.slots_above[OUTPUT, level]):
        d = nest.slot_dim[s]
        if not nest.uneven[d] or nest.relevant[OUTPUT, d]:
            continue
        for other in range(s):
            if nest.slot_dim[other] == d:
                return False
        for c in range(nest.chain_length[d]):
            if not nest.chain_is_slot[d, c] and nest.chain_index[d, c] <= nest.changes_at[OUTPUT, level]:
                return False
    return True


@kernel
def is_regular(nest: Nest) -> bool:
    """Whether the closed form holds for this nest."""
    if not sums_keep_together(nest):
        return False
    for d in range(nest.dims):
        if nest.levels[1] == 2 and nest.border[d]:
            return False
    for o in range(3):
        for level in range(1, nest.levels[o]):
            if not zone_is_regular(nest, o, level):
                return False
        for level in range(2, nest.levels[o] - 1):
            for s in range(nest.slots_above[o, level - 1]):
                d = nest.slot_dim[s]
                if nest.uneven[d] or nest.border[d]:
                    return False
        if not macs_are_regular(nest, o):
            return False
    outside = nest.slots_above[OUTPUT, max(0, nest.levels[OUTPUT] - 3)]
    return nest.levels[OUTPUT] == 2 or sharers(nest, 0, outside) == 1


@kernel
def load(nest: Nest, work: Regular, place: int, port: int, words: int) -> int:
    """Add words to a port, if it is limited; returns the ticks."""
    if port < 0 or words == 0:
        return 0
    ticks = words * nest.port_ticks[port]
    work.loads[place + port] += ticks
    return int(ticks)


@kernel
def load_move(nest: Nest, o: int, level: int, handle: int, work: Regular) -> None:
    """Turn the peaks of a transfer into port loads of its timing level."""
    ports = nest.ports
    double = nest.double_buffered[o, level]
    amounts, links = work.amounts, work.links
    outer, inner = nest.memory[o, level - 1], nest.memory[o, level]
    base = (handle * nest.timing_levels + nest.timing_level[o, level]) * 4
    fills = (base + (DOUBLE_FILL if double else SINGLE_FILL)) * ports
    drains = (base + (DOUBLE_DRAIN if double else SINGLE_DRAIN)) * ports
    slowest = max(
        load(nest, work, fills, nest.read_port[outer], amounts[12]),
        load(nest, work, fills, nest.write_port[inner], amounts[13]),
    )
    slowest_drain = max(
        load(nest, work, drains, nest.read_port[inner], amounts[14]),
        load(nest, work, drains, nest.write_port[outer], amounts[15]),
    )
    for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
        slowest = max(slowest, load(nest, work, fills, nest.link_port[f], links[f, 3]))
        slowest_drain = max(slowest_drain, load(nest, work, drains, nest.link_port[f], links[f, 4]))
    if double and handle == FIRST:
        work.chain[o, 0] += slowest
    if double and handle == LAST:
        work.chain[o, 1] += slowest_drain


@kernel
def stand_in(nest: Nest, s: int, depth: int, work: Regular) -> None:
    """Put the loops that state s has passed at the positions that it stands for."""
    for d in range(nest.dims):
        v = work.state_kind[s, d]
        for k in range(work.passed[d, depth] - 1, -1, -1):
            j = work.loops_of[d, k]
            work.after[j] = work.index[v]
            work.before[j] = work.index[v]
            v = work.parent[v]


@kernel
def new_handle(nest: Nest, work: Regular) -> int:
    """A handle without loads; -1 without room."""
    handle = work.handles
    ports = nest.timing_levels * 4 * nest.ports
    if handle == HANDLES or (handle + 1) * ports > LOADS:
        return -1
    work.handles = handle + 1
    for k in range(handle * ports, (handle + 1) * ports):
        work.loads[k] = 0
    for o in range(3):
        work.moves[handle, o] = handle == FIRST
    return int(handle)


@kernel
def stand_before(nest: Nest, j: int, start: int, stop: int, work: Regular) -> None:
    """Put loop j between two iterations, and the loops inside it at their ends; those outside stay."""
    for t in range(j, nest.temporals + 1):
        work.after[t] = 0
        work.before[t] = 0
    if j > 0:
        work.after[j] = stop
        work.before[j] = start


@kernel
def record_move(nest: Nest, o: int, level: int, times: int, handle: int, work: Regular) -> None:
    """Count a transfer so many times, and note its loads on the ports."""
    for k in range(12):
        work.counts[o, level, k] += times * work.amounts[k]
    for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
        for k in range(3):
            work.link_counts[o, f, k] += times * work.links[f, k]
    load_move(nest, o, level, handle, work)
    if level == nest.levels[o] - 2 and work.amounts[6] + work.amounts[9] > 0:
        work.moves[handle, o] = 1


@kernel
def clear_amounts(nest: Nest, work: Regular) -> None:
    """Amounts of a transfer that has not been worked out."""
    for k in range(17):
        work.amounts[k] = 0
    for f in range(nest.fanouts):
        for k in range(5):
            work.links[f, k] = 0


@kernel
def move_inputs(nest: Nest, j: int, times: int, handle: int, work: Regular, space: Ints) -> None:
    """Fills of weight and input where `stand_before` put the loops, counted `times`."""
    for o in range(OUTPUT):
        for level in range(1, nest.levels[o] - 1):
            if j <= nest.changes_at[o, level]:
                clear_amounts(nest, work)
                input_move(nest, o, level, j, handle == FIRST, work, space)
                record_move(nest, o, level, times, handle, work)


@kernel
def move_outputs(nest: Nest, j: int, flags: int, times: int, handle: int, work: Regular) -> None:
    """Drains and fills of the output where `stand_before` put the loops; `flags` are those of the state."""
    reduction = j > 0 and not nest.relevant[OUTPUT, nest.temporal_dim[j]]
    done = bool(flags & LAST_ONE) and not reduction
    due = not flags & ZERO or reduction
    for level in range(1, nest.levels[OUTPUT] - 1):
        if j > nest.changes_at[OUTPUT, level]:
            continue
        clear_amounts(nest, work)
        filled = output_move(nest, level, j, handle == LAST, done, due, work)
        if level == nest.levels[OUTPUT] - 2:
            outer, inner = nest.slots_above[OUTPUT, level - 1], nest.slots_above[OUTPUT, level]
            work.unread += times * filled * (sharers(nest, outer, inner) - 1)
        record_move(nest, OUTPUT, level, times, handle, work)


@kernel
def with_outputs(nest: Nest, j: int, flags: int, times: int, base: int, work: Regular) -> int:
    """The handle of a transition whose inputs are those of `base`; `base` itself where no output moves."""
    moves = False
    for level in range(1, nest.levels[OUTPUT] - 1):
        moves = moves or j <= nest.changes_at[OUTPUT, level]
    if not moves:
        return base
    handle = new_handle(nest, work)
    if handle < 0:
        return -1
    ports = nest.timing_levels * 4 * nest.ports
    for k in range(ports):
        work.loads[handle * ports + k] = work.loads[base * ports + k]
    for o in range(3):
        work.moves[handle, o] = work.moves[base, o]
    move_outputs(nest, j, flags, times, handle, work)
    return int(handle)


@kernel
def alike(nest: Nest, one: int, other: int, work: Regular) -> bool:
    """Whether two states differ in their flags only."""
    same = True
    for d in range(nest.dims):
        same = same and work.state_kind[one, d] == work.state_kind[other, d]
    return same


@kernel
def move_group(nest: Nest, first: int, stop: int, depth: int, work: Regular, space: Ints) -> bool:
    """Transitions of the loop below state `first` and those up to `stop` that differ in flags only.

    Fills of weight and input do not depend on the flags: they are worked out once.
    """
    times = 0
    for s in range(first, stop):
        if alike(nest, first, s, work):
            times += work.state_times[s]
    j = depth + 1
    begin = work.state_parts[first, 0]
    stand_in(nest, first, depth, work)
    for k in range(work.state_parts[first, 1] - begin):
        i, length = work.part_index[begin + k], work.part_length[begin + k]
        for within in range(2):
            if (within == 1 and length == 1) or (within == 0 and k == 0):
                continue
            base = new_handle(nest, work)
            if base < 0:
                return False
            copies = length - 1 if within == 1 else 1
            stand_before(nest, j, i if within == 1 else i - 1, i + 1 if within == 1 else i, work)
            move_inputs(nest, j, times * copies, base, work, space)
            for s in range(first, stop):
                if not alike(nest, first, s, work):
                    continue
                flags, own = work.state_flags[s], work.state_times[s] * copies
                handle = with_outputs(nest, j, flags, own, base, work)
                if handle < 0:
                    return False
                if within == 1:
                    work.part_within[work.state_parts[s, 0] + k] = handle
                else:
                    work.part_enter[work.state_parts[s, 0] + k] = handle
    return True


@kernel
def led(nest: Nest, s: int, begin: int, work: Regular) -> bool:
    """Whether an earlier state of the depth differs from s in its flags only."""
    found = False
    for earlier in range(begin, s):
        found = found or alike(nest, earlier, s, work)
    return found


@kernel
def list_states(nest: Nest, work: Regular, space: Ints) -> bool:
    """All states and transitions, from outside in; False without room."""
    first_state(nest, work)
    part = 0
    for depth in range(nest.last_change):
        work.stamp += 1
        work.states_at[depth + 2] = work.states_at[depth + 1]
        for s in range(work.states_at[depth], work.states_at[depth + 1]):
            part = split_state(nest, work, depth, s, part)
            if part < 0:
                return False
        begin, end = work.states_at[depth], work.states_at[depth + 1]
        for s in range(begin, end):
            if not led(nest, s, begin, work) and not move_group(nest, s, end, depth, work, space):
                return False
    return True


@kernel
def find_item(work: Regular, depth: int, s: int, enter: int, leave: int) -> int:
    """The item of that state and transitions; a new one if it was not met before, -1 without room."""
    place = ((s * 1031 + enter) * 1031 + leave) % HASHED
    while work.hash_stamp[place] == work.stamp:
        found = work.hash_item[place]
        same = work.item_state[found] == s and work.item_enter[found] == enter
        if same and work.item_leave[found] == leave:
            return int(found)
        place = (place + 1) % HASHED
    new = work.items_at[depth + 1]
    if new == ITEMS:
        return -1
    work.hash_stamp[place] = work.stamp
    work.hash_item[place] = new
    work.item_state[new] = s
    work.item_enter[new] = enter
    work.item_leave[new] = leave
    work.items_at[depth + 1] = new + 1
    return int(new)


@kernel
def link_parts(work: Regular, depth: int, item: int, link: int) -> int:
    """Items of the iterations of the loop below an item; returns the next free link, -1 without room.

    Of the iterations of a part, the first, the last and those between differ in the transitions around them.
    """
    s = work.item_state[item]
    begin, end = work.state_parts[s, 0], work.state_parts[s, 1]
    work.item_links[item, 0] = link
    for part in range(begin, end):
        length = work.part_length[part]
        within = work.part_within[part]
        enter = work.item_enter[item] if part == begin else work.part_enter[part]
        leave = work.item_leave[item] if part == end - 1 else work.part_enter[part + 1]
        for k in range(min(length, 3)):
            if link == LINKS:
                return -1
            came = enter if k == 0 else within
            goes = leave if k == min(length, 3) - 1 else within
            child = find_item(work, depth + 1, work.part_state[part], came, goes)
            if child < 0:
                return -1
            work.link_item[link] = child
            work.link_copies[link] = length - 2 if length > 2 and k == 1 else 1
            link += 1
    work.item_links[item, 1] = link
    return link


@kernel
def list_items(nest: Nest, work: Regular) -> bool:
    """All kinds of steps with the transitions around them, from outside in; False without room."""
    work.item_state[0] = 0
    work.item_enter[0] = FIRST
    work.item_leave[0] = LAST
    work.items_at[0] = 0
    work.items_at[1] = 1
    link = 0
    for depth in range(nest.last_change):
        work.stamp += 1
        work.items_at[depth + 2] = work.items_at[depth + 1]
        for item in range(work.items_at[depth], work.items_at[depth + 1]):
            link = link_parts(work, depth, item, link)
            if link < 0:
                return False
    return True


@kernel
def most(work: Regular, place: int, count: int) -> int:
    """Largest of `count` loads, at least 0."""
    largest = 0
    for k in range(place, place + count):
        largest = max(largest, work.loads[k])
    return largest


@kernel
def time_level(nest: Nest, g: int, item: int, work: Regular) -> None:
    """Turn the time and traffic of the pass below an item into those of its step of timing level g."""
    ports = nest.ports
    into = (work.item_enter[item] * nest.timing_levels + g) * 4 * ports
    out = (work.item_leave[item] * nest.timing_levels + g) * 4 * ports
    first, last = work.item_enter[item] == FIRST, work.item_leave[item] == LAST
    busiest = work.item_ticks[item]
    for o in range(3):
        level = nest.levels[o] - 2
        single = nest.timing_level[o, level] == g and not nest.double_buffered[o, level]
        if single and work.moves[work.item_enter[item], o]:
            busiest += nest.ramp_cycles[o] * nest.ticks_per_cycle
    for p in range(ports):
        busy = work.item_traffic[item, p]
        if not last:
            busy += work.loads[out + DOUBLE_FILL * ports + p]
        if not first:
            busy += work.loads[into + DOUBLE_DRAIN * ports + p]
        busiest = max(busiest, busy)
        alone = work.loads[into + SINGLE_FILL * ports + p] + work.loads[out + SINGLE_DRAIN * ports + p]
        work.item_traffic[item, p] = busy + alone
    fills = most(work, into + SINGLE_FILL * ports, ports)
    drains = most(work, out + SINGLE_DRAIN * ports, ports)
    work.item_ticks[item] = fills + busiest + drains


@kernel
def time_items(nest: Nest, work: Regular) -> None:
    """Time and traffic of all items, from inside out."""
    g = nest.timing_levels - 1
    for depth in range(nest.last_change, -1, -1):
        outermost = g
        while outermost >= 0 and nest.timing_position[outermost] == depth:
            outermost -= 1
        for item in range(work.items_at[depth], work.items_at[depth + 1]):
            if depth == nest.last_change:
                pass_of_macs(nest, item, depth, work)
            else:
                add_links(nest, item, work)
            for level in range(g, outermost, -1):
                time_level(nest, level, item, work)
        g = outermost


@kernel
def add_links(nest: Nest, item: int, work: Regular) -> None:
    """Add up the iterations of the loop below an item."""
    ticks = 0
    for p in range(nest.ports):
        work.item_traffic[item, p] = 0
    for link in range(work.item_links[item, 0], work.item_links[item, 1]):
        child, copies = work.link_item[link], work.link_copies[link]
        ticks += copies * work.item_ticks[child]
        for p in range(nest.ports):
            work.item_traffic[item, p] += copies * work.item_traffic[child, p]
    work.item_ticks[item] = ticks


@kernel
def sum_up(nest: Nest, work: Regular) -> None:
    """The body of the layer, its first fill and last drain, and what each port moves."""
    ports = nest.ports
    work.body = work.item_ticks[0]
    for p in range(ports):
        work.traffic[p] = work.item_traffic[0, p]
        work.body = max(work.body, work.traffic[p])
        work.busy_ends[p] = 0
    for handle in range(2):
        kind = DOUBLE_FILL if handle == FIRST else DOUBLE_DRAIN
        longest = 0
        for o in range(3):
            longest = max(longest, work.chain[o, handle])
        for p in range(ports):
            load_of_port = 0
            for g in range(nest.timing_levels):
                load_of_port += work.loads[((handle * nest.timing_levels + g) * 4 + kind) * ports + p]
            work.busy_ends[p] += load_of_port
            longest = max(longest, load_of_port)
        work.extreme[handle] = longest


@kernel
def count_regular(nest: Nest, work: Regular, space: Ints) -> bool:
    """Counters, traffic and times of a nest, into `work`; False if it is not regular or too varied."""
    if not is_regular(nest):
        return False
    for o in range(3):
        for level in range(1, nest.levels[o]):
            for k in range(12):
                work.counts[o, level, k] = 0
        for f in range(nest.fanouts):
            for k in range(3):
                work.link_counts[o, f, k] = 0
        work.chain[o, 0] = 0
        work.chain[o, 1] = 0
    work.unread = 0
    work.handles = 0
    index_loops(nest, work)
    if not find_kinds(nest, work, nest.last_change):
        return False
    if new_handle(nest, work) < 0 or new_handle(nest, work) < 0:
        return False
    stand_before(nest, 0, 0, 0, work)
    move_inputs(nest, 0, 1, FIRST, work, space)
    move_outputs(nest, 0, ZERO | LAST_ONE, 1, LAST, work)
    if not list_states(nest, work, space) or not list_items(nest, work):
        return False
    time_items(nest, work)
    sum_up(nest, work)
    for o in range(OUTPUT):
        count_input_macs(nest, o, work)
    count_output_macs(nest, work)
    count_steps(nest, work)
    return True
