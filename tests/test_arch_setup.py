"""Choosing PE modes, resolving classes of dimensions, and precision requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from seada.arch.dims import resolve_dims
from seada.arch.hardware import LANES, Fanout
from seada.arch.load import load_arch
from seada.arch.setup import float_unit_runs, make_setup, select_mode
from seada.errors import InfeasibleError, UserError
from seada.formats import parse_format, parse_precision
from seada.workload.build import conv, matmul

CONFIGS = Path(__file__).parents[1] / "arch_configs"
MULTI = load_arch(CONFIGS / "multiprecision_16x16.yaml")
CONV = conv("c", outputs=(8, 8), kernel=(3, 3), K=32, C=16)
DEPTHWISE = conv("d", outputs=(8, 8), kernel=(3, 3), K=16, C=16, groups=16)
GEMM = matmul("g", M=64, N=32, K=128)


@pytest.mark.parametrize(
    ("name", "of_conv", "of_gemm"),
    [
        ("reduction", {"C", "R", "S"}, {"K"}),
        ("input_channel", {"C"}, {"K"}),
        ("output_channel", {"K"}, {"M"}),
        ("K", {"K"}, {"K"}),
        ("P", {"P"}, set()),
    ],
)
def test_classes_of_dimensions(name: str, of_conv: set[str], of_gemm: set[str]) -> None:
    assert resolve_dims([name], CONV) & {"K", "C", "P", "Q", "R", "S"} == of_conv
    assert resolve_dims([name], GEMM) & {"M", "N", "K"} == of_gemm


def test_output_and_position_classes() -> None:
    assert {"K", "P", "Q"} <= resolve_dims(["output"], CONV)
    assert resolve_dims(["position"], CONV) >= {"P", "Q"}
    assert "N" in resolve_dims(["position"], GEMM)
    assert not resolve_dims(["position", "output"], CONV) & {"C", "R", "S"}


def test_own_mode_and_resolved_dimensions() -> None:
    setup = make_setup(MULTI, CONV, parse_precision("w4a8"))
    assert (setup.mode.weight.name, setup.mode.input.name, setup.mode.lanes) == ("int4", "int8", 8)
    assert setup.mode.lane_dims == {"C"}
    assert setup.note == ""
    assert str(setup.precision) == "w:int4,a:int8,acc:int32,out:int8"
    pe = next(node for node in setup.nodes if isinstance(node, Fanout) and node.name == "pe")
    assert pe.dims[0] is not None
    assert {"K", "P", "Q"} <= pe.dims[0]
    assert "C" not in pe.dims[0]
    assert pe.dims[1] is None
    assert setup.nodes[-1].name == LANES
    assert make_setup(MULTI, GEMM, parse_precision("int8")).mode.lane_dims == {"K"}
    assert not make_setup(MULTI, DEPTHWISE, parse_precision("int8")).mode.lane_dims & {"R", "S", "K"}


def test_requested_accumulator_and_output_win() -> None:
    setup = make_setup(MULTI, CONV, parse_precision("w:int8,a:uint8,acc:int24,out:fp16"))
    assert setup.precision.to_dict() == {
        "weight": "int8",
        "input": "uint8",
        "accumulator": "int24",
        "output": "fp16",
    }


@pytest.mark.parametrize(
    ("precision", "weight", "activation"),
    [
        ("int3", "int4", "int4"),
        ("w2a6", "int2", "int8"),
        ("w:int1,a:uint3", "int2", "int4"),
        ("w:uint8,a:int8", "int16", "int8"),
        # both floating modes hold it at equal speed: the one with less energy wins
        ("fp8_e4m3", "bf16", "bf16"),
        ("w:int4,a:fp8_e5m2", "bf16", "bf16"),
        ("w:int4,a:fp8_e4m3", "bf16", "bf16"),
    ],
)
def test_cheapest_mode_that_represents_both(precision: str, weight: str, activation: str) -> None:
    setup = make_setup(MULTI, CONV, parse_precision(precision))
    request = parse_precision(precision)
    assert (setup.mode.weight.name, setup.mode.input.name) == (weight, activation)
    assert (setup.precision.weight, setup.precision.input) == (request.weight, request.input)
    assert f"runs in the mode {weight} x {activation}" in setup.note


def test_no_mode_is_infeasible_and_names_the_modes() -> None:
    with pytest.raises(InfeasibleError, match="int8 x int8") as caught:
        make_setup(MULTI, CONV, parse_precision("fp32"))
    assert caught.value.exit_code == 3
    for name in ("fp32", "tf32"):
        unit = float_unit_runs(MULTI, parse_format(name), parse_format(name))
        assert unit is not None
        assert unit.name == "fp32"
    assert float_unit_runs(MULTI, parse_format("int32"), parse_format("fp32")) is None
    assert (
        float_unit_runs(load_arch(CONFIGS / "gemmini.yaml"), parse_format("fp32"), parse_format("fp32"))
        is None
    )


def test_selection_never_picks_a_mode_that_loses_values() -> None:
    formats = [
        parse_format(name) for name in ("int1", "uint4", "int5", "int8", "uint16", "fp16", "e4m4", "bf16")
    ]
    for weight in formats:
        for activation in formats:
            try:
                mode, _ = select_mode(MULTI, weight, activation)
            except InfeasibleError:
                assert not any(
                    m.weight.represents(weight) and m.input.represents(activation)
                    for m in MULTI.compute.modes
                )
            else:
                assert mode.weight.represents(weight)
                assert mode.input.represents(activation)


@pytest.mark.parametrize(
    ("text", "weight", "activation", "accumulator", "output"),
    [
        ("int8", "int8", "int8", None, None),
        (" FP16 ", "fp16", "fp16", None, None),
        ("w4a8", "int4", "int8", None, None),
        ("w:int4,a:fp8_e4m3,acc:fp32,out:fp16", "int4", "fp8_e4m3", "fp32", "fp16"),
        ("a:int8, w:int2", "int2", "int8", None, None),
    ],
)
def test_precision_text(
    text: str, weight: str, activation: str, accumulator: str | None, output: str | None
) -> None:
    request = parse_precision(text)
    assert request.weight.name == weight
    assert request.input.name == activation
    assert (request.accumulator and request.accumulator.name) == accumulator
    assert (request.output and request.output.name) == output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int99", "not a numeric format"),
        ("w4", "not a numeric format"),
        ("w4a99", "not a numeric format"),
        ("w:int8", "both w and a"),
        ("w:int8,w:int4,a:int8", "twice"),
        ("w:int8,x:int8", "unknown key 'x'"),
        ("w:int8,a:", "not a numeric format"),
        ("", "not a numeric format"),
    ],
)
def test_bad_precision_text(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse_precision(text)
