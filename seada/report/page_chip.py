"""The sections about the chip: memories, modes, and where its numbers come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from seada.report import text
from seada.report.html_parts import format_badge, format_order
from seada.system.result import RunResult

_STATUSES = ("published", "derived", "unverified", "placeholder")
MAX_OPEN_SOURCES = 12


def chip_panel(result: RunResult) -> str:
    """Memories and modes of the chip."""
    rows = "".join(_memory_row(memory) for memory in result.chip.memories)
    return (
        f'<div class="panel"><h3>The chip: {escape(result.chip.name)}</h3><div class="columns"><div>'
        '<p class="caption">Memories from the outside in; figures per instance.</p>'
        '<div class="scroll"><table><tr><th>memory</th><th class="n">instances</th>'
        '<th class="n">capacity</th><th class="n">word<br>bit</th>'
        '<th class="n">read / write<br>words/cycle</th><th class="n">read / write<br>pJ/bit</th></tr>'
        f"{rows}</table></div></div><div>"
        '<p class="caption">Modes of the array: peak MACs per cycle, and pJ per MAC.</p>'
        f"{_modes(result)}</div></div></div>"
    )


def _memory_row(memory: Mapping[str, Any]) -> str:
    word = memory["word_bits"]
    read, write = memory["read_energy_pj_per_word"] / word, memory["write_energy_pj_per_word"] / word
    cells = (
        text.count(memory["instances"]),
        _capacity(memory),
        text.count(word),
        _rate(memory),
        f"{text.significant(read)} / {text.significant(write)}",
    )
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    return f"<tr><td>{escape(str(memory['name']))}</td>{numbers}</tr>"


def _modes(result: RunResult) -> str:
    """A matrix of the array's modes: weight formats down, input formats across; equal columns share one."""
    modes = {(mode["weight"], mode["input"]): mode for mode in result.chip.modes}
    weights = sorted({weight for weight, _ in modes}, key=format_order)
    columns: dict[str, list[str]] = {}
    for name in sorted({activation for _, activation in modes}, key=format_order):
        cells = "\n".join(_mode_cell(modes.get((weight, name)), result) for weight in weights)
        columns.setdefault(cells, []).append(name)
    head = "".join(f"<th>{' '.join(format_badge(name) for name in names)}</th>" for names in columns.values())
    split = [cells.split("\n") for cells in columns]
    lines = "".join(
        f"<tr><th>{format_badge(weight)}</th>{''.join(cells[line] for cells in split)}</tr>"
        for line, weight in enumerate(weights)
    )
    corner = "<th>weight&nbsp;\\&nbsp;input</th>"
    return f'<div class="scroll"><table class="matrix"><tr>{corner}{head}</tr>{lines}</table></div>'


def _mode_cell(mode: Mapping[str, Any] | None, result: RunResult) -> str:
    if mode is None:
        return "<td></td>"
    peak = result.chip.pes * mode["lanes"] / mode["cycles_per_step"]
    hint = (
        f"{mode['lanes']} lanes, {mode['cycles_per_step']} cycles per step, "
        f"accumulates in {mode['accumulator']}, block {mode['block']}"
    )
    return (
        f'<td title="{escape(hint, quote=True)}">{text.significant(peak)}'
        f"<small>{text.significant(mode['energy_pj_per_mac'])} pJ</small></td>"
    )


def _capacity(memory: Mapping[str, Any]) -> str:
    return "unlimited" if memory["size_bits"] is None else text.data_size(memory["size_bits"] // 8)


def _rate(memory: Mapping[str, Any]) -> str:
    def one(value: float | None) -> str:
        return "∞" if value is None else text.significant(value)

    shared = memory["shared_words_per_cycle"]
    if shared is not None:
        return f"{one(shared)} shared"
    return f"{one(memory['read_words_per_cycle'])} / {one(memory['write_words_per_cycle'])}"


def sources_section(result: RunResult) -> str:
    """Every coefficient with its source, the least trusted first."""
    sources = result.chip.sources
    if not sources:
        return ""
    statuses = Counter(str(source["status"]) for source in sources)
    summary = " ".join(
        f'<span class="badge {status}">{statuses[status]} {status}</span>'
        for status in _STATUSES
        if statuses[status]
    )
    order = {status: rank for rank, status in enumerate(reversed(_STATUSES))}
    rows = "".join(
        f"<tr><td><code>{escape(str(source['path']))}</code></td><td>{escape(str(source['value']))}</td>"
        f'<td><span class="badge {escape(str(source["status"]))}">{escape(str(source["status"]))}</span></td>'
        f"<td>{escape(_node(source))}</td><td>{escape(str(source['source']))}</td></tr>"
        for source in sorted(
            sources, key=lambda item: (order.get(str(item["status"]), -1), str(item["path"]))
        )
    )
    table = (
        '<div class="scroll"><table><tr><th>coefficient</th><th>value</th><th>status</th>'
        f"<th>node, boundary</th><th>source</th></tr>{rows}</table></div>"
    )
    if len(sources) > MAX_OPEN_SOURCES:
        summary_line = f"<summary>All {len(sources)} coefficients</summary>"
        table = f'<details class="more-details">{summary_line}{table}</details>'
    return (
        '<h2>Where the numbers come from</h2><div class="panel">'
        f'<p class="caption">{summary}</p>{table}</div>'
    )


def _node(source: Mapping[str, Any]) -> str:
    parts = [f"{source['node_nm']} nm" if source.get("node_nm") else "", source.get("boundary") or ""]
    return ", ".join(str(part) for part in parts if part)
