"""The table of layers, each of which opens to its mapping, energy and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from seada.report import text
from seada.report.html_parts import format_badge
from seada.system.result import LayerRow, RunResult


def layers_panel(result: RunResult) -> str:
    """One line per row of the result, in execution order."""
    total = result.total
    unit, prefix = _energy_unit(result)
    head = "".join(f'<span class="{kind}">{label}</span>' for label, kind in _columns(f"{prefix}J"))
    longest = max((row.latency_cycles for row in result.layers), default=0)
    largest = max((row.energy_pj for row in result.layers), default=0.0)
    rows = "".join(
        _layer(
            row,
            _bar(row.latency_cycles, total.latency_cycles, longest),
            _bar(row.energy_pj, total.energy_pj, largest),
            unit,
        )
        for row in result.layers
    )
    proven = sum(row.optimal is True for row in result.layers)
    mapped = sum(row.optimal is not None for row in result.layers)
    return (
        '<div class="panel"><h3>Every layer</h3><p class="caption">In execution order; open a layer for its '
        f"mapping, energy and time. {proven} of {mapped} mappings are proven optimal in the space they were "
        'searched in.</p><div class="scroll"><div class="rows">'
        f'<div class="grid head">{head}</div>{rows}</div></div></div>'
    )


def _columns(energy_unit: str) -> list[tuple[str, str]]:
    """Heads of the columns and whether they hold numbers."""

    def with_unit(name: str, unit: str) -> str:
        return f'{name}<br><span class="unit">{unit}</span>'

    return [
        ("", ""),
        ("layer", ""),
        ("type", ""),
        (with_unit("precision", "weight × input"), ""),
        ("MACs", "n"),
        (with_unit("latency", "cycles"), "n"),
        ('<span class="unit">share</span>', "n"),
        (with_unit("energy", energy_unit), "n"),
        ('<span class="unit">share</span>', "n"),
        (with_unit("used", "%"), "n"),
        ("bound by", ""),
        ("mapping", ""),
    ]


def _energy_unit(result: RunResult) -> tuple[float, str]:
    """Divisor of pJ and prefix that suit the median row of the table."""
    values = sorted(row.energy_pj for row in result.layers if row.energy_pj > 0)
    scale, prefix = text.scale_of(values[len(values) // 2] * 1e-12 if values else 1.0)
    return scale * 1e12, prefix


def _layer(row: LayerRow, latency_share: str, energy_share: str, unit: float) -> str:
    macs = text.si(row.macs, "").strip() if row.macs else "–"
    used = "–" if row.utilization is None else f"{100 * row.utilization:.1f}"
    cells = (
        f'<span class="mark"></span><span class="name">{escape(row.name)}</span>'
        f"<span>{escape(row.type)}</span><span>{_precision(row)}</span>"
        f'<span class="n">{macs}</span>'
        f'<span class="n">{text.count(row.latency_cycles)}</span>{latency_share}'
        f'<span class="n">{text.significant(row.energy_pj / unit)}</span>{energy_share}'
        f'<span class="n">{used}</span><span>{escape(_bound_by(row))}</span>{_proof(row)}'
    )
    minor = "" if row.macs else " minor"
    if not row.mapping_text and not row.energy_breakdown_pj and not row.note:
        return f'<div class="grid flat{minor}">{cells}</div>'
    return f'<details><summary class="grid{minor}">{cells}</summary>{_detail(row)}</details>'


def _precision(row: LayerRow) -> str:
    if "weight" in row.precision:
        weight, activation = row.precision["weight"], row.precision["input"]
        return (
            format_badge(weight)
            if weight == activation
            else f"{format_badge(weight)} × {format_badge(activation)}"
        )
    return escape(text.pair(row.precision))


def _bar(value: float, whole: float, largest: float) -> str:
    """A share of the whole, with a bar that is full for the largest row."""
    share = value / whole if whole else 0.0
    width = value / largest if largest else 0.0
    return f'<span class="n bar"><i style="width:{100 * width:.1f}%"></i><b>{100 * share:.1f} %</b></span>'


def _bound_by(row: LayerRow) -> str:
    if not row.latency_cycles:
        return "hidden" if row.energy_pj else "free"
    return text.resource(row.bound_by)


def _proof(row: LayerRow) -> str:
    shown = text.proof(row.optimal, row.gap, row.estimate)
    return f'<span class="{"ok" if row.optimal else ""}">{escape(shown)}</span>'


def _detail(row: LayerRow) -> str:
    left = ""
    if row.mapping_text:
        left += f"<h4>Mapping, outermost first</h4><pre>{escape(row.mapping_text)}</pre>"
    if row.dims:
        left += f"<p>Extents: {escape(text.dims(dict(row.dims)))}</p>"
    if row.note:
        left += f"<p>{escape(row.note)}</p>"
    if row.space:
        left += f"<p>Space: {escape(row.space)}{_search(row)}</p>"
    if row.precision:
        formats = ", ".join(f"{operand} {name}" for operand, name in row.precision.items())
        left += f"<p>Formats: {escape(formats)}</p>"
    energy = _pairs("Energy, pJ", _sorted(row.energy_breakdown_pj), sum(row.energy_breakdown_pj.values()))
    ports = {k: v for k, v in row.latency_breakdown_cycles.items() if k.startswith("port.")}
    parts = {k: v for k, v in row.latency_breakdown_cycles.items() if k not in ports}
    cycles = _pairs("Time, cycles", parts.items(), float(row.latency_cycles))
    cycles += _pairs("Ports busy, cycles", _sorted(ports), float(row.latency_cycles))
    return f'<div class="detail"><div>{left}</div><div>{energy}</div><div>{cycles}</div></div>'


def _search(row: LayerRow) -> str:
    if not row.search:
        return ""
    return (
        f"; {text.count(row.search['evaluated'])} mappings evaluated, stopped by {row.search['stopped_by']}"
    )


def _sorted(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda item: -item[1])


def _pairs(title: str, values: Iterable[tuple[str, float]], whole: float) -> str:
    lines = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{text.significant(value, 6)}</td>'
        f'<td class="n">{text.percent(value / whole) if whole else "–"}</td></tr>'
        for name, value in values
        if value
    )
    return f"<h4>{escape(title)}</h4><table>{lines}</table>" if lines else ""
