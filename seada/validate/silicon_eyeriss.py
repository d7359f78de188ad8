"""Eyeriss, AlexNet and VGG-16 layer by layer: cycles, active PEs and traffic of the row-stationary mapping.

Shapes and mapping parameters are those of the published tables (Chen et al., JSSC 2017): a pass holds `n`
images, p x t filters, q x r channels and e rows of outputs; `m` filters have their partial sums in the
global buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Setup
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.cost import Cost
from seada.model.evaluate import cost_of
from seada.validate.result import Group, Row, group_rows, relative_error
from seada.workload.build import conv
from seada.workload.layer import ROLES, Layer

CLOCK_HZ = 200e6
BYTES = 2  # 16 bit fixed point
MEGA = 1e6
BUFFER_BYTES_PER_CYCLE = 16
FEW_ZEROS = 2.0  # per cent, below which compression saves little
ROWS, COLUMNS = 12, 14
GUESSED: dict[str, dict[str, int]] = {
    "eyeriss-vgg16-conv1-1": {"e": 13, "t": 4, "q": 1, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv1-2": {"e": 13, "t": 4, "q": 1, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv2-1": {"e": 13, "t": 4, "q": 1, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv3-1": {"e": 13, "t": 4, "q": 2, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv3-2": {"e": 13, "t": 4, "q": 2, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv4-1": {"e": 14, "t": 4, "q": 4, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv4-3": {"e": 14, "t": 4, "q": 4, "r": 1, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv5-1": {"e": 14, "t": 2, "q": 4, "r": 2, "p": 16, "m": 64, "n": 1},
    "eyeriss-vgg16-conv5-3": {"e": 14, "t": 2, "q": 4, "r": 2, "p": 16, "m": 64, "n": 1},
}
"""The VGG-16 mappings are not published: e and t follow from the active PEs, q and r from the channels per
pass whose partial-sum traffic is nearest the published buffer traffic.
"""


def setup() -> Setup:
    """The chip: buffer and spads in words of 16 bit, all fills and drains overlapped with the work."""
    value = parse_format("int16")
    mode = Mode(value, value, value, 1, frozenset(), 1, 0.0, "mac")
    nodes = (
        Memory("dram", None, 16, 0.0, 0.0),
        Memory("buffer", None, 16, 0.0, 0.0, shared_words_per_cycle=BUFFER_BYTES_PER_CYCLE / BYTES),
        Fanout("array", (("y", ROWS * COLUMNS),), (None,)),
        Memory("filter_spad", None, 16, 0.0, 0.0),
        Memory("ifmap_spad", None, 16, 0.0, 0.0),
        Memory("psum_spad", None, 16, 0.0, 0.0),
    )
    arch = Arch("eyeriss", CLOCK_HZ, nodes, Compute("pe", (mode,), (Block("mac", 0.0, 0.0),)))
    return Setup(arch, Precision(value, value, value, value), mode)


def read_layer(record: dict[str, Any]) -> Layer:
    """The layer of a record; its inputs include the padding, as the chip stores them."""
    s = record["shape"]
    return conv(
        record["id"],
        N=s["N"],
        K=s["M"],
        C=s["C"] * s["groups"],
        groups=s["groups"],
        outputs=[s["E"], s["F"]],
        kernel=[s["R"], s["S"]],
        stride=[s["stride"]] * 2,
    )


def row_stationary(layer: Layer, given: dict[str, int]) -> Mapping:
    """The mapping of one layer: passes outside, a strip of the array inside, kernel rows in the PEs."""
    left = dict(layer.dims)
    nodes: list[Keep | Loop] = [Keep("dram", role) for role in ROLES]

    def loop(dim: str, step: int, on: str | None = None) -> None:
        if dim in left and left[dim] > step:
            nodes.append(Loop(dim, step, on))
            left[dim] = step

    loop("G", 1)
    loop("K", given["m"])
    loop("N", given["n"])
    loop("P", given["e"])
    nodes += [Keep("buffer", "input"), Keep("buffer", "output")]
    loop("C", given["q"] * given["r"])
    loop("K", given["p"] * given["t"])
    loop("R", 1, "array.y")
    loop("P", 1, "array.y")
    loop("C", given["q"], "array.y")
    loop("K", given["p"], "array.y")
    nodes.append(Keep("filter_spad", "weight"))
    loop("N", 1)
    loop("Q", 1)
    nodes += [Keep("ifmap_spad", "input"), Keep("psum_spad", "output")]
    for dim in ("C", "S", "K"):
        loop(dim, 1)
    return Mapping(tuple(nodes))


def rows(chip: dict[str, Any]) -> tuple[list[Row], list[Group], list[dict[str, Any]]]:
    """All layers of both networks; totals are left out, errors there cancel."""
    hardware = setup()
    found: list[Row] = []
    for record in chip["records"]:
        if record.get("is_total"):
            note = "a sum over layers, in which errors cancel; its layers are rows of their own"
            found.append(Row(f"{record['id']} total", None, None, None, note=note))
            continue
        found += _layer_rows(record, hardware)
    groups = [
        group_rows("eyeriss cycles", tuple(found), mape_below=0.08),
        group_rows("eyeriss buffer traffic", tuple(found)),
        group_rows("eyeriss DRAM traffic, few zeros", tuple(found)),
    ]
    return found, groups, list(_parameters(chip))


def _parameters(chip: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        "chip": chip["id"],
        "name": "buffer bytes per cycle",
        "value": BUFFER_BYTES_PER_CYCLE,
        "status": "derived by the file from buffer traffic over processing latency",
    }
    yield {"chip": chip["id"], "name": "clock", "value": CLOCK_HZ, "status": "usual figure, see the file"}
    for layer, given in GUESSED.items():
        text = " ".join(f"{name}{value}" for name, value in given.items())
        yield {"chip": chip["id"], "name": f"mapping of {layer}", "value": text, "status": "guessed"}


def _layer_rows(record: dict[str, Any], hardware: Setup) -> Iterator[Row]:
    given = record.get("mapping_row_stationary")
    parameters = given or GUESSED.get(record["id"])
    if parameters is None:
        yield Row(record["id"], None, None, None, note="neither a published nor a guessed mapping")
        return
    layer = read_layer(record)
    mapping = row_stationary(layer, parameters)
    cost = cost_of(layer, hardware, mapping)
    measured = record["measured"]
    note = "" if given else "mapping guessed, see the parameters"
    cycles = measured["processing_latency_ms"] * 1e-3 * CLOCK_HZ
    yield _statistic(f"{record['id']} cycles", cost.latency_cycles, cycles, note, "eyeriss cycles")
    active = prod(_spatial_trips(layer, mapping))
    ok = active == measured["active_pes"] if given else True
    error = relative_error(active, measured["active_pes"])
    yield Row(f"{record['id']} active PEs", ok, active, measured["active_pes"], error, note)
    buffer = _megabytes(cost, 1)
    group = "eyeriss buffer traffic"
    yield _statistic(f"{record['id']} buffer MB", buffer, measured["glb_access_MB"], note, group)
    zeros = measured["ifmap_zeros_pct"]
    if zeros < FEW_ZEROS:
        group = "eyeriss DRAM traffic, few zeros"
        note = "the chip compresses its outputs, ours are not"
        yield _statistic(
            f"{record['id']} DRAM MB", _megabytes(cost, 0), measured["dram_access_MB"], note, group
        )
    else:
        note = f"{zeros} % of the inputs are zero and compressed by an unpublished ratio"
        yield Row(
            f"{record['id']} DRAM MB", None, _megabytes(cost, 0), measured["dram_access_MB"], None, note
        )


def _statistic(name: str, ours: float, reference: float, note: str, group: str) -> Row:
    return Row(name, True, ours, reference, relative_error(ours, reference), note, group)


def _spatial_trips(layer: Layer, mapping: Mapping) -> Iterator[int]:
    left = dict(layer.dims)
    for node in mapping.nodes:
        if isinstance(node, Loop):
            if node.on is not None:
                yield -(-left[node.dim] // node.step)
            left[node.dim] = min(left[node.dim], node.step)


def _megabytes(cost: Cost, memory: int) -> float:
    """Reads and writes of a memory in 10^6 bytes."""
    assert cost.counts is not None
    words = sum(access.reads + access.writes for access in cost.counts.memories[memory])
    return words * BYTES / MEGA
