"""The walk over the loop nest by classes of equal steps: counts and the latency recurrence in one pass."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import combinations, find_runs, interval, set_slots
from seada.model.kernel_input import input_transfer
from seada.model.kernel_output import link_peaks, output_step, output_transfer
from seada.model.nest_arrays import Ints, Nest, Work

SINGLE_FILL, DOUBLE_FILL, SINGLE_DRAIN, DOUBLE_DRAIN = 0, 1, 2, 3
FIRST, LAST = 0, 1  # handles of the first fill and the last drain


@kernel
def load(nest: Nest, loads, port: int, words: int) -> int:  # type: ignore[no-untyped-def]
    """Add words to a port, if it is limited; returns the ticks."""
    if port < 0 or words == 0:
        return 0
    ticks = words * nest.port_ticks[port]
    loads[port] += ticks
    return int(ticks)


@kernel
def load_transfer(nest: Nest, o: int, level: int, work: Work, handle: int) -> None:
    """Turn the peaks of a transfer into port loads of its timing level."""
    g = nest.timing_level[o, level]
    double = nest.double_buffered[o, level]
    amounts, links = work.amounts, work.links
    outer = nest.memory[o, level - 1]
    inner = nest.memory[o, level]
    fills = work.loads[handle, g, DOUBLE_FILL if double else SINGLE_FILL]
    drains = work.loads[handle, g, DOUBLE_DRAIN if double else SINGLE_DRAIN]
    slowest = max(
        load(nest, fills, nest.read_port[outer], amounts[12]), load(nest, fills, nest.write_port[inner], amounts[13])
    )
    slowest_drain = load(nest, drains, nest.read_port[inner], amounts[14])
    slowest_drain = max(
        slowest_drain,
        load(nest, drains, nest.write_port[outer], amounts[15])
        + load(nest, drains, nest.read_port[outer], amounts[16])
        if nest.write_port[outer] == nest.read_port[outer]
        else max(
            load(nest, drains, nest.write_port[outer], amounts[15]),
            load(nest, drains, nest.read_port[outer], amounts[16]),
        ),
    )
    for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
        slowest = max(slowest, load(nest, fills, nest.link_port[f], links[f, 3]))
        slowest_drain = max(slowest_drain, load(nest, drains, nest.link_port[f], links[f, 4]))
    if double and handle == FIRST:
        work.chain[o, 0] += slowest
    if double and handle == LAST:
        work.chain[o, 1] += slowest_drain


@kernel
def record(nest: Nest, o: int, level: int, times: int, work: Work) -> None:
    """Add a transfer to the counters."""
    for k in range(12):
        work.counts[o, level, k] += times * work.amounts[k]
    for f in range(nest.fanouts):
        for k in range(3):
            work.link_counts[o, f, k] += times * work.links[f, k]


@kernel
def clear_loads(nest: Nest, work: Work, handle: int) -> None:
    """Forget what a handle held."""
    for g in range(nest.timing_levels):
        for kind in range(4):
            for p in range(nest.ports):
                work.loads[handle, g, kind, p] = 0
    for o in range(3):
        work.moves[handle, o] = 0


@kernel
def transition(nest: Nest, j: int, start: int, stop: int, times: int, work: Work, space: Ints, handle: int) -> None:
    """Everything that moves when loop j goes from iteration `start` to `stop`; counted `times`.

    j = 0 with handle FIRST is the first fill, with handle LAST the last drain.
    """
    after, before = work.after, work.before
    done = True
    for l in range(1, nest.temporals + 1):
        before[l] = after[l]
        if l < j and not nest.relevant[2, nest.temporal_dim[l]] and not work.at_last[l]:
            done = False
        if l > j:
            after[l] = 0
            before[l] = 0
    if j > 0:
        after[j] = stop
        before[j] = start
        if not nest.relevant[2, nest.temporal_dim[j]]:
            done = False
    clear_loads(nest, work, handle)
    for o in range(3):
        for level in range(1, nest.levels[o] - 1):
            if j > nest.changes_at[o, level] or (o == 2 and handle == FIRST) or (o < 2 and handle == LAST):
                continue
            work.amounts[:] = 0
            work.links[:] = 0
            if o < 2:
                input_transfer(nest, o, level, j, after, before, handle == FIRST, 1, work, space, work.amounts, work.links)
            else:
                output_transfer(nest, level, j, after, before, done, handle == LAST, work, work.amounts, work.links)
                link_peaks(nest, level, j, after, before, handle == LAST, work, work.links)
            record(nest, o, level, times, work)
            load_transfer(nest, o, level, work, handle)
            if level == nest.levels[o] - 2 and work.amounts[6] + work.amounts[9] > 0:
                work.moves[handle, o] = 1


@kernel
def active_elements(nest: Nest, work: Work) -> int:
    """PEs with work at the present position."""
    count = 1
    stop = nest.first_slot[nest.lanes_fanout]
    for s in range(nest.slots):
        work.slots[s] = 0
    for d in range(nest.dims):
        total = combinations(nest, d, 0, stop)
        if total == 1:
            continue
        active = 0
        for code in range(total):
            set_slots(nest, d, 0, stop, code, work.slots)
            _, size = interval(nest, d, nest.chain_length[d], work.after, work.slots)
            active += size > 0
        set_slots(nest, d, 0, stop, 0, work.slots)
        count *= active
    return count


@kernel
def mac_step(nest: Nest, times: int, local: int, work: Work, space: Ints, traffic) -> None:  # type: ignore[no-untyped-def]
    """The accesses of the MACs in one step: counted `times`, on the ports of one pass `local` times."""
    last = nest.temporals
    done = True
    for l in range(1, last + 1):
        if not nest.relevant[2, nest.temporal_dim[l]] and not work.at_last[l]:
            done = False
    work.steps[0] += times
    work.steps[1] += times * active_elements(nest, work)
    for o in range(3):
        work.amounts[:] = 0
        work.links[:] = 0
        level = nest.levels[o] - 1
        if o < 2:
            input_transfer(nest, o, level, last, work.after, work.after, False, 1, work, space, work.amounts, work.links)
        else:
            output_step(nest, work.after, done, 1, work, work.amounts, work.links)
        record(nest, o, level, times, work)
        memory = nest.memory[o, level - 1]
        load(nest, traffic, nest.read_port[memory], local * (work.amounts[12] + work.amounts[16]))
        load(nest, traffic, nest.write_port[memory], local * work.amounts[15])
        for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
            load(nest, traffic, nest.link_port[f], local * (work.links[f, 3] + work.links[f, 4]))


@kernel
def steps_below(nest: Nest, j: int, times: int, local: int, work: Work, space: Ints, traffic) -> int:  # type: ignore[no-untyped-def]
    """Steps of the loops after j, where no tile changes; returns how many there are in one pass."""
    if j == nest.temporals:
        mac_step(nest, times * local, local, work, space, traffic)
        return 1
    loop = j + 1
    runs = work.runs[loop]
    count = find_runs(nest, loop, work.after, work.slots, runs)
    steps = 0
    for r in range(count):
        length = runs[r + 1] - runs[r]
        work.after[loop] = runs[r]
        work.at_last[loop] = runs[r + 1] == runs[count]
        steps += length * steps_below(nest, loop, times, local * length, work, space, traffic)
    work.after[loop] = 0
    return steps


@kernel
def greatest(values, count: int) -> int:  # type: ignore[no-untyped-def]
    """Largest of the first `count` values, at least 0."""
    most = 0
    for k in range(count):
        most = max(most, values[k])
    return most


@kernel
def level_time(nest: Nest, g: int, inner: int, enter: int, leave: int, work: Work, below, traffic) -> int:  # type: ignore[no-untyped-def]
    """One step of timing level g, given the time and port traffic of the pass below it."""
    into, out = work.loads[enter, g], work.loads[leave, g]
    ramp = 0
    for o in range(3):
        level = nest.levels[o] - 2
        if nest.timing_level[o, level] == g and not nest.double_buffered[o, level] and work.moves[enter, o]:
            ramp += nest.ramp_cycles[o] * nest.ticks_per_cycle
    busiest = inner + ramp
    for p in range(nest.ports):
        busy = out[DOUBLE_FILL, p] + into[DOUBLE_DRAIN, p] + below[p]
        if enter == FIRST:
            busy -= into[DOUBLE_DRAIN, p]
        if leave == LAST:
            busy -= out[DOUBLE_FILL, p]
        busiest = max(busiest, busy)
        traffic[p] = busy + into[SINGLE_FILL, p] + out[SINGLE_DRAIN, p]
    return greatest(into[SINGLE_FILL], nest.ports) + busiest + greatest(out[SINGLE_DRAIN], nest.ports)


@kernel
def walk(nest: Nest, g: int, j: int, enter: int, leave: int, times: int, work: Work, space: Ints) -> int:
    """Ticks of everything inside timing level g below temporal loop j; port traffic goes to ``work.traffic[g + j]``.

    `enter` and `leave` are handles of the transitions into and out of this pass, which happens `times` times. The loop
    below is split into runs of equal iterations; within a run the first, the last and those between differ only in
    the transitions around them.
    """
    traffic = work.traffic[g + j]
    for p in range(nest.ports):
        traffic[p] = 0
    if g < nest.timing_levels and nest.timing_position[g] == j:
        inner = walk(nest, g + 1, j, enter, leave, times, work, space)
        return level_time(nest, g, inner, enter, leave, work, work.traffic[g + j + 1], traffic)
    if j == nest.last_change:
        steps = steps_below(nest, j, times, 1, work, space, traffic)
        return steps * nest.cycles_per_step * nest.ticks_per_cycle
    loop = j + 1
    runs = work.runs[loop]
    below = work.traffic[g + loop]
    count = find_runs(nest, loop, work.after, work.slots, runs)
    within = 2 + 3 * loop
    ticks = 0
    enter_run = enter
    for r in range(count):
        length = runs[r + 1] - runs[r]
        onward = leave
        if length > 1:
            transition(nest, loop, runs[r], runs[r] + 1, times * (length - 1), work, space, within)
        if r < count - 1:
            onward = 3 + 3 * loop + r % 2
            transition(nest, loop, runs[r + 1] - 1, runs[r + 1], times, work, space, onward)
        for part in range(min(length, 3)):
            copies = length - 2 if length > 2 and part == 1 else 1
            work.after[loop] = runs[r]
            work.at_last[loop] = r == count - 1
            came = enter_run if part == 0 else within
            goes = onward if part == min(length, 3) - 1 else within
            ticks += copies * walk(nest, g, loop, came, goes, times * copies, work, space)
            for p in range(nest.ports):
                traffic[p] += copies * below[p]
        enter_run = onward
    work.after[loop] = 0
    return ticks
