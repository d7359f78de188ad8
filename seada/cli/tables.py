"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from seada.mapping.text import format_mapping
from seada.report.text import area, count, data_size, energy, pair, percent, proof, significant
from seada.workload.layer import ROLES

if TYPE_CHECKING:
    from rich.console import RenderableType

    from seada.mapper.result import MapResult
    from seada.system.result import LayerRow, RunResult


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Table:
    """A plain table; the first `left` columns are text, the others numbers. Nothing is read as markup."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if index < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def number(value: float) -> str:
    """Six significant digits, with separators."""
    return f"{value:,.0f}" if abs(value) >= 1000 else significant(value, 6)


def layer_text(result: MapResult) -> Iterator[RenderableType]:
    """What `map` and `evaluate` print."""
    layer, cost = result.layer, result.cost
    extents = " ".join(f"{name}={extent}" for name, extent in layer.dims)
    yield f"{layer.name}: {layer.kind} {extents}, {count(cost.macs)} MACs"
    yield f"precision {result.setup.precision}, {result.setup.mode.lanes} lanes per PE"
    if result.setup.note:
        yield f"note: {result.setup.note}"
    yield (
        f"latency {count(cost.latency_cycles)} cycles ({_time(result)}), energy {energy(cost.energy_pj)}, "
        f"utilization {percent(cost.utilization)}, bound by {cost.bound_by}"
    )
    calibrated = result.calibrated_latency_cycles
    if calibrated is not None:
        yield f"calibrated latency {count(round(calibrated))} cycles"
    yield from _search_text(result)
    if result.mapping is not None:
        yield ""
        yield format_mapping(result.mapping, layer)
        yield ""
    yield from _access_table(result)
    yield "Energy" if cost.counts is None else "Energy of links, additions and PEs"
    yield make_table(["part", "pJ"], [(name, number(value)) for name, value in _other_energy(result)])
    yield "Latency"
    yield make_table(
        ["part", "cycles"], [(name, number(value)) for name, value in cost.latency_breakdown_cycles.items()]
    )
    for warning in result.setup.arch.warnings:
        yield f"warning: {warning}"


def _time(result: MapResult) -> str:
    from seada.report.text import si

    return si(result.cost.latency_cycles / result.setup.arch.clock_hz, "s")


def _search_text(result: MapResult) -> Iterator[str]:
    if result.search is None:
        return
    known = proof(result.optimal, result.gap, result.cost.estimate)
    yield (
        f"{known} for {result.objective}; {count(result.search.evaluated)} evaluated, "
        f"{count(result.search.pruned)} pruned, stopped by {result.search.stopped_by}; space: {result.space}"
    )


def _access_table(result: MapResult) -> Iterator[RenderableType]:
    counts = result.cost.counts
    if counts is None:
        return
    rows = []
    for memory, accesses in zip(result.setup.arch.memories, counts.memories, strict=True):
        for role, access in zip(ROLES, accesses, strict=True):
            moved = (access.reads, access.writes, access.read_words, access.write_words)
            cost = result.cost.energy_breakdown_pj[f"{memory.name}.{role}"]
            if any(moved):
                rows.append([memory.name, role, *map(count, moved), number(cost)])
    yield "Accesses, all instances"
    columns = ["memory", "operand", "reads", "writes", "read words", "write words", "energy [pJ]"]
    yield make_table(columns, rows, left=2)


def _other_energy(result: MapResult) -> list[tuple[str, float]]:
    """Parts of the energy that the table of accesses does not show."""
    shown = set()
    if result.cost.counts is not None:
        shown = {f"{memory.name}.{role}" for memory in result.setup.arch.memories for role in ROLES}
    return [(name, value) for name, value in result.cost.energy_breakdown_pj.items() if name not in shown]


def network_text(result: RunResult) -> Iterator[RenderableType]:
    """What `run` and `select` print."""
    columns = [
        "layer",
        "type",
        "formats",
        "MACs",
        "latency [cycles]",
        "energy [pJ]",
        "utilization",
        "mapping",
    ]
    costly = [row for row in result.layers if row.latency_cycles or row.energy_pj or row.macs]
    yield f"{result.network} on {result.chip.name}, mappings for least {result.objective}"
    yield make_table(columns, map(_network_row, costly), left=3)
    yield _totals(result)
    yield from _selection_text(result)
    coverage = result.coverage
    missing = ", ".join(f"{item['type']} x{item['count']}" for item in coverage["unmodelled"])
    rest = f"; not modelled: {missing}" if missing else ""
    yield f"{coverage['modelled']} of {coverage['total']} nodes modelled{rest}"
    for warning in result.chip.warnings:
        yield f"warning: {warning}"
    for note in result.notes:
        yield f"note: {note}"


def _network_row(row: LayerRow) -> list[str]:
    return [
        row.name,
        row.type,
        pair(dict(row.precision)),
        count(row.macs) if row.macs else "",
        count(row.latency_cycles),
        number(row.energy_pj),
        percent(row.utilization),
        proof(row.optimal, row.gap, row.estimate) if row.macs else "",
    ]


def _selection_text(result: RunResult) -> Iterator[RenderableType]:
    """Accuracy beside uniform formats, and the reason of each choice."""
    if result.accuracy is not None:
        reference = percent(result.accuracy["reference"])
        yield (
            f"accuracy {percent(result.accuracy['measured'])} on {count(result.accuracy['items'])} items, "
            f"unrounded {reference}"
        )
        columns = ["formats", "accuracy", "latency [cycles]", "energy [pJ]", "weights [B]"]
        points = result.accuracy.get("points", [])
        if points:
            yield make_table(columns, map(_accuracy_row, points))
    if result.selection is not None:
        yield f"chosen by {result.selection['method']}: {result.selection['rule']}"
        for choice in result.selection["layers"]:
            formats = f"{choice['weight']} x {choice['input']}"
            yield f"  {choice['layer']}: {formats}; {choice['reason']}"
            if choice["warning"]:
                yield f"    warning: {choice['warning']}"


def _accuracy_row(point: Mapping[str, Any]) -> list[str]:
    return [
        point["precision"],
        percent(point["accuracy"]),
        count(point["latency_cycles"]),
        number(point["energy_pj"]),
        count(point["weight_bytes"]),
    ]


def _totals(result: RunResult) -> str:
    from seada.report.text import si

    total = result.total
    lines = [
        f"latency {count(total.latency_cycles)} cycles = {si(total.latency_s, 's')}, "
        f"energy {energy(total.energy_pj)}, power {si(total.power_w, 'W')}, "
        f"{si(total.macs_per_s, 'MAC/s')}, EDP {significant(total.edp_pj_cycles)} pJ x cycles",
        f"{count(total.macs)} MACs, weights {data_size(total.weight_bytes)}, "
        f"activations {data_size(total.activation_bytes)}, {count(total.bops)} bit operations, "
        f"area {area(total.area_um2)}",
    ]
    return "\n".join(lines)
