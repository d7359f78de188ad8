"""One HTML page that needs nothing else: no network, no scripts, figures inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from importlib import resources

from matplotlib.figure import Figure

from seada.report import text
from seada.report.figures import FIGURES
from seada.report.html_parts import figure_panel
from seada.report.page_chip import chip_panel, sources_section
from seada.report.page_layers import layers_panel
from seada.report.page_precision import accuracy_note, accuracy_section, selection_section
from seada.report.scope import MODELLED, NOT_MODELLED
from seada.system.result import ARRAY, RunResult

_TOP = ("energy_by_level", "latency_by_resource", "roofline", "area_by_part")
_STRIP = ("precision_per_layer",)
_ACCURACY = "accuracy_vs_cost"


def page(result: RunResult, figures: Mapping[str, Figure]) -> str:
    """The whole page as text; every word from files of the user is escaped."""
    by_name = {item.name: item for item in FIGURES}
    rest = [item for item in FIGURES if item.name not in (*_TOP, *_STRIP, _ACCURACY) and item.name in figures]
    title = f"{result.network} on {result.chip.name}"
    body = [
        _header(result),
        "<main>",
        _cards(result),
        _notices(result),
        "<h2>Overview</h2>",
        '<div class="pair">',
        *(figure_panel(by_name[name], figures[name]) for name in _TOP if name in figures),
        "</div>",
        chip_panel(result),
        accuracy_section(result, figures),
        selection_section(result),
        "<h2>Layers</h2>",
        *(figure_panel(by_name[name], figures[name]) for name in _STRIP if name in figures),
        layers_panel(result),
        *(figure_panel(item, figures[item.name]) for item in rest),
        _scope(result),
        sources_section(result),
        _footer(result),
        "</main>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · seada</title>\n<style>\n{_stylesheet()}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def _stylesheet() -> str:
    return resources.files("seada").joinpath("data/report.css").read_text(encoding="utf-8")


def _header(result: RunResult) -> str:
    total = result.total
    formats = Counter(text.pair(row.precision) for row in result.layers if row.macs)
    kinds = ", ".join(f"{name} ({number})" for name, number in formats.most_common(6))
    layers = sum(formats.values())
    return (
        '<header class="top"><div class="inner">'
        '<div class="eyebrow">seada · cost of a network on an accelerator</div>'
        f"<h1>{escape(result.network)} <span>on</span> {escape(result.chip.name)}</h1>"
        f"<p>{layers} MAC layers, {text.si(total.macs, 'MACs')} · {result.chip.pes:,} PEs at "
        f"{text.si(result.chip.clock_hz, 'Hz')} · objective per layer: {escape(result.objective)}</p>"
        f"<p>Precision (layers): {escape(kinds)}</p></div></header>"
    )


def _cards(result: RunResult) -> str:
    total = result.total
    cards = [
        ("Latency", text.si(total.latency_s, "s"), f"{text.count(total.latency_cycles)} cycles"),
        (
            "Energy",
            text.energy(total.energy_pj),
            f"{text.significant(total.energy_pj / total.macs)} pJ per MAC",
        )
        if total.macs
        else ("Energy", text.energy(total.energy_pj), "per inference"),
        ("Energy-delay product", text.power_of_ten(total.edp_pj_cycles), "pJ · cycles, of the whole network"),
        ("Mean power", text.si(total.power_w, "W"), "while it runs"),
        ("Throughput", text.si(total.macs_per_s, "MAC/s"), _share_of_peak(result)),
        ("Area", text.area(total.area_um2), f"{len(total.area_breakdown_um2)} parts"),
        (
            "Weights",
            text.data_size(total.weight_bytes),
            f"{text.count(total.weight_bytes)} B at their formats",
        ),
        (
            "Activations",
            text.data_size(total.activation_bytes),
            f"written; at most {text.data_size(total.peak_activation_bytes)} alive",
        ),
        ("Bit operations", text.si(total.bops, "BOPs"), "MACs × weight × input bits"),
    ]
    if result.accuracy and result.accuracy.get("measured") is not None:
        measured = result.accuracy["measured"]
        cards.insert(0, ("Accuracy", text.percent(measured), accuracy_note(result.accuracy)))
    else:
        coverage = result.coverage
        cards.append(
            ("Nodes modelled", text.count(coverage["modelled"]), f"of {coverage['total']} in the network")
        )
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


def _notices(result: RunResult) -> str:
    lines = []
    statuses = Counter(str(source["status"]) for source in result.chip.sources)
    if statuses["placeholder"]:
        lines.append(
            f"{statuses['placeholder']} coefficients are placeholders: "
            "totals that use them are not to be trusted."
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


def _footer(result: RunResult) -> str:
    origin = result.provenance
    stated = (
        f"seada {escape(str(origin.get('version', '')))}",
        f"architecture {_input(origin.get('architecture', {}))}",
        f"workload {_input(origin.get('workload', {}))}",
        f"conventions {escape(str(origin.get('conventions', '')))}",
        f"seed {escape(str(origin.get('seed', '')))}",
    )
    return f"<footer>{' · '.join(stated)}. The same inputs give the same page.</footer>"


def _input(described: Mapping[str, object]) -> str:
    """Name of an input file and the beginning of the hash of its content."""
    name, digest = str(described.get("name", "")), str(described.get("content_hash", ""))
    return f"{escape(name)} <code>{escape(digest[:16])}</code>"
