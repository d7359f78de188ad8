"""The result of a whole network, as plain data that reads back from its own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from seada.errors import UserError

if TYPE_CHECKING:
    from seada.mapper.result import MapResult

SCHEMA_VERSION = 1

ARRAY, VECTOR, FLOAT, CONVERSION, FREE = "array", "vector", "float_unit", "conversion", "free"
"""Where a row of the result runs; ``free`` has a stated reason why it costs nothing."""


@dataclass(frozen=True)
class LayerRow:
    """One line of the network: a MAC layer, a vector operator or a conversion.

    Attributes
    ----------
    name : str
        Of the layer or node; a conversion is named ``tensor -> format``.
    type : str
        ``conv``, ``gemm`` ..., the operator type of a vector operator, or ``Conversion``.
    unit : str
        `ARRAY`, `VECTOR`, `FLOAT`, `CONVERSION` or `FREE`.
    macs, operations : int
        MACs, and operations on the vector unit.
    precision : mapping
        Format by operand (weight, input, accumulator, output); input and output for vector operators.
    latency_cycles : int
        Adds up to the network's latency. A fused operator has only what it adds to its producer.
    energy_pj : float
        Sum of `energy_breakdown_pj`.
    utilization : float or None
        Of the unit that runs it; None where the row takes no time of its own.
    optimal, bound, gap, space, search
        What the mapper has proven about the point chosen for this layer; None for rows without mapping.
    outer_bits : int
        Bits that the outermost memory moves for this row, reads and writes.
    dims : mapping
        Extents by dimension name; empty for rows without MACs.
    mapping_text, mapping_nodes
        The loop nest, to read and as data; empty where there is none.
    note : str
        Anything that was decided and is not visible elsewhere (mode used, fused into, why it is free).
    """

    name: str
    type: str
    unit: str
    macs: int
    operations: int
    precision: Mapping[str, str]
    latency_cycles: int
    energy_pj: float
    utilization: float | None
    optimal: bool | None = None
    gap: float | None = None
    bound: float | None = None
    estimate: bool = False
    weight_bits: int = 0
    outer_bits: int = 0
    bound_by: str = ""
    energy_breakdown_pj: Mapping[str, float] = field(default_factory=dict)
    latency_breakdown_cycles: Mapping[str, float] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    mapping_text: str = ""
    mapping_nodes: tuple[Mapping[str, Any], ...] = ()
    space: str = ""
    search: Mapping[str, Any] | None = None
    note: str = ""

    @property
    def edp_pj_cycles(self) -> float:
        """Energy times latency of this row alone."""
        return self.energy_pj * self.latency_cycles


@dataclass(frozen=True)
class Total:
    """Sums over the network.

    Attributes
    ----------
    edp_pj_cycles : float
        Total energy times total latency; not the sum over layers.
    power_w : float
        Mean power while the network runs.
    weight_bytes : int
        Constant tensors of MAC layers at their weight format, each once.
    activation_bytes : int
        Graph inputs and every tensor that is written to memory, each once, at the format it rests in.
    peak_activation_bytes : int
        The largest sum of tensors that are alive at the same time.
    bops : int
        Sum over layers of MACs x weight bits x input bits.
    bound, gap : float or None
        Of the network's objective over the mappings at these formats; None where unknown.
    """

    latency_cycles: int
    latency_s: float
    energy_pj: float
    edp_pj_cycles: float
    power_w: float
    macs_per_s: float
    area_um2: float
    macs: int
    weight_bytes: int
    activation_bytes: int
    bops: int
    bound: float | None
    gap: float | None
    peak_activation_bytes: int = 0
    area_breakdown_um2: Mapping[str, float] = field(default_factory=dict)
    energy_breakdown_pj: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Chip:
    """What a reader of a result must know about the architecture.

    Attributes
    ----------
    memories, modes : tuple of mapping
        Plain data for tables and rooflines; bandwidths per instance.
    peak_macs_per_cycle : mapping
        Of the whole array, by ``weight x input`` format.
    outer_bits_per_cycle : float or None
        Bandwidth of the outermost memory; None is unlimited.
    sources : tuple of mapping
        Every coefficient with its source and status.
    """

    name: str
    clock_hz: float
    pes: int
    memories: tuple[Mapping[str, Any], ...]
    modes: tuple[Mapping[str, Any], ...]
    peak_macs_per_cycle: Mapping[str, float]
    outer_bits_per_cycle: float | None
    sources: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """A network on a chip: every row, the totals, and where all of it came from.

    Attributes
    ----------
    layers : tuple of LayerRow
        In execution order.
    coverage : mapping
        ``modelled``, ``total``, ``unmodelled: [{type, count}]``.
    accuracy : mapping or None
        Measured on labelled data; None where there were none.
    selection : mapping or None
        How the formats were chosen; None if they were given.
    results : mapping
        The mapper's answer by layer name; not part of the JSON and of comparisons.
    """

    chip: Chip
    network: str
    objective: str
    layers: tuple[LayerRow, ...]
    total: Total
    coverage: Mapping[str, Any]
    provenance: Mapping[str, Any]
    accuracy: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    results: Mapping[str, MapResult] = field(default_factory=dict, compare=False, repr=False)

    def layer(self, name: str) -> LayerRow:
        """The row of that name.

        Raises
        ------
        UserError
            If there is none; the message names the nearest.
        """
        for row in self.layers:
            if row.name == name:
                return row
        from difflib import get_close_matches

        near = get_close_matches(name, [row.name for row in self.layers], n=1)
        raise UserError(
            f"the result has no layer {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """One JSON document; exact integers where things are counted."""
        rows = []
        for row in self.layers:
            data = _plain(asdict(row))
            text, nodes = data.pop("mapping_text"), data.pop("mapping_nodes")
            data["mapping"] = {"text": text, "nodes": nodes} if text else None
            rows.append(data)
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "run",
            "chip": _plain(asdict(self.chip)),
            "network": self.network,
            "objective": self.objective,
            "layers": rows,
            "total": asdict(self.total),
            "coverage": _plain(dict(self.coverage)),
            "accuracy": _plain(self.accuracy),
            "selection": _plain(self.selection),
            "notes": list(self.notes),
            "provenance": _plain(dict(self.provenance)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunResult:
        """Read back what `to_dict` wrote.

        Raises
        ------
        UserError
            If the document is no result of this schema version.
        """
        if data.get("schema_version") != SCHEMA_VERSION or data.get("kind") != "run":
            raise UserError(
                f"not a result of `run` with schema_version {SCHEMA_VERSION}: "
                f"kind {data.get('kind')!r}, schema_version {data.get('schema_version')!r}"
            )
        try:
            return cls(
                chip=Chip(**_tuples(data["chip"], ("memories", "modes", "sources", "warnings"))),
                network=data["network"],
                objective=data["objective"],
                layers=tuple(_row(row) for row in data["layers"]),
                total=Total(**data["total"]),
                coverage=data["coverage"],
                provenance=data["provenance"],
                accuracy=data["accuracy"],
                selection=data["selection"],
                notes=tuple(data["notes"]),
            )
        except (KeyError, TypeError) as error:
            raise UserError(f"the result is incomplete or has unknown fields: {error}") from error


def _row(data: Mapping[str, Any]) -> LayerRow:
    known = {item.name for item in fields(LayerRow)}
    values = {key: value for key, value in data.items() if key in known}
    mapping = data["mapping"]
    if mapping is not None:
        values |= {"mapping_text": mapping["text"], "mapping_nodes": tuple(mapping["nodes"])}
    return LayerRow(**values)


def _tuples(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: tuple(value) if key in names else value for key, value in data.items()}


def _plain(value: Any) -> Any:
    """Tuples as lists, mappings as dicts: what JSON gives back."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
