"""A network as text: MAC layers, other operators, totals and coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod

from seada.workload.coverage import coverage_text
from seada.workload.layer import Layer
from seada.workload.network import Network, Node


def describe(network: Network) -> str:
    """Tables of the MAC layers and of the other operators by type, then totals, notes and coverage."""
    return "\n".join(_describe(network))


def _describe(network: Network) -> Iterator[str]:
    yield f"network {network.name}" + (f" ({network.source})" if network.source else "")
    for label, names in (("input", network.inputs), ("output", network.outputs)):
        for name in names:
            yield f"  {label} {name}: {_shape(network.tensors[name].shape)}"
    yield ""
    yield from _table(
        ("layer", "type", "dimensions", "stride", "dilation", "pad", "MACs", "weights", "formats"),
        [_layer_row(node, layer) for node in network.nodes for layer in node.layers],
        numbers=(6, 7),
    )
    yield ""
    yield from _table(
        ("operator", "nodes", "fused", "operations", "read [elements]", "written [elements]", "remark"),
        list(_operator_rows(network)),
        numbers=(1, 2, 3, 4, 5),
    )
    yield ""
    yield f"total: {network.macs:,} MACs in {len(network.layers)} layers, {_constants(network):,} constants"
    yield from (f"note: {note}" for note in network.notes)
    yield coverage_text(network)


def _layer_row(node: Node, layer: Layer) -> list[str]:
    windows = [axis for axis in layer.input.axes if len(axis.terms) == 2]
    return [
        layer.name,
        layer.kind,
        " ".join(f"{name}={extent}" for name, extent in layer.dims if extent > 1) or "1",
        _per_axis([axis.terms[0][1] for axis in windows]),
        _per_axis([axis.terms[1][1] for axis in windows]),
        _per_axis([axis.offset for axis in windows]),
        f"{layer.macs:,}",
        f"{layer.elements('weight'):,}",
        str(node.precision or "-"),
    ]


def _per_axis(values: Sequence[int]) -> str:
    if not values:
        return "-"
    return str(values[0]) if len(set(values)) == 1 else ",".join(map(str, values))


def _operator_rows(network: Network) -> Iterator[list[str]]:
    by_type: dict[str, list[Node]] = defaultdict(list)
    for node in network.nodes:
        if not node.layers:
            by_type[node.type].append(node)
    for kind, nodes in sorted(by_type.items()):
        works = [node.work for node in nodes if node.work is not None]
        reasons = sorted({work.zero_cost for work in works if work.zero_cost})
        yield [
            kind,
            str(len(nodes)),
            str(sum(work.fuses for work in works)),
            f"{sum(work.operations for work in works):,}",
            f"{sum(work.read_elements for work in works):,}",
            f"{sum(work.write_elements for work in works):,}",
            "; ".join(reasons) if works else "not modelled",
        ]


def _constants(network: Network) -> int:
    return sum(prod(tensor.shape) for tensor in network.tensors.values() if tensor.constant)


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "scalar"


def _table(header: Sequence[str], rows: list[list[str]], numbers: Sequence[int]) -> Iterator[str]:
    """Aligned columns; those in `numbers` to the right."""
    if not rows:
        return
    widths = [max(len(row[i]) for row in [list(header), *rows]) for i in range(len(header))]
    for row in [list(header), ["-" * width for width in widths], *rows]:
        cells = (
            cell.rjust(width) if i in numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
