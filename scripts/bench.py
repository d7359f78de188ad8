"""Timings on one core after warm-up: the mapper per layer, and the exact cost of a given mapping.

Prints medians over several runs. Nothing here is asserted; run it on a quiet machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

import seada
from seada.arch.setup import make_setup
from seada.formats import parse_precision
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch import Steps
from seada.model.count import count
from seada.workload.layer import ROLES, Layer
from seada.workload.line import parse_layer

ROOT = Path(__file__).resolve().parent.parent
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


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall time of `work`."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def bench_layers(arch_name: str, precision: str, repeats: int) -> None:
    """Time the mapper and the cost of its answer on every layer of the list."""
    arch = seada.load_arch(ROOT / "arch_configs" / f"{arch_name}.yaml")
    print(f"\n{arch_name}, {precision}, objective edp: median of {repeats} runs")
    print(f"{'layer':26} {'map [s]':>9} {'gap':>8} {'energy [uJ]':>12} {'cycles':>12} {'cost [ms]':>10}")
    for name, line in LAYERS.items():
        layer = parse_layer(line)
        best = seada.map_layer(arch, layer, precision)
        seconds = median_seconds(lambda layer=layer: seada.map_layer(arch, layer, precision), repeats)
        setup = make_setup(arch, layer, parse_precision(precision))
        mapping = best.mapping
        cost = median_seconds(lambda layer=layer, s=setup, m=mapping: count(layer, s, m), 50)
        gap = "-" if best.gap is None else f"{best.gap:.1%}"
        print(
            f"{name:26} {seconds:9.3f} {gap:>8} {best.cost.energy_pj / 1e6:12.3f} "
            f"{best.cost.latency_cycles:12,} {cost * 1e3:10.3f}"
        )


def bench_network() -> None:
    """Time all distinct layers of ResNet-50 in one process."""
    arch = seada.load_arch(ROOT / "arch_configs" / "multiprecision_16x16.yaml")
    network = seada.load_workload(ROOT / "workloads" / "resnet50.yaml")
    start = time.perf_counter()
    seada.map_layers(arch, [(layer, "int8") for layer in network.layers.values()])
    print(f"\nResNet-50, int8, all distinct layers, one process: {time.perf_counter() - start:.2f} s")


def batch_rows(layer: Layer, count: int, ragged: bool) -> tuple[Mapping, Steps]:
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


def bench_batch() -> None:
    """Time the exact cost of one mapping inside a batch, and of one mapping alone."""
    arch = seada.load_arch(ROOT / "arch_configs" / "reference_16x16.yaml")
    layer = parse_layer("conv K=64 C=64 P=56 Q=56 R=3 S=3")
    setup = make_setup(arch, layer, parse_precision("int16"))
    print("\n3x3 convolution 64-64-56-56 on three memories, exact cost of a mapping in a batch of 2,000")
    for ragged in (False, True):
        mapping, rows = batch_rows(layer, 2000, ragged)
        batch = seada.Batch(layer, setup, mapping)
        batch.cost(rows[:2])
        seconds = median_seconds(lambda b=batch, r=rows: b.cost(r), 5)
        refused = len(batch.cost(rows).refused)
        kind = "ragged" if ragged else "whole trips"
        print(f"{kind:12} {seconds / len(rows) * 1e6:8.2f} us a mapping, {refused} refused")


def main() -> None:
    """Run all benchmarks."""
    bench_batch()
    bench_layers("reference_16x16", "int16", 3)
    bench_layers("multiprecision_16x16", "int8", 3)
    bench_network()


if __name__ == "__main__":
    main()
