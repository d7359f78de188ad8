"""What all figures share: settings, canvas, bars, labels and the rows that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from seada.report import palette
from seada.system.result import ARRAY, CONVERSION, VECTOR, LayerRow, RunResult

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.edgecolor": palette.GRID,
    "axes.labelcolor": palette.MUTED,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": palette.INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": palette.MUTED,
    "ytick.color": palette.INK,
    "ytick.left": False,
    "grid.color": palette.GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "path",
    "svg.hashsalt": "seada",
    "figure.facecolor": palette.PAPER,
}
WIDTH_IN = 11.5
HALF_WIDTH_IN = 5.7
ROW_IN = 0.225
MAX_ROWS = 70
MAX_NAME = 34


def styled() -> AbstractContextManager[None]:
    """Matplotlib's settings while a figure is drawn or saved."""
    return rc_context(STYLE)  # type: ignore[arg-type]


def canvas(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME // 2 - 1] + "…" + name[-MAX_NAME // 2 :]


def legend_below(figure: Figure, handles: Sequence[Any], columns: int = 8) -> None:
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=min(columns, len(handles)),
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.4,
    )


def stacked(
    axes: Axes,
    rows: Sequence[LayerRow],
    parts: Sequence[Mapping[Any, float]],
    colours: Mapping[Any, str],
    scale: float,
) -> None:
    left = [0.0] * len(rows)
    for key, colour in colours.items():
        widths = [part.get(key, 0.0) / scale for part in parts]
        axes.barh(range(len(rows)), widths, left=left, height=0.72, color=colour, linewidth=0)
        left = [start + width for start, width in zip(left, widths, strict=True)]


def end_labels(axes: Axes, ends: Sequence[float], labels: Sequence[str]) -> None:
    widest = max(ends, default=0.0) or 1.0
    axes.set_xlim(0, widest * 1.18)
    for position, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axes.text(
            end + widest * 0.008, position, label, va="center", ha="left", fontsize=7.5, color=palette.MUTED
        )


def bars_figure(
    names: Sequence[str],
    bars: Sequence[Sequence[tuple[float, str]]],
    labels: Sequence[str],
    extra_in: float = 0.9,
) -> tuple[Figure, Axes]:
    """A half-width figure of labelled horizontal bars, each a stack of (width, colour)."""
    figure = canvas(0.32 * len(names) + extra_in, HALF_WIDTH_IN)
    axes = figure.add_subplot()
    ends = []
    for position, pieces in enumerate(bars):
        left = 0.0
        for width, colour in pieces:
            axes.barh(position, width, left=left, height=0.68, color=colour, linewidth=0)
            left += width
        ends.append(left)
    end_labels(axes, ends, labels)
    axes.set_xlim(0, max(ends) * 1.42)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    return figure, axes


def format_handles(names: Any) -> list[Patch]:
    distinct = sorted(set(names) - {""}, key=lambda name: (palette.bits_of(name), name))
    return [Patch(color=palette.format_colour(name), label=name) for name in distinct]


def shown_rows(result: RunResult) -> list[LayerRow]:
    """The rows of per-layer figures: all that cost something; small ones summed where there are too many."""
    rows = [row for row in result.layers if row.energy_pj > 0 or row.latency_cycles > 0]
    if len(rows) <= MAX_ROWS:
        return rows
    layers = [row for row in rows if row.macs]
    others = [row for row in rows if not row.macs]
    shown = layers
    if len(layers) > MAX_ROWS - 1:
        largest = sorted(layers, key=lambda row: -row.energy_pj)[: MAX_ROWS - 2]
        kept = {row.name for row in largest}
        shown = [row for row in layers if row.name in kept]
        rest = [row for row in layers if row.name not in kept]
        shown.append(_summed(rest, f"{len(rest)} smaller layers", ARRAY))
    if others:
        shown.append(_summed(others, f"{len(others)} vector operators", VECTOR))
    return shown


def _summed(rows: Sequence[LayerRow], name: str, unit: str) -> LayerRow:
    energy: dict[str, float] = {}
    cycles: dict[str, float] = {}
    for row in rows:
        for key, value in row.energy_breakdown_pj.items():
            energy[key] = energy.get(key, 0.0) + value
        for key, value in latency_parts(row).items():
            cycles[key] = cycles.get(key, 0.0) + value
    return replace(
        rows[0],
        name=name,
        type="",
        unit=unit,
        macs=sum(row.macs for row in rows),
        latency_cycles=sum(row.latency_cycles for row in rows),
        energy_pj=sum(row.energy_pj for row in rows),
        utilization=None,
        energy_breakdown_pj=energy,
        latency_breakdown_cycles={key.replace(" ", "_"): value for key, value in cycles.items()},
        bound_by="",
        precision={},
    )


def latency_parts(row: LayerRow) -> dict[str, float]:
    """Cycles of a row by cause, as coloured in `palette.LATENCY_COLOURS`; they add up to its latency."""
    if row.unit == VECTOR:
        return {"vector": float(row.latency_cycles)}
    if row.unit == CONVERSION:
        return {"conversion": float(row.latency_cycles)}
    known = ("compute", "stall", "first_fill", "last_drain", "ramp", "vector")
    parts = {key.replace("_", " "): row.latency_breakdown_cycles.get(key, 0.0) for key in known}
    return {key: value for key, value in parts.items() if value > 0}


def layer_axes(rows: Sequence[LayerRow], extra_in: float = 1.35) -> tuple[Figure, Axes]:
    """A figure with one horizontal bar per row, first row on top."""
    figure = canvas(ROW_IN * len(rows) + extra_in)
    axes = figure.add_subplot()
    axes.set_yticks(range(len(rows)), [shortened(row.name) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(palette.INK if row.macs else palette.MUTED)
        label.set_fontsize(8.5)
    return figure, axes
