"""The walk over the loop nest by classes of equal steps: counts and the latency recurrence in one pass."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import combinations, find_runs, interval, set_slots
from seada.model.kernel_input import input_transfer
from seada.model.kernel_output import link_peaks, output_step, output_transfer
from seada.model.kernel_sums import settle_ends
from seada.model.nest_arrays import OUTPUT, REMEMBERED, Ints, Nest, Work

SINGLE_FILL, DOUBLE_FILL, SINGLE_DRAIN, DOUBLE_DRAIN = 0, 1, 2, 3
FIRST, LAST = 0, 1  # handles of the first fill and the last drain


@kernel
def load(nest: Nest, loads: Ints, port: int, words: int) -> int:
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
        load(nest, fills, nest.read_port[outer], amounts[12]),
        load(nest, fills, nest.write_port[inner], amounts[13]),
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
def transition(
    nest: Nest, j: int, start: int, stop: int, times: int, work: Work, space: Ints, handle: int
) -> None:
    """Everything that moves when loop j goes from iteration `start` to `stop`; counted `times`.

    j = 0 with handle FIRST is the first fill, with handle LAST the last drain.
    """
    after, before = work.after, work.before
    done = True
    for loop in range(1, nest.temporals + 1):
        before[loop] = after[loop]
        if loop < j and not nest.relevant[OUTPUT, nest.temporal_dim[loop]] and not work.at_last[loop]:
            done = False
        if loop > j:
            after[loop] = 0
            before[loop] = 0
    if j > 0:
        after[j] = stop
        before[j] = start
        if not nest.relevant[OUTPUT, nest.temporal_dim[j]]:
            done = False
    clear_loads(nest, work, handle)
    for o in range(3):
        if handle == FIRST:
            work.moves[handle, o] = 1
        for level in range(1, nest.levels[o] - 1):
            if j > nest.changes_at[o, level] or (o == 2 and handle == FIRST) or (o < 2 and handle == LAST):
                continue
            work.amounts[:] = 0
            work.links[:] = 0
            if o < 2:
                input_transfer(
                    nest,
                    o,
                    level,
                    j,
                    after,
                    before,
                    handle == FIRST,
                    1,
                    work,
                    space,
                    work.amounts,
                    work.links,
                )
            else:
                output_transfer(
                    nest, level, j, after, before, done, handle == LAST, work, work.amounts, work.links
                )
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
def work_out_step(nest: Nest, done: bool, place: int, work: Work, space: Ints) -> None:
    """Accesses of the MACs in one step, into the place where they are remembered."""
    work.step_elements[place] = active_elements(nest, work)
    for o in range(3):
        amounts, links = work.step_amounts[place, o], work.step_links[place, o]
        amounts[:] = 0
        links[:] = 0
        level = nest.levels[o] - 1
        if o < 2:
            input_transfer(
                nest, o, level, nest.temporals, work.after, work.after, False, 1, work, space, amounts, links
            )
        else:
            output_step(nest, work.after, done, work, amounts, links)


@kernel
def find_step(nest: Nest, work: Work, space: Ints) -> int:
    """Place of the accesses of the present step, worked out at most once for steps that are alike."""
    done = 1
    key = 0
    deepest = 0
    for loop in range(1, nest.temporals + 1):
        key += nest.step_radix[loop] * work.after[loop]
        if not nest.relevant[OUTPUT, nest.temporal_dim[loop]]:
            if not work.at_last[loop]:
                done = 0
            if work.after[loop] > 0:
                deepest = loop
    key = (key * (nest.temporals + 1) + deepest) * 2 + done + 1
    place = key % REMEMBERED
    if work.step_key[place] != key:
        work_out_step(nest, done == 1, place, work, space)
        work.step_key[place] = key
    return int(place)


@kernel
def mac_step(nest: Nest, times: int, local: int, work: Work, space: Ints, traffic: Ints) -> None:
    """The accesses of the MACs in one step: counted `times`, on the ports of one pass `local` times."""
    place = find_step(nest, work, space)
    work.steps[0] += times
    work.steps[1] += times * work.step_elements[place]
    for o in range(3):
        amounts, links = work.step_amounts[place, o], work.step_links[place, o]
        level = nest.levels[o] - 1
        for k in range(12):
            work.counts[o, level, k] += times * amounts[k]
        memory = nest.memory[o, level - 1]
        load(nest, traffic, nest.read_port[memory], local * (amounts[12] + amounts[16]))
        load(nest, traffic, nest.write_port[memory], local * amounts[15])
        for f in range(nest.fanouts_above[o, level - 1], nest.fanouts_above[o, level]):
            for k in range(3):
                work.link_counts[o, f, k] += times * links[f, k]
            load(nest, traffic, nest.link_port[f], local * (links[f, 3] + links[f, 4]))


@kernel
def stand_at_run(nest: Nest, loop: int, r: int, work: Work) -> int:
    """Put a loop at the first iteration of its run number r; returns the run's length."""
    work.run[loop] = r
    work.after[loop] = work.runs[loop, r]
    work.at_last[loop] = r == work.run_count[loop] - 1
    return int(work.runs[loop, r + 1] - work.runs[loop, r])


@kernel
def steps_below(nest: Nest, j: int, times: int, work: Work, space: Ints, traffic: Ints) -> int:
    """Steps of the loops after j, where no tile changes; returns how many there are in one pass."""
    steps = 0
    loop = j
    work.copies[j] = 1
    descending = True
    while True:
        if descending and loop < nest.temporals:
            loop += 1
            work.run_count[loop] = find_runs(nest, loop, work.after, work.slots, work.runs[loop])
            length = stand_at_run(nest, loop, 0, work)
            work.copies[loop] = work.copies[loop - 1] * length
            continue
        if descending:
            local = work.copies[loop]
            mac_step(nest, times * local, local, work, space, traffic)
            steps += local
            descending = False
        if loop == j:
            return steps
        if work.run[loop] + 1 < work.run_count[loop]:
            length = stand_at_run(nest, loop, work.run[loop] + 1, work)
            work.copies[loop] = work.copies[loop - 1] * length
            descending = True
        else:
            work.after[loop] = 0
            loop -= 1


@kernel
def greatest(values: Ints, count: int) -> int:
    """Largest of the first `count` values, at least 0."""
    most = 0
    for k in range(count):
        most = max(most, values[k])
    return most


@kernel
def level_time(
    nest: Nest, g: int, inner: int, enter: int, leave: int, work: Work, below: Ints, traffic: Ints
) -> int:
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


ENTER, LEAVE, TIMES, TICKS, PART, ONWARD = 0, 1, 2, 3, 4, 5


@kernel
def open_run(nest: Nest, depth: int, loop: int, r: int, work: Work, space: Ints) -> None:
    """Begin run r of a loop: work out the transitions within it and out of it."""
    frame = work.frames[depth]
    runs = work.runs[loop]
    length = runs[r + 1] - runs[r]
    frame[PART] = 0
    frame[ONWARD] = frame[LEAVE]
    if length > 1:
        transition(nest, loop, runs[r], runs[r] + 1, frame[TIMES] * (length - 1), work, space, 2 + 3 * loop)
    if r < work.run_count[loop] - 1:
        frame[ONWARD] = 3 + 3 * loop + r % 2
        transition(nest, loop, runs[r + 1] - 1, runs[r + 1], frame[TIMES], work, space, frame[ONWARD])
    stand_at_run(nest, loop, r, work)


@kernel
def copies_of_part(length: int, part: int) -> int:
    """How many iterations of a run part 0, 1 or 2 stands for: the first, those between, the last."""
    return length - 2 if length > 2 and part == 1 else 1


@kernel
def open_part(nest: Nest, depth: int, loop: int, work: Work) -> None:
    """Prepare the frame below for one part of the present run."""
    frame, below = work.frames[depth], work.frames[depth + 1]
    r = work.run[loop]
    length = work.runs[loop, r + 1] - work.runs[loop, r]
    within = 2 + 3 * loop
    came = frame[ENTER] if r == 0 else 3 + 3 * loop + (r - 1) % 2
    below[ENTER] = came if frame[PART] == 0 else within
    below[LEAVE] = frame[ONWARD] if frame[PART] == min(length, 3) - 1 else within
    below[TIMES] = frame[TIMES] * copies_of_part(length, frame[PART])
    stand_at_run(nest, loop, r, work)


@kernel
def close_part(nest: Nest, depth: int, loop: int, work: Work, space: Ints) -> bool:
    """Take in the result of the part below and open the next; False when the loop is through."""
    frame = work.frames[depth]
    r = work.run[loop]
    length = work.runs[loop, r + 1] - work.runs[loop, r]
    copies = copies_of_part(length, frame[PART])
    frame[TICKS] += copies * work.frames[depth + 1, TICKS]
    for p in range(nest.ports):
        work.traffic[depth, p] += copies * work.traffic[depth + 1, p]
    frame[PART] += 1
    if frame[PART] == min(length, 3):
        if r + 1 == work.run_count[loop]:
            work.after[loop] = 0
            return False
        open_run(nest, depth, loop, r + 1, work, space)
    open_part(nest, depth, loop, work)
    return True


@kernel
def walk(nest: Nest, work: Work, space: Ints) -> int:
    """Ticks of the whole nest; port traffic goes to ``work.traffic[0]``, counts to the counters.

    A depth-first walk without recursion. Depth counts timing levels and loops passed. Each loop is split into
    runs of equal iterations; within a run the first, the last and those between differ only in the
    transitions around them.
    """
    depth, g, j = 0, 0, 0
    work.frames[0, ENTER] = FIRST
    work.frames[0, LEAVE] = LAST
    work.frames[0, TIMES] = 1
    descending = True
    while True:
        frame = work.frames[depth]
        is_level = g < nest.timing_levels and nest.timing_position[g] == j
        if descending:
            frame[TICKS] = 0
            for p in range(nest.ports):
                work.traffic[depth, p] = 0
            if is_level:
                for k in range(3):
                    work.frames[depth + 1, k] = frame[k]
                depth, g = depth + 1, g + 1
            elif j < nest.last_change:
                loop = j + 1
                work.run_count[loop] = find_runs(nest, loop, work.after, work.slots, work.runs[loop])
                open_run(nest, depth, loop, 0, work, space)
                open_part(nest, depth, loop, work)
                depth, j = depth + 1, j + 1
            else:
                steps = steps_below(nest, j, frame[TIMES], work, space, work.traffic[depth])
                frame[TICKS] = steps * nest.cycles_per_step * nest.ticks_per_cycle
                descending = False
            continue
        if depth == 0:
            return int(frame[TICKS])
        # what encloses this depth: the level before, if it stands at this position, else a loop
        depth -= 1
        if g > 0 and nest.timing_position[g - 1] == j:
            g -= 1
            outer = work.frames[depth]
            outer[TICKS] = level_time(
                nest, g, work.frames[depth + 1, TICKS], outer[ENTER], outer[LEAVE], work,
                work.traffic[depth + 1], work.traffic[depth],
            )  # fmt: skip
        else:
            j -= 1
            if close_part(nest, depth, j + 1, work, space):
                depth, j = depth + 1, j + 1
                descending = True


@kernel
def run(nest: Nest, work: Work, space: Ints) -> int:
    """Everything that `seada.model.count` reads: all counters, the first fill, the last drain; returns
    `walk`'s ticks.
    """
    settle_ends(nest, work)
    transition(nest, 0, 0, 0, 1, work, space, FIRST)
    transition(nest, 0, 0, 0, 1, work, space, LAST)
    return walk(nest, work, space)
