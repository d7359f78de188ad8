"""Timings on one core after warm-up: the mapper per layer, and the exact cost of a given mapping.

Prints medians over several runs. Nothing here is asserted; run it on a quiet machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import seada
from seada.arch.setup import make_setup
from seada.formats import parse_precision
from seada.model.count import count
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


def main() -> None:
    """Run all benchmarks."""
    bench_layers("reference_16x16", "int16", 3)
    bench_layers("multiprecision_16x16", "int8", 3)
    bench_network()


if __name__ == "__main__":
    main()
