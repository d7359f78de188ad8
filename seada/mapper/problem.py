"""From layer and set-up to the arrays that the search kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from seada.arch.hardware import LANES, Fanout, Memory, Setup
from seada.errors import UserError
from seada.mapper.problem_kernel import (
    MAX_AXES,
    MAX_DIMS,
    MAX_FANOUTS,
    MAX_MEMORIES,
    MAX_ORDERS,
    MAX_SLOTS,
    PROBLEM,
    SCRATCH,
    Problem,
    Scratch,
)
from seada.mapper.window_kernel import window_tables
from seada.model.standby import idle_pj_per_cycle, leakage_pj
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
    problem : the same as a record of `PROBLEM`
    tables : (rows, 4) of the sliding-window axes, by the extents of their dimensions: elements summed over
        all tiles; the same if only elements new since the last tile along the first (second) dimension count;
        elements of the largest tile
    """

    layer: Layer
    setup: Setup
    dims: tuple[str, ...]
    slots: tuple[Slot, ...]
    problem: Problem
    tables: NDArray[np.float64]

    @property
    def genome_length(self) -> int:
        """Integers in a candidate: trips, keep flags, orders."""
        return len(self.slots) * len(self.dims) + 4 * int(self.problem.memories)


def new_scratch() -> Scratch:
    """Fresh work space of the estimate."""
    return np.zeros(1, SCRATCH).view(np.recarray)[0]


def build_space(layer: Layer, setup: Setup) -> SearchSpace:
    """Flatten a layer and a set-up.

    Raises
    ------
    UserError
        If the layer or the architecture is larger than the search provides for.
    """
    dims = tuple(name for name, extent in layer.dims if extent > 1) or (layer.dims[0][0],)
    slots = tuple(_slots(setup))
    memories = [node for node in setup.nodes if isinstance(node, Memory)]
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    axes, tables = _axes(layer, dims)
    orders = _orders(layer, dims)
    sizes = (
        ("dims", len(dims), MAX_DIMS),
        ("slots", len(slots), MAX_SLOTS),
        ("memories", len(memories), MAX_MEMORIES),
        ("fanouts", len(fanouts), MAX_FANOUTS),
        ("axes", len(axes), MAX_AXES),
        ("orders", len(orders), MAX_ORDERS),
    )
    record = np.zeros(1, PROBLEM).view(np.recarray)[0]
    for name, size, most in sizes:
        if size > most:
            raise UserError(
                f"layer {layer.name} on {setup.arch.name}: {size} {name}, the search allows {most}"
            )
        record[name] = size
    record.extents[: len(dims)] = [layer.extents[d] for d in dims]
    record.relevant[:, : len(dims)] = [[int(d in op.dims) for d in dims] for op in layer.operands]
    for role, first, second, _, _ in axes:
        if second >= 0:
            record.window[role, [first, second]] = 1
    _fill_table(record, ("axis_role", "axis_first", "axis_second", "axis_base", "axis_row"), axes)
    for row, order in enumerate(orders):
        record.order[row, : len(dims)] = order
    _fill_slots(record, setup, dims, slots)
    _fill_memories(record, memories)
    record.memory_slot[: len(memories)] = [s for s, slot in enumerate(slots) if slot.memory is not None]
    _fill_table(record, _FANOUT_FIELDS, [_fanout_row(f) for f in fanouts])
    for f, fanout in enumerate(fanouts):
        record.joins[f] = (*fanout.multicast, fanout.reduces)
    _fill_compute(record, layer, setup, slots)
    _fill_dataflow(record, layer, setup, dims, memories)
    return SearchSpace(layer, setup, dims, slots, record, tables)


def _fill_table(record: Problem, fields: tuple[str, ...], rows: Sequence[tuple[float, ...]]) -> None:
    """Write rows of values into parallel fields."""
    for row, values in enumerate(rows):
        for name, value in zip(fields, values, strict=True):
            record[name][row] = value


def _slots(setup: Setup) -> list[Slot]:
    slots = []
    for index, node in enumerate(setup.nodes):
        if isinstance(node, Memory):
            slots.append(Slot(index, node.name, None, 1))
        else:
            slots.extend(Slot(index, None, f"{node.name}.{axis}", size) for axis, size in node.axes)
    return slots


def _fill_slots(record: Problem, setup: Setup, dims: tuple[str, ...], slots: tuple[Slot, ...]) -> None:
    """What each slot is, which loops may stand there, and the trips that constraints fix."""
    kinds = [isinstance(node, Fanout) for node in setup.nodes]
    record.allowed[: len(slots), : len(dims)] = 1
    for s, slot in enumerate(slots):
        node = setup.nodes[slot.node]
        record.slot_spatial[s] = kinds[slot.node]
        record.slot_owner[s] = sum(kind == kinds[slot.node] for kind in kinds[: slot.node])
        record.slot_size[s] = slot.size
        if not isinstance(node, Fanout) or slot.axis is None:
            continue
        names = [f"{node.name}.{axis}" for axis, _ in node.axes]
        permitted = node.dims[names.index(slot.axis)]
        if permitted is not None:
            record.allowed[s, : len(dims)] = [d in permitted for d in dims]
        for axis, dim, trips in setup.arch.constraints.spatial:
            if axis == slot.axis and dim in dims:
                record.fixed[s, dims.index(dim)] = trips


def _rate(value: float | None) -> float:
    return 0.0 if value is None else value


_MEMORY_FIELDS = (
    "size_words",
    "word_bits",
    "read_energy",
    "write_energy",
    "read_rate",
    "write_rate",
    "shared_rate",
    "aligned",
    "accumulates",
)
_FANOUT_FIELDS = ("addition_energy", "topology", "hop_energy", "link_rate", "ramp_role", "ramp_cycles")


def _fill_memories(record: Problem, memories: list[Memory]) -> None:
    """Coefficients, buffers and keep codes; an operand rests in the outermost memory that may keep it."""
    _fill_table(record, _MEMORY_FIELDS, [_memory_row(memory) for memory in memories])
    for m, memory in enumerate(memories):
        record.buffers[m] = memory.buffers
        record.keeps[m] = [KEEP_CODES[flag] for flag in memory.keep]
    for role in range(len(ROLES)):
        able = [m for m, memory in enumerate(memories) if memory.keep[role] != "never"]
        record.home[role] = able[0]
        record.keeps[able[0], role] = KEEP_CODES["must"]


def _memory_row(memory: Memory) -> tuple[float, ...]:
    return (
        -1 if memory.size_words is None else memory.size_words,
        memory.word_bits,
        memory.read_energy_pj,
        memory.write_energy_pj,
        _rate(memory.read_words_per_cycle),
        _rate(memory.write_words_per_cycle),
        _rate(memory.shared_words_per_cycle),
        memory.packing == "aligned",
        memory.accumulates,
    )


def _fanout_row(fanout: Fanout) -> tuple[float, ...]:
    return (
        fanout.reduction_energy_pj_per_bit,
        ("bus", "mesh", "tree").index(fanout.topology),
        fanout.hop_energy_pj_per_bit,
        _rate(fanout.link_bits_per_cycle),
        -1 if fanout.ramp is None else ROLES.index(fanout.ramp.stationary),
        0 if fanout.ramp is None else fanout.ramp.cycles,
    )


def _fill_compute(record: Problem, layer: Layer, setup: Setup, slots: tuple[Slot, ...]) -> None:
    lanes = [s for s, slot in enumerate(slots) if slot.axis is not None and slot.axis.startswith(f"{LANES}.")]
    precision = setup.precision
    mode = setup.mode
    blocks = [block for block in setup.arch.compute.blocks if block.name == mode.block]
    idle = sum(b.idle_fraction for b in blocks if b.gating == "none") * mode.energy_pj_per_step
    pes = setup.arch.instances(setup.arch.compute.name)
    record.step_cycles = mode.cycles_per_step
    # All PEs idle all the time, and the steps with work cost only what they add.
    record.step_energy = mode.energy_pj_per_step - idle
    record.leakage = leakage_pj(setup.arch, 1, mode.block) + pes * idle / mode.cycles_per_step
    record.leakage += idle_pj_per_cycle(setup.arch, mode.block)
    record.lane_slot = lanes[0] if lanes else len(slots)
    formats = (precision.weight, precision.input, precision.accumulator, precision.output)
    record.bits = [fmt.bits for fmt in formats]
    record.scale_bits = [fmt.scale_bits for fmt in formats]
    record.scale_group = [fmt.group or layer.channel_elements for fmt in formats]


def _fill_dataflow(
    record: Problem, layer: Layer, setup: Setup, dims: tuple[str, ...], memories: list[Memory]
) -> None:
    """The declared dataflow: an operand that rests innermost, or kernel rows that stay together."""
    dataflow = setup.arch.constraints.dataflow
    record.stationary = ROLES.index(dataflow) if dataflow in ROLES else -1
    record.row_dim = -1
    if record.stationary >= 0:
        role = int(record.stationary)
        innermost = max(m for m, memory in enumerate(memories) if memory.keep[role] != "never")
        record.keeps[innermost, role] = KEEP_CODES["must"]
    windows = [axis.terms[1][0] for axis in layer.input.axes if len(axis.terms) > 1]
    if dataflow == "row" and windows and windows[-1] in dims:
        record.row_dim = dims.index(windows[-1])


def _axes(
    layer: Layer, dims: tuple[str, ...]
) -> tuple[list[tuple[int, int, int, int, int]], NDArray[np.float64]]:
    """Rows of axes (role, first and second dimension, base, row length) and the tables that they point to."""
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
    return rows, np.concatenate(blocks)


def _is_plain(layer: Layer, axis: Axis) -> bool:
    """Whether every position of the one dimension in this axis is a data element of its own."""
    name, coefficient = axis.terms[0]
    if len(axis.terms) > 1 and layer.extents[axis.terms[0][0]] == 1:
        name, coefficient = axis.terms[1]
    last = coefficient * (layer.extents[name] - 1) - axis.offset
    return coefficient > 0 and axis.offset <= 0 and last < axis.size


def _orders(layer: Layer, dims: tuple[str, ...]) -> list[list[int]]:
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
    return [[dims.index(d) for d in order] for order in found]


def _leaders(names: list[str], windows: set[str]) -> list[str | None]:
    """Dimensions worth placing first: every window dimension, and one of the others."""
    plain = [d for d in names if d not in windows]
    return [*plain[:1], *(d for d in names if d in windows)] or [None]


def _led_by(names: list[str], first: str | None) -> list[str]:
    return sorted(names, key=lambda d: d != first)
