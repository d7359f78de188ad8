"""Gating of hardware blocks: energies by hand that differ if a block's gating is ignored.

Two PEs, of which a layer of three MACs over K uses both in the first step and one in the second: 2 cycles at
1 GHz, 4 slots of a PE, 3 with work. A mode costs 10 pJ per step. The block in use leaks 1 W per PE, the other
one 5 W per PE; a watt is 1000 pJ per cycle. Blocks that the mode does not use idle in every PE and cycle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seada.arch.hardware import Block, Setup
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch import Batch
from seada.model.evaluate import cost_of
from seada.model.standby import standby_pj
from seada.workload.build import matmul
from seada.workload.layer import ROLES
from tests.test_oracle import fanout, memory, setup

LAYER = matmul("m", M=3, N=1, K=1)
MAPPING = Mapping(
    (*(Keep("m0", role) for role in ROLES), Loop("M", 2), Loop("M", 1, "f.x"), Loop("N", 1), Loop("K", 1))
)
CYCLES, PES, SLOTS, STEPS, STEP_PJ = 2, 2, 4, 3, 10.0


def hardware(used: str, other: str, idle_fraction: float = 0.25) -> Setup:
    """Two blocks with their gating; the mode uses the first."""
    plain = setup(memory("m0"), fanout("f", PES))
    mode = replace(plain.mode, block="used", energy_pj_per_step=STEP_PJ)
    blocks = (Block("used", 0.0, 1.0, used, idle_fraction), Block("other", 0.0, 5.0, other))
    compute = replace(plain.arch.compute, modes=(mode,), blocks=blocks)
    return replace(plain, arch=replace(plain.arch, compute=compute), mode=mode)


@pytest.mark.parametrize(
    ("used", "other", "idle_pj", "leaking_w"),
    [
        ("none", "none", 0.25 * STEP_PJ, 1 + 5),
        ("clock", "none", 0.0, 1 + 5),
        ("power", "none", 0.0, 1 + 5),
        ("none", "clock", 0.25 * STEP_PJ, 1 + 5),
        ("none", "power", 0.25 * STEP_PJ, 1),
        ("clock", "power", 0.0, 1),
        ("power", "power", 0.0, 1),
    ],
)
def test_energy_by_hand(used: str, other: str, idle_pj: float, leaking_w: float) -> None:
    chip = hardware(used, other)
    cost = cost_of(LAYER, chip, MAPPING)
    parts = cost.energy_breakdown_pj
    assert cost.latency_cycles == CYCLES
    assert parts["mac"] == STEPS * STEP_PJ
    assert parts["idle"] == pytest.approx((SLOTS - STEPS) * idle_pj)
    assert parts["leakage"] == pytest.approx(leaking_w * PES * CYCLES * 1000)
    steps = [node.step for node in MAPPING.nodes if isinstance(node, Loop)]
    batch = Batch(LAYER, chip, MAPPING).cost(np.array([steps], dtype=np.int64))
    assert batch.energy_pj[0] == cost.energy_pj


OTHER = [
    # gating, idle fraction, modes of the unused block as (pJ per step, cycles per step), pJ per cycle
    ("none", 0.5, [(20.0, 1)], 10.0),
    ("none", 0.5, [(20.0, 4)], 2.5),
    ("none", 0.5, [(20.0, 4), (8.0, 1)], 4.0),
    ("none", 0.0, [(20.0, 1)], 0.0),
    ("none", 0.5, [], 0.0),
    ("clock", 0.5, [(20.0, 1)], 0.0),
    ("power", 0.5, [(20.0, 1)], 0.0),
]


def with_other(chip: Setup, gating: str, fraction: float, modes: list[tuple[float, int]]) -> Setup:
    """The chip with a second block that the layer does not use, in that many modes."""
    compute = chip.arch.compute
    others = [
        replace(chip.mode, block="other", energy_pj_per_step=pj, cycles_per_step=cycles)
        for pj, cycles in modes
    ]
    blocks = (compute.blocks[0], Block("other", 0.0, 5.0, gating, fraction))
    compute = replace(compute, modes=(*compute.modes, *others), blocks=blocks)
    return replace(chip, arch=replace(chip.arch, compute=compute))


@pytest.mark.parametrize(("gating", "fraction", "modes", "pj_per_cycle"), OTHER)
def test_blocks_that_the_mode_does_not_use_idle_all_the_time(
    gating: str, fraction: float, modes: list[tuple[float, int]], pj_per_cycle: float
) -> None:
    chip = with_other(hardware("none", "none"), gating, fraction, modes)
    cost = cost_of(LAYER, chip, MAPPING)
    own = (SLOTS - STEPS) * 0.25 * STEP_PJ
    assert cost.energy_breakdown_pj["idle"] == pytest.approx(own + PES * CYCLES * pj_per_cycle)
    steps = [node.step for node in MAPPING.nodes if isinstance(node, Loop)]
    batch = Batch(LAYER, chip, MAPPING).cost(np.array([steps], dtype=np.int64))
    assert batch.energy_pj[0] == cost.energy_pj


def test_all_blocks_idle_while_no_pe_works() -> None:
    chip = with_other(hardware("none", "none"), "none", 0.5, [(20.0, 1)]).arch
    spent = standby_pj(chip, 3)
    assert spent["idle"] == pytest.approx(PES * 3 * (0.25 * STEP_PJ + 0.5 * 20.0))
    assert spent["leakage"] == pytest.approx((1 + 5) * PES * 3 * 1000)
    gated = with_other(hardware("power", "none"), "power", 0.5, [(20.0, 1)]).arch
    assert standby_pj(gated, 3) == {"leakage": pytest.approx(0.0)}


def test_the_mapper_counts_idle_blocks_in_cost_and_bound() -> None:
    plain = with_other(hardware("power", "none"), "clock", 0.5, [(20.0, 1)])
    idling = with_other(hardware("power", "none"), "none", 0.5, [(20.0, 1)])
    goal = parse_objective("energy")
    cheap, dear = (map_setup(chip, LAYER, goal, 2000, None) for chip in (plain, idling))
    per_cycle = PES * 0.5 * 20.0
    assert dear.cost.energy_pj == pytest.approx(cheap.cost.energy_pj + per_cycle * dear.cost.latency_cycles)
    assert cheap.bound is not None
    assert dear.bound == pytest.approx(cheap.bound + per_cycle * CYCLES)


def test_a_block_that_idles_for_free_costs_nothing() -> None:
    assert cost_of(LAYER, hardware("none", "none", 0.0), MAPPING).energy_breakdown_pj["idle"] == 0
