"""The search: legal, repeatable, as good as enumeration on small problems, above its bound."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.arch.hardware import Arch, Block, Compute, Constraints, Fanout, Memory, Mode, Setup
from seada.arch.load import load_arch
from seada.arch.setup import make_setup
from seada.errors import InfeasibleError, UserError
from seada.formats import parse_format, parse_precision
from seada.mapper.api import map_layer, map_layers
from seada.mapper.bound import lower_bound
from seada.mapper.estimate_kernel import estimate
from seada.mapper.genome import to_mapping
from seada.mapper.objective import parse_objective
from seada.mapper.problem import KEEP_CODES, SearchSpace, build_space, new_scratch
from seada.mapping.check import check
from seada.mapping.nest import Keep, Mapping
from seada.model.cost import Cost
from seada.model.evaluate import cost_of
from seada.workload.build import conv, matmul
from seada.workload.layer import Layer

CONFIGS = Path(__file__).parent.parent / "arch_configs"
FEW = 4000
INT8 = parse_format("int8")
MODE = Mode(INT8, INT8, parse_format("int16"), 1, frozenset(), 1, 0.5, "mac")
DRAM = Memory("dram", None, 32, 20, 20, shared_words_per_cycle=1)
GLB = Memory("glb", 512, 16, 3, 3, read_words_per_cycle=2, write_words_per_cycle=2)
PES = Fanout("pe", (("x", 2),), (None,), hop_energy_pj_per_bit=0.01)
REGISTERS = Memory("rf", 160, 8, 0.3, 0.3, buffers=(1, 2, 1))


def small_arch(*nodes: Memory | Fanout, constraints: Constraints | None = None) -> Arch:
    """A chip of these nodes with one int8 MAC per PE."""
    compute = Compute("mac", (MODE,), (Block("mac", 1, 0),))
    return Arch("small", 1e9, nodes, compute, constraints=constraints or Constraints())


SMALL = small_arch(DRAM, PES, REGISTERS)
BUFFERED = small_arch(DRAM, GLB, replace(PES, reduces=False, multicast=(False, True)), REGISTERS)
GEMM = matmul("gemm", M=3, N=2, K=3)
WINDOW = conv("window", outputs=(3,), kernel=(2,), K=2, C=1, pad=(1,))
PADDED = conv("padded", outputs=(9, 7), kernel=(3, 3), K=6, C=5, pad=(1, 1), stride=(2, 1))


def space_of(arch: Arch, layer: Layer) -> SearchSpace:
    """The map-space of a layer at int8."""
    return build_space(layer, make_setup(arch, layer, parse_precision("int8")))


@cache
def best_of_all(arch: Arch, layer: Layer) -> tuple[dict[str, tuple[float, float, float]], int]:
    """The best key per objective over the whole space by the exact model, and how many mappings there are."""
    space = space_of(arch, layer)
    objectives = [parse_objective(text) for text in ("edp", "energy", "latency")]
    best: dict[str, tuple[float, float, float]] = {}
    seen = set()
    for mapping in all_mappings(space):
        if mapping in seen or check(layer, space.setup, mapping):
            continue
        seen.add(mapping)
        cost = cost_of(layer, space.setup, mapping)
        for objective in objectives:
            key = objective.key(cost.energy_pj, cost.latency_cycles)
            best[objective.text] = min(key, best.get(objective.text, key))
    return best, len(seen)


def all_mappings(space: SearchSpace) -> Iterator[Mapping]:
    """Every mapping of a two-memory space."""
    problem, slots, memories = space.problem, len(space.slots), int(space.problem.memories)
    extents = [int(extent) for extent in problem.extents[: len(space.dims)]]
    per_slot = list(product(*(range(1, extent + 1) for extent in extents)))
    keeps = [(1,) if code == KEEP_CODES["must"] else (0, 1) for code in problem.keeps[:memories].ravel()]
    for trips in product(per_slot, repeat=slots - 1):
        if np.prod(trips[0]) > space.slots[1].size:
            continue
        for kept, order in product(product(*keeps), range(int(problem.orders))):
            loops = [1] * len(extents) + [t for row in trips for t in row]
            yield to_mapping(space, np.array([*loops, *kept, order, *[0] * (memories - 1)]))


@pytest.mark.parametrize("objective", ["edp", "energy", "latency"])
@pytest.mark.parametrize("layer", [GEMM, WINDOW], ids=["gemm", "window"])
def test_finds_the_optimum_of_small_problems(layer: Layer, objective: str) -> None:
    best, mappings = best_of_all(SMALL, layer)
    assert mappings > 100
    result = map_layer(SMALL, layer, "int8", objective, max_evaluations=20_000)
    key = parse_objective(objective).key(result.cost.energy_pj, result.cost.latency_cycles)
    assert key == pytest.approx(best[objective], rel=1e-9)
    assert result.bound is not None
    assert result.bound <= key[0]


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.yaml")))
def test_answers_are_legal_on_every_shipped_chip(name: str) -> None:
    arch = load_arch(CONFIGS / f"{name}.yaml")
    mode = arch.compute.modes[-1]
    precision = f"w:{mode.weight},a:{mode.input},out:int8"
    for layer in (PADDED, matmul("ragged", M=61, N=17, K=53), matmul("vector", M=100, N=1, K=64)):
        result = map_layer(arch, layer, precision, max_evaluations=FEW)
        assert result.mapping is not None
        assert check(layer, result.setup, result.mapping) == []
        assert result.cost == cost_of(layer, result.setup, result.mapping)
        value = result.cost.energy_pj * result.cost.latency_cycles
        assert result.bound is not None
        assert 0 < result.bound <= value
        assert result.gap == pytest.approx(value / result.bound - 1)
        assert not result.optimal or result.gap < 1e-9


def test_same_question_same_answer() -> None:
    first, second = (map_layer(BUFFERED, PADDED, "int8", max_evaluations=FEW) for _ in range(2))
    assert (first.mapping, first.cost) == (second.mapping, second.cost)
    assert first.search is not None
    assert second.search is not None
    assert (first.search.evaluated, first.search.pruned) == (second.search.evaluated, second.search.pruned)
    assert first.search.stopped_by == "evaluations"


def test_known_optimum_of_the_reference_array() -> None:
    """GEMM 512^3: 678.95 uJ is optimal with one tile in capacity and perfect overlap; two cost more."""
    arch = load_arch(CONFIGS / "reference_16x16.yaml")
    result = map_layer(arch, matmul("gemm", M=512, N=512, K=512), "int16", max_evaluations=100_000)
    assert 678.95e6 < result.cost.energy_pj < 1.4 * 678.95e6
    assert 524_288 < result.cost.latency_cycles < 1.1 * 524_288


def test_time_limit_stops() -> None:
    result = map_layer(BUFFERED, PADDED, "int8", time_s=0.2)
    assert result.search is not None
    assert result.search.stopped_by in ("time", "proof")


def test_layers_that_differ_in_name_are_searched_once() -> None:
    twin = replace(GEMM, name="twin")
    first, second, other = map_layers(
        SMALL, [(GEMM, "int8"), (twin, "int8"), (WINDOW, "int8")], max_evaluations=FEW
    )
    assert first.search is second.search
    assert second.layer.name == "twin"
    assert other.search is not first.search


def test_what_fits_nowhere_names_memory_and_operand() -> None:
    tiny = replace(REGISTERS, size_bits=8, keep=("must", "must", "may"))
    with pytest.raises(InfeasibleError, match=r"rf.*needs .*has"):
        map_layer(small_arch(DRAM, PES, tiny), GEMM, "int8")


@pytest.mark.parametrize("limits", [{"max_evaluations": 0}, {"time_s": 0.0}, {"time_s": float("nan")}])
def test_limits_are_checked(limits: dict[str, float]) -> None:
    with pytest.raises(UserError, match="must be"):
        map_layer(SMALL, GEMM, "int8", **limits)  # type: ignore[arg-type]


def test_fixed_unrolling_and_dataflow_hold() -> None:
    fixed = Constraints(dataflow="weight", spatial=(("pe.x", "N", 2),))
    result = map_layer(small_arch(DRAM, PES, REGISTERS, constraints=fixed), GEMM, "int8", max_evaluations=FEW)
    assert result.mapping is not None
    assert check(GEMM, result.setup, result.mapping) == []
    assert Keep("rf", "weight") in result.mapping.nodes
    assert any(getattr(node, "on", None) == "pe.x" and node.dim == "N" for node in result.mapping.nodes)


def random_candidate(space: SearchSpace, data: st.DataObject) -> np.ndarray:
    """Trips, keeps and orders at random."""
    problem, memories = space.problem, int(space.problem.memories)
    trips = [
        data.draw(st.integers(1, int(extent))) if data.draw(st.booleans()) else 1
        for _ in space.slots
        for extent in problem.extents[: len(space.dims)]
    ]
    codes = problem.keeps[:memories].ravel()
    kept = [int(code == 2 or (code == 1 and data.draw(st.booleans()))) for code in codes]
    orders = [data.draw(st.integers(0, int(problem.orders) - 1)) for _ in range(memories)]
    return np.array([*trips, *kept, *orders])


@given(st.sampled_from([SMALL, BUFFERED]), st.sampled_from([GEMM, WINDOW, PADDED]), st.data())
@settings(max_examples=150, deadline=None)
def test_estimate_accepts_what_the_check_accepts(arch: Arch, layer: Layer, data: st.DataObject) -> None:
    space = space_of(arch, layer)
    genome = random_candidate(space, data)
    energy, _ = estimate(space.problem, space.tables, genome, new_scratch())
    violations = check(layer, space.setup, to_mapping(space, genome))
    assert np.isfinite(energy) == (not violations), violations


@given(st.sampled_from([SMALL, BUFFERED]), st.sampled_from([GEMM, WINDOW, PADDED]), st.data())
@settings(max_examples=150, deadline=None)
def test_no_mapping_is_below_the_bound(arch: Arch, layer: Layer, data: st.DataObject) -> None:
    space = space_of(arch, layer)
    mapping = to_mapping(space, random_candidate(space, data))
    if check(layer, space.setup, mapping):
        return
    cost = exact(layer, space.setup, mapping)
    for text in ("energy", "latency", "edp"):
        objective = parse_objective(text)
        value = objective.value(cost.energy_pj, cost.latency_cycles)
        assert lower_bound(layer, space.setup, objective) <= value


def exact(layer: Layer, setup: Setup, mapping: Mapping) -> Cost:
    """Cost by the exact model."""
    return cost_of(layer, setup, mapping)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_estimate_is_close_where_nothing_is_ragged(data: st.DataObject) -> None:
    """Powers of two leave no remainders: energy to a fifth, latency to a quarter of the exact model."""
    arch = load_arch(CONFIGS / "reference_16x16.yaml")
    layer = matmul("gemm", M=64, N=32, K=64)
    space = build_space(layer, make_setup(arch, layer, parse_precision("int16")))
    genome = random_candidate(space, data)
    loops = len(space.slots) * len(space.dims)
    genome[:loops] = 2 ** np.array([data.draw(st.integers(0, 3)) for _ in range(loops)])
    energy, latency = estimate(space.problem, space.tables, genome, new_scratch())
    mapping = to_mapping(space, genome)
    if check(layer, space.setup, mapping):
        return
    cost = exact(layer, space.setup, mapping)
    assert energy == pytest.approx(cost.energy_pj, rel=0.2)
    assert latency == pytest.approx(cost.latency_cycles, rel=0.25)
