"""Pieces of HTML that several sections of the page use."""

from __future__ import annotations

from html import escape

from matplotlib.figure import Figure

from seada.report import palette
from seada.report.figures import Named
from seada.report.render import svg_element


def format_badge(name: str) -> str:
    """A numeric format on its colour."""
    colour = palette.format_colour(name)
    style = f"background:{colour};color:{palette.readable_on(colour)}"
    return f'<span class="chip" style="{style}">{escape(name)}</span>'


def format_order(name: str) -> tuple[bool, bool, int, str]:
    """Sort key of formats: signed integers, unsigned ones, floats; narrow before wide."""
    return not name.startswith(("int", "uint")), name.startswith("uint"), palette.bits_of(name), name


def figure_panel(item: Named, figure: Figure) -> str:
    """A panel with title, caption and the figure as SVG."""
    return (
        f'<div class="panel" id="{item.name}"><h3>{escape(item.title)}</h3>'
        f'<p class="caption">{escape(item.caption)}</p>'
        f"<figure>{svg_element(figure, item.name, escape(item.title, quote=True))}</figure></div>"
    )
