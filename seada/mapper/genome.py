"""From the search's candidates to mappings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seada.mapper.problem import KEEP_CODES, SearchSpace
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES

Genome = NDArray[np.int64]


def smallest_candidate(space: SearchSpace) -> Genome:
    """All loops at the outermost memory, tiles of one element, only what must be kept is kept.

    Trips that constraints fix are honoured.
    """
    problem = space.problem
    memories = int(problem.memories)
    fixed = problem.fixed[: len(space.slots), : len(space.dims)]
    trips = np.where(fixed > 0, np.minimum(fixed, _extents(space)), 1)
    keeps = (problem.keeps[:memories] == KEEP_CODES["must"]).astype(np.int64)
    orders = np.zeros(memories, np.int64)
    return np.concatenate([trips.ravel(), keeps.ravel(), orders])


def extents_above(space: SearchSpace, genome: Genome) -> NDArray[np.int64]:
    """Extents above every slot and below the last one, (slots + 1, dims)."""
    slots, dims = len(space.slots), len(space.dims)
    trips = genome[: slots * dims].reshape(slots, dims)
    above = np.ones((slots + 1, dims), np.int64)
    above[0] = _extents(space)
    for s in range(slots - 1, 0, -1):
        above[s] = np.minimum(above[0], above[s + 1] * trips[s])
    return above


def _extents(space: SearchSpace) -> NDArray[np.int64]:
    extents: NDArray[np.int64] = space.problem.extents[: len(space.dims)].astype(np.int64)
    return extents


def to_mapping(space: SearchSpace, genome: Genome) -> Mapping:
    """The candidate as a mapping: keeps of a memory stand together above its loops; no loop of one trip.

    The keep in which an operand rests stands above all loops.
    """
    problem, dims = space.problem, len(space.dims)
    memories = [slot.memory for slot in space.slots if slot.memory is not None]
    keeps = genome[len(space.slots) * dims :][: 3 * len(memories)].reshape(-1, 3)
    orders = genome[-len(memories) :]
    above = extents_above(space, genome)
    nodes: list[Loop | Keep] = [Keep(memories[problem.home[r]], role) for r, role in enumerate(ROLES)]
    memory = -1
    for s, slot in enumerate(space.slots):
        sequence = np.arange(dims)
        if slot.memory is not None:
            memory += 1
            nodes.extend(
                Keep(slot.memory, role)
                for r, role in enumerate(ROLES)
                if keeps[memory, r] and problem.home[r] != memory
            )
            sequence = problem.order[orders[memory], :dims][::-1]
        nodes.extend(
            Loop(space.dims[d], int(above[s + 1, d]), slot.axis)
            for d in sequence
            if above[s + 1, d] < above[s, d]
        )
    return Mapping(tuple(nodes))
