"""Figures with one bar or column per layer."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from seada.report import palette, text
from seada.report.figure_base import (
    MAX_ROWS,
    canvas,
    end_labels,
    format_handles,
    latency_parts,
    layer_axes,
    legend_below,
    shortened,
    shown_rows,
    stacked,
)
from seada.system.result import RunResult


def energy_per_layer(result: RunResult) -> Figure | None:
    """Energy of each row by memory level and operand."""
    rows = shown_rows(result)
    if not rows:
        return None
    memories = [str(memory["name"]) for memory in result.chip.memories]
    parts = [palette.grouped(row.energy_breakdown_pj, memories) for row in rows]
    present = palette.grouped(
        dict.fromkeys((k for row in rows for k in row.energy_breakdown_pj), 0.0), memories
    )
    used = [part for part in present if any(item.get(part, 0.0) > 0 for item in parts)]
    scale, prefix = text.scale_of(max(row.energy_pj for row in rows) * 1e-12)
    figure, axes = layer_axes(rows, 1.6)
    stacked(axes, rows, parts, {part: part.colour for part in used}, scale * 1e12)
    ends = [row.energy_pj * 1e-12 / scale for row in rows]
    total = result.total.energy_pj
    end_labels(axes, ends, [f"{100 * row.energy_pj / total:.1f} %" if total else "" for row in rows])
    axes.set_xlabel(f"energy per inference, {prefix}J (label: share of the network)")
    legend_below(figure, [Patch(color=part.colour, label=part.label) for part in used], 6)
    return figure


def latency_per_layer(result: RunResult) -> Figure | None:
    """Latency of each row by cause, and the resource that binds it."""
    rows = shown_rows(result)
    if not rows:
        return None
    parts = [latency_parts(row) for row in rows]
    used = [name for name in palette.LATENCY_COLOURS if any(name in part for part in parts)]
    clock = result.chip.clock_hz
    scale, prefix = text.scale_of(max(row.latency_cycles for row in rows) / clock)
    figure, axes = layer_axes(rows)
    stacked(axes, rows, parts, {name: palette.LATENCY_COLOURS[name] for name in used}, scale * clock)
    ends = [row.latency_cycles / clock / scale for row in rows]
    end_labels(axes, ends, [text.resource(row.bound_by) if row.latency_cycles else "hidden" for row in rows])
    axes.set_xlabel(f"latency, {prefix}s at {text.si(clock, 'Hz')} (label: resource that binds)")
    legend_below(figure, [Patch(color=palette.LATENCY_COLOURS[name], label=name) for name in used])
    return figure


def utilization_per_layer(result: RunResult) -> Figure | None:
    """Share of the peak rate at the layer's own precision that its MACs reach."""
    rows = [row for row in shown_rows(result) if row.macs and row.utilization is not None]
    if not rows:
        return None
    figure, axes = layer_axes(rows)
    values = [100 * (row.utilization or 0.0) for row in rows]
    colours = [palette.format_colour(row.precision.get("input", "")) for row in rows]
    axes.barh(range(len(rows)), values, height=0.72, color=colours)
    axes.set_xlim(0, 112)
    for position, value in enumerate(values):
        axes.text(value + 0.8, position, f"{value:.0f} %", va="center", fontsize=7.5, color=palette.MUTED)
    axes.axvline(100, color=palette.MUTED, linewidth=0.8)
    axes.set_xlabel("utilisation, % of the peak MAC rate at the layer's precision")
    legend_below(figure, format_handles(row.precision.get("input", "") for row in rows))
    return figure


def precision_per_layer(result: RunResult) -> Figure | None:
    """A strip of formats: one column per MAC layer, one line per operand."""
    rows = [row for row in result.layers if row.macs]
    if not rows:
        return None
    operands = ("weight", "input", "output", "accumulator")
    named = len(rows) <= MAX_ROWS
    figure = canvas(3.3 if named else 2.0)
    axes = figure.add_subplot()
    for column, row in enumerate(rows):
        for line, operand in enumerate(operands):
            name = row.precision.get(operand, "")
            colour = palette.format_colour(name)
            axes.bar(column, 0.9, 0.94, bottom=line - 0.45, color=colour, linewidth=0)
            if len(rows) <= 24:
                axes.text(
                    column,
                    line,
                    name,
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=palette.readable_on(colour),
                )
    axes.set_yticks(range(len(operands)), operands)
    axes.set_ylim(len(operands) - 0.5, -0.5)
    axes.set_xlim(-0.5, max(len(rows), 8) - 0.5)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)
    if named:
        size = 7.5 if len(rows) <= 30 else 6
        axes.set_xticks(
            range(len(rows)), [shortened(row.name) for row in rows], rotation=55, ha="right", fontsize=size
        )
        axes.tick_params(axis="x", labelcolor=palette.INK)
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
    else:
        axes.set_xlabel("MAC layer, in execution order")
    legend_below(figure, format_handles(row.precision.get(o, "") for row in rows for o in operands))
    return figure
