"""One problem as plain data that drivers of other tools read, and their mappings as ours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seada.arch.hardware import Arch, Fanout, Memory, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES, Layer

Json = dict[str, Any]
REUSED_BY_AXIS = ("input", "output")
"""Weight-stationary array: the operand whose elements the first (second) axis shares."""


def single_buffered(arch: Arch) -> Arch:
    """The chip with one buffer per operand, as the other tools count capacity."""
    return _with_memories(arch, buffers=(1, 1, 1))


def weight_stationary(arch: Arch, layer: Layer) -> Arch:
    """The chip whose innermost memory keeps weights only, the next one inputs and outputs at least.

    The first axis takes loops that reuse inputs, the second those that reuse outputs.
    """
    names = [memory.name for memory in arch.memories]
    keeps = {names[-1]: ("must", "never", "never"), names[-2]: ("may", "must", "must")}
    nodes: list[Memory | Fanout] = []
    for node in arch.nodes:
        if isinstance(node, Fanout):
            free = tuple(frozenset(layer.extents) - layer.operand(role).dims for role in REUSED_BY_AXIS)
            nodes.append(replace(node, dims=free))
        else:
            nodes.append(replace(node, keep=keeps.get(node.name, node.keep)))
    return replace(arch, nodes=tuple(nodes))


def plain_arch(setup: Setup) -> Json:
    """Memories and the array, with what their energies and ports are.

    An axis that is limited to the dimensions which one operand lacks says so by `reuse`.
    """
    nodes: list[Json] = []
    for node in setup.arch.nodes:
        if isinstance(node, Fanout):
            axes = [
                {"name": name, "size": size, "reuse": reuse if dims is not None else None}
                for (name, size), dims, reuse in zip(node.axes, node.dims, REUSED_BY_AXIS, strict=True)
            ]
            nodes.append({"name": node.name, "axes": axes})
            continue
        nodes.append(
            {
                "name": node.name,
                "size_bits": node.size_bits,
                "word_bits": node.word_bits,
                "read_energy_pj": node.read_energy_pj,
                "write_energy_pj": node.write_energy_pj,
                "words_per_cycle": node.shared_words_per_cycle,
                "keep": dict(zip(ROLES, node.keep, strict=True)),
            }
        )
    outermost = nodes[0]
    outermost["keep"] = dict.fromkeys(ROLES, "must")
    return {
        "clock_hz": setup.arch.clock_hz,
        "value_bits": setup.precision.output.bits,
        "mac_energy_pj": setup.mode.energy_pj_per_step,
        "nodes": nodes,
    }


def plain_layer(layer: Layer) -> Json:
    """Extents above 1, and per operand the axes as lists of (dimension, coefficient)."""
    dims = {name: extent for name, extent in layer.dims if extent > 1}
    operands = {}
    for operand in layer.operands:
        axes = [[term for term in axis.terms if term[0] in dims] for axis in operand.axes]
        operands[operand.role] = [axis for axis in axes if axis]
    return {"dims": dims, "operands": operands}


def plain_mapping(mapping: Mapping, layer: Layer) -> list[Json]:
    """Keeps and loops, outermost first; loops of one trip are left out."""
    left = layer.extents.copy()
    nodes: list[Json] = []
    for node in mapping.nodes:
        if isinstance(node, Keep):
            nodes.append({"keep": node.memory, "operand": node.operand})
        elif node.step < left[node.dim]:
            left[node.dim] = node.step
            axis = node.on.split(".")[1] if node.on else None
            nodes.append({"dim": node.dim, "step": node.step, "axis": axis})
    return nodes


def read_mapping(nodes: list[Json], layer: Layer, fanout: str) -> Mapping:
    """The nest that a driver answered with, completed by loops over what it left out."""
    left = layer.extents.copy()
    result: list[Keep | Loop] = []
    for node in nodes:
        if "keep" in node:
            result.append(Keep(node["keep"], node["operand"]))
            continue
        left[node["dim"]] = node["step"]
        on = f"{fanout}.{node['axis']}" if node["axis"] else None
        result.append(Loop(node["dim"], node["step"], on))
    result += [Loop(dim, 1) for dim, extent in left.items() if extent > 1]
    return Mapping(tuple(result))


def _with_memories(arch: Arch, **changes: Any) -> Arch:
    nodes = tuple(replace(node, **changes) if isinstance(node, Memory) else node for node in arch.nodes)
    return replace(arch, nodes=nodes)
