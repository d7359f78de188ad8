"""Search over candidates by the estimate: simulated annealing, then descent over the whole neighbourhood.

Both keep the best distinct candidates in an archive, sorted by (objective, other metric); the exact model then
decides among these. Random numbers come from a small generator of our own, so that results do not depend on the
version of a library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seada.mapper.estimate_kernel import SLOT_SIZE, SLOT_SPATIAL, Problem, Scratch, ceil_div, estimate
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
def draw(generator: IntArray, limit: int) -> int:
    """A number from 0 to `limit` - 1; advances the generator."""
    generator[0] = generator[0] * MULTIPLIER % MODULUS
    return generator[0] % limit


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
        archive.genomes[row] = archive.genomes[row - 1]
        archive.scores[row] = archive.scores[row - 1]
        archive.metrics[row] = archive.metrics[row - 1]
    archive.genomes[place] = genome
    archive.scores[place] = score
    archive.metrics[place, 0] = energy
    archive.metrics[place, 1] = latency


@kernel
def rate(
    p: Problem, genome: IntArray, powers: FloatArray, w: Scratch, archive: Archive, score: FloatArray
) -> None:
    """Estimate a candidate into `score` (objective, other metric, as logarithms) and the archive."""
    energy, latency = estimate(p, genome, w)
    archive.counters[0] += 1
    if not energy < np.inf:
        archive.counters[1] += 1
        score[:] = FAILURE
        return
    log_energy, log_latency = np.log(max(energy, 1e-300)), np.log(max(latency, 1.0))
    score[0] = powers[0] * log_energy + powers[1] * log_latency
    score[1] = log_latency if powers[1] == 0 else log_energy
    if score[0] <= archive.scores[-1, 0]:
        keep_best(archive, genome, score, energy, latency)


@kernel
def resize(p: Problem, genome: IntArray, slot: int, dim: int, variant: int, partner: int, pick: int) -> bool:
    """Change the trips of one loop; another slot of the dimension makes up for it, slot 0 if `partner` is 0."""
    dims = p.extents.shape[0]
    at = slot * dims + dim
    if p.fixed[slot, dim] > 0 or p.allowed[slot, dim] == 0:
        return False
    below = 1
    for s in range(slot + 1, p.slots.shape[0]):
        below = min(p.extents[dim], below * genome[s * dims + dim])
    room = ceil_div(p.extents[dim], below)
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
    if p.slots[slot, SLOT_SPATIAL] == 0:
        return room
    dims = p.extents.shape[0]
    used = 1
    for d in range(dims):
        if d != dim:
            used *= genome[slot * dims + d]
    return p.slots[slot, SLOT_SIZE] // used


@kernel
def exchange(p: Problem, genome: IntArray, slot: int, giver: int, taker: int, variant: int) -> bool:
    """Move trips from one dimension to another within one slot."""
    dims = p.extents.shape[0]
    first, second = slot * dims + giver, slot * dims + taker
    if giver == taker or genome[first] == 1:
        return False
    if p.fixed[slot, giver] > 0 or p.fixed[slot, taker] > 0 or p.allowed[slot, taker] == 0:
        return False
    factor = genome[first] if variant == 0 else variant + 1
    genome[first] = ceil_div(genome[first], factor)
    genome[second] = min(p.extents[taker], genome[second] * factor)
    return True


@kernel
def swap_slots(p: Problem, genome: IntArray, slot: int, partner: int, dim: int) -> bool:
    """Exchange the trips of one dimension between two slots."""
    dims = p.extents.shape[0]
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
    slots, dims, memories = p.slots.shape[0], p.extents.shape[0], p.memories.shape[0]
    keeps = slots * dims
    kind = draw(generator, 100)
    if kind >= 94:
        at = 3 + draw(generator, 3 * memories)
        if at >= 3 * memories or p.keeps[at // 3, at % 3] != 1:
            return False
        genome[keeps + at] = 1 - genome[keeps + at]
        return True
    if kind >= 84 or slots == 1:
        genome[keeps + 3 * memories + draw(generator, memories)] = draw(generator, p.orders.shape[0])
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
def anneal(
    p: Problem,
    start: IntArray,
    powers: FloatArray,
    steps: int,
    temperatures: FloatArray,
    seed: int,
    w: Scratch,
    archive: Archive,
) -> IntArray:
    """Simulated annealing from `start` over `steps` proposals; the best candidate of this run.

    Parameters
    ----------
    powers : (2,) exponents of energy and latency
    temperatures : (2,) first and last, on the logarithm of the objective
    seed : 1 .. 2^31 - 2
    """
    generator = np.array([seed], np.int64)
    current, candidate, best = start.copy(), start.copy(), start.copy()
    score, now, lowest = np.zeros(2), np.zeros(2), np.zeros(2)
    rate(p, current, powers, w, archive, now)
    lowest[:] = now
    for step in range(steps):
        candidate[:] = current
        changed = propose(p, candidate, generator)
        # A third of the proposals makes two changes at once, to cross ridges where tiles trade places.
        if draw(generator, 3) == 0:
            changed = propose(p, candidate, generator) or changed
        if not changed:
            continue
        rate(p, candidate, powers, w, archive, score)
        if score[0] == FAILURE:
            continue
        temperature = temperatures[0] * (temperatures[1] / temperatures[0]) ** (step / steps)
        worse = score[0] - now[0] + SLOPE * (score[1] - now[1])
        if worse <= 0 or draw(generator, 1000000) * 1e-6 < np.exp(-worse / temperature):
            current[:] = candidate
            now[:] = score
            if now[0] < lowest[0] or (now[0] == lowest[0] and now[1] < lowest[1]):
                best[:] = current
                lowest[:] = now
    return best


@kernel
def neighbour(p: Problem, genome: IntArray, index: int) -> bool:
    """Apply change number `index` of the whole neighbourhood in place; False if it changes nothing."""
    slots, dims, memories = p.slots.shape[0], p.extents.shape[0], p.memories.shape[0]
    keeps = slots * dims
    orders = p.orders.shape[0]
    if index < 3 * memories:
        if index < 3 or p.keeps[index // 3, index % 3] != 1:
            return False
        genome[keeps + index] = 1 - genome[keeps + index]
        return True
    index -= 3 * memories
    if index < memories * orders:
        at = keeps + 3 * memories + index // orders
        changed = genome[at] != index % orders
        genome[at] = index % orders
        return changed
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
    slots, dims, memories = p.slots.shape[0], p.extents.shape[0], p.memories.shape[0]
    per_loop = (RESIZE_VARIANTS - 1) * slots + slots - 1 + dims * EXCHANGE_VARIANTS
    return 3 * memories + memories * p.orders.shape[0] + (slots - 1) * dims * per_loop


@kernel
def descend(
    p: Problem, genome: IntArray, powers: FloatArray, limit: int, w: Scratch, archive: Archive
) -> IntArray:
    """First-improvement descent from `genome` until no single change helps or `limit` estimates are spent."""
    current, candidate = genome.copy(), genome.copy()
    score, now = np.zeros(2), np.zeros(2)
    rate(p, current, powers, w, archive, now)
    total = neighbours(p)
    index, unchanged, spent = 0, 0, 0
    while unchanged < total and spent < limit:
        candidate[:] = current
        if neighbour(p, candidate, index):
            spent += 1
            rate(p, candidate, powers, w, archive, score)
            if score[0] < now[0] or (score[0] == now[0] and score[1] < now[1]):
                current[:] = candidate
                now[:] = score
                unchanged = -1
        unchanged += 1
        index = (index + 1) % total
    return current
