"""Gemmini 16 x 16 RTL: our model of the given mapping, calibrated on the training rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from seada.arch.hardware import Arch, Block, Calibration, Compute, Fanout, Memory, Mode, Setup
from seada.formats import Precision, parse_format
from seada.mapper.api import map_setup
from seada.mapper.objective import parse_objective
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.calibration import Features, calibrated_cycles, features_of, fit
from seada.model.evaluate import cost_of
from seada.validate.result import Group, Row, group_rows, relative_error
from seada.workload.build import conv
from seada.workload.layer import ROLES, Layer

DIM = 16
ROW_BITS = 8 * DIM  # one row of the scratchpad, the unit that moves
PARAMETERS = ("tile_cycles", "word_cycles", "overlap")
FREE_EVERY = 12  # of the test rows, how many to map freely: one in so many
FREE_EVALUATIONS = 20_000
_FACTOR = re.compile(r"([NCKPQRS])(\d+)(X?)")


def setup() -> Setup:
    """The chip as its parameters describe it; one row of the scratchpad moves per cycle."""
    value, wide = parse_format("int8"), parse_format("int32")
    mode = Mode(value, value, wide, 1, frozenset(), 1, 0.0, "mac")
    nodes = (
        Memory(
            "dram", None, ROW_BITS, 0.0, 0.0, shared_words_per_cycle=1.0, buffers=(1, 1, 1), packing="aligned"
        ),
        Memory("scratchpad", 8 * 256 * 1024, ROW_BITS, 0.0, 0.0, keep=("may", "may", "never")),
        Fanout("columns", (("x", DIM),), (frozenset({"K"}),)),
        Memory("accumulator", 8 * 64 * 1024 // DIM, 32, 0.0, 0.0, keep=("never", "never", "must")),
        Fanout("rows", (("y", DIM),), (frozenset({"C"}),)),
        Memory("registers", 16, 8, 0.0, 0.0, keep=("must", "never", "never")),
    )
    arch = Arch("gemmini", 1e9, nodes, Compute("pe", (mode,), (Block("mac", 0.0, 0.0),)))
    return Setup(arch, Precision(value, value, wide, value), mode)


def read_mapping(text: str, layer: Layer) -> Mapping:
    """A recorded mapping: its loops of the outermost level, then the tile in blocks of 16 x 16."""
    parts = {part[:2]: _FACTOR.findall(part.split("]", 1)[1]) for part in text.split(" - ")}
    left = dict(layer.dims)
    tile = dict.fromkeys(left, 1)
    for level in ("L2", "L1", "L0"):
        for dim, factor, _ in parts[level]:
            if dim in tile:
                tile[dim] *= int(factor)
    nodes: list[Keep | Loop] = [Keep("dram", role) for role in ROLES]
    for dim, factor, _ in parts["L3"]:
        if dim in left and int(factor) > 1:
            left[dim] = max(tile[dim], -(-left[dim] // int(factor)))
            nodes.append(Loop(dim, left[dim]))
    nodes += [Keep("scratchpad", "weight"), Keep("scratchpad", "input")]
    if "K" in left:
        nodes += [Loop("K", min(DIM, left["K"])), Loop("K", 1, "columns.x")]
    nodes.append(Keep("accumulator", "output"))
    nodes += [Loop(dim, 1) for dim in ("R", "S") if dim in left]
    if "C" in left:
        nodes += [Loop("C", min(DIM, left["C"])), Loop("C", 1, "rows.y")]
    nodes.append(Keep("registers", "weight"))
    nodes += [Loop(dim, 1) for dim in left if dim not in ("K", "C", "R", "S")]
    return Mapping(tuple(nodes))


def read_layer(entry: dict[str, Any]) -> Layer:
    """The layer of a row; its inputs include the halo."""
    return conv(
        "layer",
        N=entry["N"],
        K=entry["K"],
        C=entry["C"],
        outputs=[entry["P"], entry["Q"]],
        kernel=[entry["R"], entry["S"]],
        stride=[entry["stride"]] * 2,
    )


def features(entry: dict[str, Any], hardware: Setup) -> Features:
    """Our model of one row, with the traffic of Gemmini's software: it loads weights and inputs of every
    tile.
    """
    layer = read_layer(entry)
    mapping = read_mapping(entry["mapping"], layer)
    cost = cost_of(layer, hardware, mapping)
    known = features_of(layer, hardware, mapping, cost)
    assert cost.counts is not None
    outputs = cost.counts.memories[0][2]
    loads = known.tiles * sum(_tile_rows(entry))
    port = float(loads + outputs.read_words + outputs.write_words)
    latency = max(known.compute_cycles, port)
    return replace(known, latency_cycles=latency, port_cycles=port)


def _tile_rows(entry: dict[str, Any]) -> tuple[int, int]:
    """Rows of the scratchpad that the weights and the inputs of one tile take: 16 channels to a row."""
    tile = dict.fromkeys("NCKPQRS", 1)
    for part in entry["mapping"].split(" - ")[1:]:
        for dim, factor, _ in _FACTOR.findall(part.split("]", 1)[1]):
            tile[dim] *= int(factor)
    weights = tile["R"] * tile["S"] * tile["C"] * -(-tile["K"] // DIM)
    height = (tile["P"] - 1) * entry["stride"] + tile["R"]
    width = (tile["Q"] - 1) * entry["stride"] + tile["S"]
    return weights, tile["N"] * height * width * -(-tile["C"] // DIM)


def table(chip: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Rows of a table of the chip as dictionaries."""
    found = next(table for table in chip["tables"] if table["name"] == name)
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def calibrate(chip: dict[str, Any]) -> tuple[Calibration, list[dict[str, Any]]]:
    """The chip's parameters from the training rows that are not suspect; and what to show."""
    hardware = setup()
    rows = [row for row in table(chip, "layer_mapping_cycles_training") if row["suspect"] == 0]
    found = fit([features(row, hardware) for row in rows], [row["cycles"] for row in rows], PARAMETERS)
    shown = [
        {
            "chip": chip["id"],
            "name": name,
            "value": getattr(found.calibration, name),
            "standard_error": found.errors[name],
            "status": f"fitted on {len(rows)} training rows",
        }
        for name in found.fitted
    ]
    return found.calibration, shown


def rows(chip: dict[str, Any]) -> tuple[list[Row], list[Group], list[dict[str, Any]]]:
    """Test rows with their mapping, training rows, and Gemmini's own tiler beside them."""
    calibration, shown = calibrate(chip)
    hardware = setup()
    found = [
        *_test_rows(chip, hardware, calibration),
        *_free_rows(chip, hardware, calibration),
        *_training_rows(chip, hardware, calibration),
    ]
    groups = [
        group_rows("gemmini free mapping against its own tiler", tuple(found)),
        group_rows("gemmini mapping given", tuple(found), mape_below=0.12, rank_above=0.98),
        group_rows("gemmini mapping given, authors' model", tuple(found)),
        group_rows("gemmini training rows", tuple(found)),
    ]
    return found, groups, shown


def _test_rows(chip: dict[str, Any], hardware: Setup, calibration: Calibration) -> Iterator[Row]:
    for number, entry in enumerate(table(chip, "layer_mapping_cycles_test")):
        shape = " ".join(f"{dim}{entry[dim]}" for dim in "CKPQRS")
        name = f"gemmini test {number} {shape} stride {entry['stride']} ({entry['search_variant']})"
        ours = calibrated_cycles(calibration, features(entry, hardware))
        measured = entry["cycles_mapping"]
        yield Row(name, True, ours, measured, relative_error(ours, measured), "", "gemmini mapping given")
        theirs = entry["model_cycles_of_authors"]
        group = "gemmini mapping given, authors' model"
        yield Row(
            f"{name} authors' model", True, theirs, measured, relative_error(theirs, measured), "", group
        )


def _free_rows(chip: dict[str, Any], hardware: Setup, calibration: Calibration) -> Iterator[Row]:
    """Our mapper's mapping under the calibrated model, beside what Gemmini's own tiler took."""
    note = "another mapping than the measured one: below zero, ours is predicted to be faster"
    goal = parse_objective("latency")
    for number, entry in enumerate(table(chip, "layer_mapping_cycles_test")):
        if number % FREE_EVERY:
            continue
        layer = read_layer(entry)
        best = map_setup(hardware, layer, goal, FREE_EVALUATIONS, None)
        assert best.mapping is not None
        known = features_of(layer, hardware, best.mapping, best.cost)
        ours = calibrated_cycles(calibration, known)
        shape = " ".join(f"{dim}{entry[dim]}" for dim in "CKPQRS")
        error = relative_error(ours, entry["cycles_auto"])
        group = "gemmini free mapping against its own tiler"
        yield Row(f"gemmini free {number} {shape}", True, ours, entry["cycles_auto"], error, note, group)


def _training_rows(chip: dict[str, Any], hardware: Setup, calibration: Calibration) -> Iterator[Row]:
    for number, entry in enumerate(table(chip, "layer_mapping_cycles_training")):
        name = f"gemmini training {number} {entry['mapping']}"
        if entry["suspect"]:
            yield Row(
                name,
                None,
                None,
                entry["cycles"],
                note=f"suspect {entry['suspect']}: {_SUSPECT[entry['suspect']]}",
            )
            continue
        ours = calibrated_cycles(calibration, features(entry, hardware))
        error = relative_error(ours, entry["cycles"])
        yield Row(name, True, ours, entry["cycles"], error, "fitted", "gemmini training rows")


_SUSPECT = {
    1: "below both the temporal product and the tile re-blocked to 16 x 16",
    2: "below the temporal product: the array was used wider than the mapping says",
}


__all__ = ["calibrate", "features", "rows", "setup", "table"]
