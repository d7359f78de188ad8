"""Architecture files: units become internal, mistakes are found at their place, shipped files are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from seada.arch.area import area, leakage
from seada.arch.config import ArchConfig
from seada.arch.hardware import Arch, Fanout, Memory
from seada.arch.load import arch_from_document, load_arch
from seada.arch.show import describe, format_bits
from seada.config.yaml_file import parse_yaml_text
from seada.errors import ConfigError

CONFIGS = Path(__file__).parents[1] / "arch_configs"
SHIPPED = sorted(CONFIGS.glob("*.yaml"))

SMALL = """\
schema_version: 1
name: small
source: made up for this test
status: placeholder
clock: 500 MHz
hierarchy: [dram, glb, pe, rf]
memories:
  dram:
    size: unlimited
    word: 64 bit
    bandwidth: {shared: 16 GB/s}
    read_energy: 4 pJ/bit
    write_energy: 300 pJ
  glb:
    size: 1000 words
    word: 32 bit
    bandwidth: {read: 2 words/cycle, write: 16 B/cycle}
    ports: {read: 2, write: 4}
    read_energy: {value: 6 pJ/word, status: published, source: a paper, node: 45 nm, boundary: macro}
    write_energy: free
    leakage: 2 mW
    area: 0.5 mm2
    buffers: {weight: 1}
  rf:
    size: 64 B
    word: 16 bit
    bandwidth: unlimited
    read_energy: 1 pJ
    write_energy: 1 pJ
    area: 100 um2
    buffers: 1
    keep: {weight: must, output: never}
    accumulates: false
    packing: aligned
fanouts:
  pe:
    axes: {x: 4, y: {size: 2, dims: [K, output_channel]}}
    multicast: [weight]
    reduction_energy: 0.01 pJ/bit
    topology: mesh
    hop_energy: 0.02 pJ/bit
    bandwidth: 1 GB/s
    link_area: 10 um2
    ramp: {stationary: weight}
compute:
  name: mac
  modes:
    - {weight: int8, input: [int8, uint8], accumulator: int32, energy: 0.5 pJ, block: integer}
    - {weight: int4, input: int4, accumulator: int16, lanes: 4, lane_dims: reduction, energy: 0.6 pJ/step,
       block: integer}
  blocks:
    integer: {area: 20 um2, leakage: 1 uW, gating: clock, idle_fraction: 0.1}
vector_unit: {lanes: 8, energy: 1 pJ/op, memory: glb, area: 30 um2}
float_unit:
  formats: [{format: fp32, macs_per_cycle: 2, energy: 4 pJ/MAC}]
  path: [dram, glb]
  area: 40 um2
constraints: {spatial: [{axis: pe.x, dim: C, trips: 4}]}
policy: {prefetch_weights: true, resident: glb}
"""


def small(old: str = "", new: str = "") -> Arch:
    assert old in SMALL
    return arch_from_document(parse_yaml_text(SMALL.replace(old, new, 1) if old else SMALL, "small.yaml"))


def test_units_become_internal() -> None:
    arch = small()
    dram, glb, rf = arch.memories
    # 16 GB/s at 500 MHz are 256 bit per cycle: 4 words of 64 bit
    assert (dram.size_bits, dram.word_bits, dram.shared_words_per_cycle) == (None, 64, 4.0)
    assert (dram.read_energy_pj, dram.write_energy_pj) == (256.0, 300.0)
    assert (glb.size_bits, glb.size_words) == (32000, 1000)
    assert (glb.read_words_per_cycle, glb.write_words_per_cycle, glb.shared_words_per_cycle) == (
        2.0,
        4.0,
        None,
    )
    assert (glb.read_energy_pj, glb.write_energy_pj) == (6.0, 0.0)
    assert (glb.leakage_w, glb.area_um2, glb.buffers) == (0.002, 500_000.0, (1, 2, 2))
    assert (rf.buffers, rf.keep, rf.accumulates, rf.packing) == (
        (1, 1, 1),
        ("must", "may", "never"),
        False,
        "aligned",
    )
    assert rf.read_words_per_cycle is rf.write_words_per_cycle is rf.shared_words_per_cycle is None


def test_fanout_modes_and_units() -> None:
    arch = small()
    (pe,) = arch.fanouts
    assert pe.axes == (("x", 4), ("y", 2))
    assert pe.dims == (None, frozenset({"K", "output_channel"}))
    assert pe.multicast == (True, False)
    assert (pe.topology, pe.hop_energy_pj_per_bit, pe.link_bits_per_cycle) == ("mesh", 0.02, 16.0)
    assert pe.ramp is not None
    assert (pe.ramp.stationary, pe.ramp.cycles) == ("weight", 5)
    pairs = [(mode.weight.name, mode.input.name, mode.lanes) for mode in arch.compute.modes]
    assert pairs == [("int8", "int8", 1), ("int8", "uint8", 1), ("int4", "int4", 4)]
    assert arch.compute.blocks[0].idle_fraction == 0.1
    assert arch.vector_unit is not None
    assert arch.vector_unit.lanes == 8
    assert arch.float_unit is not None
    assert arch.float_unit.path == ("dram", "glb")
    assert arch.constraints.spatial == (("pe.x", "C", 4),)
    assert (arch.prefetch_weights, arch.resident) == (True, "glb")


def test_provenance_is_inherited_and_kept() -> None:
    sources = {source.path: source for source in small().sources}
    stated = sources["memories.glb.read_energy"]
    assert (stated.value, stated.status, stated.source) == ("6 pJ/word", "published", "a paper")
    assert (stated.node_nm, stated.boundary) == (45, "macro")
    inherited = sources["memories.dram.read_energy"]
    assert (inherited.status, inherited.source, inherited.node_nm) == (
        "placeholder",
        "made up for this test",
        None,
    )
    assert sources["memories.dram.area"].status == "placeholder"
    assert "counted as zero" in sources["memories.dram.area"].source


def test_missing_provenance_and_numbers_are_warned_of() -> None:
    unsourced, unmodelled = small("source: made up for this test\n").warnings
    assert "have no source and status and count as unverified" in unsourced
    assert unsourced.startswith("32 numbers")
    assert "clock, memories.dram.word, memories.dram.size" in unsourced
    assert unsourced.endswith("and 26 more")
    assert unmodelled == (
        "not modelled, counted as zero: memories.dram.leakage, memories.dram.area, memories.rf.leakage, "
        "vector_unit.leakage, float_unit.leakage"
    )
    without = {s.path: s for s in small("source: made up for this test\n").sources}
    assert without["memories.rf.read_energy"].status == "unverified"
    assert without["memories.glb.read_energy"].status == "published"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("read: 2 words/cycle", "read: 3 words/cycle", "3 words/cycle exceed 2 ports"),
        ("1000 words", "32001 bit", "last 1 bit make no word"),
        ("status: published, source: a paper, node: 45 nm", "source: b, node: 28 nm", "45 nm (memories.rf)"),
        ("size: 64 B\n    word: 16 bit", "size: 24 bit\n    word: 16 bit", "too small for output"),
        ("  blocks:\n", "  blocks:\n    spare: {area: 1 um2, leakage: 1 uW}\n", "no mode uses this block"),
        ("lanes: 4,", "lanes: 4096,", "no memory can feed a PE"),
    ],
)
def test_odd_architectures_are_warned_of(old: str, new: str, words: str) -> None:
    text = SMALL.replace("keep: {weight: must, output: never}", "keep: {weight: must}")
    text = text.replace("area: 100 um2", "area: {value: 100 um2, node: 45 nm}")
    text = text.replace(
        "bandwidth: unlimited\n    read_energy: 1 pJ",
        "bandwidth: {shared: 4 words/cycle}\n    read_energy: 1 pJ",
    )
    assert old in text
    before = arch_from_document(parse_yaml_text(text)).warnings
    after = arch_from_document(parse_yaml_text(text.replace(old, new, 1))).warnings
    assert not any(words in warning for warning in before)
    assert any(words in warning for warning in after)


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ("schema_version: 1\n", "", "schema_version", "required key is missing"),
        ("schema_version: 1", "schema_version: 7", "schema_version", "allowed: 1"),
        ("clock: 500 MHz", "clock: 500", "clock", "number with a unit is needed, found 500"),
        ("clock: 500 MHz", "clock: 500 mhz", "clock", "did you mean 'MHz'"),
        ("clock: 500 MHz", "clock: -5 MHz", "clock", "negative"),
        ("clock: 500 MHz", "clock: .nan", "clock", "number with a unit is needed"),
        ("size: 64 B", "siez: 64 B", "memories.rf.siez", "did you mean 'size'"),
        ("size: 64 B", "size: 0 B", "memories.rf.size", "zero"),
        ("size: 64 B", "size: 64", "memories.rf.size", "unlimited"),
        ("size: 64 B", "size: 1 bit", "memories.rf.size", "holds no word"),
        ("size: 64 B", "size: 64 pJ", "memories.rf.size", "not a unit that is allowed"),
        ("size: 64 B", "size: 0.3 bit", "memories.rf.size", "whole number of bits"),
        (
            "size: 64 B\n    word: 16 bit",
            "size: 2 bit\n    word: 2 bit",
            "memories.rf.size",
            "hold no weight of any mode",
        ),
        ("bandwidth: unlimited", "bandwidth: 3 words/cycle", "memories.rf.bandwidth", "a mapping is needed"),
        ("bandwidth: unlimited", "bandwidth:", "memories.rf.bandwidth", "or unlimited"),
        (
            "{read: 2 words/cycle, write: 16 B/cycle}",
            "{read: 2 words/cycle}",
            "memories.glb.bandwidth",
            "both",
        ),
        ("{read: 2 words/cycle,", "{shared: 2 words/cycle,", "memories.glb.bandwidth", "either 'shared'"),
        (
            "read_energy: 4 pJ/bit",
            "read_energy: 4",
            "memories.dram.read_energy",
            "pJ/bit, pJ/word; or the word free",
        ),
        (
            "write_energy: 300 pJ",
            "write_energy: 0 pJ",
            "memories.dram.write_energy",
            "or the word free or unmodelled",
        ),
        ("    write_energy: 300 pJ\n", "", "memories.dram.write_energy", "required key is missing"),
        ("buffers: {weight: 1}", "buffers: {weight: 3}", "memories.glb.buffers.weight", "allowed: 1, 2"),
        ("weight: must,", "weight: always,", "memories.rf.keep.weight", "allowed: must, may, never"),
        (
            "write_energy: 300 pJ",
            "write_energy: 300 pJ\n    keep: {input: never}",
            "memories.dram.keep.input",
            "every",
        ),
        ("packing: aligned", "packing: alinged", "memories.rf.packing", "did you mean 'aligned'"),
        ("[dram, glb, pe, rf]", "[dram, glb, pe]", "memories.rf", "does not stand in 'hierarchy'"),
        ("[dram, glb, pe, rf]", "[dram, gbl, pe, rf]", "hierarchy[1]", "did you mean 'glb'"),
        ("[dram, glb, pe, rf]", "[dram, glb, pe, rf, glb]", "hierarchy[4]", "stands twice"),
        ("[dram, glb, pe, rf]", "[pe, dram, glb, rf]", "hierarchy[0]", "must be a memory"),
        ("  name: mac", "  name: glb", "memories.glb", "used more than once"),
        ("  name: mac", "  name: lanes", "compute.name", "reserved"),
        ("x: 4,", "x: 0,", "fanouts.pe.axes.x", "greater than or equal to 1"),
        ("x: 4,", "x: 2000000000,", "fanouts", "more than the limit"),
        ("dims: [K, output_channel]", "dims: [k]", "fanouts.pe.axes.y.dims[0]", "no dimension"),
        (
            "dims: [K, output_channel]",
            "dims: [output_chanel]",
            "fanouts.pe.axes.y.dims[0]",
            "did you mean 'output_channel'",
        ),
        ("topology: mesh", "topology: ring", "fanouts.pe.topology", "allowed: bus, mesh, tree"),
        ("multicast: [weight]", "multicast: [weights]", "fanouts.pe.multicast[0]", "did you mean 'weight'"),
        ("weight: int8", "weight: int88", "compute.modes[0].weight", "not a numeric format"),
        ("weight: int4, input: int4", "weight: int8, input: int8", "compute.modes[1]", "has a mode already"),
        (" lane_dims: reduction,", "", "compute.modes[1]", "'lane_dims' is needed"),
        ("block: integer}", "block: intger}", "compute.modes[0].block", "did you mean 'integer'"),
        ("memory: glb", "memory: glbb", "vector_unit.memory", "did you mean 'glb'"),
        ("path: [dram, glb]", "path: [glb, dram]", "float_unit.path", "outermost first"),
        ("axis: pe.x", "axis: pe.z", "constraints.spatial[0].axis", "known: pe.x, pe.y"),
        ("trips: 4", "trips: 5", "constraints.spatial[0].trips", "exceed the 4 instances"),
        ("resident: glb", "resident: L2", "policy.resident", "no memory is named 'L2'"),
        ("clock: 500 MHz", "clock: 500 MHz\nclock: 1 GHz", "clock", "duplicate key"),
        ("node: 45 nm", "node: 45", "memories.glb.read_energy.node", "valid string"),
        (
            "status: published",
            "status: publishd",
            "memories.glb.read_energy.status",
            "did you mean 'published'",
        ),
    ],
)
def test_mistakes_are_found_at_their_place(tmp_path: Path, old: str, new: str, path: str, words: str) -> None:
    assert old in SMALL
    file = tmp_path / "bad.yaml"
    file.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_arch(file)
    messages = [place.message for place in caught.value.places if place.path == path]
    assert any(words in message for message in messages)
    assert all(place.line > 0 for place in caught.value.places)
    assert caught.value.exit_code == 2


def test_hash_is_of_what_decides_results() -> None:
    reference = small().content_hash
    assert small("name: small", "name: other").content_hash == reference
    assert small("source: made up for this test", "source: elsewhere").content_hash == reference
    assert small("size: 64 B", "size: 512 bit").content_hash == reference
    for old, new in (
        ("size: 64 B", "size: 65 B"),
        ("clock: 500", "clock: 501"),
        ("x: 4", "x: 5"),
        ("0.5 pJ", "0.51 pJ"),
    ):
        assert small(old, new).content_hash != reference


def test_area_counts_every_part_once_per_instance() -> None:
    areas = area(small())
    assert areas == {
        "dram": 0.0,
        "glb": 500_000.0,
        "rf": 800.0,
        "mac.integer": 160.0,
        "vector_unit": 30.0,
        "float_unit": 40.0,
        "link.pe": 10.0,
        "total": 501_040.0,
    }
    assert leakage(small())["total"] == pytest.approx(0.002 + 8e-6)


def test_description_shows_the_numbers() -> None:
    text = describe(small())
    for words in (
        "[glb] 4000 B",
        "mesh",
        "int4",
        "0.15",
        "pe.x, 4 trips",
        "total",
        "a paper",
        "not modelled",
    ):
        assert words in text


def test_format_bits() -> None:
    assert [format_bits(bits) for bits in (8 * 2**20, 12, 4096, 8 * 100_000)] == [
        "1 MiB",
        "12 bit",
        "512 B",
        "97.6562 KiB",
    ]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_architectures_are_sound(path: Path) -> None:
    arch = load_arch(path)
    assert arch.name == path.stem
    assert all(source.source and source.status for source in arch.sources)
    assert all(warning.startswith("not modelled") for warning in arch.warnings)
    assert arch.content_hash == load_arch(path).content_hash
    assert area(arch)["total"] >= 0
    assert arch.content_hash in describe(arch)


def test_required_architectures_are_shipped() -> None:
    names = {path.stem for path in SHIPPED}
    assert names >= {
        "reference_16x16",
        "multiprecision_16x16",
        "eyeriss",
        "gemmini",
        "simba",
        "tpu",
        "bitfusion",
    }


def test_reference_array_is_the_published_one() -> None:
    arch = load_arch(CONFIGS / "reference_16x16.yaml")
    dram, glb, pe, rf = arch.nodes
    assert isinstance(dram, Memory)
    assert isinstance(glb, Memory)
    assert isinstance(pe, Fanout)
    assert isinstance(rf, Memory)
    assert (dram.read_energy_pj, dram.shared_words_per_cycle, dram.word_bits) == (200.0, 8.0, 16)
    assert (glb.read_energy_pj, glb.shared_words_per_cycle, glb.size_words) == (6.0, 32.0, 65536)
    assert (rf.read_energy_pj, rf.size_bits, rf.buffers) == (1.0, 4096, (2, 2, 2))
    assert pe.instances == 256
    assert [mode.energy_pj_per_step for mode in arch.compute.modes] == [1.0]


def test_multiprecision_lanes_follow_bit_fusion() -> None:
    modes = load_arch(CONFIGS / "multiprecision_16x16.yaml").compute.modes
    lanes = {(mode.weight.bits, mode.input.bits): mode.lanes for mode in modes if not mode.weight.is_float}
    assert lanes == {(w, a): (16 // w) * (16 // a) for w in (2, 4, 8, 16) for a in (2, 4, 8, 16)}
    floats = {mode.weight.name: mode.energy_pj_per_step for mode in modes if mode.weight.is_float}
    assert floats == {"fp16": 2.0, "bf16": 1.58}


def test_schema_describes_every_field() -> None:
    schema = ArchConfig.model_json_schema()
    bare = [
        f"{model}.{name}"
        for model, described in schema["$defs"].items()
        for name, field in described.get("properties", {}).items()
        if "description" not in field
    ]
    assert bare == []


def test_units_may_have_clocks_of_their_own(tmp_path: Path) -> None:
    text = (CONFIGS / "multiprecision_16x16.yaml").read_text()
    assert text.count("vector_unit:\n") == text.count("float_unit:\n") == 1
    clock = '  clock: {value: 1 GHz, status: derived, source: "twice the array"}\n'
    faster = text.replace("vector_unit:\n", f"vector_unit:\n{clock}").replace(
        "float_unit:\n", f"float_unit:\n{clock}"
    )
    path = tmp_path / "fast_units.yaml"
    path.write_text(faster)
    base, fast = load_arch(CONFIGS / "multiprecision_16x16.yaml"), load_arch(path)
    assert base.vector_unit is not None
    assert fast.vector_unit is not None
    assert base.float_unit is not None
    assert fast.float_unit is not None
    assert fast.vector_unit.operations_per_cycle == 2 * base.vector_unit.operations_per_cycle
    assert fast.float_unit.macs_per_cycle == tuple(2 * rate for rate in base.float_unit.macs_per_cycle)
