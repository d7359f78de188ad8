"""Figures to bytes: PNG files and SVG that stands inside a page; the same bytes for the same result."""

from __future__ import annotations

import io
import re

from matplotlib.figure import Figure

from seada.report.figure_base import styled

PNG_DPI = 160
_PATH = re.compile(r'\bd="[^"]*"')
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def png_bytes(figure: Figure) -> bytes:
    """The figure as a PNG of `PNG_DPI`, without times in its metadata."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="png", dpi=PNG_DPI, metadata={"Software": "seada"})
    return buffer.getvalue()


def svg_element(figure: Figure, name: str, title: str) -> str:
    """The figure as one SVG element for an HTML page, scaled to the width of its container.

    Ids are prefixed by `name`, because all figures of a page share one document.
    """
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href|href)="#', rf'\1="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = _PATH.sub(lambda path: _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", path[0]), text)
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    return opening.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1) + ">" + rest
