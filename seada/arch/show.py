"""An architecture as text for a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from seada.arch.area import area, leakage
from seada.arch.hardware import Arch, Fanout, Memory, Mode
from seada.workload.layer import ROLES

_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")
_SCALES = ((2**43, "TiB"), (2**33, "GiB"), (2**23, "MiB"), (2**13, "KiB"), (8, "B"))


def describe(arch: Arch) -> str:
    """The hierarchy, PE modes, units, area with its parts, sources and warnings of a chip."""
    sections = [
        f"{arch.name}: {arch.clock_hz / 1e6:g} MHz, {arch.instances(arch.compute.name)} PEs",
        _hierarchy(arch),
        "PE modes\n" + _modes(arch.compute.modes),
        _units(arch),
        _limits(arch),
        "Area and leakage\n" + _area(arch),
        "Sources\n" + _sources(arch),
    ]
    if arch.warnings:
        sections.append("Warnings\n" + "\n".join(f"  {warning}" for warning in arch.warnings))
    sections.append(f"content hash {arch.content_hash}")
    return "\n\n".join(section for section in sections if section)


def format_bits(bits: int | None) -> str:
    """A capacity in the largest unit in which it is a whole number or at least 10.

    >>> format_bits(1048576), format_bits(12), format_bits(None)
    ('128 KiB', '12 bit', 'unlimited')
    """
    if bits is None:
        return "unlimited"
    for scale, unit in _SCALES:
        if bits >= scale and (bits % scale == 0 or bits >= 10 * scale):
            return f"{bits / scale:g} {unit}"
    return f"{bits} bit"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as aligned columns, indented by two; numbers to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  " + "  ".join(_cell(text, width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(text: str, width: int) -> str:
    return text.rjust(width) if _NUMBER.fullmatch(text) else text.ljust(width)


def _hierarchy(arch: Arch) -> str:
    lines = []
    indent = ""
    for node in arch.nodes:
        if isinstance(node, Memory):
            lines += [f"{indent}[{node.name}] {text}" for text in _memory(node)[:1]]
            lines += [f"{indent}   {' ' * len(node.name)}{text}" for text in _memory(node)[1:]]
        else:
            lines += [f"{indent}<{node.name}> {text}" for text in _fanout(node)[:1]]
            lines += [f"{indent}   {' ' * len(node.name)}{text}" for text in _fanout(node)[1:]]
            indent += "    "
    blocks = ", ".join(block.name for block in arch.compute.blocks)
    lines.append(f"{indent}({arch.compute.name}) {len(arch.compute.modes)} modes on {blocks}")
    return "\n".join(lines)


def _memory(memory: Memory) -> list[str]:
    rates = [
        f"{kind} {words:g} words/cycle"
        for kind in ("read", "write", "shared")
        if (words := getattr(memory, f"{kind}_words_per_cycle")) is not None
    ]
    bandwidth = ", ".join(rates) or "unlimited bandwidth"
    buffers = "/".join(map(str, memory.buffers))
    keep = ", ".join(f"{role} {rule}" for role, rule in zip(ROLES, memory.keep, strict=True))
    return [
        f"{format_bits(memory.size_bits)}, word {memory.word_bits} bit, {bandwidth}",
        f"read {memory.read_energy_pj:g} pJ/word, write {memory.write_energy_pj:g} pJ/word",
        f"buffers {buffers} ({'/'.join(ROLES)}); keeps: {keep}; {memory.packing} words"
        f"{'' if memory.accumulates else '; does not accumulate'}",
    ]


def _fanout(fanout: Fanout) -> list[str]:
    axes = " x ".join(f"{name} {size}" for name, size in fanout.axes)
    limits = [
        f"{name}: {', '.join(sorted(dims))}"
        for (name, _), dims in zip(fanout.axes, fanout.dims, strict=True)
        if dims is not None
    ]
    shared = [role for role, flag in zip(ROLES, fanout.multicast, strict=False) if flag]
    rate = fanout.link_bits_per_cycle
    lines = [
        f"{axes} = {fanout.instances} instances, {fanout.topology}, "
        f"{'unlimited bandwidth' if rate is None else f'{rate:g} bit/cycle'}",
        f"multicasts {', '.join(shared) or 'nothing'}; "
        f"{'reduces' if fanout.reduces else 'does not reduce'} sums; "
        f"hop {fanout.hop_energy_pj_per_bit:g} pJ/bit, "
        f"addition {fanout.reduction_energy_pj_per_bit:g} pJ/bit",
    ]
    if limits:
        lines.append(f"dimensions on {'; '.join(limits)}")
    if fanout.ramp is not None:
        lines.append(f"ramp {fanout.ramp.cycles} cycles when the {fanout.ramp.stationary} changes")
    return lines


def _modes(modes: Sequence[Mode]) -> str:
    header = (
        "weight",
        "input",
        "accumulator",
        "lanes",
        "lanes extend",
        "cycles/step",
        "weight bit/cycle",
        "input bit/cycle",
        "pJ/step",
        "pJ/MAC",
        "block",
    )
    rows = [
        (
            mode.weight.name,
            mode.input.name,
            mode.accumulator.name,
            str(mode.lanes),
            ", ".join(sorted(mode.lane_dims)) or "-",
            str(mode.cycles_per_step),
            f"{mode.weight_bits_per_cycle:g}",
            f"{mode.input_bits_per_cycle:g}",
            f"{mode.energy_pj_per_step:.4g}",
            f"{mode.energy_pj_per_step / mode.lanes:.4g}",
            mode.block,
        )
        for mode in modes
    ]
    return table(header, rows)


def _units(arch: Arch) -> str:
    lines = []
    if (vector := arch.vector_unit) is not None:
        lines.append(
            f"{vector.name}: {vector.lanes} operations/cycle, {vector.energy_pj_per_op:g} pJ/op, fed from "
            f"{vector.memory}"
        )
    if (unit := arch.float_unit) is not None:
        rows = zip(unit.formats, unit.macs_per_cycle, unit.energy_pj_per_mac, strict=True)
        formats = "; ".join(f"{name} {rate:g} MACs/cycle, {energy:g} pJ/MAC" for name, rate, energy in rows)
        lines.append(f"{unit.name} (closed form): {formats}; through {', '.join(unit.path)}")
    return "\n".join(lines)


def _limits(arch: Arch) -> str:
    lines = []
    if arch.constraints.dataflow:
        lines.append(f"dataflow: {arch.constraints.dataflow} stationary")
    lines += [f"fixed: {dim} on {axis}, {trips} trips" for axis, dim, trips in arch.constraints.spatial]
    if arch.prefetch_weights:
        lines.append("the next layer's weights are prefetched")
    if arch.resident:
        lines.append(f"tensors between layers rest in {arch.resident} where they fit")
    return "\n".join(lines)


def _area(arch: Arch) -> str:
    areas, powers = area(arch), leakage(arch)
    total = areas["total"] or 1.0
    rows = [
        (name, f"{um2:.0f}", f"{100 * um2 / total:.1f}", f"{1e3 * powers.get(name, 0.0):.4g}")
        for name, um2 in areas.items()
    ]
    return table(("part", "um2", "%", "leakage mW"), rows)


def _sources(arch: Arch) -> str:
    rows = [
        (
            source.path,
            source.value,
            source.status,
            "" if source.node_nm is None else f"{source.node_nm} nm",
            source.boundary or "-",
            source.source or "(none)",
        )
        for source in arch.sources
    ]
    return table(("number", "value", "status", "node", "boundary", "source"), rows)
