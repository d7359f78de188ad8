"""Presets of PE modes: lanes, cycles, operand bits, cost and hardware blocks of each style."""

from __future__ import annotations

from pathlib import Path

import pytest

from seada.arch.area import area
from seada.arch.config import PresetConfig
from seada.arch.load import load_arch
from seada.arch.pe_technology import preset_cost
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


def made(**changes: object) -> PresetConfig:
    base = {"accumulator": "fp32", "technology": "horowitz_45nm", "block": "b"}
    return PresetConfig.model_validate({**base, **changes})


def test_tensor_cores_run_formats_at_the_published_ratios() -> None:
    formats = ["tf32", "fp16", "bf16", "fp8_e4m3", "int8", "int4"]
    modes = expand_preset(made(preset="tensorcore", formats=formats, lanes=8), 1.0)
    assert [m.lanes / m.cycles_per_step for m in modes] == [4, 8, 8, 16, 16, 32]
    assert {m.lane_dims for m in modes} == {frozenset({"reduction"})}
    assert {m.input_bits_per_cycle for m in modes[1:]} == {128}
    (half,) = expand_preset(made(preset="tensorcore", formats=["tf32"], lanes=1), 5.0)
    assert (half.lanes, half.cycles_per_step, half.energy_pj_per_step) == (1, 2, 10.0)


def test_tensor_core_costs_its_macs_and_a_tenth_per_further_format() -> None:
    cost = preset_cost(made(preset="tensorcore", formats=["fp16", "int8"], lanes=4))
    assert cost.cycles["fp16"].energy_pj == pytest.approx(4 * (1.1 + 0.9) * 1.1)
    assert cost.cycles["int8"].energy_pj == pytest.approx(8 * (0.2 + 0.1) * 1.1)
    assert list(cost.blocks) == ["b"]
    assert cost.blocks["b"].area_um2 == pytest.approx(4 * (1640 + 4184) * 1.08)
    assert cost.blocks["b"].status == "unverified"
    alone = preset_cost(made(preset="tensorcore", formats=["fp16"], lanes=4))
    assert (alone.cycles["fp16"].energy_pj, alone.blocks["b"].status) == (8.0, "derived")


def test_dedicated_multipliers_have_a_block_each() -> None:
    preset = made(preset="dedicated", formats=["int4", "int8"], technology="bitfusion_45nm")
    cost = preset_cost(preset)
    assert {name: figure.area_um2 for name, figure in cost.blocks.items()} == {
        "b_int4": 191.6, "b_int8": 510.7,
    }  # fmt: skip
    modes = expand_preset(preset, {name: figure.energy_pj for name, figure in cost.cycles.items()})
    assert [(m.lanes, m.energy_pj_per_step, m.block) for m in modes] == [
        (1, 0.0824, "b_int4"), (1, 0.2034, "b_int8"),
    ]  # fmt: skip
    assert cost.cycles["int8"].status == "published"


def test_vector_lanes_stay_apart() -> None:
    preset = made(preset="vector_fp", formats=["fp32", "fp16", "fp8_e4m3"], lanes=4)
    modes = expand_preset(preset, 1.0)
    assert [m.lanes for m in modes] == [2, 4, 8]
    assert {m.lane_dims for m in modes} == {frozenset({"output"})}
    assert preset_cost(preset).cycles["fp32"].energy_pj == pytest.approx(2 * 4.6 * 1.2)
    assert preset_cost(preset).blocks["b"].area_um2 == pytest.approx(2 * 11884 * 1.16)


def test_width_styles_take_their_cost_from_a_table() -> None:
    widths = {"native": 8, "minimum": 2, "technology": "bitfusion_45nm"}
    fused = preset_cost(made(preset="bitfusion", **widths))
    assert (fused.cycles["int2"].energy_pj, fused.blocks["b"].area_um2) == (0.4592, 1734.6)
    subword = preset_cost(made(preset="subword", **widths))
    assert subword.cycles["int4"].energy_pj == pytest.approx(0.2034 * 1.2)
    assert subword.blocks["b"].leakage_uw == pytest.approx(16.11 * 1.16)
    serial = preset_cost(made(preset="bit_serial", **widths))
    assert serial.cycles["int8"].energy_pj == pytest.approx(0.2034 * 1.223 / 8)
    assert serial.blocks["b"].area_um2 == pytest.approx(510.7 * 1.32 / 8)
    with pytest.raises(UserError, match="it has PEs of native 4, 8, 16 and minimum 2"):
        preset_cost(made(preset="bitfusion", **{**widths, "minimum": 4}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "tensorcore", "lanes": 4}, "tensorcore needs 'formats'"),
        ({"preset": "dedicated", "formats": ["int8"], "native": 8}, "dedicated has no 'native'"),
        ({"preset": "dedicated", "formats": ["int8"], "energy": "1 pJ"}, "one of 'technology' and 'energy'"),
        ({"preset": "dedicated", "formats": ["int8"], "technology": "horowitz_45"}, "did you mean"),
    ],
)
def test_presets_refuse_keys_that_are_not_theirs(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(**changes)


def test_presets_refuse_formats_without_a_figure() -> None:
    with pytest.raises(UserError, match="no published rate of vector_fp in int8"):
        expand_preset(made(preset="vector_fp", formats=["int8"], lanes=2), 1.0)
    with pytest.raises(UserError, match="horowitz_45nm has no MAC of int3"):
        preset_cost(made(preset="dedicated", formats=["int3"]))


def test_a_shared_unit_counts_once_in_the_area_of_a_chip() -> None:
    arch = load_arch(CONFIGS / "dedicated_45nm.yaml")
    areas = area(arch)
    assert areas["mac.floating"] == pytest.approx(64 * 2 * 11884 * 1.24, rel=1e-5)
    assert areas["mac.integer_int8"] == 64 * 419
    assert {m.block for m in arch.compute.modes if m.weight.is_float} == {"floating"}
    statuses = {s.path: s.status for s in arch.sources}
    assert statuses["compute.presets[0].energy.int8"] == "derived"
    assert statuses["compute.presets[1].rate.fp16"] == "published"


def test_the_shipped_bit_fusion_has_the_published_area() -> None:
    areas = area(load_arch(CONFIGS / "bitfusion.yaml"))
    beside = areas["vector_unit"]  # not among the authors' figures
    assert (areas["total"] - beside) / 1e6 == pytest.approx(2.14098641856, rel=1e-4)
