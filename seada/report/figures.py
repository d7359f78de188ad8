"""Figures of a network's result: matplotlib on the Agg canvas, no global state.

Each function takes a `RunResult` and gives a figure, or None where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from seada.report import palette, text
from seada.system.result import ARRAY, CONVERSION, FLOAT, VECTOR, LayerRow, RunResult

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
SHADE_BASE = "#44505c"


def styled() -> AbstractContextManager[None]:
    """Matplotlib's settings while a figure is drawn or saved."""
    return rc_context(STYLE)  # type: ignore[arg-type]


Draw = Callable[[RunResult], Figure | None]


@dataclass(frozen=True)
class Named:
    """A figure with its file name, a caption and what a screen reader says."""

    name: str
    title: str
    caption: str
    draw: Draw


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
        for key, value in _latency_parts(row).items():
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


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME // 2 - 1] + "…" + name[-MAX_NAME // 2 :]


def _canvas(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _layer_axes(rows: Sequence[LayerRow], extra_in: float = 1.35) -> tuple[Figure, Axes]:
    """A figure with one horizontal bar per row, first row on top."""
    figure = _canvas(ROW_IN * len(rows) + extra_in)
    axes = figure.add_subplot()
    axes.set_yticks(range(len(rows)), [_shortened(row.name) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(palette.INK if row.macs else palette.MUTED)
        label.set_fontsize(8.5)
    return figure, axes


def _legend_below(figure: Figure, handles: Sequence[Any], columns: int = 8) -> None:
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=min(columns, len(handles)),
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.4,
    )


def _stacked(
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


def _end_labels(axes: Axes, ends: Sequence[float], labels: Sequence[str]) -> None:
    widest = max(ends, default=0.0) or 1.0
    axes.set_xlim(0, widest * 1.18)
    for position, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axes.text(
            end + widest * 0.008, position, label, va="center", ha="left", fontsize=7.5, color=palette.MUTED
        )


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
    figure, axes = _layer_axes(rows, 1.6)
    _stacked(axes, rows, parts, {part: part.colour for part in used}, scale * 1e12)
    ends = [row.energy_pj * 1e-12 / scale for row in rows]
    total = result.total.energy_pj
    _end_labels(axes, ends, [f"{100 * row.energy_pj / total:.1f} %" if total else "" for row in rows])
    axes.set_xlabel(f"energy per inference, {prefix}J (label: share of the network)")
    _legend_below(figure, [Patch(color=part.colour, label=part.label) for part in used], 6)
    return figure


def _latency_parts(row: LayerRow) -> dict[str, float]:
    """Cycles of a row by cause, as coloured in `palette.LATENCY_COLOURS`; they add up to its latency."""
    if row.unit == VECTOR:
        return {"vector": float(row.latency_cycles)}
    if row.unit == CONVERSION:
        return {"conversion": float(row.latency_cycles)}
    known = ("compute", "stall", "first_fill", "last_drain", "ramp", "vector")
    parts = {key.replace("_", " "): row.latency_breakdown_cycles.get(key, 0.0) for key in known}
    return {key: value for key, value in parts.items() if value > 0}


def latency_per_layer(result: RunResult) -> Figure | None:
    """Latency of each row by cause, and the resource that binds it."""
    rows = shown_rows(result)
    if not rows:
        return None
    parts = [_latency_parts(row) for row in rows]
    used = [name for name in palette.LATENCY_COLOURS if any(name in part for part in parts)]
    clock = result.chip.clock_hz
    scale, prefix = text.scale_of(max(row.latency_cycles for row in rows) / clock)
    figure, axes = _layer_axes(rows)
    _stacked(axes, rows, parts, {name: palette.LATENCY_COLOURS[name] for name in used}, scale * clock)
    ends = [row.latency_cycles / clock / scale for row in rows]
    _end_labels(axes, ends, [text.resource(row.bound_by) if row.latency_cycles else "hidden" for row in rows])
    axes.set_xlabel(f"latency, {prefix}s at {text.si(clock, 'Hz')} (label: resource that binds)")
    _legend_below(figure, [Patch(color=palette.LATENCY_COLOURS[name], label=name) for name in used])
    return figure


def latency_by_resource(result: RunResult) -> Figure | None:
    """How much of the network's time each resource binds."""
    times: dict[str, int] = {}
    for row in result.layers:
        if row.latency_cycles:
            name = text.resource(row.bound_by) or "unknown"
            times[name] = times.get(name, 0) + row.latency_cycles
    if not times:
        return None
    ordered = sorted(times.items(), key=lambda item: -item[1])
    clock, total = result.chip.clock_hz, result.total.latency_cycles
    scale, prefix = text.scale_of(ordered[0][1] / clock)
    values = [cycles / clock / scale for _, cycles in ordered]
    labels = [
        f"{text.significant(value)} {prefix}s · {100 * cycles / total:.1f} %"
        for value, (_, cycles) in zip(values, ordered, strict=True)
    ]
    figure, axes = _bars(
        [name for name, _ in ordered],
        [[(value, _resource_colour(result, name))] for value, (name, _) in zip(values, ordered, strict=True)],
        labels,
    )
    axes.set_xlabel(f"latency of the layers that it binds, {prefix}s")
    return figure


def _resource_colour(result: RunResult, name: str) -> str:
    memories = [str(memory["name"]) for memory in result.chip.memories]
    first = name.split()[0]
    if first in memories:
        return palette.memory_colour(first, memories)
    return {"compute": "#3b3f46", "vector": palette.LATENCY_COLOURS["vector"]}.get(first, palette.MUTED)


def _bars(
    names: Sequence[str],
    bars: Sequence[Sequence[tuple[float, str]]],
    labels: Sequence[str],
    extra_in: float = 0.9,
) -> tuple[Figure, Axes]:
    """A half-width figure of labelled horizontal bars, each a stack of (width, colour)."""
    figure = _canvas(0.32 * len(names) + extra_in, HALF_WIDTH_IN)
    axes = figure.add_subplot()
    ends = []
    for position, pieces in enumerate(bars):
        left = 0.0
        for width, colour in pieces:
            axes.barh(position, width, left=left, height=0.68, color=colour, linewidth=0)
            left += width
        ends.append(left)
    _end_labels(axes, ends, labels)
    axes.set_xlim(0, max(ends) * 1.42)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    return figure, axes


def utilization_per_layer(result: RunResult) -> Figure | None:
    """Share of the peak rate at the layer's own precision that its MACs reach."""
    rows = [row for row in shown_rows(result) if row.macs and row.utilization is not None]
    if not rows:
        return None
    figure, axes = _layer_axes(rows)
    values = [100 * (row.utilization or 0.0) for row in rows]
    colours = [palette.format_colour(row.precision.get("input", "")) for row in rows]
    axes.barh(range(len(rows)), values, height=0.72, color=colours)
    axes.set_xlim(0, 112)
    for position, value in enumerate(values):
        axes.text(value + 0.8, position, f"{value:.0f} %", va="center", fontsize=7.5, color=palette.MUTED)
    axes.axvline(100, color=palette.MUTED, linewidth=0.8)
    axes.set_xlabel("utilisation, % of the peak MAC rate at the layer's precision")
    _legend_below(figure, _format_handles(row.precision.get("input", "") for row in rows))
    return figure


def _format_handles(names: Any) -> list[Patch]:
    distinct = sorted(set(names) - {""}, key=lambda name: (palette.bits_of(name), name))
    return [Patch(color=palette.format_colour(name), label=name) for name in distinct]


def precision_per_layer(result: RunResult) -> Figure | None:
    """A strip of formats: one column per MAC layer, one line per operand."""
    rows = [row for row in result.layers if row.macs]
    if not rows:
        return None
    operands = ("weight", "input", "output", "accumulator")
    named = len(rows) <= MAX_ROWS
    figure = _canvas(3.3 if named else 2.0)
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
            range(len(rows)), [_shortened(row.name) for row in rows], rotation=55, ha="right", fontsize=size
        )
        axes.tick_params(axis="x", labelcolor=palette.INK)
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
    else:
        axes.set_xlabel("MAC layer, in execution order")
    _legend_below(figure, _format_handles(row.precision.get(o, "") for row in rows for o in operands))
    return figure


def roofline(result: RunResult) -> Figure | None:
    """Reached MAC rate of each layer against what compute and the outermost memory allow."""
    rows = [row for row in result.layers if row.macs and row.outer_bits and row.latency_cycles]
    if not rows:
        return None
    figure = _canvas(4.0, HALF_WIDTH_IN)
    axes = figure.add_subplot()
    intensity = [8 * row.macs / row.outer_bits for row in rows]
    rate = [row.macs / row.latency_cycles for row in rows]
    ceilings = _ceilings(result, rows)
    low, high = min(intensity) / 2.5, max(intensity) * 6
    bandwidth = result.chip.outer_bits_per_cycle
    top = max([*ceilings.values(), *rate])
    if bandwidth is not None:
        knee = 8 * top / bandwidth
        high = max(high, 14 * knee)
        axes.plot([low, knee], [low * bandwidth / 8, top], color=palette.INK, linewidth=1.2)
        axes.annotate(
            f"{result.chip.memories[0]['name']}: {text.significant(bandwidth / 8)} B/cycle",
            (low * 1.15, low * 1.15 * bandwidth / 8),
            xytext=(0, 9),
            textcoords="offset points",
            fontsize=8,
            color=palette.INK,
        )
    for name, peak in ceilings.items():
        start = 8 * peak / bandwidth if bandwidth is not None else low
        axes.plot([start, high], [peak, peak], color=palette.MUTED, linewidth=1.0)
        axes.annotate(
            f"{name}: {text.significant(peak)} MAC/cycle",
            (high, peak),
            xytext=(-2, 3),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=palette.MUTED,
        )
    for row, x, y in zip(rows, intensity, rate, strict=True):
        colour = palette.format_colour(row.precision.get("input", ""))
        axes.scatter(x, y, s=34, color=colour, edgecolor="white", linewidth=0.7, zorder=3)
    _label_outliers(axes, rows, intensity, rate)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(min(rate) / 2.5, top * 2)
    axes.grid(which="major")
    axes.set_xlabel(f"MACs per byte moved at {result.chip.memories[0]['name']}")
    axes.set_ylabel("MACs per cycle")
    _legend_below(figure, _format_handles(row.precision.get("input", "") for row in rows))
    return figure


def _ceilings(result: RunResult, rows: Sequence[LayerRow]) -> dict[str, float]:
    """Peak rates of the modes that the layers use; one line where several have the same rate."""
    used = {
        f"{row.precision.get('weight')} x {row.precision.get('input')}" for row in rows if row.unit != FLOAT
    }
    rates: dict[float, list[str]] = {}
    for name, peak in result.chip.peak_macs_per_cycle.items():
        if name in used:
            rates.setdefault(peak, []).append(name.replace(" x ", "×"))
    return {", ".join(names[:3]): peak for peak, names in sorted(rates.items())}


def _label_outliers(axes: Axes, rows: Sequence[LayerRow], x: Sequence[float], y: Sequence[float]) -> None:
    """Name the few layers that take most of the time, below their points, where there is room."""
    order = sorted(range(len(rows)), key=lambda index: -rows[index].latency_cycles)
    placed: list[tuple[float, float]] = []
    from math import log10

    for index in order[:8]:
        spot = (log10(x[index]), log10(y[index]))
        if all(abs(spot[0] - other[0]) > 0.35 or abs(spot[1] - other[1]) > 0.12 for other in placed):
            placed.append(spot)
            axes.annotate(
                _shortened(rows[index].name)[-18:],
                (x[index], y[index]),
                xytext=(5, -9),
                textcoords="offset points",
                fontsize=7,
                color=palette.INK,
            )


def energy_by_level(result: RunResult) -> Figure | None:
    """Where the energy of the whole network goes: memories by operand, and everything else."""
    if result.total.energy_pj <= 0:
        return None
    memories = [str(memory["name"]) for memory in result.chip.memories]
    parts = palette.grouped(result.total.energy_breakdown_pj, memories)
    groups: dict[str, list[tuple[palette.Part, float]]] = {name: [] for name in memories}
    for part, value in parts.items():
        if value > 0 or part.group in memories:
            groups.setdefault(part.group, []).append((part, value))
    scale, prefix = text.scale_of(max(sum(v for _, v in items) for items in groups.values()) * 1e-12)
    bars = [[(value * 1e-12 / scale, part.colour) for part, value in items] for items in groups.values()]
    ends = [sum(width for width, _ in pieces) for pieces in bars]
    total = result.total.energy_pj * 1e-12 / scale
    labels = [f"{text.significant(end)} {prefix}J · {100 * end / total:.1f} %" for end in ends]
    figure, axes = _bars(list(groups), bars, labels, 1.1)
    axes.set_xlabel(f"energy per inference, {prefix}J")
    shades = [
        Patch(color=palette.lighter(SHADE_BASE, shade), label=operand)
        for operand, shade in palette.operand_shades(parts).items()
    ]
    _legend_below(figure, shades)
    return figure


def area_by_part(result: RunResult) -> Figure | None:
    """Area of the chip by part."""
    parts = {name: value for name, value in result.total.area_breakdown_um2.items() if value > 0}
    if not parts:
        return None
    memories = [str(memory["name"]) for memory in result.chip.memories]
    unit, scale = ("mm²", 1e6) if max(parts.values()) >= 1e4 else ("µm²", 1.0)
    total = sum(parts.values())
    bars = [
        [(value / scale, palette.memory_colour(name, memories) if name in memories else palette.MUTED)]
        for name, value in parts.items()
    ]
    labels = [f"{text.significant(v / scale)} {unit} · {100 * v / total:.1f} %" for v in parts.values()]
    figure, axes = _bars(list(parts), bars, labels)
    axes.set_xlabel(f"area, {unit} (all instances)")
    return figure


def accuracy_against_cost(result: RunResult) -> Figure | None:
    """Measured accuracy of the chosen formats beside uniform precisions, over energy and latency."""
    points = list((result.accuracy or {}).get("points", ()))
    if len(points) < 2:
        return None
    figure = _canvas(3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    clock = result.chip.clock_hz
    energy_scale, energy_prefix = text.scale_of(max(p["energy_pj"] for p in points) * 1e-12)
    time_scale, time_prefix = text.scale_of(max(p["latency_cycles"] for p in points) / clock)
    for axes, key, factor, label in (
        (left, "energy_pj", 1e-12 / energy_scale, f"energy per inference, {energy_prefix}J"),
        (right, "latency_cycles", 1 / clock / time_scale, f"latency, {time_prefix}s"),
    ):
        for point in points:
            chosen = bool(point.get("chosen"))
            x, y = point[key] * factor, 100 * point["accuracy"]
            axes.scatter(
                x,
                y,
                s=90 if chosen else 40,
                marker="D" if chosen else "o",
                color=palette.ACCENT if chosen else palette.format_colour(point["precision"]),
                edgecolor="white",
                zorder=4 if chosen else 3,
            )
            axes.annotate(
                str(point["precision"]),
                (x, y),
                xytext=(7, -3),
                textcoords="offset points",
                fontsize=8,
                color=palette.INK,
            )
        axes.margins(x=0.16, y=0.16)
        axes.set_xlabel(label)
        axes.grid()
    left.set_ylabel("accuracy, %")
    chosen_handle = Line2D(
        [], [], marker="D", color="none", markerfacecolor=palette.ACCENT, label="chosen per layer"
    )
    uniform = Line2D([], [], marker="o", color="none", markerfacecolor=palette.MUTED, label="uniform")
    _legend_below(figure, [chosen_handle, uniform])
    return figure


FIGURES: tuple[Named, ...] = (
    Named(
        "energy_by_level",
        "Where the energy goes",
        "Energy of the network by memory level and operand; compute, links, vector unit and leakage apart.",
        energy_by_level,
    ),
    Named(
        "latency_by_resource",
        "What the time is bound by",
        "Latency of the network by the resource that binds each layer.",
        latency_by_resource,
    ),
    Named("area_by_part", "Where the area goes", "Area of the chip by part, all instances.", area_by_part),
    Named(
        "roofline",
        "Roofline",
        "Each point is a layer. The slope is the bandwidth of the outermost memory, the flat lines the peak "
        "rate of each precision in use.",
        roofline,
    ),
    Named(
        "accuracy_vs_cost",
        "Accuracy against cost",
        "Measured accuracy on held-out data: formats chosen per layer beside uniform precisions.",
        accuracy_against_cost,
    ),
    Named(
        "precision_per_layer",
        "Precision per layer",
        "Formats of every MAC layer, in execution order.",
        precision_per_layer,
    ),
    Named(
        "energy_per_layer",
        "Energy per layer",
        "By memory level (hue) and operand (shade), in execution order; grey names are vector operators.",
        energy_per_layer,
    ),
    Named(
        "latency_per_layer",
        "Latency per layer",
        "By cause, in execution order; fused operators are hidden behind their producer.",
        latency_per_layer,
    ),
    Named(
        "utilization_per_layer",
        "Utilisation per layer",
        "MACs over latency times the peak rate at the layer's own precision.",
        utilization_per_layer,
    ),
)


def draw_all(result: RunResult) -> dict[str, Figure]:
    """All figures that the result has data for, by name."""
    figures: dict[str, Figure] = {}
    for item in FIGURES:
        with styled():
            figure = item.draw(result)
            if figure is None:
                continue
            # The layout is solved once, not again for every file that the figure is saved to.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figures[item.name] = figure
    return figures
