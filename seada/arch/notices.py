"""What is legal in an architecture but odd, mixed or missing, as warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seada.arch import config as cfg
from seada.arch.hardware import Arch, Memory, Mode
from seada.arch.provenance import Ledger
from seada.workload.layer import ROLES

MAX_SHOWN = 6
_PART = re.compile(r"^((?:memories|fanouts)\.[^.]+|compute\.blocks\.[^.]+|compute\.[a-z]+\[\d+\]|[^.]+)\.")
"""The part of the chip that the path of a number names."""
_COST = re.compile(r"energy|leakage|area")


def find_warnings(config: cfg.ArchConfig, arch: Arch, ledger: Ledger) -> tuple[str, ...]:
    """What is legal but odd, and what is missing."""
    return (
        *_provenance_warnings(ledger),
        *_node_warnings(ledger),
        *_table_warnings(config),
        *_port_warnings(config, arch),
        *(warning for memory in arch.memories for warning in _memory_warnings(memory, arch)),
        *(warning for mode in arch.compute.modes for warning in _feed_warnings(mode, arch)),
        *_use_warnings(arch),
    )


def _shortened(paths: list[str]) -> str:
    """The first paths; all of them are among the sources of the architecture."""
    more = len(paths) - MAX_SHOWN
    return ", ".join(paths[:MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _distinct(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _provenance_warnings(ledger: Ledger) -> Iterator[str]:
    if ledger.unsourced:
        yield (
            f"{len(ledger.unsourced)} numbers have no source and status and count as unverified: "
            f"{_shortened(ledger.unsourced)}"
        )
    if ledger.unmodelled:
        yield f"not modelled, counted as zero: {_shortened(ledger.unmodelled)}"


def _node_warnings(ledger: Ledger) -> Iterator[str]:
    """Parts whose energies, leakage or area belong to different nodes; sizes and bandwidths have none."""
    parts: dict[int, list[str]] = {}
    for source in ledger.sources:
        part, _, rest = _PART.sub(r"\1 ", source.path).partition(" ")
        if source.node_nm is not None and source.value != cfg.FREE and _COST.search(rest):
            parts.setdefault(source.node_nm, []).append(part)
    if len(parts) > 1:
        mixed = ", ".join(f"{node} nm ({_shortened(_distinct(parts[node]))})" for node in sorted(parts))
        yield f"numbers of different technology nodes are mixed without scaling: {mixed}"


def _table_warnings(config: cfg.ArchConfig) -> Iterator[str]:
    """Tables of arithmetic, and methods of scaling, disagree by factors, so that two do not go together."""
    tables: dict[str, list[str]] = {}
    for index, preset in enumerate(config.compute.presets):
        if preset.technology is not None:
            tables.setdefault(preset.technology, []).append(f"compute.presets[{index}]")
    if len(tables) > 1:
        mixed = ", ".join(f"{name} ({_shortened(parts)})" for name, parts in sorted(tables.items()))
        yield f"figures of different tables of arithmetic are mixed, which disagree by factors: {mixed}"
    chosen = [memory.technology for memory in config.memories.values() if memory.technology]
    methods = sorted({choice.scaling for choice in chosen if choice.scaling})
    if len(methods) > 1:
        yield f"figures scaled by different methods are mixed: {', '.join(methods)}"


def _port_warnings(config: cfg.ArchConfig, arch: Arch) -> Iterator[str]:
    """Bandwidth that the stated ports of one word each cannot give."""
    for memory in arch.memories:
        ports = config.memories[memory.name].ports
        for port in ("read", "write", "shared") if ports else ():
            words = getattr(memory, f"{port}_words_per_cycle")
            count = getattr(ports, port)
            if words is not None and count is not None and words > count:
                yield (
                    f"memories.{memory.name}.bandwidth.{port}: {words:g} words/cycle exceed {count} ports of "
                    f"{memory.word_bits} bit"
                )


def _memory_warnings(memory: Memory, arch: Arch) -> Iterator[str]:
    """Sizes and widths that do not go together."""
    if memory.size_bits is None:
        return
    if memory.size_bits % memory.word_bits:
        left = memory.size_bits % memory.word_bits
        yield f"memories.{memory.name}.size: the last {left} bit make no word of {memory.word_bits} bit"
    for role, rule in zip(ROLES, memory.keep, strict=True):
        wide = sorted(
            {_width(mode, role) for mode in arch.compute.modes if _width(mode, role) > memory.size_bits}
        )
        if rule != "never" and wide:
            widths = ", ".join(map(str, wide))
            yield f"memories.{memory.name}.size: too small for {role} elements of {widths} bit"


def _width(mode: Mode, role: str) -> int:
    if role == "output":
        return mode.accumulator.bits
    return mode.weight.bits if role == "weight" else mode.input.bits


def _feed_warnings(mode: Mode, arch: Arch) -> Iterator[str]:
    """Operands that no memory gives to one PE at the rate of the mode, even if all others share each read."""
    for role, needed in (("weight", mode.weight_bits_per_cycle), ("input", mode.input_bits_per_cycle)):
        rates = [_read_bits_per_cycle(m) for m in arch.memories if m.keep[ROLES.index(role)] != "never"]
        if mode.lane_dims and max(rates) < needed:
            yield (
                f"mode {mode.weight} x {mode.input}: no memory can feed a PE {needed:g} bit of {role} per "
                f"cycle (at most {max(rates):g}); its lanes run full only where they share {role}s"
            )


def _read_bits_per_cycle(memory: Memory) -> float:
    limits = [memory.read_words_per_cycle, memory.shared_words_per_cycle]
    return min((words * memory.word_bits for words in limits if words is not None), default=float("inf"))


def _use_warnings(arch: Arch) -> Iterator[str]:
    """Parts that nothing can use."""
    used = {mode.block for mode in arch.compute.modes}
    for block in arch.compute.blocks:
        if block.name not in used:
            yield f"compute.blocks.{block.name}: no mode uses this block; its area and leakage still count"
    if not any(memory.accumulates and memory.keep[2] != "never" for memory in arch.memories):
        yield "no memory that keeps outputs accumulates: sums that are not reduced on the way cannot be added"
