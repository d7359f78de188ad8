"""A larger memory, a wider bus or a cheaper access, all else equal, makes no mapping and no optimum worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from seada.arch.hardware import Arch, Fanout, Memory, Setup
from seada.mapper.api import map_layer
from seada.mapper.bound import lower_bound
from seada.mapper.objective import parse_objective
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.model.cost import Cost
from seada.model.evaluate import cost_of
from seada.workload.build import matmul
from seada.workload.layer import Layer
from tests.invariants import Problem, with_nodes
from tests.strategies import problems
from tests.test_mapper_search import DRAM, GEMM, PES, REGISTERS, WINDOW, all_mappings, small_arch, space_of

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
EQUAL = 1 + 1e-9
"""Sums of floats may differ in the last places."""
OBJECTIVES = ("edp", "energy", "latency")
BANDWIDTHS = (
    "read_words_per_cycle",
    "write_words_per_cycle",
    "shared_words_per_cycle",
    "link_bits_per_cycle",
)
PRICES = (
    "read_energy_pj",
    "write_energy_pj",
    "leakage_w",
    "hop_energy_pj_per_bit",
    "reduction_energy_pj_per_bit",
)

Node = Memory | Fanout


def improvements(node: Node) -> list[Node]:
    """The node with one coefficient better: bandwidth, price, size, width of a word or ramp."""
    better: list[dict[str, Any]] = []
    fields = vars(node)
    for name in BANDWIDTHS:
        if fields.get(name) is not None:
            better += [{name: fields[name] * 1.5}, {name: fields[name] * 4}, {name: None}]
    better += [{name: fields[name] / 3} for name in PRICES if fields.get(name)]
    if isinstance(node, Memory):
        if node.size_bits is None:
            # Of equal price and rate; a memory of limited size would then hold fewer words.
            better += [{"word_bits": node.word_bits + 1}, {"word_bits": node.word_bits * 2}]
        else:
            better += [{"size_bits": node.size_bits + node.word_bits}, {"size_bits": node.size_bits * 4}]
    elif node.ramp is not None:
        better.append({"ramp": replace(node.ramp, cycles=node.ramp.cycles - 1)})
    return [replace(node, **changes) for changes in better]


def better_setups(setup: Setup) -> list[Setup]:
    nodes = setup.arch.nodes
    return [
        with_nodes(setup, (*nodes[:i], better, *nodes[i + 1 :]))
        for i, node in enumerate(nodes)
        for better in improvements(node)
    ]


@st.composite
def priced_problems(draw: st.DrawFn) -> Problem:
    """Problems in which everything that can have a price has one."""
    layer, setup, mapping = draw(problems())
    price = st.sampled_from([0.5, 1.0, 30.0])
    nodes: list[Node] = []
    for node in setup.arch.nodes:
        names = [name for name in PRICES if name in vars(node)]
        prices = {name: draw(price) * (1e-6 if name == "leakage_w" else 1) for name in names}
        nodes.append(replace(node, **prices))
    return layer, with_nodes(setup, tuple(nodes)), mapping


def not_worse(better: Cost, worse: Cost) -> bool:
    cheaper = better.energy_pj <= worse.energy_pj * EQUAL
    return cheaper and better.latency_cycles <= worse.latency_cycles


def every_mapping_gains(problem: Problem, better: Setup) -> None:
    layer, setup, mapping = problem
    assert check(layer, better, mapping) == []
    assert not_worse(cost_of(layer, better, mapping), cost_of(layer, setup, mapping))


@settings(max_examples=150, **SETTINGS)
@given(priced_problems(), st.data())
def test_a_better_chip_never_makes_a_mapping_worse(problem: Problem, data: st.DataObject) -> None:
    options = better_setups(problem[1])
    assume(options)
    every_mapping_gains(problem, data.draw(st.sampled_from(options)))


@pytest.mark.full
@settings(max_examples=1000, **SETTINGS)
@given(priced_problems())
def test_no_better_chip_makes_a_mapping_worse_at_length(problem: Problem) -> None:
    for better in better_setups(problem[1]):
        every_mapping_gains(problem, better)


TINY = replace(REGISTERS, size_bits=48)
CHIP = small_arch(DRAM, PES, TINY)
"""Its registers hold few tiles, so that more room counts."""
CHANGES: dict[str, Callable[[], Arch]] = {
    "more room": lambda: small_arch(DRAM, PES, replace(TINY, size_bits=96)),
    "wider DRAM port": lambda: small_arch(replace(DRAM, shared_words_per_cycle=2), PES, TINY),
    "cheaper DRAM": lambda: small_arch(replace(DRAM, read_energy_pj=5), PES, TINY),
    "cheaper registers": lambda: small_arch(DRAM, PES, replace(TINY, write_energy_pj=0.1)),
    "cheaper link": lambda: small_arch(DRAM, replace(PES, hop_energy_pj_per_bit=0), TINY),
}


@cache
def mappings_of(layer: Layer) -> tuple[Mapping, ...]:
    """Every mapping of the chip's nodes, in whatever room they need."""
    return tuple(dict.fromkeys(all_mappings(space_of(CHIP, layer))))


@cache
def best_of(arch: Arch, layer: Layer) -> dict[str, float]:
    """Least value of each objective over all legal mappings."""
    setup = space_of(arch, layer).setup
    legal = [mapping for mapping in mappings_of(layer) if not check(layer, setup, mapping)]
    costs = [cost_of(layer, setup, mapping) for mapping in legal]
    return {
        text: min(parse_objective(text).value(cost.energy_pj, cost.latency_cycles) for cost in costs)
        for text in OBJECTIVES
    }


@pytest.mark.parametrize("change", CHANGES)
def test_a_better_chip_never_makes_the_best_of_all_mappings_worse(change: str) -> None:
    gains = 0
    for layer in (GEMM, WINDOW):
        before, after = best_of(CHIP, layer), best_of(CHANGES[change](), layer)
        for text in OBJECTIVES:
            assert after[text] <= before[text] * EQUAL, (layer.name, text)
            gains += after[text] < before[text] / EQUAL
    assert gains > 0


def test_a_better_chip_never_makes_a_proven_optimum_worse() -> None:
    """The search is not monotone, but what it proves is, and so is its bound below what it finds."""
    setups = (
        CHIP,
        small_arch(replace(DRAM, shared_words_per_cycle=8), PES),
        *(c() for c in CHANGES.values()),
    )
    proven = 0
    for arch, layer, text in (
        (a, la, t) for a in setups for la in (GEMM, matmul("v", M=4, N=1, K=4)) for t in OBJECTIVES
    ):
        base = map_layer(arch, layer, "int8", text, max_evaluations=500)
        objective = parse_objective(text)
        value = objective.value(base.cost.energy_pj, base.cost.latency_cycles)
        for better in better_setups(base.setup):
            assert lower_bound(layer, better, objective) <= value * EQUAL
            if base.optimal:
                result = map_layer(better.arch, layer, "int8", text, max_evaluations=500)
                if result.optimal:
                    proven += 1
                    found = objective.value(result.cost.energy_pj, result.cost.latency_cycles)
                    assert found <= value * EQUAL
    assert proven > 10
