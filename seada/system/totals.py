"""Sums over the rows of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod

from seada.arch.area import area
from seada.arch.hardware import Arch
from seada.formats import Format, Precision
from seada.mapper.objective import parse_objective
from seada.system.assign import Assignment, tensor_elements, tensor_roots
from seada.system.result import LayerRow, Total
from seada.workload.network import Network, Node


def total_of(
    arch: Arch,
    network: Network,
    assignment: Assignment,
    rows: Sequence[LayerRow],
    precisions: Mapping[str, Precision],
    objective: str,
) -> Total:
    """All totals; `precisions` holds the formats of each node with MAC layers by node name."""
    latency = sum(row.latency_cycles for row in rows)
    energy = sum(row.energy_pj for row in rows)
    seconds = latency / arch.clock_hz
    macs = sum(row.macs for row in rows)
    parts = dict(area(arch))
    whole = parts.pop("total")
    bound, gap = _bound(rows, objective, energy, latency)
    written, peak = activation_bits(network, assignment)
    return Total(
        latency_cycles=latency,
        latency_s=seconds,
        energy_pj=energy,
        edp_pj_cycles=energy * latency,
        power_w=energy * 1e-12 / seconds if seconds else 0.0,
        macs_per_s=macs / seconds if seconds else 0.0,
        area_um2=whole,
        macs=macs,
        weight_bytes=_bytes(weight_bits(network, precisions)),
        activation_bytes=_bytes(written),
        bops=bops(network, precisions),
        bound=bound,
        gap=gap,
        peak_activation_bytes=_bytes(peak),
        area_breakdown_um2=parts,
        energy_breakdown_pj=energy_by_part(rows),
    )


def _bytes(bits: int) -> int:
    return ceil(bits / 8)


def bops(network: Network, precisions: Mapping[str, Precision]) -> int:
    """Bit operations: MACs x weight bits x input bits over all layers."""
    return sum(
        layer.macs * precisions[node.name].weight.bits * precisions[node.name].input.bits
        for node in network.nodes
        for layer in node.layers
    )


def weight_bits(network: Network, precisions: Mapping[str, Precision]) -> int:
    """Bits of the constant weights of MAC layers; one that several share counts once, at its widest."""
    bits: dict[str, int] = {}
    for node in network.nodes:
        if node.layers and is_weight(network, node):
            size = stored_weight_bits(network, node, precisions[node.name].weight)
            key = node.weight or node.name
            bits[key] = max(bits.get(key, 0), size)
    return sum(bits.values())


def is_weight(network: Network, node: Node) -> bool:
    """Whether the weight operand of a node is constant and not computed by the network."""
    tensor = network.tensors.get(node.weight)
    return tensor is None or tensor.constant


def node_weight_elements(network: Network, node: Node) -> int:
    """Elements of a node's weight tensor, by its shape or else by its layers."""
    tensor = network.tensors.get(node.weight)
    return prod(tensor.shape) if tensor else sum(layer.elements("weight") for layer in node.layers)


def stored_weight_bits(network: Network, node: Node, fmt: Format) -> int:
    """Bits of a node's weight tensor in a format, scales included."""
    return fmt.stored_bits(node_weight_elements(network, node), node.layers[0].channel_elements)


def activation_bits(network: Network, assignment: Assignment) -> tuple[int, int]:
    """Bits of all tensors that are written to memory, and the most that are alive at one time.

    Views are not written, and a tensor that only an operator in the same drain reads is its result. A
    tensor lives from the node that produces it to the last that reads it; outputs of the network live to
    the end, inputs from the start.
    """
    roots = tensor_roots(network)
    last_use = {
        roots.get(name, name): index for index, node in enumerate(network.nodes) for name in node.inputs
    }
    last_use |= {roots.get(name, name): len(network.nodes) for name in network.outputs}
    alive = {name: _tensor_bits(network, assignment, name) for name in network.inputs}
    written = peak = sum(alive.values())
    for index, node in enumerate(network.nodes):
        new = {
            name: _tensor_bits(network, assignment, name)
            for name in node.outputs
            if name and name not in roots
        }
        written += sum(new.values())
        alive |= new
        peak = max(peak, sum(alive.values()))
        alive = {name: bits for name, bits in alive.items() if last_use.get(name, index) > index}
    return written, peak


def _tensor_bits(network: Network, assignment: Assignment, name: str) -> int:
    found = assignment.tensors.get(name)
    return found.stored_bits(tensor_elements(network, name), 1) if found else 0


def energy_by_part(rows: Sequence[LayerRow]) -> dict[str, float]:
    """Energy of the network by the parts that the rows name, in order of first appearance."""
    parts: dict[str, float] = {}
    for row in rows:
        for name, value in row.energy_breakdown_pj.items():
            parts[name] = parts.get(name, 0.0) + value
    return parts


def _bound(
    rows: Sequence[LayerRow], objective: str, energy: float, latency: int
) -> tuple[float | None, float | None]:
    """Least possible objective of the network at these formats, where it follows from the layers' bounds.

    Energy and latency add up over layers, so their bounds do. A product of sums does not follow from
    bounds of products, so it has none here.
    """
    goal = parse_objective(objective)
    additive = {(1.0, 0.0): "energy", (0.0, 1.0): "latency"}.get((goal.energy_power, goal.latency_power))
    if additive is None:
        return None, None
    least = 0.0
    for row in rows:
        fixed = row.energy_pj if additive == "energy" else float(row.latency_cycles)
        if row.mapping_text or row.macs:
            if row.bound is None and not row.estimate:
                return None, None
            least += fixed if row.bound is None else min(row.bound, fixed)
        else:
            least += fixed
    value = energy if additive == "energy" else float(latency)
    return least, (value / least - 1 if least else 0.0)
