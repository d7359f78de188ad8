"""The sections about precision: measured accuracy, and why each layer has its formats."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from matplotlib.figure import Figure

from seada.report import text
from seada.report.figures import FIGURES
from seada.report.html_parts import figure_panel, format_badge
from seada.system.result import RunResult

_FIGURE = "accuracy_vs_cost"


def accuracy_section(result: RunResult, figures: Mapping[str, Figure]) -> str:
    """Measured accuracy of the chosen formats beside uniform ones; empty where nothing was measured."""
    points = list((result.accuracy or {}).get("points", ()))
    if not points:
        return ""
    rows = "".join(_point(point) for point in points)
    named = {item.name: item for item in FIGURES}
    figure = figures.get(_FIGURE)
    drawn = figure_panel(named[_FIGURE], figure) if figure is not None else ""
    return (
        '<h2>Accuracy</h2><div class="panel"><h3>Measured accuracy</h3>'
        f'<p class="caption">{escape(accuracy_note(result.accuracy or {}))}.</p>'
        '<div class="scroll"><table><tr><th>precision</th>'
        '<th class="n">accuracy</th><th class="n">energy</th>'
        f'<th class="n">latency, cycles</th><th class="n">weights</th></tr>{rows}</table></div></div>{drawn}'
    )


def _point(point: Mapping[str, Any]) -> str:
    name = escape(str(point["precision"]))
    cells = (
        text.percent(point["accuracy"], 2),
        text.energy(point["energy_pj"]),
        text.count(point["latency_cycles"]),
        text.data_size(point["weight_bytes"]),
    )
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    return f"<tr><td>{f'<b>{name}</b>' if point.get('chosen') else name}</td>{numbers}</tr>"


def accuracy_note(accuracy: Mapping[str, Any]) -> str:
    """On how many items accuracy was measured, and what the unquantised network reaches."""
    reference = accuracy.get("reference")
    note = f"on {text.count(accuracy['items'])} held-out items" if "items" in accuracy else "measured"
    return note if reference is None else f"{note}; unquantised {text.percent(reference)}"


def selection_section(result: RunResult) -> str:
    """The chosen formats of each layer with the reason."""
    selection = result.selection
    if not selection:
        return ""
    rows = "".join(_choice(item) for item in selection.get("layers", ()))
    budgets = ", ".join(selection.get("budgets", ())) or "none"
    return (
        '<h2>Why these formats</h2><div class="panel">'
        f'<p class="caption">Score: {escape(str(selection.get("method", "")))}. Budgets: {escape(budgets)}. '
        f"Rule: {escape(str(selection.get('rule', '')))}.</p>"
        '<div class="scroll"><table><tr><th>layer</th><th>weight × input</th><th>reason</th></tr>'
        f"{rows}</table></div></div>"
    )


def _choice(item: Mapping[str, Any]) -> str:
    formats = f"{format_badge(item['weight'])} × {format_badge(item['input'])}"
    warning = f'<br><span class="warning">{escape(item["warning"])}</span>' if item.get("warning") else ""
    name = escape(item["layer"])
    reason = escape(item["reason"]) + warning
    return f'<tr><td>{name}</td><td class="formats">{formats}</td><td>{reason}</td></tr>'
