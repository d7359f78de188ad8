"""Our own times: the cost of a given mapping in a batch, the mapper per layer, a whole network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

import seada
from benchmarks.table import Cell, Table
from benchmarks.timing import cpu_seconds
from seada.arch.hardware import Arch, Fanout, Memory
from seada.arch.setup import make_setup
from seada.formats import parse_precision
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch import Steps
from seada.model.evaluate import evaluate_mapping
from seada.workload.layer import ROLES
from seada.workload.line import parse_layer

ROOT = Path(__file__).resolve().parents[2]
PRECISIONS = ("int2", "int4", "int8", "int16")
COSTINGS = 20
BATCHES = 10
CONV_3X3 = "conv K=64 C=64 P=56 Q=56 R=3 S=3"
SIX_LEVELS = ("GEMM 512^3", "ResNet-50 3x3")  # layers for the chip of six memories
LAYERS = {
    "GEMM 512^3": "gemm M=512 N=512 K=512",
    "BERT-base FF1": "gemm M=3072 N=1024 K=768",
    "ResNet-50 3x3": "conv K=64 C=64 P=56 Q=56 R=3 S=3 pad=1",
    "ResNet-50 1x1": "conv K=256 C=64 P=56 Q=56 R=1 S=1",
    "ResNet-50 3x3 stride 2": "conv K=128 C=128 P=28 Q=28 R=3 S=3 stride=2 pad=1",
    "ResNet-50 stem": "conv K=64 C=3 P=112 Q=112 R=7 S=7 stride=2 pad=3",
    "MobileNetV2 depthwise": "conv K=144 C=144 groups=144 P=56 Q=56 R=3 S=3 pad=1",
    "GEMM 61x67x53": "gemm M=61 N=67 K=53",
}


def shipped_arch(name: str) -> Arch:
    """A chip of `arch_configs/`."""
    return seada.load_arch(ROOT / "arch_configs" / f"{name}.yaml")


def with_array(arch: Arch, sizes: tuple[int, ...]) -> Arch:
    """The chip with other sizes of the axes of its array."""
    nodes: list[Memory | Fanout] = []
    for node in arch.nodes:
        if isinstance(node, Fanout) and len(node.axes) == len(sizes):
            axes = tuple((name, size) for (name, _), size in zip(node.axes, sizes, strict=True))
            nodes.append(replace(node, axes=axes))
        else:
            nodes.append(node)
    return replace(arch, name=f"{arch.name} as {' x '.join(map(str, sizes))}", nodes=tuple(nodes))


def layers(arch: Arch, precision: str, repeats: int, lines: dict[str, str] = LAYERS) -> Table:
    """The mapper, and the cost of its answer, on every layer of a list."""
    rows = []
    for name, line in lines.items():
        layer = parse_layer(line)
        best = seada.map_layer(arch, layer, precision)
        seconds = cpu_seconds(repeats, seada.map_layer, arch, layer, precision)
        setup = make_setup(arch, layer, parse_precision(precision))
        cost = cpu_seconds(COSTINGS, evaluate_mapping, layer, setup, best.mapping)
        gap = None if best.gap is None else 100 * best.gap
        energy_uj = best.cost.energy_pj / 1e6
        rows.append(
            (
                name,
                seconds,
                cost.scaled(1e3),
                "yes" if best.optimal else "no",
                gap,
                energy_uj,
                best.cost.latency_cycles,
            )
        )
    columns = ("layer", "map [s]", "its cost [ms]", "proven", "gap [%]", "energy [uJ]", "cycles")
    return Table(
        f"Mapper on {arch.name}, {precision}, objective edp",
        columns,
        rows,
        [f"median (min..max) of {repeats} runs for the mapper, of {COSTINGS} for the cost"],
    )


def network() -> Table:
    """All distinct layers of ResNet-50 in one process, once per precision."""
    arch = shipped_arch("multiprecision_16x16")
    work = seada.load_workload(ROOT / "workloads" / "resnet50.yaml")
    rows: list[tuple[Cell, ...]] = []
    for precision in PRECISIONS:
        pairs = [(layer, precision) for layer in work.layers.values()]
        rows.append((precision, cpu_seconds(1, seada.map_layers, arch, pairs).median))
    total = sum(row[1] for row in rows if isinstance(row[1], float))
    title = f"ResNet-50 on {arch.name}, all distinct layers, objective edp, one run each"
    return Table(title, ("precision", "map [s]"), [*rows, ("all", total)])


def batch_rows(count: int, ragged: bool) -> tuple[Mapping, Steps]:
    """An order of loops on three memories, and random tiles for it; ragged ones leave remainders in K."""
    random = Random(7)
    nodes: list[Keep | Loop] = [Keep("dram", role) for role in ROLES]
    nodes += [Loop(dim, 1) for dim in ("K", "P", "C")]
    nodes += [Keep("glb", role) for role in ROLES]
    nodes += [Loop(dim, 1) for dim in ("K", "C", "R", "S", "P", "Q")]
    nodes += [Loop("K", 1, "pe.x"), Loop("P", 1, "pe.y")]
    nodes += [Keep("rf", "weight"), Keep("rf", "input"), *(Loop(dim, 1) for dim in ("C", "K", "P"))]
    rows = []
    for _ in range(count):
        k = random.choice((12, 20, 24, 28)) if ragged else random.choice((16, 32))
        p, c = random.choice((4, 7)), random.choice((4, 8))
        rows.append((k, p, c, min(k, 16), random.choice((2, 4)), 1, 1, p, 1, 1, 1, 1, 1, 1))
    return Mapping(tuple(nodes)), np.array(rows)


def batch() -> Table:
    """The exact cost of one mapping inside a batch."""
    layer = parse_layer(CONV_3X3)
    setup = make_setup(shipped_arch("reference_16x16"), layer, parse_precision("int16"))
    rows = []
    for ragged in (False, True):
        mapping, steps = batch_rows(2000, ragged)
        costs = seada.Batch(layer, setup, mapping)
        costs.cost(steps[:2])
        seconds = cpu_seconds(BATCHES, costs.cost, steps)
        refused = len(costs.cost(steps).refused)
        kind = "ragged" if ragged else "whole trips"
        rows.append((kind, seconds.scaled(1e6 / len(steps)), refused))
    return Table(
        "Exact cost of a given mapping in a batch of 2,000",
        ("tiles", "a mapping [us]", "refused"),
        rows,
        [f"3x3 convolution 64-64-56-56 on three memories; median (min..max) of {BATCHES} batches"],
    )
