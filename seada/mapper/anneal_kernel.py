"""Search over candidates by the estimate: simulated annealing, then descent over the whole neighbourhood.

Both keep the best distinct candidates in an archive, sorted by (objective, other metric); the exact model
then decides among these. Random numbers come from a small generator of our own, so that results do not depend
on the version of a library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seada.mapper.estimate_kernel import estimate
from seada.mapper.problem_kernel import Problem, Scratch
from seada.model.jit import kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

RESIZE_VARIANTS = 9
EXCHANGE_VARIANTS = 3
# Weight of the metric that the objective leaves out (or of both) when a worse candidate may be accepted:
# small against real differences, large enough to lead across plateaus of equal latency.
SLOPE = 0.02
# Multiplier and modulus of the "minimal standard" generator of Park and Miller (CACM 31, 1988), multiplier
# as revised by them in CACM 36, 1993.
MULTIPLIER, MODULUS = 48271, 2147483647
FAILURE = np.inf


class Archive(NamedTuple):
    """The best distinct candidates so far.

    Attributes
    ----------
    genomes : (capacity, length)
    scores : (capacity, 2) logarithm of the objective, then of the other metric; infinite where empty
    metrics : (capacity, 2) estimated energy in pJ and latency in cycles
    counters : (2,) candidates estimated, candidates among them that were illegal
    """

    genomes: IntArray
    scores: FloatArray
    metrics: FloatArray
    counters: IntArray


@kernel
def ceil_div(numerator: int, denominator: int) -> int:
    """Quotient of positive integers, rounded up."""
    return (numerator + denominator - 1) // denominator


@kernel
def draw(generator: IntArray, limit: int) -> int:
    """A number from 0 to `limit` - 1; advances the generator."""
    generator[0] = generator[0] * MULTIPLIER % MODULUS
    return int(generator[0] % limit)


@kernel
def keep_best(archive: Archive, genome: IntArray, score: FloatArray, energy: float, latency: float) -> None:
    """Insert a candidate unless the archive is full of better ones or holds one of equal cost."""
    last = archive.scores.shape[0] - 1
    place = last + 1
    while place > 0 and (
        score[0] < archive.scores[place - 1, 0]
        or (score[0] == archive.scores[place - 1, 0] and score[1] < archive.scores[place - 1, 1])
    ):
        place -= 1
    if place > last or (
        place > 0 and score[0] == archive.scores[place - 1, 0] and score[1] == archive.scores[place - 1, 1]
    ):
        return
    for row in range(last, place, -1):
        for i in range(genome.shape[0]):
            archive.genomes[row, i] = archive.genomes[row - 1, i]
        for i in range(2):
            archive.scores[row, i] = archive.scores[row - 1, i]
            archive.metrics[row, i] = archive.metrics[row - 1, i]
    for i in range(genome.shape[0]):
        archive.genomes[place, i] = genome[i]
    for i in range(2):
        archive.scores[place, i] = score[i]
    archive.metrics[place, 0] = energy
    archive.metrics[place, 1] = latency


@kernel
def rate(
    p: Problem,
    tables: FloatArray,
    genome: IntArray,
    powers: FloatArray,
    w: Scratch,
    archive: Archive,
    score: FloatArray,
) -> None:
    """Estimate a candidate into `score` (objective, other metric, as logarithms) and the archive."""
    energy, latency = estimate(p, tables, genome, w)
    archive.counters[0] += 1
    if not energy < np.inf:
        archive.counters[1] += 1
        score[0] = FAILURE
        score[1] = FAILURE
        return
    log_energy, log_latency = np.log(max(energy, 1e-300)), np.log(max(latency, 1.0))
    score[0] = powers[0] * log_energy + powers[1] * log_latency
    score[1] = log_latency if powers[1] == 0 else log_energy
    if score[0] <= archive.scores[-1, 0]:
        keep_best(archive, genome, score, energy, latency)


@kernel
def resize(p: Problem, genome: IntArray, slot: int, dim: int, variant: int, partner: int, pick: int) -> bool:
    """Change the trips of one loop; the slot `partner` of the dimension makes up for it."""
    dims = p.dims
    at = slot * dims + dim
    if p.fixed[slot, dim] > 0 or p.allowed[slot, dim] == 0:
        return False
    extent = int(p.extents[dim])
    below = 1
    for s in range(slot + 1, p.slots):
        below = min(extent, below * genome[s * dims + dim])
    room = ceil_div(extent, below)
    old = genome[at]
    outer = ceil_div(room, old)
    new = old
    if variant == 0:
        new = old * 2
    elif variant == 1:
        new = ceil_div(old, 2)
    elif variant == 2:
        new = old * 3
    elif variant == 3:
        new = ceil_div(old, 3)
    elif variant == 4:
        new = ceil_div(room, max(1, outer - 1))
    elif variant == 5:
        new = ceil_div(room, outer + 1)
    elif variant == 6:
        new = 1
    elif variant == 7:
        new = ceil_div(room, 1 + pick % room)
    else:
        new = largest_trips(p, genome, slot, dim, room)
    new = max(1, min(new, room))
    if new == old:
        return False
    genome[at] = new
    if partner > 0 and partner != slot:
        if p.fixed[partner, dim] > 0 or p.allowed[partner, dim] == 0:
            return False
        other = partner * dims + dim
        genome[other] = ceil_div(genome[other] * old, new)
    return True


@kernel
def largest_trips(p: Problem, genome: IntArray, slot: int, dim: int, room: int) -> int:
    """Most trips that the axis leaves free; everything for a temporal slot."""
    if p.slot_spatial[slot] == 0:
        return room
    dims = p.dims
    used = 1
    for d in range(dims):
        if d != dim:
            used *= genome[slot * dims + d]
    return int(p.slot_size[slot] // used)


@kernel
def exchange(p: Problem, genome: IntArray, slot: int, giver: int, taker: int, variant: int) -> bool:
    """Move trips from one dimension to another within one slot."""
    dims = p.dims
    first, second = slot * dims + giver, slot * dims + taker
    if giver == taker or genome[first] == 1:
        return False
    if p.fixed[slot, giver] > 0 or p.fixed[slot, taker] > 0 or p.allowed[slot, taker] == 0:
        return False
    factor = genome[first] if variant == 0 else variant + 1
    genome[first] = ceil_div(genome[first], factor)
    genome[second] = min(int(p.extents[taker]), genome[second] * factor)
    return True


@kernel
def swap_slots(p: Problem, genome: IntArray, slot: int, partner: int, dim: int) -> bool:
    """Exchange the trips of one dimension between two slots."""
    dims = p.dims
    first, second = slot * dims + dim, partner * dims + dim
    if genome[first] == genome[second] or p.allowed[slot, dim] == 0 or p.allowed[partner, dim] == 0:
        return False
    if p.fixed[slot, dim] > 0 or p.fixed[partner, dim] > 0:
        return False
    genome[first], genome[second] = genome[second], genome[first]
    return True


@kernel
def propose(p: Problem, genome: IntArray, generator: IntArray) -> bool:
    """Change a candidate at random in place; False if nothing changed."""
    slots, dims, memories = p.slots, p.dims, p.memories
    keeps = slots * dims
    kind = draw(generator, 100)
    if kind >= 94:
        at = draw(generator, 3 * memories)
        if p.keeps[at // 3, at % 3] != 1:
            return False
        genome[keeps + at] = 1 - genome[keeps + at]
        return True
    if kind >= 84 or slots == 1:
        genome[keeps + 3 * memories + draw(generator, memories)] = draw(generator, p.orders)
        return True
    slot = 1 + draw(generator, slots - 1)
    dim = draw(generator, dims)
    if kind < 54:
        variant = draw(generator, RESIZE_VARIANTS)
        partner = draw(generator, slots)
        return resize(p, genome, slot, dim, variant, partner, draw(generator, MODULUS))
    if kind < 64:
        return swap_slots(p, genome, slot, 1 + draw(generator, slots - 1), dim)
    return exchange(p, genome, slot, dim, draw(generator, dims), draw(generator, EXCHANGE_VARIANTS))


@kernel
def neighbour(p: Problem, genome: IntArray, index: int) -> bool:
    """Apply change number `index` of the whole neighbourhood in place; False if it changes nothing."""
    slots, dims, memories = p.slots, p.dims, p.memories
    keeps = slots * dims
    orders = p.orders
    if index < 3 * memories:
        if p.keeps[index // 3, index % 3] != 1:
            return False
        genome[keeps + index] = 1 - genome[keeps + index]
        return True
    index -= 3 * memories
    if index < memories * orders:
        at = keeps + 3 * memories + index // orders
        changed = genome[at] != index % orders
        genome[at] = index % orders
        return bool(changed)
    index -= memories * orders
    dim, index = index % dims, index // dims
    slot, index = 1 + index % (slots - 1), index // (slots - 1)
    resizes = (RESIZE_VARIANTS - 1) * slots
    if index < resizes:
        variant = index // slots
        # The variant with a random pick is for annealing only.
        return resize(p, genome, slot, dim, variant if variant < 7 else 8, index % slots, 0)
    index -= resizes
    if index < slots - 1:
        return swap_slots(p, genome, slot, 1 + index, dim)
    index -= slots - 1
    return exchange(p, genome, slot, dim, index % dims, index // dims)


@kernel
def neighbours(p: Problem) -> int:
    """Number of changes that `neighbour` knows."""
    slots, dims, memories = p.slots, p.dims, p.memories
    per_loop = (RESIZE_VARIANTS - 1) * slots + slots - 1 + dims * EXCHANGE_VARIANTS
    return int(3 * memories + memories * p.orders + (slots - 1) * dims * per_loop)


@kernel
def copy_into(target: IntArray, source: IntArray) -> None:
    """Copy one candidate over another."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def search(
    p: Problem,
    tables: FloatArray,
    start: IntArray,
    powers: FloatArray,
    steps: int,
    limit: int,
    temperatures: FloatArray,
    seed: int,
    w: Scratch,
    archive: Archive,
) -> IntArray:
    """Simulated annealing over `steps` proposals, then first-improvement descent from its best candidate.

    One loop serves both, since compiling the estimate into two would double the time to compile.

    Parameters
    ----------
    powers : (2,) exponents of energy and latency
    limit : most estimates of the descent, which ends when no single change helps
    temperatures : (2,) first and last, on the logarithm of the objective
    seed : 1 .. 2^31 - 2

    Returns
    -------
    genome
        The best candidate of this run; all good ones are in the archive.
    """
    generator = np.array([seed], np.int64)
    current, candidate, best = start.copy(), start.copy(), start.copy()
    score, now = np.zeros(2), np.full(2, np.inf)
    lowest = np.full(2, np.inf)
    total = neighbours(p)
    index, unchanged, step = 0, 0, -1
    while step < steps + limit and unchanged < total:
        changed = True
        copy_into(candidate, current)
        if 0 <= step < steps:
            changed = propose(p, candidate, generator)
            # A third of the proposals makes two changes at once, to cross ridges where tiles trade places.
            if draw(generator, 3) == 0:
                changed = propose(p, candidate, generator) or changed
        elif step >= steps:
            if step == steps:
                copy_into(candidate, best)
                now[0] = np.inf
            else:
                unchanged += 1
                changed = neighbour(p, candidate, index)
                index = (index + 1) % total
        if not changed:
            step += 1 if step < steps else 0
            continue
        step += 1
        rate(p, tables, candidate, powers, w, archive, score)
        if score[0] == FAILURE and step > 0:
            continue
        if step <= 0 or step > steps:
            accepted = score[0] < now[0] or (score[0] == now[0] and score[1] < now[1])
        else:
            worse = score[0] - now[0] + SLOPE * (score[1] - now[1])
            temperature = temperatures[0] * (temperatures[1] / temperatures[0]) ** (step / steps)
            accepted = worse <= 0 or draw(generator, 1000000) * 1e-6 < np.exp(-worse / temperature)
        if not accepted:
            continue
        unchanged = 0
        copy_into(current, candidate)
        now[0], now[1] = score[0], score[1]
        if now[0] < lowest[0] or (now[0] == lowest[0] and now[1] < lowest[1]):
            copy_into(best, current)
            lowest[0], lowest[1] = now[0], now[1]
    return best
