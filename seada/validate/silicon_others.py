"""Chips of which only part can be described: streaming FPGA engines, TPU v1 stall shares; the rest with its
reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Node, Setup
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.evaluate import cost_of
from seada.validate.result import Group, Row, group_rows, relative_error
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer

TPU_SIDE = 256
TPU_CLOCK_HZ, TPU_WEIGHT_BYTES_PER_S = 700e6, 34e9
REASONS = {
    "nvdla_v1": "a vendor's calculator, not a measurement; block sizes per layer are not stated",
    "greenwaves_gap9_ne16": "geometry and ports of the array are not in the source, nor which layers it ran",
    "amd_dpuczdx8g_b4096": "only operations per image are given, no layers; the tiling is not published",
    "arm_ethos_u": "a compiler estimate, not a measurement; the block sizes per layer are not exported",
    "precision_scaling_headlines": "peak figures without a layer, an activity or a utilisation",
}


def rows(data: dict[str, Any]) -> tuple[list[Row], list[Group], list[dict[str, Any]]]:
    """Everything in the file but Eyeriss and Gemmini."""
    found: list[Row] = []
    shown: list[dict[str, Any]] = []
    for chip in data["chips"]:
        if chip["id"] in ("fpgaconvnet_fpga", "finn_hls4ml_fpga"):
            found += _pipelines(chip)
        elif chip["id"] == "tpu_v1":
            found += _tpu(chip)
            shown.append(
                {
                    "chip": "tpu_v1",
                    "name": "shape of a layer",
                    "value": "square, weights / layers",
                    "status": "guessed: the shapes are proprietary",
                }
            )
        elif chip["id"] not in ("eyeriss_v1", "gemmini_rtl_16x16"):
            reason = REASONS.get(chip["id"], "no description of this chip exists here")
            found += [Row(f"{record['id']}", None, None, None, note=reason) for record in chip["records"]]
    groups = [
        group_rows("engines of FPGA pipelines (folding arithmetic)", tuple(found)),
        group_rows("FPGA pipelines: slowest engine against the measured image", tuple(found)),
        group_rows("tpu active share", tuple(found)),
    ]
    return found, groups, shown


def _array(fanouts: dict[str, int], inside: tuple[Node, ...] = ()) -> Setup:
    """A memory without limits over an array."""
    value, wide = parse_format("int8"), parse_format("int32")
    mode = Mode(value, value, wide, 1, frozenset(), 1, 0.0, "mac")
    nodes: tuple[Node, ...] = (
        Memory("memory", None, 8, 0.0, 0.0),
        Fanout("engine", tuple(fanouts.items()), (None,) * len(fanouts)),
        *inside,
    )
    arch = Arch("array", 1e9, nodes, Compute("pe", (mode,), (Block("mac", 0.0, 0.0),)))
    return Setup(arch, Precision(value, value, wide, value), mode)


def _engine_cycles(layer: Layer, folding: dict[str, int]) -> int:
    """Steps of one engine that unrolls so many iterations of each dimension."""
    hardware = _array({f"a{number}": trips for number, trips in enumerate(folding.values())} or {"a0": 1})
    nodes: list[Keep | Loop] = [Keep("memory", role) for role in ROLES]
    extents = layer.extents
    for dim, extent in extents.items():
        nodes.append(Loop(dim, min(extent, folding.get(dim, 1))))
    for number, dim in enumerate(folding):
        if dim in extents:
            nodes.append(Loop(dim, 1, f"engine.a{number}"))
    cost = cost_of(layer, hardware, Mapping(tuple(nodes)))
    assert cost.timing is not None
    return int(cost.timing.compute)


def _pipelines(chip: dict[str, Any]) -> Iterator[Row]:
    """Cycles of every engine, and the slowest one beside the measured image."""
    for table in chip["tables"]:
        slowest = 0
        for number, values in enumerate(table["rows"]):
            entry = dict(zip(table["columns"], values, strict=True))
            layer, folding = _folded(entry)
            cycles = _engine_cycles(layer, folding)
            slowest = max(slowest, cycles)
            ideal = entry["ideal_cycles"]
            name = f"{table['name']} engine {number}"
            group = "engines of FPGA pipelines (folding arithmetic)"
            yield Row(name, True, cycles, ideal, relative_error(cycles, ideal), "", group)
        yield from _whole_pipeline(chip, table["name"], slowest)


def _folded(entry: dict[str, Any]) -> tuple[Layer, dict[str, int]]:
    """The layer of an engine and what it unrolls."""
    if "PE" in entry:
        layer = conv(
            "engine",
            K=entry["K"],
            C=entry["C"],
            outputs=[entry["out_px"]] * 2,
            kernel=[entry["kernel"]] * 2,
        )
        return layer, {"K": entry["PE"], "C": entry["SIMD"]}
    groups = entry["groups"]
    layer = conv(
        "engine",
        K=entry["K"],
        C=entry["C"],
        groups=groups,
        outputs=[entry["P"], entry["Q"]],
        kernel=[entry["R"], entry["S"]],
        stride=[entry["stride"]] * 2,
    )
    down, across = _fine_folding(entry["fine"], entry["R"], entry["S"])
    folding = {
        "K": entry["coarse_out"],
        "C": entry["coarse_in"],
        "G": entry["coarse_group"],
        "S": across,
        "R": down,
    }
    return layer, {dim: trips for dim, trips in folding.items() if trips > 1}


def _fine_folding(fine: int, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of the kernel that so many multipliers unroll in the fewest steps."""
    pairs = [(fine // across, across) for across in range(1, fine + 1) if fine % across == 0]
    return min(pairs, key=lambda pair: -(-rows // pair[0]) * -(-columns // pair[1]))


def _whole_pipeline(chip: dict[str, Any], table: str, slowest: int) -> Iterator[Row]:
    key = table.removesuffix("_folding").replace("_", "-").lower()
    for record in chip["records"]:
        if key.replace("-", "") not in record["id"].replace("-", "").lower():
            continue
        values, conditions = record["values"], record["conditions"]
        measured = values.get("cycles") or values["latency_us"] * conditions["accelerator_clock_MHz"]
        note = "one image alone: the chip adds the fill of the pipeline, transfers and driver"
        group = "FPGA pipelines: slowest engine against the measured image"
        yield Row(record["id"], True, slowest, measured, relative_error(slowest, measured), note, group)


def _tpu(chip: dict[str, Any]) -> Iterator[Row]:
    """Share of the matrix time in which the array works, for layers bound by their weights."""
    bytes_per_cycle = TPU_WEIGHT_BYTES_PER_S / TPU_CLOCK_HZ
    for record in chip["records"]:
        values = record["values"]
        name = f"{record['id']} active share of matrix time"
        if "array_active_pct" not in values or "CNN" in record["network"]:
            reason = "layer shapes are proprietary; only fully connected layers follow from their weights"
            yield Row(name, None, None, None, note=reason)
            continue
        side = isqrt(int(values["weights_M"] * 1e6 / values["layers"]))
        layer = matmul(record["id"], M=side, N=values["batch"], K=side)
        hardware = _array({"x": TPU_SIDE, "y": TPU_SIDE}, (Memory("tile", None, 8, 0.0, 0.0),))
        cost = cost_of(layer, hardware, _tpu_mapping(side))
        assert cost.timing is not None
        ours = cost.timing.compute / _weight_time(cost.timing.compute, side, bytes_per_cycle)
        measured = values["array_active_pct"] / (100 - values["non_matrix_pct"])
        note = "square layers of the published weights; inputs come from the unified buffer, not from DRAM"
        yield Row(name, True, ours, measured, relative_error(ours, measured), note, "tpu active share")


def _weight_time(compute: float, side: int, bytes_per_cycle: float) -> float:
    """The slower of the array and its weights, whole tiles of 256 x 256."""
    tiles = (-(-side // TPU_SIDE)) ** 2
    return max(compute, tiles * TPU_SIDE**2 / bytes_per_cycle)


def _tpu_mapping(side: int) -> Mapping:
    nodes: list[Keep | Loop] = [Keep("memory", role) for role in ROLES]
    block = min(side, TPU_SIDE)
    nodes += [Loop("M", block), Loop("K", block), Loop("M", 1, "engine.x"), Loop("K", 1, "engine.y")]
    nodes += [Keep("tile", "weight"), Loop("N", 1)]
    return Mapping(tuple(nodes))
