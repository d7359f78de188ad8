"""What vector operators and conversions cost.

Time of an operator = the longer of ``operations / lanes`` and, per memory, its traffic over its
bandwidth; it runs after its producer. Tensors rest in the outermost memory: between there and the memory
that feeds the vector unit every distinct element moves once each way; the passes of an operator over its
data load only the feeding memory.

A fused operator runs while its producer drains and moves nothing. Producer and everything fused to it
take the longer of the producer's own time and all their operations over the lanes, so a fused operator
adds time only where the vector unit is slower than the producer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from seada.arch.hardware import Arch, Memory, VectorUnit
from seada.errors import InfeasibleError
from seada.formats import Format
from seada.model.standby import standby_pj
from seada.model.streams import port_cycles
from seada.system.assign import Assignment, Conversion, tensor_elements
from seada.system.result import CONVERSION, FREE, VECTOR, LayerRow
from seada.workload.network import Network, Node, VectorWork

# An element whose format nobody states (indices, shapes) is carried as 32 bits.
UNSTATED_BITS = 32


def require_vector_unit(arch: Arch, network: Network, assignment: Assignment) -> None:
    """Refuse, before anything is mapped, what needs a vector unit that the chip does not have.

    Raises
    ------
    InfeasibleError
        Naming the first operator, bias or conversion.
    """
    if arch.vector_unit is not None:
        return
    for node in network.nodes:
        if node.work is not None and node.work.operations:
            raise _no_unit(arch, f"{'the bias of ' if node.layers else ''}{node.name} ({node.type})")
    for item in assignment.conversions:
        raise _no_unit(arch, f"the conversion of {item.tensor} from {item.source} to {item.target}")


def _no_unit(arch: Arch, what: str) -> InfeasibleError:
    return InfeasibleError(f"{arch.name} has no vector unit, which {what} needs; add vector_unit to it")


@dataclass
class Group:
    """A producer and what is fused to it so far: cycles that it takes anyway, operations, latency charged."""

    own_cycles: float
    operations: int
    charged: int


@dataclass
class VectorModel:
    """Costs the rows between the MAC layers, in execution order.

    What the chip spends without a PE that works is charged over the latency that a row adds.
    """

    arch: Arch
    network: Network
    assignment: Assignment
    _groups: dict[str, Group] = field(default_factory=dict)
    _producers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._producers = {name: node.name for node in self.network.nodes for name in node.outputs if name}
        self._nodes = {node.name: node for node in self.network.nodes}

    def behind_layer(self, node: Node, row: LayerRow, node_cycles: int) -> LayerRow:
        """The (last) row of a MAC node with the vector operations of the node itself (the bias) in its drain.

        Operators that follow may fuse to it from here on; `node_cycles` is the latency of all its rows.
        """
        self._groups[node.name] = Group(node_cycles, 0, node_cycles)
        if node.work is None or not node.work.operations:
            return row
        unit = self._unit(f"the bias of {node.name} ({node.type})")
        cost = self._in_drain(node.work, node.name, unit)
        energy = dict(row.energy_breakdown_pj)
        for part, value in cost.energy.items():
            energy[part] = energy.get(part, 0.0) + value
        cycles = dict(row.latency_breakdown_cycles)
        if cost.latency_cycles:
            cycles["vector"] = float(cost.latency_cycles)
        return replace(
            row,
            operations=node.work.operations,
            latency_cycles=row.latency_cycles + cost.latency_cycles,
            energy_pj=sum(energy.values()),
            energy_breakdown_pj=energy,
            latency_breakdown_cycles=cycles,
        )

    def node(self, node: Node) -> LayerRow:
        """The row of a vector operator.

        Raises
        ------
        InfeasibleError
            If it has work and the chip has no vector unit.
        """
        work = node.work
        if work is None:
            raise ValueError(f"{node.name} ({node.type}) is not modelled")
        formats = self._formats(node)
        if work.zero_cost:
            return _row(node.name, node.type, FREE, formats, note=work.zero_cost)
        unit = self._unit(f"{node.name} ({node.type})")
        producer = self._fused_to(node) if work.fuses else ""
        if producer:
            return self._fused(node, work, producer, unit, formats)
        if work.fuses:
            work = self._standalone(node, work)
        return self._alone(node, work, unit, formats)

    def conversion(self, item: Conversion) -> LayerRow:
        """The row of a conversion: an operation, a read and a write per element where the tensor rests."""
        unit = self._unit(f"the conversion of {item.tensor} from {item.source} to {item.target}")
        rest = self.arch.memories[0]
        reads = ceil(item.source.stored_bits(item.elements, 1) / rest.word_bits)
        writes = ceil(item.target.stored_bits(item.elements, 1) / rest.word_bits)
        traffic = [(rest, reads, writes)]
        cost = self._timed(item.elements, traffic, unit)
        return _row(
            f"{item.tensor} -> {item.target}",
            "Conversion",
            CONVERSION,
            {"input": item.source.name, "output": item.target.name},
            operations=item.elements,
            note=f"consumers read {item.tensor} as {item.target}; it rests as {item.source}",
            outer_bits=(reads + writes) * rest.word_bits,
            cost=cost,
        )

    def _unit(self, what: str) -> VectorUnit:
        if self.arch.vector_unit is None:
            raise _no_unit(self.arch, what)
        return self.arch.vector_unit

    def _fused(
        self, node: Node, work: VectorWork, producer: str, unit: VectorUnit, formats: Mapping[str, str]
    ) -> LayerRow:
        cost = self._in_drain(work, producer, unit)
        self._groups[node.name] = self._groups[producer]
        note = f"fused with the drain of {producer}"
        if cost.latency_cycles:
            note += f"; the vector unit is slower, which adds {cost.latency_cycles} cycles"
        return _row(node.name, node.type, VECTOR, formats, operations=work.operations, note=note, cost=cost)

    def _in_drain(self, work: VectorWork, producer: str, unit: VectorUnit) -> _Cost:
        """Operations beside what the producer's group does already; time only beyond what it takes anyway."""
        group = self._groups[producer]
        group.operations += work.operations
        needed = ceil(max(group.own_cycles, group.operations / unit.operations_per_cycle))
        added = max(0, needed - group.charged)
        group.charged += added
        return _Cost(
            latency_cycles=added,
            energy={"vector": work.operations * unit.energy_pj_per_op, **standby_pj(self.arch, added)},
            cycles={"compute": work.operations / unit.operations_per_cycle},
            bound_by="vector" if added else "",
        )

    def _alone(self, node: Node, work: VectorWork, unit: VectorUnit, formats: Mapping[str, str]) -> LayerRow:
        traffic = self._traffic(node, work, unit)
        cost = self._timed(work.operations, traffic, unit)
        busiest = max((value for key, value in cost.cycles.items() if key != "compute"), default=0.0)
        self._groups[node.name] = Group(busiest, work.operations, cost.latency_cycles)
        outermost, reads, writes = traffic[0]
        return _row(
            node.name,
            node.type,
            VECTOR,
            formats,
            operations=work.operations,
            outer_bits=(reads + writes) * outermost.word_bits if outermost is self.arch.memories[0] else 0,
            cost=cost,
        )

    def _traffic(self, node: Node, work: VectorWork, unit: VectorUnit) -> list[tuple[Memory, int, int]]:
        """Words read and written per memory from where tensors rest to the one that feeds the vector unit."""
        feeding = next(memory for memory in self.arch.memories if memory.name == unit.memory)
        path = self.arch.memories[: self.arch.memories.index(feeding) + 1]
        distinct_in = min(work.read_elements, self._elements(node.inputs))
        distinct_out = min(work.write_elements, self._elements(node.outputs))
        source, target = self._stored_as(node, input_side=True), self._stored_as(node, input_side=False)
        traffic = []
        for memory in path:
            last, first = memory is feeding, memory is path[0]
            reads = source(work.read_elements if last else distinct_in)
            writes = target(work.write_elements if last else distinct_out)
            filled = 0 if first else source(distinct_in)
            drained = 0 if first else target(distinct_out)
            word = memory.word_bits
            words_read = ceil(reads / word) + ceil(drained / word)
            words_written = ceil(writes / word) + ceil(filled / word)
            traffic.append((memory, words_read, words_written))
        return traffic

    def _elements(self, names: tuple[str, ...]) -> int:
        return sum(tensor_elements(self.network, name) for name in names)

    def _timed(self, operations: int, traffic: list[tuple[Memory, int, int]], unit: VectorUnit) -> _Cost:
        cycles = {"compute": operations / unit.operations_per_cycle}
        energy = {"vector": operations * unit.energy_pj_per_op}
        for memory, reads, writes in traffic:
            energy[f"{memory.name}.vector"] = reads * memory.read_energy_pj + writes * memory.write_energy_pj
            cycles |= port_cycles(self.arch, memory, reads, writes)
        slowest = max(cycles, key=lambda name: cycles[name])
        latency = ceil(cycles[slowest])
        energy |= standby_pj(self.arch, latency)
        return _Cost(
            latency_cycles=latency,
            utilization=cycles["compute"] / latency if latency else None,
            energy=energy,
            cycles=cycles,
            bound_by="vector" if slowest == "compute" else slowest,
        )

    def _fused_to(self, node: Node) -> str:
        """The row whose drain it runs in, looking through views; empty if its input comes from outside."""
        name = next((item for item in node.inputs if item in self._producers), "")
        while name in self._producers:
            producer = self._nodes[self._producers[name]]
            if producer.name in self._groups:
                return producer.name
            if producer.work is None or not producer.work.zero_cost or not producer.inputs:
                return ""
            name = producer.inputs[0]
        return ""

    def _standalone(self, node: Node, work: VectorWork) -> VectorWork:
        """A fusing operator with nothing to fuse to reads and writes its tensors."""
        return VectorWork(
            work.operations,
            tensor_elements(self.network, node.inputs[0]) if node.inputs else 0,
            self._elements(node.outputs),
        )

    def _format_of(self, names: tuple[str, ...]) -> Format | None:
        known = [self.assignment.tensors[name] for name in names if name in self.assignment.tensors]
        return max(known, key=lambda item: item.bits) if known else None

    def _formats(self, node: Node) -> dict[str, str]:
        """An operator computes in the format of its output; its inputs were converted to it if need be."""
        output = self._format_of(node.outputs)
        if output is None:
            return {}
        return {"input": output.name, "output": output.name}

    def _stored_as(self, node: Node, *, input_side: bool) -> Callable[[int], int]:
        """Bits of so many elements on one side of an operator, with their scales."""
        found = self._format_of(node.outputs) or (self._format_of(node.inputs) if input_side else None)
        return lambda elements: found.stored_bits(elements, 1) if found else elements * UNSTATED_BITS


@dataclass(frozen=True)
class _Cost:
    latency_cycles: int = 0
    utilization: float | None = None
    energy: Mapping[str, float] = field(default_factory=dict)
    cycles: Mapping[str, float] = field(default_factory=dict)
    bound_by: str = ""


def _row(
    name: str,
    kind: str,
    unit: str,
    formats: Mapping[str, str],
    *,
    operations: int = 0,
    outer_bits: int = 0,
    note: str = "",
    cost: _Cost | None = None,
) -> LayerRow:
    cost = cost or _Cost()
    return LayerRow(
        name=name,
        type=kind,
        unit=unit,
        macs=0,
        operations=operations,
        precision=formats,
        latency_cycles=cost.latency_cycles,
        energy_pj=sum(cost.energy.values()),
        utilization=cost.utilization,
        outer_bits=outer_bits,
        bound_by=cost.bound_by,
        energy_breakdown_pj=cost.energy,
        latency_breakdown_cycles=cost.cycles,
        note=note,
    )
