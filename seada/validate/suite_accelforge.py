"""Energies, cycles and accesses of mappings that AccelForge found, under its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Setup
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.peers.convention import PRESETS
from seada.peers.cost import totals_cost
from seada.validate.form import MapOf, Maybe, number
from seada.validate.result import Row, SuiteResult, relative_error
from seada.workload.layer import ROLES, Axis, Layer, Operand

CONVENTION = PRESETS["accelforge"]
TOLERANCE = 1e-6  # AccelForge computes in single precision
ROLE_NAMES = {"W": "weight", "I": "input", "O": "output"}
_MEMORY = {
    "pj_per_word_read": number,
    "pj_per_word_write": number,
    "words_per_cycle": Maybe(number),
    "size_bytes": Maybe(int),
}
FORM = {
    "arch": {
        "word_bits": int,
        "DRAM": _MEMORY,
        "GLB": _MEMORY,
        "RF": _MEMORY,
        "MAC": {"pj": number},
        "array": {"X": int, "Y": int},
    },
    "layers": MapOf({"einsum": str, "extents": MapOf(int)}),
    "results": MapOf(
        {
            "layer": Maybe(str),
            "energy_pj": Maybe(number),
            "latency_cycles": Maybe(number),
            "mapping": Maybe(list),
            "access_words": Maybe(MapOf(MapOf(MapOf(number)))),
        }
    ),
}


def run(data: dict[str, Any]) -> SuiteResult:
    """Rows of all recorded mappings, within 1e-6."""
    rows: list[Row] = []
    setup = _setup(data["arch"])
    for name, result in data["results"].items():
        if result.get("mapping") is None:
            seconds = result.get("timeout_s")
            rows.append(Row(name, None, None, None, note=f"no answer within {seconds} s is recorded"))
            continue
        rows += _rows(name, result, data["layers"][result["layer"]], setup)
    return SuiteResult("accelforge", tuple(rows))


def _rows(name: str, result: dict[str, Any], problem: dict[str, Any], setup: Setup) -> Iterator[Row]:
    layer = read_einsum(result["layer"], problem["einsum"], problem["extents"])
    cost = totals_cost(CONVENTION, layer, setup, _mapping(result["mapping"], layer))
    yield _close(f"{name} energy_pj", cost.energy_pj, result["energy_pj"])
    assert cost.timing is not None
    assert cost.counts is not None
    yield _close(f"{name} latency_cycles", cost.timing.body, result["latency_cycles"])
    for m, memory in enumerate(setup.arch.memories):
        energy = sum(cost.energy_breakdown_pj[f"{memory.name}.{role}"] for role in ROLES)
        recorded = result["energy_pj_per_level"].get(memory.name, 0.0)
        yield _close(f"{name} {memory.name} energy_pj", energy, recorded)
        for short, role in ROLE_NAMES.items():
            access = cost.counts.memories[m][ROLES.index(role)]
            words = result["access_words"].get(memory.name, {}).get(short, {"read": 0, "write": 0})
            yield _close(f"{name} {memory.name} {short} read", access.reads, words["read"])
            yield _close(f"{name} {memory.name} {short} write", access.writes, words["write"])


def read_einsum(name: str, text: str, extents: dict[str, int]) -> Layer:
    """A layer from ``O[p, m] = I[c, H: p * 2 + r] * W[m, c, r]``."""
    operands = {}
    for tensor, indices in re.findall(r"(\w+)\[([^\]]*)\]", text):
        axes = []
        for index in indices.split(","):
            terms = []
            for term in index.split(":")[-1].split("+"):
                factor, _, dim = term.replace(" ", "").rpartition("*")
                if dim.isdigit():
                    factor, dim = dim, factor
                terms.append((dim, int(factor or 1)))
            reach = sum(factor * (extents[dim] - 1) for dim, factor in terms) + 1
            axes.append(Axis(tuple(terms), 0, reach))
        operands[ROLE_NAMES[tensor]] = Operand(ROLE_NAMES[tensor], tuple(axes))
    dims = tuple(extents.items())
    return Layer(name, "einsum", dims, operands["weight"], operands["input"], operands["output"])


def _setup(arch: dict[str, Any]) -> Setup:
    bits = arch["word_bits"]

    def memory(name: str) -> Memory:
        values = arch[name]
        size = values["size_bytes"]
        return Memory(
            name,
            size_bits=None if size is None else 8 * size,
            word_bits=bits,
            read_energy_pj=values["pj_per_word_read"],
            write_energy_pj=values["pj_per_word_write"],
            shared_words_per_cycle=values["words_per_cycle"],
            buffers=(1, 1, 1),
        )

    array = Fanout("array", (("X", arch["array"]["X"]), ("Y", arch["array"]["Y"])), (None, None))
    value = parse_format(f"int{bits}")
    mode = Mode(value, value, value, 1, frozenset(), 1, arch["MAC"]["pj"], "mac")
    compute = Compute("mac", (mode,), (Block("mac", 0.0, 0.0),))
    nodes = (memory("DRAM"), memory("GLB"), array, memory("RF"))
    return Setup(Arch("accelforge", 1e9, nodes, compute), Precision(value, value, value, value), mode)


def _mapping(nest: list[dict[str, Any]], layer: Layer) -> Mapping:
    nodes: list[Keep | Loop] = []
    left = dict(layer.dims)
    for node in nest:
        if "storage" in node:
            nodes += [Keep(node["storage"], ROLE_NAMES[tensor]) for tensor in node["tensors"]]
            continue
        on = f"array.{node['dim']}" if node["loop"] == "spatial" else None
        left[node["rank"]] = int(node["tile"])
        nodes.append(Loop(node["rank"], int(node["tile"]), on))
    nodes += [Loop(dim, 1) for dim, extent in left.items() if extent > 1]
    return Mapping(tuple(nodes))


def _close(name: str, ours: float, reference: float) -> Row:
    error = relative_error(ours, reference)
    ok = error is not None and abs(error) <= TOLERANCE
    return Row(name, ok, ours, reference, error)
