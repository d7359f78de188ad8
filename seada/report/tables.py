"""Results as tables for the terminal; every head has its unit."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seada.mapper.result import MapResult
from seada.mapping.text import format_mapping
from seada.report import text
from seada.system.result import LayerRow, RunResult

MAX_TABLE_ROWS = 400


def run_table(result: RunResult) -> RenderableType:
    """The rows of a network, its totals, and what a reader must know about them."""
    return Group(_rows(result), _totals(result), _accuracy(result), _remarks(result))


def _rows(result: RunResult) -> Table:
    clock = text.si(result.chip.clock_hz, "Hz")
    title = f"{result.network} on {result.chip.name} at {clock}, objective {result.objective}"
    table = Table(title=title, title_justify="left", header_style="bold", pad_edge=False, box=None)
    table.add_column("layer", overflow="fold")
    table.add_column("type")
    table.add_column("precision\nweight × input")
    for head in ("MACs", "latency\ncycles", "share\n%", "energy\nnJ", "share\n%", "used\n%"):
        table.add_column(head, justify="right")
    table.add_column("bound by")
    table.add_column("mapping")
    shown = result.layers[:MAX_TABLE_ROWS]
    for row in shown:
        table.add_row(*_cells(row, result), style="" if row.macs else "dim")
    if len(result.layers) > len(shown):
        table.add_row(f"… {len(result.layers) - len(shown)} more rows, all of them in the JSON", style="dim")
    return table


def _cells(row: LayerRow, result: RunResult) -> list[RenderableType]:
    total = result.total
    return [
        Text(row.name),
        Text(row.type),
        Text(text.pair(row.precision)),
        text.count(row.macs) if row.macs else "–",
        text.count(row.latency_cycles),
        _share(row.latency_cycles, total.latency_cycles),
        text.significant(row.energy_pj / 1e3, 4),
        _share(row.energy_pj, total.energy_pj),
        "–" if row.utilization is None else f"{100 * row.utilization:.1f}",
        text.resource(row.bound_by) if row.latency_cycles else ("hidden" if row.energy_pj else "free"),
        text.proof(row.optimal, row.gap, row.estimate),
    ]


def _share(value: float, whole: float) -> str:
    return f"{100 * value / whole:.1f}" if whole else "–"


def _totals(result: RunResult) -> Table:
    total = result.total
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column()
    table.add_column(style="bold")
    table.add_column(style="dim")
    lines = [
        ("latency", text.si(total.latency_s, "s"), f"{text.count(total.latency_cycles)} cycles"),
        ("energy", text.energy(total.energy_pj), f"{total.energy_pj:,.0f} pJ"),
        ("energy × latency", f"{total.edp_pj_cycles:.4g} pJ·cycles", "of the network, not a sum over layers"),
        ("mean power", text.si(total.power_w, "W"), ""),
        ("throughput", text.si(total.macs_per_s, "MAC/s"), f"{text.count(total.macs)} MACs"),
        ("area", text.area(total.area_um2), _largest(dict(total.area_breakdown_um2))),
        ("weights", text.data_size(total.weight_bytes), f"{text.count(total.weight_bytes)} B"),
        (
            "activations",
            text.data_size(total.activation_bytes),
            f"at most {text.data_size(total.peak_activation_bytes)} alive",
        ),
        ("bit operations", text.si(total.bops, "BOPs"), "MACs × weight bits × input bits"),
    ]
    if total.bound is not None:
        lines.append(("bound", f"{total.bound:.6g}", f"gap {text.percent(total.gap)}"))
    for line in lines:
        table.add_row(*line)
    return table


def _largest(parts: dict[str, float]) -> str:
    order = sorted(parts.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{name} {text.area(value)}" for name, value in order if value > 0)


def _accuracy(result: RunResult) -> RenderableType:
    accuracy = result.accuracy
    if accuracy is None:
        return Text()
    reference = text.percent(accuracy.get("reference"), 2)
    head = (
        f"accuracy {text.percent(accuracy['measured'], 2)} on {text.count(accuracy['items'])} held-out items "
        f"(unquantised {reference})"
    )
    points = accuracy.get("points", ())
    if not points:
        return Text(head, style="bold")
    table = Table(title=head, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("formats")
    for name in ("accuracy\n%", "energy\nnJ", "latency\ncycles", "weights\nB"):
        table.add_column(name, justify="right")
    for point in points:
        table.add_row(
            str(point["precision"]),
            f"{100 * point['accuracy']:.2f}",
            text.significant(point["energy_pj"] / 1e3, 4),
            text.count(point["latency_cycles"]),
            text.count(point["weight_bytes"]),
            style="bold" if point["chosen"] else "",
        )
    return table


def _remarks(result: RunResult) -> Text:
    coverage = result.coverage
    lines = [f"{coverage['modelled']} of {coverage['total']} nodes modelled"]
    if coverage["unmodelled"]:
        lines[0] += "; not modelled: " + ", ".join(
            f"{item['type']} ×{item['count']}" for item in coverage["unmodelled"]
        )
    mapped = [row for row in result.layers if row.optimal is not None]
    gaps = [row.gap for row in mapped if row.gap is not None]
    proven = sum(row.optimal is True for row in mapped)
    widest = f", widest gap {text.percent(max(gaps))}" if gaps else ""
    lines.append(f"{proven} of {len(mapped)} mappings proven optimal{widest}")
    estimates = sum(row.estimate for row in result.layers)
    if estimates:
        lines.append(f"{estimates} layers on the floating-point unit are closed-form estimates")
    statuses: dict[str, int] = {}
    for source in result.chip.sources:
        statuses[str(source["status"])] = statuses.get(str(source["status"]), 0) + 1
    if statuses:
        listed = ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
        lines.append(f"coefficients: {listed}")
    return Text("\n".join([*lines, *result.notes]), style="dim")


def selection_table(result: RunResult) -> RenderableType:
    """Why each layer has its formats; empty where nothing was selected."""
    selection = result.selection
    if not selection:
        return Text()
    budgets = ", ".join(selection.get("budgets", ())) or "none"
    head = f"score {selection['method']}, budgets {budgets}; {selection['rule']}"
    table = Table(title=head, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("layer", overflow="fold")
    table.add_column("weight")
    table.add_column("input")
    table.add_column("reason")
    for item in selection["layers"]:
        reason = item["reason"] + (f"\nwarning: {item['warning']}" if item["warning"] else "")
        table.add_row(Text(item["layer"]), item["weight"], item["input"], Text(reason))
    return table


def map_table(result: MapResult) -> RenderableType:
    """One layer's mapping, its cost by parts, and what is proven about it."""
    cost, setup = result.cost, result.setup
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    facts.add_column()
    facts.add_column(style="bold")
    facts.add_column(style="dim")
    clock = setup.arch.clock_hz
    for line in (
        ("layer", result.layer.name or result.layer.kind, text.dims(dict(result.layer.dims))),
        ("precision", str(setup.precision), setup.note),
        ("MACs", text.count(cost.macs), ""),
        ("latency", text.si(cost.latency_cycles / clock, "s"), f"{text.count(cost.latency_cycles)} cycles"),
        ("energy", text.energy(cost.energy_pj), f"{cost.energy_pj:,.6g} pJ"),
        ("energy × latency", f"{cost.edp_pj_cycles:.6g} pJ·cycles", ""),
        ("utilisation", text.percent(cost.utilization), f"bound by {text.resource(cost.bound_by)}"),
        ("mapping", text.proof(result.optimal, result.gap, cost.estimate), _proof(result)),
    ):
        facts.add_row(*(Text(cell) for cell in line))
    parts: list[RenderableType] = [facts]
    if result.mapping is not None:
        parts.append(Text("\n" + format_mapping(result.mapping, result.layer) + "\n"))
    parts.append(_breakdown("energy", "pJ", dict(cost.energy_breakdown_pj), cost.energy_pj))
    parts.append(_breakdown("time", "cycles", dict(cost.latency_breakdown_cycles), cost.latency_cycles))
    return Group(*parts)


def _proof(result: MapResult) -> str:
    bound = "" if result.bound is None else f"bound {result.bound:.6g}, "
    searched = ""
    if result.search is not None:
        searched = f", {text.count(result.search.evaluated)} evaluated, stopped by {result.search.stopped_by}"
    return f"{bound}{result.objective} in the space of {result.space}{searched}"


def _breakdown(name: str, unit: str, parts: dict[str, float], whole: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{name} by part")
    table.add_column(unit, justify="right")
    table.add_column("%", justify="right")
    for part, value in sorted(parts.items(), key=lambda item: -item[1]):
        if value:
            table.add_row(Text(part), f"{value:,.6g}", _share(value, whole))
    return table
