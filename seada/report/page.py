"""One HTML page that needs nothing else: no network, no scripts, figures inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from matplotlib.figure import Figure

from seada.report import palette, text
from seada.report.figures import FIGURES, Named
from seada.report.render import svg_element
from seada.report.scope import MODELLED, NOT_MODELLED
from seada.report.stylesheet import STYLESHEET
from seada.system.result import ARRAY, FLOAT, LayerRow, RunResult

_TOP = ("energy_by_level", "area_by_part", "roofline")
_STATUSES = ("published", "derived", "unverified", "placeholder")
MAX_OPEN_SOURCES = 12


def page(result: RunResult, figures: Mapping[str, Figure]) -> str:
    """The whole page as text; every word from files of the user is escaped."""
    by_name = {item.name: item for item in FIGURES}
    rest = [item for item in FIGURES if item.name not in _TOP and item.name in figures]
    title = f"{result.network} on {result.chip.name}"
    body = [
        _header(result),
        "<main>",
        _cards(result),
        _notices(result),
        "<h2>Overview</h2>",
        '<div class="pair">',
        *(_figure(by_name[name], figures[name]) for name in _TOP if name in figures),
        _chip_panel(result),
        "</div>",
        _accuracy(result),
        _layers(result),
        "<h2>Figures by layer</h2>",
        *(_figure(item, figures[item.name]) for item in rest),
        _selection(result),
        _scope(result),
        _sources(result),
        _footer(result),
        "</main>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · seada</title>\n<style>{STYLESHEET}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def _header(result: RunResult) -> str:
    total = result.total
    formats = Counter(text.pair(row.precision) for row in result.layers if row.macs)
    kinds = ", ".join(f"{name} ({number})" for name, number in formats.most_common(6))
    layers = sum(formats.values())
    return (
        '<header class="top"><div class="inner"><div class="eyebrow">seada · cost of a network on an accelerator</div>'
        f"<h1>{escape(result.network)} <span>on</span> {escape(result.chip.name)}</h1>"
        f"<p>{layers} MAC layers, {text.si(total.macs, 'MACs')} · {result.chip.pes:,} PEs at "
        f"{text.si(result.chip.clock_hz, 'Hz')} · objective per layer: {escape(result.objective)}</p>"
        f"<p>Precision (layers): {escape(kinds)}</p></div></header>"
    )


def _cards(result: RunResult) -> str:
    total = result.total
    cards = [
        ("Latency", text.si(total.latency_s, "s"), f"{text.count(total.latency_cycles)} cycles"),
        ("Energy", text.energy(total.energy_pj), f"{text.significant(total.energy_pj / total.macs)} pJ per MAC")
        if total.macs
        else ("Energy", text.energy(total.energy_pj), "per inference"),
        ("Energy-delay product", f"{total.edp_pj_cycles:.3g}", "pJ · cycles, network total"),
        ("Mean power", text.si(total.power_w, "W"), "while it runs"),
        ("Throughput", text.si(total.macs_per_s, "MAC/s"), _share_of_peak(result)),
        ("Area", text.area(total.area_um2), f"{len(total.area_breakdown_um2)} parts"),
        ("Weights", text.data_size(total.weight_bytes), f"{text.count(total.weight_bytes)} B at their formats"),
        (
            "Activations",
            text.data_size(total.activation_bytes),
            f"written; at most {text.data_size(total.peak_activation_bytes)} alive",
        ),
        ("Bit operations", text.si(total.bops, "BOPs"), "MACs × weight × input bits"),
    ]
    if result.accuracy and result.accuracy.get("measured") is not None:
        measured = result.accuracy["measured"]
        cards.insert(0, ("Accuracy", text.percent(measured), _accuracy_note(result.accuracy)))
    inner = "".join(
        f'<div class="card"><div class="label">{escape(label)}</div><div class="value">{_value(value)}</div>'
        f'<div class="more">{escape(more)}</div></div>'
        for label, value, more in cards
    )
    return f'<div class="cards">{inner}</div>'


def _value(shown: str) -> str:
    number, _, unit = shown.partition(" ")
    return f"{escape(number)} <small>{escape(unit)}</small>" if unit else escape(number)


def _share_of_peak(result: RunResult) -> str:
    """Mean utilisation, weighted by time, of the rows on the array."""
    rows = [row for row in result.layers if row.unit == ARRAY and row.utilization is not None]
    cycles = sum(row.latency_cycles for row in rows)
    if not cycles:
        return ""
    mean = sum((row.utilization or 0.0) * row.latency_cycles for row in rows) / cycles
    return f"array {text.percent(mean)} used while it runs"


def _accuracy_note(accuracy: Mapping[str, Any]) -> str:
    reference = accuracy.get("reference")
    note = f"on {text.count(accuracy['items'])} held-out items" if "items" in accuracy else "measured"
    return note if reference is None else f"{note}; unquantised {text.percent(reference)}"


def _notices(result: RunResult) -> str:
    lines = []
    statuses = Counter(str(source["status"]) for source in result.chip.sources)
    if statuses["placeholder"]:
        lines.append(
            f"{statuses['placeholder']} coefficients are placeholders: totals that use them are not to be trusted."
        )
    unmodelled = result.coverage.get("unmodelled", [])
    if unmodelled:
        listed = ", ".join(f"{item['type']} ×{item['count']}" for item in unmodelled)
        lines.append(f"Not modelled, and missing from every total: {listed}.")
    estimates = [row.name for row in result.layers if row.estimate]
    if estimates:
        lines.append(
            f"{len(estimates)} layers run on the floating-point unit and are closed-form estimates: "
            f"{', '.join(estimates[:6])}{' …' if len(estimates) > 6 else ''}."
        )
    lines += [*result.notes, *result.chip.warnings]
    if not lines:
        return ""
    return f'<div class="notice">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>'


def _figure(item: Named, figure: Figure) -> str:
    return (
        f'<div class="panel" id="{item.name}"><h3>{escape(item.title)}</h3><p class="caption">{escape(item.caption)}</p>'
        f"<figure>{svg_element(figure, item.name, escape(item.title, quote=True))}</figure></div>"
    )


def _chip_panel(result: RunResult) -> str:
    rows = "".join(
        f'<tr><td>{escape(str(memory["name"]))}</td><td class="n">{text.count(memory["instances"])}</td>'
        f'<td class="n">{_capacity(memory)}</td><td class="n">{memory["word_bits"]}</td>'
        f'<td class="n">{_rate(memory)}</td>'
        f'<td class="n">{text.significant(memory["read_energy_pj_per_word"] / memory["word_bits"])} / '
        f'{text.significant(memory["write_energy_pj_per_word"] / memory["word_bits"])}</td></tr>'
        for memory in result.chip.memories
    )
    modes = "".join(
        f"<tr><td>{_format(mode['weight'])} × {_format(mode['input'])}</td>"
        f'<td>{escape(mode["accumulator"])}</td><td class="n">{mode["lanes"]}</td>'
        f'<td class="n">{mode["cycles_per_step"]}</td>'
        f'<td class="n">{text.significant(result.chip.pes * mode["lanes"] / mode["cycles_per_step"])}</td>'
        f'<td class="n">{text.significant(mode["energy_pj_per_mac"])}</td></tr>'
        for mode in result.chip.modes
    )
    return (
        f'<div class="panel"><h3>The chip: {escape(result.chip.name)}</h3>'
        '<p class="caption">Memories from the outside in, per instance.</p><div class="scroll"><table>'
        '<tr><th>memory</th><th class="n">instances</th><th class="n">capacity</th><th class="n">word, bit</th>'
        '<th class="n">words/cycle<br>read / write</th><th class="n">pJ/bit<br>read / write</th></tr>'
        f"{rows}</table></div>"
        '<p class="caption" style="margin-top:14px">Modes of the processing elements (weight × input).</p>'
        '<div class="scroll"><table><tr><th>mode</th><th>accumulator</th><th class="n">lanes</th>'
        '<th class="n">cycles/step</th><th class="n">peak<br>MAC/cycle</th><th class="n">pJ/MAC</th></tr>'
        f"{modes}</table></div></div>"
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


def _format(name: str) -> str:
    colour = palette.format_colour(name)
    return f'<span class="chip" style="background:{colour};color:{palette.readable_on(colour)}">{escape(name)}</span>'


def _precision(row: LayerRow) -> str:
    if "weight" in row.precision:
        weight, activation = row.precision["weight"], row.precision["input"]
        return _format(weight) if weight == activation else f"{_format(weight)} × {_format(activation)}"
    return escape(text.pair(row.precision))


def _layers(result: RunResult) -> str:
    total = result.total
    head = (
        '<div class="grid head"><span></span><span>layer</span><span>type</span><span>precision<br>'
        '<span class="unit">weight × input</span></span><span class="n">MACs</span>'
        '<span class="n">latency<br><span class="unit">cycles</span></span><span class="n"><span class="unit">share</span></span>'
        f'<span class="n">energy<br><span class="unit">{_energy_unit(result)[1]}J</span></span>'
        '<span class="n"><span class="unit">share</span></span><span class="n">used<br><span class="unit">%</span></span>'
        "<span>bound by</span><span>mapping</span></div>"
    )
    rows = "".join(_layer(row, total.latency_cycles, total.energy_pj, _energy_unit(result)[0]) for row in result.layers)
    proven = sum(row.optimal is True for row in result.layers)
    mapped = sum(row.optimal is not None for row in result.layers)
    return (
        "<h2>Layers</h2><div class='panel'><p class='caption'>In execution order; open a layer for its mapping, energy "
        f"and time. {proven} of {mapped} mappings are proven optimal in the space they were searched in.</p>"
        f'<div class="scroll"><div class="rows">{head}{rows}</div></div></div>'
    )


def _energy_unit(result: RunResult) -> tuple[float, str]:
    """Divisor of pJ and prefix that suit the median row of the table."""
    values = sorted(row.energy_pj for row in result.layers if row.energy_pj > 0)
    scale, prefix = text.scale_of(values[len(values) // 2] * 1e-12 if values else 1.0)
    return scale * 1e12, prefix


def _layer(row: LayerRow, latency: int, energy: float, unit: float) -> str:
    cells = (
        f'<span class="mark"></span><span class="name">{escape(row.name)}</span><span>{escape(row.type)}</span>'
        f'<span>{_precision(row)}</span><span class="n">{text.si(row.macs, "").strip() if row.macs else "–"}</span>'
        f'<span class="n">{text.count(row.latency_cycles)}</span>{_bar(row.latency_cycles, latency)}'
        f'<span class="n">{text.significant(row.energy_pj / unit)}</span>{_bar(row.energy_pj, energy)}'
        f'<span class="n">{"–" if row.utilization is None else f"{100 * row.utilization:.1f}"}</span>'
        f"<span>{escape(_bound_by(row))}</span>{_proof(row)}"
    )
    minor = "" if row.macs else " minor"
    if not row.mapping_text and not row.energy_breakdown_pj and not row.note:
        return f'<div class="grid flat{minor}">{cells}</div>'
    return f'<details><summary class="grid{minor}">{cells}</summary>{_detail(row)}</details>'


def _bar(value: float, whole: float) -> str:
    share = value / whole if whole else 0.0
    return f'<span class="n bar"><i style="width:{100 * share:.1f}%"></i><b>{100 * share:.1f} %</b></span>'


def _bound_by(row: LayerRow) -> str:
    if not row.latency_cycles:
        return "hidden" if row.energy_pj else "free"
    pieces = row.bound_by.split(".")
    return " ".join(pieces[1:]) if pieces[0] == "port" and len(pieces) > 1 else row.bound_by


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
    cycles = _pairs("Time, cycles", row.latency_breakdown_cycles.items(), float(row.latency_cycles))
    return f'<div class="detail"><div>{left}</div><div>{energy}</div><div>{cycles}</div></div>'


def _search(row: LayerRow) -> str:
    if not row.search:
        return ""
    return f"; {text.count(row.search['evaluated'])} mappings evaluated, stopped by {row.search['stopped_by']}"


def _sorted(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda item: -item[1])


def _pairs(title: str, values: Iterable[tuple[str, float]], whole: float) -> str:
    lines = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{value:,.6g}</td>'
        f'<td class="n">{text.percent(value / whole) if whole else "–"}</td></tr>'
        for name, value in values
        if value
    )
    return f"<h4>{escape(title)}</h4><table>{lines}</table>" if lines else ""


def _accuracy(result: RunResult) -> str:
    points = list((result.accuracy or {}).get("points", ()))
    if not points:
        return ""
    rows = "".join(
        f'<tr><td>{"<b>" if point.get("chosen") else ""}{escape(str(point["precision"]))}{"</b>" if point.get("chosen") else ""}</td>'
        f'<td class="n">{text.percent(point["accuracy"], 2)}</td><td class="n">{text.energy(point["energy_pj"])}</td>'
        f'<td class="n">{text.count(point["latency_cycles"])}</td>'
        f'<td class="n">{text.data_size(point["weight_bytes"])}</td></tr>'
        for point in points
    )
    return (
        f'<h2>Accuracy</h2><div class="panel"><p class="caption">Measured {escape(_accuracy_note(result.accuracy or {}))}.</p>'
        '<div class="scroll"><table><tr><th>precision</th><th class="n">accuracy</th><th class="n">energy</th>'
        f'<th class="n">latency, cycles</th><th class="n">weights</th></tr>{rows}</table></div></div>'
    )


def _selection(result: RunResult) -> str:
    if not result.selection:
        return ""
    rows = "".join(
        f"<tr><td>{escape(str(item['name']))}</td><td>{_choice(item)}</td><td>{escape(str(item['reason']))}</td></tr>"
        for item in result.selection.get("layers", ())
    )
    return (
        f'<h2>Why these formats</h2><div class="panel"><p class="caption">Method: '
        f"{escape(str(result.selection.get('method', '')))}.</p><div class='scroll'><table>"
        f"<tr><th>layer</th><th>chosen</th><th>reason</th></tr>{rows}</table></div></div>"
    )


def _choice(item: Mapping[str, Any]) -> str:
    return " × ".join(_format(str(name)) for name in str(item["chosen"]).split(" x "))


def _scope(result: RunResult) -> str:
    coverage = result.coverage
    line = f"{coverage['modelled']} of {coverage['total']} nodes of the network modelled."
    return (
        '<h2>What is modelled</h2><div class="panel">'
        f'<p class="caption">{escape(line)}</p><div class="columns"><div><h3>Modelled</h3><ul>'
        + "".join(f"<li>{escape(item)}</li>" for item in MODELLED)
        + "</ul></div><div><h3>Not modelled</h3><ul>"
        + "".join(f"<li>{escape(item)}</li>" for item in NOT_MODELLED)
        + "</ul></div></div></div>"
    )


def _sources(result: RunResult) -> str:
    sources = result.chip.sources
    if not sources:
        return ""
    statuses = Counter(str(source["status"]) for source in sources)
    summary = " ".join(
        f'<span class="badge {status}">{statuses[status]} {status}</span>' for status in _STATUSES if statuses[status]
    )
    order = {status: rank for rank, status in enumerate(reversed(_STATUSES))}
    rows = "".join(
        f'<tr><td><code>{escape(str(source["path"]))}</code></td><td>{escape(str(source["value"]))}</td>'
        f'<td><span class="badge {escape(str(source["status"]))}">{escape(str(source["status"]))}</span></td>'
        f'<td>{escape(_node(source))}</td><td>{escape(str(source["source"]))}</td></tr>'
        for source in sorted(sources, key=lambda item: (order.get(str(item["status"]), -1), str(item["path"])))
    )
    table = (
        '<div class="scroll"><table><tr><th>coefficient</th><th>value</th><th>status</th><th>node, boundary</th>'
        f"<th>source</th></tr>{rows}</table></div>"
    )
    if len(sources) > MAX_OPEN_SOURCES:
        table = f'<details class="more-details"><summary>All {len(sources)} coefficients</summary>{table}</details>'
    return f'<h2>Where the numbers come from</h2><div class="panel"><p class="caption">{summary}</p>{table}</div>'


def _node(source: Mapping[str, Any]) -> str:
    parts = [f"{source['node_nm']} nm" if source.get("node_nm") else "", source.get("boundary") or ""]
    return ", ".join(str(part) for part in parts if part)


def _footer(result: RunResult) -> str:
    origin = result.provenance
    chip, network = origin.get("architecture", {}), origin.get("workload", {})
    floats = sum(row.unit == FLOAT for row in result.layers)
    return (
        f"<footer>seada {escape(str(origin.get('version', '')))} · architecture {escape(str(chip.get('name', '')))} "
        f"<code>{escape(str(chip.get('content_hash', ''))[:16])}</code> · workload {escape(str(network.get('name', '')))} "
        f"<code>{escape(str(network.get('content_hash', ''))[:16])}</code> · conventions "
        f"{escape(str(origin.get('conventions', '')))} · seed {escape(str(origin.get('seed', '')))} · "
        f"{len(result.layers)} rows, {floats} estimated. The same inputs give the same page.</footer>"
    )
