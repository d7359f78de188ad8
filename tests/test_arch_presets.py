"""Presets of PE modes: lanes, cycles, operand bits, cost and hardware blocks of each style."""

from __future__ import annotations

from pathlib import Path

import pytest

from seada.arch.config import PresetConfig
from seada.arch.load import load_arch
from seada.arch.presets import expand_preset
from seada.arch.show import describe
from seada.errors import UserError
from seada.system.chip import chip_of

CONFIGS = Path(__file__).parents[1] / "arch_configs"


def preset(**changes: object) -> PresetConfig:
    base = {
        "preset": "bitfusion",
        "native": 8,
        "minimum": 2,
        "accumulator": "int32",
        "energy": "1 pJ",
        "block": "b",
    }
    return PresetConfig.model_validate({**base, **changes})


def test_presets() -> None:
    fused = {(m.weight.bits, m.input.bits): m.lanes for m in expand_preset(preset(), 1.0)}
    assert fused == {
        (2, 2): 16, (2, 4): 8, (2, 8): 4, (4, 2): 8, (4, 4): 4, (4, 8): 2, (8, 2): 4, (8, 4): 2, (8, 8): 1,
    }  # fmt: skip
    subword = expand_preset(preset(preset="subword", native=16, minimum=4), 1.0)
    assert [(m.weight.bits, m.input.bits, m.lanes, m.lane_dims) for m in subword] == [
        (4, 4, 4, {"output"}),
        (8, 8, 2, {"output"}),
        (16, 16, 1, {"output"}),
    ]
    serial = expand_preset(preset(preset="bit_serial", native=4, minimum=1), 2.0)
    assert [(m.input.bits, m.cycles_per_step, m.energy_pj_per_step) for m in serial] == [
        (1, 1, 2.0), (2, 2, 4.0), (3, 3, 6.0), (4, 4, 8.0),
    ]  # fmt: skip
    signs = {m.input.signed for m in expand_preset(preset(unsigned_inputs=True), 1.0)}
    assert signs == {True, False}


def test_presets_refuse_widths_that_cannot_be() -> None:
    with pytest.raises(UserError, match="powers of two"):
        expand_preset(preset(native=12), 1.0)
    with pytest.raises(UserError, match="above native"):
        expand_preset(preset(minimum=16), 1.0)


def test_bit_fusion_takes_in_the_published_bits_per_cycle() -> None:
    bits = {
        (m.weight.bits, m.input.bits): (m.weight_bits_per_cycle, m.input_bits_per_cycle)
        for m in expand_preset(preset(), 1.0)
    }
    assert bits[8, 8] == (8, 8)
    assert bits[4, 4] == (16, 16)
    assert bits[2, 2] == (32, 32)
    for (weight, activation), taken in bits.items():
        assert taken == (8 * 8 / activation, 8 * 8 / weight)


def test_serial_and_subword_units_take_in_constant_bits() -> None:
    serial = expand_preset(preset(preset="bit_serial", native=8, minimum=2), 1.0)
    assert {m.input_bits_per_cycle for m in serial} == {1}
    assert [m.weight_bits_per_cycle for m in serial] == [8 / bits for bits in range(2, 9)]
    subword = expand_preset(preset(preset="subword", native=16, minimum=4), 1.0)
    assert {(m.weight_bits_per_cycle, m.input_bits_per_cycle) for m in subword} == {(16, 16)}


def test_operand_bits_stand_in_the_drawing_and_in_the_data() -> None:
    arch = load_arch(CONFIGS / "bitfusion.yaml")
    row = next(line for line in describe(arch).splitlines() if line.split()[:2] == ["int2", "int8"])
    assert row.split()[3:8] == ["4", "input_channel", "1", "8", "32"]
    mode = next(m for m in chip_of(arch).modes if (m["weight"], m["input"]) == ("int2", "int8"))
    assert (mode["weight_bits_per_cycle"], mode["input_bits_per_cycle"]) == (8, 32)
    assert (mode["lanes"], mode["lane_dims"], mode["energy_pj_per_step"]) == (4, ["input_channel"], 0.4592)
