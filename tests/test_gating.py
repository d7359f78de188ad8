"""Gating of hardware blocks: energies by hand that differ if a block's gating is ignored.

Two PEs, of which a layer of three MACs over K uses both in the first step and one in the second: 2 cycles at
1 GHz, 4 slots of a PE, 3 with work. A mode costs 10 pJ per step. The block in use leaks 1 W per PE, the other
one 5 W per PE; a watt is 1000 pJ per cycle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seada.arch.hardware import Block, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch import Batch
from seada.model.evaluate import cost_of
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


def test_a_block_that_idles_for_free_costs_nothing() -> None:
    assert cost_of(LAYER, hardware("none", "none", 0.0), MAPPING).energy_breakdown_pj["idle"] == 0
