"""Turn (layer, setup, mapping) into the flat arrays of `seada.model.nest_arrays`."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

import numpy as np

from seada.arch.hardware import Fanout, Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.nest_arrays import NEST, SHARERS, Ints
from seada.model.nest_arrays import Nest as NestRecord
from seada.workload.layer import ROLES, Axis, Layer

MAX_TICKS_PER_CYCLE = 1 << 20
_LOADS_PER_MAC = 256  # more words and bits per MAC than one port of any nest moves


@dataclass
class _Nest:
    """The loops and keeps of a mapping sorted by kind, trips of one dropped."""

    temporal: list[Loop] = field(default_factory=list)
    trips: list[int] = field(default_factory=list)  # of the temporal loops
    slots: list[tuple[Loop, int, int]] = field(default_factory=list)  # loop, fanout, trips
    chains: dict[str, list[tuple[bool, int, int]]] = field(default_factory=dict)
    keeps: dict[str, list[tuple[int, int, int, dict[str, int]]]] = field(default_factory=dict)
    uneven: set[str] = field(default_factory=set)


def _sort(layer: Layer, setup: Setup, mapping: Mapping) -> _Nest:
    nest = _Nest(chains={name: [] for name, _ in layer.dims}, keeps={role: [] for role in ROLES})
    extents = dict(layer.dims)
    fanouts = {node.name: f for f, node in enumerate(n for n in setup.nodes if isinstance(n, Fanout))}
    memories = {memory.name: m for m, memory in enumerate(setup.arch.memories)}
    for node in mapping.nodes:
        if isinstance(node, Keep):
            cuts = {name: len(chain) for name, chain in nest.chains.items()}
            entry = (memories[node.memory], len(nest.temporal), len(nest.slots), cuts)
            nest.keeps[node.operand].append(entry)
            continue
        extent = extents[node.dim]
        trips = -(-extent // node.step)
        extents[node.dim] = min(extent, node.step)
        if trips == 1:
            continue
        if extent % node.step:
            nest.uneven.add(node.dim)
        if node.on is None:
            nest.temporal.append(node)
            nest.trips.append(trips)
            nest.chains[node.dim].append((False, len(nest.temporal), node.step))
        else:
            nest.chains[node.dim].append((True, len(nest.slots), node.step))
            nest.slots.append((node, fanouts[node.on.split(".")[0]], trips))
    return nest


def _axis(axis: Axis, extents: dict[str, int]) -> tuple[list[tuple[str, int]], int, int]:
    """Terms with coprime coefficients, and the range of indices sum(coefficient * index) that are data."""
    terms = [(name, c) for name, c in axis.terms if extents[name] > 1]
    scale = gcd(*(c for _, c in terms)) if terms else 1
    low = -(-axis.offset // scale)
    high = (axis.offset + axis.size - 1) // scale
    return [(name, c // scale) for name, c in terms], low, high


def _ports(setup: Setup) -> tuple[list[tuple[str, Fraction]], dict[str, tuple[int, int]], dict[str, int]]:
    """All limited ports with the cycles per word (bit for links), and which of them each memory and fanout
    uses.
    """
    ports: list[tuple[str, Fraction]] = []
    of_memory: dict[str, tuple[int, int]] = {}
    of_fanout: dict[str, int] = {}

    def add(name: str, rate: float | None) -> int:
        if rate is None:
            return -1
        ports.append((name, 1 / Fraction(rate).limit_denominator(1 << 20)))
        return len(ports) - 1

    for node in setup.nodes:
        if isinstance(node, Fanout):
            of_fanout[node.name] = add(f"{node.name}.link", node.link_bits_per_cycle)
        elif node.shared_words_per_cycle is not None:
            port = add(f"{node.name}.shared", node.shared_words_per_cycle)
            of_memory[node.name] = (port, port)
        else:
            read = add(f"{node.name}.read", node.read_words_per_cycle)
            of_memory[node.name] = (read, add(f"{node.name}.write", node.write_words_per_cycle))
    return ports, of_memory, of_fanout


@lru_cache(maxsize=64)
def _hardware(
    setup: Setup,
) -> tuple[tuple[str, ...], int, tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...]]:
    ports, of_memory, of_fanout = _ports(setup)
    exact = lcm(*(cycles.denominator for _, cycles in ports)) if ports else 1
    ticks = min(exact, MAX_TICKS_PER_CYCLE)
    per_word = tuple(round(cycles * ticks) for _, cycles in ports)
    memories = tuple(of_memory[m.name] for m in setup.arch.memories)
    fanouts = tuple(of_fanout[f.name] for f in setup.nodes if isinstance(f, Fanout))
    return tuple(name for name, _ in ports), ticks, per_word, memories, fanouts


def port_names(setup: Setup) -> tuple[str, ...]:
    """Names of the limited ports (``glb.read``, ``dram.shared``, ``pe.link``) in the order of the kernels."""
    return _hardware(setup)[0]


def _array(values: object) -> Ints:
    return np.array(values, dtype=np.int64)


def flatten(layer: Layer, setup: Setup, mapping: Mapping) -> NestRecord:
    """Arrays of a legal mapping (see `seada.mapping.check`); loops with one trip are dropped.

    Raises
    ------
    OverflowError
        If the nest has more of anything than the arrays hold.
    """
    nest = _sort(layer, setup, mapping)
    base = _frame(layer, setup).copy()
    record = base[0]
    index = {name: d for d, (name, _) in enumerate(layer.dims)}
    values = _loop_fields(layer, nest, index, len(_fanouts(setup)))
    values |= _keep_fields(layer, setup, nest, index)
    values["branch_slot"] = _branch_slots(setup, nest)
    values["step_radix"] = _step_radix(layer, nest, record.border, index, bool(values["uneven_sums"]))
    for name, value in values.items():
        _store(record, name, value)
    return record


def frame(layer: Layer, setup: Setup) -> np.recarray[Any, Any]:
    """One record with all that does not depend on the mapping, for the caller to fill and change.

    Raises
    ------
    OverflowError
        If the layer or the hardware has more of anything than the arrays hold.
    """
    return _frame(layer, setup).copy()


def _fanouts(setup: Setup) -> list[Fanout]:
    return [node for node in setup.nodes if isinstance(node, Fanout)]


def _loop_fields(layer: Layer, nest: _Nest, index: dict[str, int], fanouts: int) -> dict[str, Ints | int]:
    """Loops of time and space, and the chain of loops of each dimension."""
    depth = max(1, *(len(chain) for chain in nest.chains.values()))
    chain = np.zeros((3, len(index), depth), np.int64)
    for name, entries in nest.chains.items():
        for c, entry in enumerate(entries):
            chain[:, index[name], c] = entry
    sharers = 1
    for loop, _, trips in nest.slots:
        sharers *= trips if loop.dim in layer.reduction_dims else 1
    if sharers > SHARERS:
        raise OverflowError(f"{sharers} instances share one output, more than {SHARERS}")
    return {
        "temporals": len(nest.temporal),
        "slots": len(nest.slots),
        "temporal_dim": _array([0] + [index[loop.dim] for loop in nest.temporal]),
        "temporal_step": _array([0] + [loop.step for loop in nest.temporal]),
        "slot_dim": _array([index[loop.dim] for loop, _, _ in nest.slots]),
        "slot_trips": _array([trips for _, _, trips in nest.slots]),
        "slot_fanout": _array([f for _, f, _ in nest.slots]),
        "first_slot": _array([sum(f < k for _, f, _ in nest.slots) for k in range(fanouts + 1)]),
        "chain_length": _array([len(nest.chains[name]) for name in index]),
        "chain_is_slot": chain[0],
        "chain_index": chain[1],
        "chain_step": chain[2],
        "uneven": _array([name in nest.uneven for name in index]),
        "uneven_sums": int(
            any(loop.dim in layer.reduction_dims and loop.dim in nest.uneven for loop, _, _ in nest.slots)
        ),
    }


def _keep_fields(layer: Layer, setup: Setup, nest: _Nest, index: dict[str, int]) -> dict[str, Ints | int]:
    """Levels of each operand, and the timing levels that they form."""
    memories = setup.arch.memories
    outside = _fanouts_outside(setup)
    count = [len(nest.keeps[role]) for role in ROLES]
    levels = max(count) + 1
    memory, slots_above, fanouts_above, changes_at, timing_level, double = np.zeros((6, 3, levels), np.int64)
    cut = np.zeros((3, levels, len(index)), np.int64)
    timing_level[:] = -1
    timing: dict[tuple[int, int], tuple[int, int]] = {}
    for o, operand in enumerate(layer.operands):
        for k, (m, temporal, slots, cuts) in enumerate(nest.keeps[operand.role]):
            moving = [t for t in range(1, temporal + 1) if nest.temporal[t - 1].dim in operand.dims]
            memory[o, k], slots_above[o, k], fanouts_above[o, k] = m, slots, outside[m]
            cut[o, k] = [cuts[name] for name in index]
            changes_at[o, k] = moving[-1] if moving else 0
            double[o, k] = memories[m].buffers[o] >= 2
            if k > 0:
                timing[o, k] = (int(changes_at[o, k]), m)
        k = count[o]
        memory[o, k], slots_above[o, k], fanouts_above[o, k] = -1, len(nest.slots), len(_fanouts(setup))
        changes_at[o, k] = len(nest.temporal)
        cut[o, k] = [len(nest.chains[name]) for name in index]
    order = sorted(set(timing.values()))
    for place, key in timing.items():
        timing_level[place] = order.index(key)
    return {
        "levels": _array(count) + 1,
        "memory": memory,
        "slots_above": slots_above,
        "fanouts_above": fanouts_above,
        "changes_at": changes_at,
        "cut": cut,
        "timing_levels": len(order),
        "timing_position": _array([position for position, _ in order]),
        "timing_level": timing_level,
        "double_buffered": double,
        "last_change": max((position for position, _ in order), default=0),
    }


def _fanouts_outside(setup: Setup) -> list[int]:
    """How many fanouts are outside each memory."""
    outside, seen = [], 0
    for node in setup.nodes:
        if isinstance(node, Fanout):
            seen += 1
        else:
            outside.append(seen)
    return outside


@lru_cache(maxsize=64)
def _frame(layer: Layer, setup: Setup) -> np.recarray[Any, Any]:
    """One record with everything that does not depend on the mapping."""
    index = {name: d for d, (name, _) in enumerate(layer.dims)}
    base = np.zeros(1, dtype=NEST).view(np.recarray)
    values = _layer_fields(layer, index) | _hardware_fields(setup) | _format_fields(layer, setup)
    bound = layer.macs * _LOADS_PER_MAC * max(_hardware(setup)[2], default=1)
    if bound >= 1 << 63:
        raise OverflowError(
            "the bandwidths have no common unit of time in which the layer's cycles fit 63 bits"
        )
    for name, value in values.items():
        _store(base[0], name, value)
    return base


def _layer_fields(layer: Layer, index: dict[str, int]) -> dict[str, Ints | int]:
    axis_dim, axis_coefficient, axis_low, axis_high, border, border_axis, span = _axes(layer, index)
    return {
        "dims": len(index),
        "extent": _array([extent for _, extent in layer.dims]),
        "relevant": _array([[name in operand.dims for name in index] for operand in layer.operands]),
        "axis_count": _array([len(operand.axes) for operand in layer.operands]),
        "axis_dim": axis_dim,
        "axis_coefficient": axis_coefficient,
        "axis_low": axis_low,
        "axis_high": axis_high,
        "border": border,
        "border_axis": border_axis,
        "span": span,
    }


def _format_fields(layer: Layer, setup: Setup) -> dict[str, Ints | int]:
    """Widths and scales by kind of element."""
    precision = setup.precision
    kinds = (precision.weight, precision.input, precision.accumulator, precision.output)
    return {
        "element_bits": _array([fmt.bits for fmt in kinds]),
        "scale_bits": _array([fmt.scale_bits for fmt in kinds]),
        "scale_group": _array([fmt.group or layer.channel_elements for fmt in kinds]),
    }


def _branches(fanout: Fanout) -> int:
    """Levels at which the links of a fanout are counted."""
    return {"bus": 0, "mesh": 1, "tree": len(fanout.axes)}[fanout.topology]


def _branch_slots(setup: Setup, nest: _Nest) -> Ints:
    """Per fanout and level of its links, how many slots are outside the instances there."""
    fanouts = _fanouts(setup)
    slots = np.zeros((len(fanouts), max([1, *map(_branches, fanouts)])), np.int64)
    for f, fanout in enumerate(fanouts):
        names = [axis for axis, _ in fanout.axes]
        own = [names.index(_axis_of(loop)) for loop, owner, _ in nest.slots if owner == f]
        first = sum(owner < f for _, owner, _ in nest.slots)
        levels = _branches(fanout)
        for i in range(levels):
            slots[f, i] = first + sum(axis <= i or i == levels - 1 for axis in own)
    return slots


def _axis_of(loop: Loop) -> str:
    return str(loop.on).split(".")[1]


def _hardware_fields(setup: Setup) -> dict[str, Ints | int]:
    _, ticks, per_word, memory_ports, fanout_ports = _hardware(setup)
    fanouts, memories = _fanouts(setup), setup.arch.memories
    joins = [[*f.multicast, f.reduces] for f in fanouts]
    ramp = np.zeros(3, np.int64)
    for fanout in fanouts:
        if fanout.ramp is not None:
            ramp[ROLES.index(fanout.ramp.stationary)] += fanout.ramp.cycles
    return {
        "fanouts": len(fanouts),
        "ports": len(per_word),
        "joins": _array(joins).reshape(len(fanouts), 3).T,
        "word_bits": _array([m.word_bits for m in memories]),
        "aligned": _array([m.packing == "aligned" for m in memories]),
        "read_port": _array([read for read, _ in memory_ports]),
        "write_port": _array([write for _, write in memory_ports]),
        "link_port": _array(fanout_ports),
        "branches": _array([_branches(f) for f in fanouts]),
        "lanes_fanout": len(setup.arch.fanouts),
        "port_ticks": _array(per_word),
        "ticks_per_cycle": ticks,
        "cycles_per_step": setup.mode.cycles_per_step,
        "ramp_cycles": ramp,
    }


def _store(record: NestRecord, name: str, value: Ints | int) -> None:
    """Put a value into the corner of the record's field of that name, which must be large enough."""
    field_shape = NEST[name].shape
    shape = np.shape(value)
    if any(size > room for size, room in zip(shape, field_shape, strict=True)):
        raise OverflowError(f"the nest has more {name} than {field_shape}")
    if shape:
        record[name][tuple(slice(size) for size in shape)] = value
    else:
        record[name] = value


def _step_radix(layer: Layer, nest: _Nest, border: Ints, index: dict[str, int], uneven_sums: bool) -> Ints:
    """Weights that number the positions of the loops on which the accesses of a step may depend.

    These are loops over ragged dimensions; where the MACs read the outermost memory, those that reach
    padding; and where partial sums are uneven, those over dimensions of the output.
    """
    bare = len(nest.keeps["input"]) == 1
    radix, weight = [0], 1
    for loop, trips in zip(nest.temporal, nest.trips, strict=True):
        matters = loop.dim in nest.uneven or (bare and border[index[loop.dim]])
        matters = matters or (uneven_sums and loop.dim in layer.output.dims)
        radix.append(weight if matters else 0)
        if matters:
            weight *= trips
    if weight * 2 * (len(nest.temporal) + 2) >= 1 << 62:
        raise OverflowError("the nest has more positions than 62 bits can number")
    return _array(radix)


def _axes(layer: Layer, index: dict[str, int]) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, int]:
    """Axis arrays, which dimensions may slide into padding, and the largest index range."""
    most = max(len(operand.axes) for operand in layer.operands)
    axis_dim = np.full((3, most, 2), -1, np.int64)
    axis_coefficient = np.ones((3, most, 2), np.int64)
    axis_low, axis_high = np.zeros((2, 3, most), np.int64)
    border, border_axis = np.zeros((2, len(index)), np.int64)
    span = 1
    for o, operand in enumerate(layer.operands):
        for a, axis in enumerate(operand.axes):
            terms, low, high = _axis(axis, layer.extents)
            for t, (name, coefficient) in enumerate(terms):
                axis_dim[o, a, t], axis_coefficient[o, a, t] = index[name], coefficient
            axis_low[o, a], axis_high[o, a] = low, high
            reach = sum(c * (layer.extents[name] - 1) for name, c in terms)
            if len(terms) == 2:
                span = max(span, reach + 1)
            if o == 1 and (low > 0 or high < reach):
                for t, (name, _) in enumerate(terms):
                    border[index[name]], border_axis[index[name]] = t + 1, a
    return axis_dim, axis_coefficient, axis_low, axis_high, border, border_axis, span
