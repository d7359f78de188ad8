"""Formats by name, and the scales that elements share."""

from __future__ import annotations

import pytest

import seada
from seada.arch.setup import select_mode
from seada.errors import InfeasibleError, UserError
from seada.formats import parse_format, parse_precision
from seada.mapper.api import map_layer
from seada.mapping.capacity import occupancies
from seada.mapping.placed import place
from seada.model.count import count
from seada.oracle.walk import walk
from seada.workload.build import conv, matmul
from tests.test_oracle import memory, nest, setup, with_precision


@pytest.mark.parametrize(
    ("name", "bits", "scale_bits", "group"),
    [
        ("mxfp8_e4m3", 8, 8, 32),
        ("mxfp8_e5m2", 8, 8, 32),
        ("mxfp6_e3m2", 6, 8, 32),
        ("mxfp6_e2m3", 6, 8, 32),
        ("mxfp4_e2m1", 4, 8, 32),
        ("mxint8", 8, 8, 32),
        ("int4_channel", 4, 32, 0),
        ("int4_g128_s16", 4, 16, 128),
        ("fp8_e4m3_g64", 8, 32, 64),
    ],
)
def test_scales_by_name(name: str, bits: int, scale_bits: int, group: int) -> None:
    fmt = parse_format(name)
    assert (fmt.name, fmt.bits, fmt.scale_bits, fmt.group) == (name, bits, scale_bits, group)
    assert fmt.per_channel == (group == 0)


@pytest.mark.parametrize(
    "name", ["mxint7", "int8_g1", "int8_g", "int8_channel_s0", "mxint8_g4", "int8_channels"]
)
def test_what_is_no_format(name: str) -> None:
    with pytest.raises(UserError, match=name):
        parse_format(name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("int8_channel", "only weights have a scale per output channel"),
        ("w:int8,a:int8,acc:int32_g32", "partial sums have no shared scales"),
        ("w:int8,a:int8,out:int8_channel", "output int8_channel"),
    ],
)
def test_scales_that_an_operand_cannot_have(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_precision(text)


def test_a_scale_per_channel_runs_in_the_plain_mode_and_groups_need_their_own() -> None:
    arch = setup(memory("m0")).arch
    mode, note = select_mode(arch, parse_format("int8_channel"), parse_format("int8"))
    assert (mode.weight.name, note) == ("int8", "")
    assert select_mode(arch, parse_format("int4_channel"), parse_format("int8"))[0] is mode
    with pytest.raises(InfeasibleError, match="mxint8"):
        select_mode(arch, parse_format("mxint8"), parse_format("int8"))
    assert parse_format("mxint8").represents(parse_format("int4"))
    assert parse_format("int8_g32_s8").represents(parse_format("int4_g32_s8"))
    assert not parse_format("int8_g32_s8").represents(parse_format("int4_g16_s8"))


def test_scales_per_channel_by_hand() -> None:
    # 5 channels of 12 weights; tiles of 2 channels: 24, 24 and 12 weights with 2, 2 and 1 scales of 16 bits.
    layer = conv("c", outputs=[4], kernel=[3], K=5, C=4)
    hardware = with_precision(setup(memory("m0"), memory("m1", word_bits=24)), "w:int4_channel_s16,a:int8")
    mapping = nest("W@m0 I@m0 O@m0 K:2 W@m1 I@m1 O@m1 K:1 C:1 S:1 Q:1")
    counts, timing = walk(layer, hardware, mapping)
    assert count(layer, hardware, mapping) == (counts, timing)
    weight = counts.memories[0][0]
    assert (weight.reads, weight.read_bits) == (60, 60 * 4 + 5 * 16)
    assert weight.read_words == 16 + 16 + 8  # of 8 bits: 128, 128 and 64 bits
    # 128 bits are 6 words of 24, 64 bits 3; then 240 MACs read one word each, without scales
    assert counts.memories[1][0].write_words == 6 + 6 + 3
    assert (counts.memories[1][0].reads, counts.memories[1][0].read_bits) == (240, 960)
    taken = {(o.memory, o.operand): o.words for o in occupancies(place(layer, hardware, mapping))}
    assert taken["m0", "weight"] == 320 // 8
    assert taken["m1", "weight"] == 2 * 6  # two buffers


def test_complete_outputs_get_their_scales_when_they_leave() -> None:
    layer = matmul("g", M=3, N=5, K=2)
    hardware = with_precision(setup(memory("m0"), memory("m1")), "w:int8,a:int8,acc:int32,out:int8_g4_s8")
    mapping = nest("W@m0 I@m0 O@m0 M:1 W@m1 I@m1 O@m1 K:1 N:1")
    counts, timing = walk(layer, hardware, mapping)
    assert count(layer, hardware, mapping) == (counts, timing)
    # three drains of 5 outputs with 2 scales; the MACs write partial sums, then outputs without scales
    assert counts.memories[0][2].write_bits == 3 * (5 * 8 + 2 * 8)
    assert counts.memories[1][2].read_bits == 15 * 32 + 3 * (5 * 8 + 2 * 8)
    assert counts.memories[1][2].write_bits == 15 * 32 + 15 * 8


def test_scales_cost_traffic_in_the_best_mapping_too() -> None:
    arch = seada.load_arch("arch_configs/reference_16x16.yaml")
    layer = matmul("g", M=64, N=64, K=64)
    plain = map_layer(arch, layer, precision="int8", objective="energy")
    scaled = map_layer(arch, layer, precision="w:int8_channel,a:int8", objective="energy")
    assert scaled.cost.energy_pj > plain.cost.energy_pj
    assert scaled.bound is not None
    assert scaled.bound <= scaled.cost.energy_pj
    assert scaled.cost.counts is not None
    assert scaled.cost.counts.memories[0][0].read_bits >= 64 * (64 * 8 + 32)
