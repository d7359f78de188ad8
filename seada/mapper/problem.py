"""From layer and set-up to the arrays that the search kernels take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from seada.arch.hardware import LANES, Arch, Fanout, Memory, Setup
from seada.mapper.estimate_kernel import Problem, Scratch
from seada.mapper.window_kernel import window_tables
from seada.workload.layer import ROLES, Axis, Layer

KEEP_CODES = {"never": 0, "may": 1, "must": 2}


@dataclass(frozen=True)
class Slot:
    """A place for loops: below memory `memory` (temporal), or on `axis` (``fanout.axis``) of a fanout."""

    node: int
    memory: str | None
    axis: str | None
    size: int


@dataclass(frozen=True)
class SearchSpace:
    """The map-space of one layer on one set-up.

    Attributes
    ----------
    dims : names of the layer's dimensions with extent above 1
    slots : outermost first
    problem : the same as arrays
    """

    layer: Layer
    setup: Setup
    dims: tuple[str, ...]
    slots: tuple[Slot, ...]
    problem: Problem

    @property
    def genome_length(self) -> int:
        """Integers in a candidate: trips, keep flags, orders."""
        memories = len(self.problem.memories)
        return len(self.slots) * len(self.dims) + 4 * memories

    def scratch(self) -> Scratch:
        """Fresh work space of the estimate."""
        slots, dims = len(self.slots), len(self.dims)
        memories, fanouts = len(self.problem.memories), len(self.problem.fanouts)
        return Scratch(
            above=np.ones((slots + 1, dims), np.int64),
            trips=np.ones((slots, dims), np.int64),
            dropped=np.ones(dims, np.int64),
            union=np.ones(dims, np.int64),
            reads=np.zeros(memories),
            writes=np.zeros(memories),
            fill=np.zeros((memories, 2)),
            link_bits=np.zeros(fanouts),
            active=np.ones(slots + 1),
            state=np.zeros(8),
        )


def build_space(layer: Layer, setup: Setup) -> SearchSpace:
    """Flatten a layer and a set-up."""
    dims = tuple(name for name, extent in layer.dims if extent > 1) or (layer.dims[0][0],)
    slots = tuple(_slots(setup))
    memories = [node for node in setup.nodes if isinstance(node, Memory)]
    axes, tables = _axes(layer, dims)
    allowed, fixed = _limits(setup, dims, slots)
    precision = setup.precision
    bits = (precision.weight.bits, precision.input.bits, precision.accumulator.bits, precision.output.bits)
    problem = Problem(
        extents=np.array([layer.extents[d] for d in dims], np.int64),
        relevant=np.array([[int(d in op.dims) for d in dims] for op in layer.operands], np.int64),
        axes=axes,
        tables=tables,
        slots=_slot_rows(setup, slots),
        allowed=allowed,
        fixed=fixed,
        memories=np.array([_memory_row(m) for m in memories], np.float64),
        fanouts=_fanout_rows(setup),
        compute=np.array(_compute_row(setup, slots), np.float64),
        memory_slots=np.array([s for s, slot in enumerate(slots) if slot.memory is not None], np.int64),
        buffers=np.array([m.buffers for m in memories], np.int64),
        keeps=_keep_rows(memories),
        bits=np.array(bits, np.float64),
        orders=_orders(layer, dims),
    )
    return SearchSpace(layer, setup, dims, slots, problem)


def _slots(setup: Setup) -> list[Slot]:
    slots = []
    for index, node in enumerate(setup.nodes):
        if isinstance(node, Memory):
            slots.append(Slot(index, node.name, None, 1))
        else:
            slots.extend(Slot(index, None, f"{node.name}.{axis}", size) for axis, size in node.axes)
    return slots


def _slot_rows(setup: Setup, slots: tuple[Slot, ...]) -> NDArray[np.int64]:
    """Spatial or not, index among the memories or among the fanouts, instances."""
    kinds = [isinstance(node, Fanout) for node in setup.nodes]
    rows = []
    for slot in slots:
        spatial = kinds[slot.node]
        owner = sum(kind == spatial for kind in kinds[: slot.node])
        rows.append((int(spatial), owner, slot.size))
    return np.array(rows, np.int64)


def _limits(
    setup: Setup, dims: tuple[str, ...], slots: tuple[Slot, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each dimension may stand, and the trips that constraints fix."""
    allowed = np.ones((len(slots), len(dims)), np.int64)
    fixed = np.zeros((len(slots), len(dims)), np.int64)
    for s, slot in enumerate(slots):
        node = setup.nodes[slot.node]
        if not isinstance(node, Fanout) or slot.axis is None:
            continue
        names = [f"{node.name}.{axis}" for axis, _ in node.axes]
        permitted = node.dims[names.index(slot.axis)]
        if permitted is not None:
            allowed[s] = [int(d in permitted) for d in dims]
        for axis, dim, trips in setup.arch.constraints.spatial:
            if axis == slot.axis and dim in dims:
                fixed[s, dims.index(dim)] = trips
    return allowed, fixed


def _rate(value: float | None) -> float:
    return 0.0 if value is None else value


def _memory_row(memory: Memory) -> tuple[float, ...]:
    return (
        -1.0 if memory.size_words is None else float(memory.size_words),
        float(memory.word_bits),
        memory.read_energy_pj,
        memory.write_energy_pj,
        _rate(memory.read_words_per_cycle),
        _rate(memory.write_words_per_cycle),
        _rate(memory.shared_words_per_cycle),
        float(memory.packing == "aligned"),
        float(memory.accumulates),
    )


def _fanout_rows(setup: Setup) -> NDArray[np.float64]:
    rows = []
    for node in setup.nodes:
        if isinstance(node, Fanout):
            ramp_role = -1 if node.ramp is None else ROLES.index(node.ramp.stationary)
            ramp_cycles = 0 if node.ramp is None else node.ramp.cycles
            rows.append(
                (
                    float(node.multicast[0]),
                    float(node.multicast[1]),
                    float(node.reduces),
                    node.reduction_energy_pj_per_bit,
                    float(node.topology == "mesh"),
                    node.hop_energy_pj_per_bit,
                    _rate(node.link_bits_per_cycle),
                    float(ramp_role),
                    float(ramp_cycles),
                )
            )
    return np.array(rows, np.float64).reshape(-1, 9)


def _compute_row(setup: Setup, slots: tuple[Slot, ...]) -> tuple[float, ...]:
    lanes = [s for s, slot in enumerate(slots) if slot.axis is not None and slot.axis.startswith(f"{LANES}.")]
    return (
        float(setup.mode.cycles_per_step),
        setup.mode.energy_pj_per_step,
        leakage_pj_per_cycle(setup.arch),
        float(lanes[0] if lanes else len(slots)),
    )


def leakage_pj_per_cycle(arch: Arch) -> float:
    """Energy that memories, PE blocks and units leak in one cycle of the array."""
    watts = sum(m.leakage_w * arch.instances(m.name) for m in arch.memories)
    watts += sum(block.leakage_w for block in arch.compute.blocks) * arch.instances(arch.compute.name)
    units = (arch.vector_unit, arch.float_unit)
    watts += sum(unit.leakage_w for unit in units if unit is not None)
    return watts / arch.clock_hz * 1e12


def _keep_rows(memories: list[Memory]) -> NDArray[np.int64]:
    """Codes per memory and role; the outermost memory holds everything."""
    rows = [[KEEP_CODES[flag] for flag in memory.keep] for memory in memories]
    rows[0] = [KEEP_CODES["must"]] * len(ROLES)
    return np.array(rows, np.int64)


def _axes(layer: Layer, dims: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows of `Problem.axes` and the tables that they point to."""
    rows: list[tuple[int, int, int, int, int]] = []
    blocks: list[NDArray[np.float64]] = [np.zeros((1, 4))]
    used = 1
    for role, operand in enumerate(layer.operands):
        for axis in operand.axes:
            terms = [(dims.index(d), coefficient) for d, coefficient in axis.terms if d in dims]
            if not terms:
                continue
            first, second = terms[0], (terms[1] if len(terms) > 1 else None)
            if second is None and _is_plain(layer, axis):
                rows.append((role, first[0], -1, -1, 0))
                continue
            n1 = layer.extents[dims[first[0]]]
            n2, step2 = (1, 1) if second is None else (layer.extents[dims[second[0]]], second[1])
            table = window_tables(n1, n2, first[1], step2, axis.offset, axis.size)
            rows.append((role, first[0], -1 if second is None else second[0], used, n2 + 1))
            blocks.append(table)
            used += len(table)
    return np.array(rows, np.int64).reshape(-1, 5), np.concatenate(blocks)


def _is_plain(layer: Layer, axis: Axis) -> bool:
    """Whether every position of the one dimension in this axis is a data element of its own."""
    name, coefficient = axis.terms[0]
    if len(axis.terms) > 1 and layer.extents[axis.terms[0][0]] == 1:
        name, coefficient = axis.terms[1]
    last = coefficient * (layer.extents[name] - 1) - axis.offset
    return coefficient > 0 and axis.offset <= 0 and last < axis.size


def _orders(layer: Layer, dims: tuple[str, ...]) -> NDArray[np.int64]:
    """Loop orders that differ in cost, dimensions innermost first.

    One operand rests while the loops that it does not depend on run innermost; among these, and among the
    loops next to them, the order decides only which window slides.
    """
    windows = {d for op in layer.operands for axis in op.axes if len(axis.terms) > 1 for d, _ in axis.terms}
    found: dict[tuple[str, ...], None] = {}
    for operand in layer.operands:
        inner = [d for d in dims if d not in operand.dims]
        outer = [d for d in dims if d in operand.dims]
        for first in _leaders(inner, windows):
            for second in _leaders(outer, windows):
                found[tuple(chain(_led_by(inner, first), _led_by(outer, second)))] = None
    return np.array([[dims.index(d) for d in order] for order in found], np.int64)


def _leaders(names: list[str], windows: set[str]) -> list[str | None]:
    """Dimensions worth placing first: every window dimension, and one of the others."""
    plain = [d for d in names if d not in windows]
    return [*plain[:1], *(d for d in names if d in windows)] or [None]


def _led_by(names: list[str], first: str | None) -> list[str]:
    return sorted(names, key=lambda d: d != first)
