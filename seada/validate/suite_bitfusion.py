"""Compute and total cycles of the layers that Bit Fusion's authors published, and the ratios of its PEs.

Source: public result files of hsharma35/bitfusion (Sharma et al., ISCA 2018); layer shapes were re-derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from seada.arch.config import PresetConfig
from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Setup
from seada.arch.presets import expand_preset
from seada.arch.setup import make_setup
from seada.formats import parse_precision
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.evaluate import evaluate_mapping
from seada.technology.memory import SramChoice, sram_memory
from seada.technology.sram import DEFAULT_CELL, PORTS, Kind
from seada.technology.tables import pe_table
from seada.validate.form import MapOf, Maybe
from seada.validate.result import Row, SuiteResult, group_rows, relative_error
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer

BATCH, ROWS, COLUMNS = 16, 16, 32
ROUNDED = {("LSTM", 3600, 3600): (113, 116)}
"""Layers whose column tiles the authors' compiler rounds to a multiple of four: (tiles, rounded tiles)."""
OTHER_OUTPUTS = {("AlexNet", 4096): {28: 27, 14: 13}}
"""Output sizes that the files of one bandwidth use where those of the other have the listed ones."""
BANKS = {
    "weight_buffer": (128, ROWS * COLUMNS),
    "input_buffer": (2048, ROWS),
    "output_buffer": (512, COLUMNS),
}
"""Bytes of a bank and number of banks, each of 32 bit words: 64, 32 and 16 KiB in all."""
AREA_NOTES = {
    "core": "the authors, too, scale their 4 x 4 array",
    "output_buffer": "the authors' banks have a third port (read-write), which the tables lack",
}
AREA_GROUP = "total area of the array"
TARGETS = {192: 0.01, 4096: 0.015}
FORM = {
    "synthesis_45nm_4x4_per_pe": MapOf((list, str)),
    "area_mm2_16x32": Maybe(MapOf((float, str))),
    "rows": [
        {
            "net": str,
            "layer": str,
            "ic": int,
            "oc": int,
            "k": int,
            "o": int,
            "a": int,
            "w": int,
            "im2col": bool,
            "bw_bits_per_cycle": int,
            "compute_cycles": int,
            "stall_cycles": int,
            "dram_read_bits": int,
            "dram_write_bits": int,
        }
    ],
}


def run(data: dict[str, Any]) -> SuiteResult:
    """Exact compute cycles; total cycles as statistics; ratios of the synthesis table."""
    energy = data["synthesis_45nm_4x4_per_pe"]["8/2"][1]
    rows = [row for entry in data["rows"] for row in _layer_rows(entry, float(energy))]
    rows += _synthesis_rows(data["synthesis_45nm_4x4_per_pe"])
    bandwidths = sorted({entry["bw_bits_per_cycle"] for entry in data["rows"]})
    groups = [
        group_rows(f"total cycles at {bits} bit/cycle", tuple(rows), mape_below=TARGETS.get(bits))
        for bits in bandwidths
    ]
    if areas := data.get("area_mm2_16x32"):
        rows += _area_rows(areas)
        groups.append(group_rows(AREA_GROUP, tuple(rows), mape_below=0.05))
    return SuiteResult("bitfusion", tuple(rows), tuple(groups))


@lru_cache
def fusion_modes(energy_pj: float) -> tuple[Mode, ...]:
    """Rows of an 8-to-2-bit fusion unit."""
    preset = PresetConfig.model_validate(
        {
            "preset": "bitfusion",
            "native": 8,
            "minimum": 2,
            "accumulator": "int32",
            "energy": f"{energy_pj} pJ",
            "block": "unit",
        }
    )
    return tuple(expand_preset(preset, energy_pj))


def _setup(layer: Layer, weight: int, activation: int, energy_pj: float) -> Setup:
    """The array alone: 16 rows over input channels, 32 columns over outputs."""
    widths = [max(2, 1 << (bits - 1).bit_length()) for bits in (weight, activation)]
    memory = Memory("dram", None, 32, 0.0, 0.0)
    array = Fanout("array", (("rows", ROWS), ("columns", COLUMNS)), (None, None))
    compute = Compute("unit", fusion_modes(energy_pj), (Block("unit", 0.0, 0.0),))
    request = parse_precision(f"w:int{widths[0]},a:int{widths[1]}")
    return make_setup(Arch("bitfusion", 5e8, (memory, array), compute), layer, request)


def _layer(entry: dict[str, Any]) -> Layer:
    """The layer; the first one of a network as a matrix product over its unfolded windows."""
    if entry["im2col"]:
        depth = entry["ic"] * entry["k"] ** 2
        return matmul(entry["layer"], M=entry["oc"], N=BATCH * entry["o"] ** 2, K=depth)
    return conv(
        entry["layer"],
        N=BATCH,
        K=entry["oc"],
        C=entry["ic"],
        outputs=[entry["o"]] * 2,
        kernel=[entry["k"]] * 2,
    )


def _mapping(layer: Layer, lanes: int) -> Mapping:
    """Rows and lanes over input channels, columns over outputs, all else in time."""
    channel, output = ("K", "M") if layer.kind != "conv" else ("C", "K")
    nodes: list[Keep | Loop] = [Keep("dram", role) for role in ROLES]
    for dim, extent in layer.dims:
        if dim == channel:
            nodes.append(Loop(dim, min(extent, ROWS * lanes)))
        elif dim == output:
            nodes.append(Loop(dim, min(extent, COLUMNS)))
        else:
            nodes.append(Loop(dim, 1))
    nodes.append(Loop(output, 1, "array.columns"))
    nodes.append(Loop(channel, lanes, "array.rows"))
    nodes.append(Loop(channel, 1, "lanes.x" if lanes > 1 else None))
    return Mapping(tuple(nodes))


def _layer_rows(entry: dict[str, Any], energy_pj: float) -> Iterator[Row]:
    bandwidth = f"{entry['bw_bits_per_cycle']} bit/cycle"
    name = f"{entry['net']} {entry['layer']} a{entry['a']} w{entry['w']} at {bandwidth}"
    sizes = OTHER_OUTPUTS.get((entry["net"], entry["bw_bits_per_cycle"]), {})
    output = sizes.get(entry["o"], entry["o"])
    note = "" if output == entry["o"] else f"the files of this bandwidth have {output} x {output} outputs"
    layer = _layer({**entry, "o": output})
    setup = _setup(layer, entry["w"], entry["a"], energy_pj)
    cost = evaluate_mapping(layer, setup, _mapping(layer, setup.mode.lanes))
    assert cost.timing is not None
    compute = int(cost.timing.compute)
    reference = entry["compute_cycles"]
    ok = compute == reference
    tiles = ROUNDED.get((entry["net"], entry["ic"], entry["oc"]))
    if tiles is not None and not ok:
        ok = compute * tiles[1] == reference * tiles[0]
        note = f"named exception: the authors' compiler rounds {tiles[0]} column tiles to {tiles[1]}"
    yield Row(f"{name} compute", ok, compute, reference, relative_error(compute, reference), note)
    traffic = (entry["dram_read_bits"] + entry["dram_write_bits"]) / entry["bw_bits_per_cycle"]
    total, published = max(float(compute), traffic), reference + entry["stall_cycles"]
    group = f"total cycles at {bandwidth}"
    yield Row(f"{name} total", True, total, published, relative_error(total, published), "", group)


def _synthesis_rows(table: dict[str, Any]) -> Iterator[Row]:
    """Energy per MAC and area of the fusion PE over the dedicated PE of the same width.

    Ours: the energy of one step of the preset's mode over its lanes, with the PE of the technology table.
    """
    ours = pe_table("bitfusion_45nm")
    modes = fusion_modes(ours["fusion8"].energy_pj)
    for bits in (8, 4, 2):
        mode = next(m for m in modes if m.weight.bits == bits and m.input.bits == bits)
        dedicated = ours[f"int{bits}"]
        energy = mode.energy_pj_per_step / mode.lanes / dedicated.energy_pj
        published = table["8/2"][1] / mode.lanes / table[f"{bits}/{bits}"][1]
        yield _ratio(f"synthesis {bits}x{bits} energy, fusion 8/2 over dedicated", energy, published)
        assert ours["fusion8"].area_um2 is not None
        assert dedicated.area_um2 is not None
        area = ours["fusion8"].area_um2 / mode.lanes / dedicated.area_um2
        published = table["8/2"][0] / mode.lanes / table[f"{bits}/{bits}"][0]
        yield _ratio(f"synthesis {bits}x{bits} area, fusion 8/2 over dedicated", area, published)


def _area_rows(published: dict[str, Any]) -> Iterator[Row]:
    """Area of the 16 x 32 array in mm2 from the technology tables, part by part and in total."""
    core = pe_table("bitfusion_45nm")["fusion8"].area_um2
    assert core is not None
    ours = {"core": ROWS * COLUMNS * core}
    kind = Kind(45, DEFAULT_CELL, PORTS["1R1W"])
    for name, (size, banks) in BANKS.items():
        ours[name] = sram_memory(SramChoice(kind, banks), size * banks, 32).area_um2 or 0.0
    for name, area in ours.items():
        error = relative_error(area / 1e6, published[name])
        yield Row(f"area mm2 {name}", True, area / 1e6, published[name], error, AREA_NOTES.get(name, ""))
    total, reference = sum(ours.values()) / 1e6, sum(published[name] for name in ours)
    error = relative_error(total, reference)
    yield Row("area mm2 total", True, total, reference, error, published.get("source", ""), AREA_GROUP)


def _ratio(name: str, ours: float, reference: float) -> Row:
    error = relative_error(ours, reference)
    return Row(name, error is not None and abs(error) < 1e-9, ours, reference, error)
