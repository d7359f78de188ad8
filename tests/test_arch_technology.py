"""Memories that name a technology: figures from the tables, their provenance, and mistakes at their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from seada.arch.area import area, leakage
from seada.arch.hardware import Arch, Memory, Source
from seada.arch.load import arch_from_document, load_arch
from seada.arch.show import describe
from seada.config.yaml_file import parse_yaml_text
from seada.errors import ConfigError, UserError
from seada.technology.memory import SramChoice, sram_memory
from seada.technology.sram import Kind, estimate, sram, sweep, without
from seada.technology.tables import dram

NPU = Path(__file__).parents[1] / "arch_configs" / "npu_45nm.yaml"
TEXT = NPU.read_text(encoding="utf-8")
GLB = "technology: {sram: 45 nm, cell: itrs-lstp, banks: 4}"


def chip(*changes: tuple[str, str]) -> Arch:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return arch_from_document(parse_yaml_text(text, "npu.yaml"))


def memory(arch: Arch, name: str = "glb") -> Memory:
    return next(memory for memory in arch.memories if memory.name == name)


def source(arch: Arch, path: str) -> Source:
    return next(source for source in arch.sources if source.path == path)


def test_a_macro_of_the_sweep_has_its_own_figures() -> None:
    macro = sram(Kind(45), 8192, 64)
    assert not macro.interpolated
    # row of the sweep: 0.00604792 nJ, 0.00741363 nJ, 10.9893 mW, 0.0294029 mm2
    assert macro.read_pj == pytest.approx(6.04792)
    assert macro.write_pj == pytest.approx(7.41363)
    assert macro.leakage_w == pytest.approx(10.9893e-3)
    assert macro.area_um2 == pytest.approx(29402.9)


def test_between_macros_figures_lie_between() -> None:
    low, middle, high = (sram(Kind(45), size, 64) for size in (32768, 49152, 65536))
    assert middle.interpolated
    assert low.leakage_w < middle.leakage_w < high.leakage_w
    assert low.area_um2 < middle.area_um2 < high.area_um2


def test_a_macro_left_out_is_estimated_from_others_only() -> None:
    table = without(sweep(), 32768, 64)
    assert all((15, 6) not in grid for grid in table.values())
    ours = estimate(table, Kind(45), 15.0, 6.0)
    truth = estimate(sweep(), Kind(45), 15.0, 6.0)
    assert ours != truth
    for estimated, exact in zip(ours, truth, strict=True):
        assert estimated == pytest.approx(exact, rel=0.2)


def test_shipped_chip_takes_figures_from_its_technology() -> None:
    arch = load_arch(NPU)
    bank = sram(Kind(45, "itrs-lstp"), 65536, 128)
    glb = memory(arch)
    assert glb.read_energy_pj == pytest.approx(bank.read_pj, rel=1e-5)
    assert glb.write_energy_pj == pytest.approx(bank.write_pj, rel=1e-5)
    assert glb.leakage_w == pytest.approx(4 * bank.leakage_w, rel=1e-5)
    assert glb.area_um2 == pytest.approx(4 * bank.area_um2, rel=1e-5)
    assert memory(arch, "dram").read_energy_pj == pytest.approx(64 * dram("lpddr4").energy_pj)
    assert area(arch)["glb"] == pytest.approx(glb.area_um2)
    assert leakage(arch)["rf"] == pytest.approx(256 * memory(arch, "rf").leakage_w)


def test_figures_carry_status_and_source() -> None:
    arch = load_arch(NPU)
    read = source(arch, "memories.glb.read_energy")
    assert (read.status, read.node_nm, read.boundary) == ("derived", 45, "macro")
    assert "CACTI 7 sweep" in read.source
    assert "4 banks" in read.source
    of_dram = source(arch, "memories.dram.read_energy")
    assert (of_dram.status, of_dram.value) == ("published", "8 pJ/bit")
    text = describe(arch)
    assert read.source in text
    assert of_dram.source in text


def test_a_larger_memory_costs_more() -> None:
    small, large = (memory(chip(("size: 256 KiB", f"size: {size}"))) for size in ("128 KiB", "2 MiB"))
    assert small.read_energy_pj < large.read_energy_pj
    assert small.leakage_w < large.leakage_w
    assert small.area_um2 < large.area_um2


def test_a_written_figure_wins_only_where_override_names_it() -> None:
    stated = ("size: 256 KiB", "size: 256 KiB\n    area: 1 mm2")
    arch = chip(stated, ("banks: 4}", "banks: 4, override: [area]}"))
    assert memory(arch).area_um2 == 1e6
    with pytest.raises(ConfigError, match="1 mm2 is written here, and 'technology' gives") as caught:
        chip(stated)
    (place,) = caught.value.places
    line = next(n for n, text in enumerate(TEXT.splitlines(), 1) if "size: 256 KiB" in text) + 1
    assert (place.path, place.line, place.column) == ("memories.glb.area", line, 11)


def test_other_nodes_need_a_named_method() -> None:
    arch = chip((GLB, "technology: {sram: 7 nm, scaling: stillmaker_baas_2017}"))
    base = sram_memory(SramChoice(Kind(32)), 256 * 1024, 128)
    # factors of the method: energy 0.66 at 32 nm and 0.094 at 7 nm, area 0.46 and 0.059; none for leakage
    assert memory(arch).read_energy_pj == pytest.approx(base.read_pj * 0.094 / 0.66, rel=1e-5)
    assert base.area_um2 is not None
    assert memory(arch).area_um2 == pytest.approx(base.area_um2 * 0.059 / 0.46, rel=1e-5)
    assert any("memories.glb.leakage" in warning and "not modelled" in warning for warning in arch.warnings)
    read = source(arch, "memories.glb.read_energy")
    assert (read.status, read.node_nm) == ("derived", 7)
    assert "from 32 nm by stillmaker_baas_2017" in read.source
    stated = chip(
        (GLB, "technology: {sram: 7 nm, scaling: stillmaker_baas_2017}\n    leakage: 3 mW"),
    )
    assert memory(stated).leakage_w == pytest.approx(3e-3)


def mixed(arch: Arch) -> list[str]:
    return [warning for warning in arch.warnings if "mixed" in warning]


def test_mixed_nodes_are_warned_of_by_part() -> None:
    assert mixed(load_arch(NPU)) == []
    rest = "memories.dram, memories.rf, fanouts.pe, compute.modes[0], compute.blocks.integer, vector_unit)"
    others = f"numbers of different technology nodes are mixed without scaling: {{}}, 45 nm ({rest}"
    assert mixed(chip((GLB, "technology: {sram: 22 nm}"))) == [others.format("22 nm (memories.glb)")]
    scaled = chip((GLB, "technology: {sram: 7 nm, scaling: stillmaker_baas_2017}"))
    assert mixed(scaled) == [others.format("7 nm (memories.glb)")]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("vector_unit:\n", "vector_unit:\n  node: 7 nm\n", "7 nm (vector_unit)"),
        ("    - weight: int8\n", "    - weight: int8\n      node: 7 nm\n", "7 nm (compute.modes[0])"),
        ("  dram:\n", "  dram:\n    node: 28 nm\n", "28 nm (memories.dram)"),
    ],
)
def test_each_part_of_another_node_is_named(old: str, new: str, part: str) -> None:
    (warning,) = mixed(chip((old, new)))
    assert part in warning


def test_numbers_without_a_node_mix_with_nothing() -> None:
    # A size or a bandwidth of another node costs nothing; an energy that is free has none.
    word = ("word: 128 bit", "word: {value: 128 bit, node: 7 nm}")
    hop = ("hop_energy: unmodelled", "hop_energy: {value: free, node: 7 nm}")
    assert mixed(chip(word, hop)) == []


def test_mixed_tables_of_arithmetic_are_warned_of() -> None:
    preset = "    - {{preset: dedicated, formats: [{}], technology: {}, accumulator: int32, block: {}}}\n"
    presets = preset.format("int4", "horowitz_45nm", "a") + preset.format("int16", "bitfusion_45nm", "b")
    (warning,) = mixed(chip(("  blocks:\n", f"  presets:\n{presets}  blocks:\n")))
    assert warning == (
        "figures of different tables of arithmetic are mixed, which disagree by factors: "
        "bitfusion_45nm (compute.presets[1]), horowitz_45nm (compute.presets[0])"
    )


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        (GLB, "technology: {sram: 40 nm}", "memories.glb.technology.sram", "the nearest is 45 nm"),
        (GLB, "technology: {sram: 40 nm}", "memories.glb.technology.sram", "stillmaker_baas_2017"),
        (GLB, "technology: {sram: 45}", "memories.glb.technology.sram", "valid string"),
        (GLB, "technology: {sram: 45.4 nm}", "memories.glb.technology.sram", "no whole number of nm"),
        (GLB, "technology: {sram: 45 pJ}", "memories.glb.technology.sram", "not a unit"),
        (
            GLB,
            "technology: {sram: 5 nm, scaling: stillmaker_baas_2017}",
            "memories.glb.technology.sram",
            "the nearest is 7 nm",
        ),
        (
            GLB,
            "technology: {sram: 7 nm, scaling: stilmaker}",
            "memories.glb.technology.scaling",
            "did you mean 'stillmaker_baas_2017'",
        ),
        (
            GLB,
            "technology: {sram: 7 nm, scaling: tpuv4i_2021}",
            "memories.glb.technology.scaling",
            "no method of scaling for sram",
        ),
        (
            GLB,
            "technology: {sram: 45 nm, scaling: stillmaker_baas_2017}",
            "memories.glb.technology.sram",
            "is in the sweep; remove 'scaling'",
        ),
        (GLB, "technology: {sram: 45 nm, cell: itrs-lst}", "memories.glb.technology.cell", "did you mean"),
        (
            GLB,
            "technology: {sram: 45 nm, cell: itrs-lop, ports: 1R1W}",
            "memories.glb.technology.cell",
            "no SRAM of cell itrs-lop with ports 1R1W",
        ),
        (GLB, "technology: {sram: 45 nm, dram: lpddr4}", "memories.glb.technology", "one of"),
        (GLB, "technology: {}", "memories.glb.technology", "one of"),
        (
            GLB,
            "technology: {sram: 45 nm, override: [area]}",
            "memories.glb.technology.override[0]",
            "not state",
        ),
        (GLB, "technology: {sram: 45 nm, overide: [area]}", "memories.glb.technology.overide", "'override'"),
        ("dram: LPDDR4", "dram: LPDR4", "memories.dram.technology.dram", "did you mean 'lpddr4'"),
        ("dram: LPDDR4", "dram: LPDDR4, banks: 2", "memories.dram.technology", "only an SRAM has 'banks'"),
        ("size: 256 KiB", "size: 1 GiB", "memories.glb.size", "out of reach"),
        ("size: 256 KiB", "size: unlimited", "memories.glb.size", "an SRAM needs a size"),
        (f"{GLB}\n", "size: 3 B\n", "memories.glb.size", "duplicate key"),
        (f"    {GLB}\n", "", "memories.glb.read_energy", "required key is missing"),
    ],
)
def test_mistakes_are_found_at_their_place(old: str, new: str, path: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chip((old, new))
    messages = [place.message for place in caught.value.places if place.path == path]
    assert any(words in message for message in messages), caught.value.message
    assert all(place.line > 0 for place in caught.value.places)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        chip((GLB, "technology: {sram: 40 nm}"), ("{sram: 45 nm, cell: itrs-lstp}", "{sram: 45 nm, cell: x}"))
    paths = [place.path for place in caught.value.places]
    assert paths == ["memories.glb.technology.sram", "memories.rf.technology.cell"]


def test_what_the_sweep_does_not_have_is_refused() -> None:
    with pytest.raises(UserError, match="out of reach of the sweep"):
        sram(Kind(45), 32, 16)
    with pytest.raises(UserError, match="the nearest is 22 nm"):
        sram(Kind(16), 8192, 64)
