"""Counts, energy and latency of the mappings that FactorFlow found on five architectures, under its rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Node, Setup
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.peers.convention import PRESETS
from seada.peers.cost import totals_cost
from seada.peers.nest import WholeNest
from seada.peers.totals import Tally, tallies
from seada.validate.form import MapOf, Maybe, number
from seada.validate.result import Row, SuiteResult, relative_error
from seada.workload.build import matmul
from seada.workload.layer import Layer

CONVENTION = PRESETS["factorflow"]
TOLERANCE = 1e-12  # of sums of floats in another order
OPERANDS = {"weight": "w", "input": "in", "output": "out"}
FORM = {
    "architectures": MapOf({"name": str, "levels": [{"name": str, "type": str}]}),
    "results": [
        {
            "arch": str,
            "gemm": str,
            "M": int,
            "K": int,
            "N": int,
            "energy_uJ": Maybe(number),
            "latency_cycles": Maybe(number),
            "mapping": Maybe([{"level": str, "loops_outer_to_inner": list}]),
            "counts": Maybe([MapOf((str, *number))]),
        }
    ],
    "about": Maybe(dict),
}


def run(data: dict[str, Any]) -> SuiteResult:
    """Rows of all recorded mappings: exact counts; energy and latency as sums in another order."""
    rows: list[Row] = []
    for result in data["results"]:
        architecture = data["architectures"].get(result["arch"])
        name = f"{result['arch']} {result['gemm']}"
        if architecture is None:
            rows.append(Row(name, None, None, None, note=f"no architecture {result['arch']!r} in the file"))
            continue
        if any(result.get(key) is None for key in ("mapping", "counts", "energy_uJ", "latency_cycles")):
            rows.append(
                Row(name, None, None, None, note="the tool recorded no mapping: its constraints do not fit")
            )
            continue
        rows += _rows(architecture["levels"], result)
    return SuiteResult("factorflow", tuple(rows))


def _rows(levels: list[dict[str, Any]], result: dict[str, Any]) -> Iterator[Row]:
    name = f"{result['arch']} {result['gemm']}"
    layer = matmul(result["gemm"], M=result["M"], N=result["N"], K=result["K"])
    setup = _setup(levels)
    mapping = _mapping(levels, result["mapping"], layer)
    cost = totals_cost(CONVENTION, layer, setup, mapping)
    nest = WholeNest(layer, setup, mapping)
    found = {
        (setup.arch.memories[tally.memory].name, tally.role): tally for tally in tallies(nest, CONVENTION)
    }
    twice = _counted_twice(nest, found)
    for counts in result["counts"]:
        for role, short in OPERANDS.items():
            tally = found.get((counts["level"], role))
            yield from _count_rows(name, counts, role, short, tally, twice.get(counts["level"], 0))
    extra = sum(words * _read_pj(setup, level) for level, words in twice.items())
    yield _close(f"{name} energy_uJ", (cost.energy_pj + extra) / 1e6, result["energy_uJ"])
    yield _close(f"{name} latency_cycles", _latency(setup, found, twice, cost), result["latency_cycles"])


def _read_pj(setup: Setup, level: str) -> float:
    return next(memory.read_energy_pj for memory in setup.arch.memories if memory.name == level)


def _latency(setup: Setup, found: dict[tuple[str, str], Tally], twice: dict[str, int], cost: Any) -> float:
    """The slowest of compute and every port, reads that are counted twice included."""
    ports = dict(cost.latency_breakdown_cycles)
    body = [value for name, value in ports.items() if name.startswith("port.")]
    for level, words in twice.items():
        memory = next(memory for memory in setup.arch.memories if memory.name == level)
        assert memory.shared_words_per_cycle is not None
        instances = found[level, "output"].instances
        body.append(ports[f"port.{level}.read"] + words / instances / (memory.shared_words_per_cycle / 2))
    return float(max([cost.timing.compute, *body]))


def _counted_twice(nest: WholeNest, found: dict[tuple[str, str], Tally]) -> dict[str, int]:
    """The documented double count: sums sent down to a second level of outputs count once more among the
    drains of the third, for each of the instances that share them.
    """
    memories = nest.setup.arch.memories
    chain = nest.chains["output"]
    twice = {}
    for middle, inner in pairwise(chain[1:]):
        tally = found[memories[middle.memory].name, "output"]
        shared = prod(t.trips for t in nest.spatial(middle.place, inner.place) if t.dim == "K")
        if tally.fills:
            twice[memories[inner.memory].name] = tally.fills * tally.instances * shared
    return twice


def _count_rows(
    name: str, counts: dict[str, Any], role: str, short: str, tally: Tally | None, twice: int
) -> Iterator[Row]:
    reads, writes, drains = 0, 0, 0
    if tally is not None:
        reads = int(tally.all_reads * tally.instances)
        writes = tally.writes * tally.instances
        drains = tally.drains * tally.instances
    note = ""
    if role == "output" and twice:
        reads, drains = reads + twice, drains + twice
        note = f"{twice} sums sent down again are counted among the drains (documented double count)"
    label = f"{name} {counts['level']} {short}"
    yield _equal(f"{label}_reads", reads, counts[f"{short}_reads"], note)
    yield _equal(f"{label}_writes", writes, counts[f"{short}_writes"])
    if role == "output":
        fills = tally.fills * tally.instances if tally else 0
        yield _equal(f"{label}_fills", fills, counts["out_fills"])
        yield _equal(f"{label}_drains", drains, counts["out_drains"], note)


def _setup(levels: list[dict[str, Any]]) -> Setup:
    nodes: list[Node] = []
    for level in levels:
        if level["type"] == "MemLevel":
            bandwidth = level["read_bw_words_per_cycle"] + level["write_bw_words_per_cycle"]
            nodes.append(
                Memory(
                    level["name"],
                    size_bits=level["size_words"] * 8,
                    word_bits=8,
                    read_energy_pj=level["read_energy_pJ_per_word"],
                    write_energy_pj=level["write_energy_pJ_per_word"],
                    shared_words_per_cycle=bandwidth,
                    buffers=(1, 1, 1),
                )
            )
        elif level["type"] == "FanoutLevel":
            nodes.append(Fanout(level["name"], (("x", level["mesh"]),), (None,)))
    compute = levels[-1]
    value = parse_format("int8")
    mode = Mode(
        value, value, value, 1, frozenset(), compute["cycles"], compute["compute_energy_pJ_per_mac"], "mac"
    )
    arch = Arch("factorflow", 1e9, tuple(nodes), Compute("pe", (mode,), (Block("mac", 0.0, 0.0),)))
    return Setup(arch, Precision(value, value, value, value), mode)


def _mapping(levels: list[dict[str, Any]], nest: list[dict[str, Any]], layer: Layer) -> Mapping:
    left = dict(layer.dims)
    nodes: list[Keep | Loop] = []
    for level, loops in zip(levels, nest, strict=True):
        if level["type"] == "MemLevel":
            bypassed = level["bypassed_operands"]
            nodes += [Keep(level["name"], role) for role, short in OPERANDS.items() if short not in bypassed]
        for dim, factor in loops["loops_outer_to_inner"]:
            left[dim] //= factor
            nodes.append(
                Loop(dim, left[dim], f"{level['name']}.x" if level["type"] == "FanoutLevel" else None)
            )
    return Mapping(tuple(nodes))


def _equal(name: str, ours: int, reference: float, note: str = "") -> Row:
    return Row(name, ours == reference, ours, reference, relative_error(ours, reference), note)


def _close(name: str, ours: float, reference: float) -> Row:
    error = relative_error(ours, reference)
    return Row(name, error is not None and abs(error) <= TOLERANCE, ours, reference, error)
