"""Figures of the network as a whole: energy, time and area by part, the roofline, accuracy against cost."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from seada.report import palette, text
from seada.report.figure_base import (
    HALF_WIDTH_IN,
    bars_figure,
    canvas,
    format_handles,
    legend_below,
    shortened,
)
from seada.report.labels import label_spots
from seada.system.result import FLOAT, LayerRow, RunResult

SHADE_BASE = "#44505c"
MAX_LABELS = 8


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
    figure, axes = bars_figure(
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
    figure, axes = bars_figure(list(groups), bars, labels, 1.1)
    axes.set_xlabel(f"energy per inference, {prefix}J")
    shades = [
        Patch(color=palette.lighter(SHADE_BASE, shade), label=operand)
        for operand, shade in palette.operand_shades(parts).items()
    ]
    legend_below(figure, shades)
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
    figure, axes = bars_figure(list(parts), bars, labels)
    axes.set_xlabel(f"area, {unit} (all instances)")
    return figure


def roofline(result: RunResult) -> Figure | None:
    """Reached MAC rate of each layer against what compute and the outermost memory allow."""
    rows = [row for row in result.layers if row.macs and row.outer_bits and row.latency_cycles]
    if not rows:
        return None
    figure = canvas(4.0, HALF_WIDTH_IN)
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
            xytext=(12, -3),
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
            xytext=(-2, 6),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=palette.MUTED,
        )
    for row, x, y in zip(rows, intensity, rate, strict=True):
        colour = palette.format_colour(row.precision.get("input", ""))
        axes.scatter(x, y, s=34, color=colour, edgecolor="white", linewidth=0.7, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(min(rate) / 2.5, top * 2)
    _label_slowest(axes, rows, intensity, rate, ceilings)
    axes.grid(which="major")
    axes.set_xlabel(f"MACs per byte moved at {result.chip.memories[0]['name']}")
    axes.set_ylabel("MACs per cycle")
    legend_below(figure, format_handles(row.precision.get("input", "") for row in rows))
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


def _label_slowest(
    axes: Axes, rows: Sequence[LayerRow], x: Sequence[float], y: Sequence[float], ceilings: dict[str, float]
) -> None:
    """Name the few layers that take most of the time, where there is room; layers at one point once."""
    first: dict[tuple[float, float], int] = {}
    for index in sorted(range(len(rows)), key=lambda index: -rows[index].latency_cycles):
        first.setdefault((x[index], y[index]), index)
    names = [shortened(rows[index].name) for index in first.values()]
    blocked = [
        ((1.0, _fraction(axes, 1.0, peak)[1]), 5.0 * len(name) + 80.0) for name, peak in ceilings.items()
    ]
    where = [_fraction(axes, *point) for point in first]
    spots = label_spots(where, names, (4.6 * 72, 2.9 * 72), MAX_LABELS, blocked)
    for point, name, spot in zip(first, names, spots, strict=True):
        if spot is not None:
            axes.annotate(name, point, xytext=spot, textcoords="offset points", fontsize=7, color=palette.INK)


def _fraction(axes: Axes, x: float, y: float) -> tuple[float, float]:
    """Where a point lies on logarithmic axes, as fractions of their lengths."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return (log10(x / left) / log10(right / left), log10(y / bottom) / log10(top / bottom))


def _wide_limits(axes: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
    """Room around the points for their labels."""
    for values, setter in ((xs, axes.set_xlim), (ys, axes.set_ylim)):
        low, high = min(values), max(values)
        room = 0.16 * (high - low) or abs(high) * 0.1 or 1.0
        setter(low - room, high + room)


def _label_points(axes: Axes, xs: Sequence[float], ys: Sequence[float], names: Sequence[str]) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    where = [
        ((x - left) / (right - left), (y - bottom) / (top - bottom)) for x, y in zip(xs, ys, strict=True)
    ]
    for x, y, name, spot in zip(xs, ys, names, label_spots(where, names, (5.1 * 72, 2.8 * 72)), strict=True):
        if spot is not None:
            axes.annotate(
                name, (x, y), xytext=spot, textcoords="offset points", fontsize=8, color=palette.INK
            )


def accuracy_against_cost(result: RunResult) -> Figure | None:
    """Measured accuracy of the chosen formats beside uniform precisions, over energy and latency."""
    points = list((result.accuracy or {}).get("points", ()))
    if len(points) < 2:
        return None
    figure = canvas(3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    clock = result.chip.clock_hz
    energy_scale, energy_prefix = text.scale_of(max(p["energy_pj"] for p in points) * 1e-12)
    time_scale, time_prefix = text.scale_of(max(p["latency_cycles"] for p in points) / clock)
    for axes, key, factor, label in (
        (left, "energy_pj", 1e-12 / energy_scale, f"energy per inference, {energy_prefix}J"),
        (right, "latency_cycles", 1 / clock / time_scale, f"latency, {time_prefix}s"),
    ):
        xs, ys = [point[key] * factor for point in points], [100 * point["accuracy"] for point in points]
        for x, y, point in zip(xs, ys, points, strict=True):
            chosen = bool(point.get("chosen"))
            axes.scatter(
                x,
                y,
                s=90 if chosen else 40,
                marker="D" if chosen else "o",
                color=palette.ACCENT
                if chosen
                else palette.format_colour(str(point["precision"]).split(" ")[0]),
                edgecolor="white",
                zorder=4 if chosen else 3,
            )
        _wide_limits(axes, xs, ys)
        _label_points(axes, xs, ys, [str(point["precision"]) for point in points])
        axes.set_xlabel(label)
        axes.grid()
    left.set_ylabel("accuracy, %")
    chosen_handle = Line2D(
        [],
        [],
        marker="D",
        color="none",
        markerfacecolor=palette.ACCENT,
        markeredgecolor="none",
        label="chosen per layer",
    )
    uniform = Line2D(
        [],
        [],
        marker="o",
        color="none",
        markerfacecolor=palette.MUTED,
        markeredgecolor="none",
        label="uniform",
    )
    legend_below(figure, [chosen_handle, uniform])
    return figure
