"""Branch and bound over perfect tilings against enumeration of all of them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from seada.arch.hardware import Arch
from seada.mapper.genome import Genome, to_mapping
from seada.mapper.lattice import divisors
from seada.mapper.objective import Objective, parse_objective
from seada.mapper.problem import KEEP_CODES, SearchSpace
from seada.mapper.proof import build_tree, new_path, prepare, to_genome
from seada.mapper.tree_kernel import bound_left, descend
from seada.mapping.check import check
from seada.model.evaluate import cost_of
from seada.workload.build import conv, matmul
from seada.workload.layer import Layer
from tests.test_mapper_search import DRAM, GLB, PES, REGISTERS, SMALL, small_arch, space_of

ROUNDING = 1 + 1e-9
THREE = small_arch(replace(DRAM, shared_words_per_cycle=2), replace(GLB, size_bits=160), PES, REGISTERS)
APART = small_arch(DRAM, replace(PES, reduces=False, multicast=(False, True)), REGISTERS)
ALIGNED = small_arch(
    replace(DRAM, packing="aligned"), PES, replace(REGISTERS, word_bits=24, packing="aligned", size_bits=240)
)
# The fanout stands outside a memory that may be bypassed: transfers of several instances share words.
OUTER = small_arch(DRAM, PES, replace(GLB, size_bits=160), REGISTERS)
GEMM = matmul("gemm", M=4, N=2, K=4)
WINDOW = conv("window", outputs=(4,), kernel=(2,), K=2, C=1)
PADDED = conv("padded", outputs=(4,), kernel=(2,), K=2, C=1, pad=(1,))
STRIDED = conv("strided", outputs=(4,), kernel=(2,), K=1, C=2, stride=(2,))
CASES = [
    pytest.param(SMALL, GEMM, id="gemm"),
    pytest.param(SMALL, PADDED, id="padding"),
    pytest.param(APART, STRIDED, id="neither multicast nor reduction"),
    pytest.param(ALIGNED, WINDOW, id="aligned words"),
    pytest.param(THREE, GEMM, id="three memories"),
    pytest.param(THREE, WINDOW, id="three memories, window", marks=pytest.mark.full),
    pytest.param(OUTER, STRIDED, id="outer fanout", marks=pytest.mark.full),
]


def perfect_candidates(space: SearchSpace) -> Iterator[Genome]:
    """Every candidate whose trips divide, without repeats of orders where nothing moves."""
    p, memories = space.problem, int(space.problem.memories)
    extents = [int(extent) for extent in p.extents[: len(space.dims)]]
    chains = [list(_chains(extent, len(space.slots))) for extent in extents]
    keeps = [(1,) if code == KEEP_CODES["must"] else (0, 1) for code in p.keeps[:memories].ravel()]
    for chosen in product(*chains):
        trips = np.array(chosen, np.int64).T
        if any(trips[s].prod() > p.slot_size[s] for s in range(len(space.slots)) if p.slot_spatial[s]):
            continue
        slots = p.memory_slot[:memories]
        orders = [range(int(p.orders)) if (trips[s] > 1).sum() > 1 else (0,) for s in slots]
        for kept, order in product(product(*keeps), product(*orders)):
            yield np.array([*trips.ravel(), *kept, *order])


def _chains(extent: int, slots: int) -> Iterator[tuple[int, ...]]:
    if slots == 1:
        yield (extent,)
        return
    for trips in divisors(extent):
        for rest in _chains(extent // trips, slots - 1):
            yield (trips, *rest)


def enumerated(space: SearchSpace, objectives: list[Objective]) -> dict[str, float]:
    """Least value of each objective over all legal perfect mappings."""
    best: dict[str, float] = {}
    seen = set()
    for genome in perfect_candidates(space):
        mapping = to_mapping(space, genome)
        if mapping in seen or check(space.layer, space.setup, mapping):
            continue
        seen.add(mapping)
        cost = cost_of(space.layer, space.setup, mapping)
        for objective in objectives:
            value = objective.value(cost.energy_pj, cost.latency_cycles)
            best[objective.text] = min(value, best.get(objective.text, value))
    assert len(seen) > 100
    return best


@pytest.mark.parametrize(("arch", "layer"), CASES)
def test_the_best_perfect_mapping_is_among_the_leaves(arch: Arch, layer: Layer) -> None:
    """No bound is above the cost, and the leaves up to the optimum hold the optimum."""
    space = space_of(arch, layer)
    objectives = [parse_objective(text) for text in ("energy", "latency", "edp")]
    best = enumerated(space, objectives)
    tables = prepare(space)
    for objective in objectives:
        tree = build_tree(tables, objective)
        path = new_path(tree)
        assert bound_left(tree, path, 1) <= best[objective.text] * ROUNDING
        leaves = np.zeros((10_000, tables.memories + 1, 5), np.int64)
        bounds = np.zeros(len(leaves))
        assert descend(tree, path, 1, best[objective.text] * ROUNDING, leaves, bounds)
        values = []
        for leaf, bound in zip(leaves[: path.counters[0]], bounds, strict=False):
            mapping = to_mapping(space, to_genome(tables, tree, leaf))
            if not check(layer, space.setup, mapping):
                cost = cost_of(layer, space.setup, mapping)
                values.append(objective.value(cost.energy_pj, cost.latency_cycles))
                assert bound <= values[-1] * ROUNDING
        assert min(values) == pytest.approx(best[objective.text], rel=1e-9)
