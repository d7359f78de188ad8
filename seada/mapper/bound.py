"""A lower bound of energy and latency over all mappings of a layer.

It holds for every legal mapping, uneven ones included, because it uses only what no mapping can avoid:

- *Steps.* Instances and lanes bound the MACs of one step.
- *Tensors.* Every element that is touched leaves (output: reaches) the memory where its operand rests at
  least once, and passes every memory that must keep it.
- *MACs.* Every MAC reads its operands at their innermost keep, and each sum that arrives there is written and
  later read again, by the next addition or by the drain. One access serves at most the MACs of one step below
  one instance of that memory that share the element, and moves at least one word. Which innermost keep is
  cheapest depends on how the instances are split between sharing weights, inputs and sums: the bound is the
  least over all such splits, whose factors are integers.

Capacities and the refills they cause are not in the bound, so it is tight only where operands fit well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from seada.arch.hardware import LANES, Fanout, Memory, Setup
from seada.mapper.objective import Objective
from seada.model.standby import idle_pj_per_cycle, leakage_pj
from seada.workload.layer import ROLES, Axis, Layer, Operand

INPUT, OUTPUT = ROLES.index("input"), ROLES.index("output")
MAX_SPLITS = 200_000
# Sums of floats in another order differ by a few units in the last place.
ROUNDING = 1 - 1e-12


@dataclass(frozen=True)
class _Problem:
    """What the bound needs at hand: memories with their node index, fanouts inside each, tensor sizes."""

    layer: Layer
    setup: Setup
    memories: tuple[tuple[int, Memory], ...]
    touched: tuple[int, int, int]
    bits: tuple[int, int, int]

    def home(self, role: int) -> int:
        """Number of the memory where an operand rests."""
        return next(i for i, (_, memory) in enumerate(self.memories) if memory.keep[role] != "never")


def lower_bound(layer: Layer, setup: Setup, objective: Objective) -> float:
    """The objective of no legal mapping is below this value (pJ^a * cycles^b)."""
    problem = _problem(layer, setup)
    latency = latency_bound(problem)
    energy = energy_bound(problem, latency)
    return objective.value(energy, latency) * ROUNDING


def _problem(layer: Layer, setup: Setup) -> _Problem:
    memories = tuple((i, node) for i, node in enumerate(setup.nodes) if isinstance(node, Memory))
    weight, data, output = (touched_elements(layer, operand) for operand in layer.operands)
    p = setup.precision
    # Sums are wider than outputs until they are complete, or narrower on odd hardware.
    bits = (p.weight.bits, p.input.bits, min(p.output.bits, p.accumulator.bits))
    return _Problem(layer, setup, memories, (weight, data, output), bits)


def touched_elements(layer: Layer, operand: Operand) -> int:
    """Elements of data that the layer's MACs touch."""
    return math.prod(_touched(layer, axis) for axis in operand.axes)


def _touched(layer: Layer, axis: Axis) -> int:
    coordinates = np.zeros(1, np.int64)
    for name, coefficient in axis.terms:
        steps = coefficient * np.arange(layer.extents[name])
        coordinates = np.unique(np.add.outer(coordinates, steps))
    return int(np.count_nonzero((coordinates >= axis.offset) & (coordinates < axis.offset + axis.size)))


def macs_on_data(layer: Layer) -> int:
    """MACs whose input is no padding."""
    macs = layer.macs
    for axis in layer.input.axes:
        coordinates = np.zeros(1, np.int64)
        for name, coefficient in axis.terms:
            coordinates = np.add.outer(coordinates, coefficient * np.arange(layer.extents[name])).ravel()
        inside = (coordinates >= axis.offset) & (coordinates < axis.offset + axis.size)
        macs = macs // len(coordinates) * int(np.count_nonzero(inside))
    return macs


def latency_bound(problem: _Problem) -> int:
    """Cycles that no mapping undercuts: steps of the busiest PE, and words over the ports of each memory."""
    layer, setup = problem.layer, problem.setup
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    bounds = [float(_steps(layer, fanouts) * setup.mode.cycles_per_step)]
    for number, (_, memory) in enumerate(problem.memories):
        reads, writes = _port_words(problem, number)
        instances = setup.arch.instances(memory.name)
        loads = (
            (reads, memory.read_words_per_cycle),
            (writes, memory.write_words_per_cycle),
            (reads + writes, memory.shared_words_per_cycle),
        )
        bounds += [words / (rate * instances) for words, rate in loads if rate is not None]
    return math.ceil(max(bounds) * ROUNDING)


def _steps(layer: Layer, fanouts: list[Fanout]) -> int:
    """Fewest steps with which these fanouts cover the box."""
    sizes = dict.fromkeys(layer.extents, 1)
    parallel = 1
    for fanout in fanouts:
        for (_, size), dims in zip(fanout.axes, fanout.dims, strict=True):
            allowed = [name for name in sizes if dims is None or name in dims]
            parallel *= min(size, math.prod(layer.extents[name] for name in allowed))
            for name in allowed:
                sizes[name] *= size
    alone = math.prod(-(-extent // sizes[name]) for name, extent in layer.dims)
    return max(alone, -(-layer.macs // parallel))


def _port_words(problem: _Problem, number: int) -> tuple[int, int]:
    """Least words read and written at a memory that operands cannot avoid."""
    reads, writes = 0, 0
    memory = problem.memories[number][1]
    for role in range(len(ROLES)):
        words = _words(memory, problem.touched[role], problem.bits[role])
        resting = problem.home(role) == number
        if role == OUTPUT:
            writes += words if resting or memory.keep[role] == "must" else 0
            reads += words if not resting and memory.keep[role] == "must" else 0
        else:
            reads += words if resting or memory.keep[role] == "must" else 0
            writes += words if not resting and memory.keep[role] == "must" else 0
    return reads, writes


def _words(memory: Memory, elements: float, bits: int) -> int:
    """Least whole words that hold these elements, in one transfer."""
    if memory.packing == "aligned":
        per_word = memory.word_bits // bits
        return (
            math.ceil(elements / per_word) if per_word else math.ceil(elements) * -(-bits // memory.word_bits)
        )
    return math.ceil(elements * bits / memory.word_bits)


def energy_bound(problem: _Problem, latency: int) -> float:
    """Energy in pJ that no mapping undercuts, given the least latency."""
    setup = problem.setup
    lanes = [node for node in setup.nodes if isinstance(node, Fanout) and node.name == LANES]
    energy = _steps(problem.layer, lanes) * setup.mode.energy_pj_per_step
    energy += leakage_pj(setup.arch, latency, setup.mode.block)
    energy += idle_pj_per_cycle(setup.arch, setup.mode.block) * latency
    split = _splits(problem)
    per_operand = [_least_over_keeps(problem, role, split) for role in range(len(ROLES))]
    return energy + float(np.sum(per_operand, axis=0).min())


@dataclass(frozen=True)
class _Split:
    """How instances are shared, for many splits at once.

    Attributes
    ----------
    sharing : (memories, roles, splits)
        Most MACs of one step below one instance of a memory that share an element of the operand.
    parallel : (memories,)
        Most MACs of one step below one instance.
    """

    sharing: NDArray[np.float64]
    parallel: NDArray[np.float64]


def _least_over_keeps(problem: _Problem, role: int, split: _Split) -> NDArray[np.float64]:
    """Least energy of one operand over the choices of its innermost keep, (splits,)."""
    home = problem.home(role)
    numbers = range(home, len(problem.memories))
    able = [n for n in numbers if n == home or problem.memories[n][1].keep[role] != "never"]
    last_must = max([home, *(n for n in able if problem.memories[n][1].keep[role] == "must")])
    costs = [_innermost_energy(problem, role, n, home, split) for n in able if n >= last_must]
    passing = 0.0
    for number in able:
        if home < number < last_must and problem.memories[number][1].keep[role] == "must":
            memory = problem.memories[number][1]
            words = _words(memory, problem.touched[role], problem.bits[role])
            passing += words * (memory.read_energy_pj + memory.write_energy_pj)
    least: NDArray[np.float64] = np.min(np.stack(costs), axis=0) + passing
    return least


def _innermost_energy(
    problem: _Problem, role: int, number: int, home: int, split: _Split
) -> NDArray[np.float64]:
    """Energy at the home and at innermost keep `number`, and at a last memory that must keep on the way."""
    memory, rest = problem.memories[number][1], problem.memories[home][1]
    touched, bits = problem.touched[role], problem.bits[role]
    # MACs on padding read nothing where the innermost keep is the home.
    macs = macs_on_data(problem.layer) if role == INPUT and number == home else problem.layer.macs
    per_element = _words_per_element(memory, bits)
    accesses: NDArray[np.float64] = macs / split.sharing[number, role]
    words: NDArray[np.float64] = np.maximum(accesses * per_element, macs / split.parallel[number])
    resting = _words(rest, touched, bits)
    if role != OUTPUT:
        energy = words * memory.read_energy_pj
        if number != home:
            energy = energy + _words(memory, touched, bits) * memory.write_energy_pj
            energy = energy + resting * rest.read_energy_pj
        return energy
    again = np.maximum(accesses - (touched if number == home else 0), 0) * per_element
    energy = words * memory.write_energy_pj + again * memory.read_energy_pj
    return energy if number == home else energy + resting * rest.write_energy_pj


def _words_per_element(memory: Memory, bits: int) -> float:
    if memory.packing == "aligned":
        per_word = memory.word_bits // bits
        return 1 / per_word if per_word else float(-(-bits // memory.word_bits))
    return bits / memory.word_bits


def _splits(problem: _Problem) -> _Split:
    """All ways to split every fanout between the groups of dimensions."""
    fanouts = [(i, node) for i, node in enumerate(problem.setup.nodes) if isinstance(node, Fanout)]
    groups = _groups(problem.layer)
    options = [np.array(list(_factors(problem.layer, fanout, groups)), np.float64) for _, fanout in fanouts]
    if math.prod(len(option) for option in options) > MAX_SPLITS:
        options = [option.max(axis=0, keepdims=True) for option in options]
    ways = list(product(*(range(len(option)) for option in options)))
    index = np.array(ways, np.int64).reshape(len(ways), len(fanouts))  # Without fanouts: one way, no column.
    sharing = np.ones((len(problem.memories), len(ROLES), len(index)))
    parallel = np.ones(len(problem.memories))
    for number, (node, _) in enumerate(problem.memories):
        for f, (place, fanout) in enumerate(fanouts):
            if place < node:
                continue
            parallel[number] *= fanout.instances
            joins = (*fanout.multicast, fanout.reduces)
            for role in range(len(ROLES)):
                if joins[role]:
                    members = [g for g, roles in enumerate(_SHARED_BY) if role in roles]
                    sharing[number, role] *= options[f][index[:, f]][:, members].prod(axis=1)
    return _Split(sharing, parallel)


# Which operands share an element along each group of `_groups`: weight, input, output, kernel dimensions.
_SHARED_BY = ((0,), (1,), (2,), (1, 2))


def _groups(layer: Layer) -> tuple[frozenset[str], ...]:
    """Dimensions that only the weight (input, output) does not depend on, and kernel dimensions of windows.

    Along both dimensions of a window neighbours share elements; at most as many as the kernel's one has
    trips.
    """
    kernel = frozenset(axis.terms[1][0] for axis in layer.input.axes if len(axis.terms) > 1)
    names = frozenset(layer.extents)
    weight, data, output = (names - operand.dims for operand in layer.operands)
    return (weight, data - kernel, output - kernel, kernel)


def _factors(
    layer: Layer, fanout: Fanout, groups: tuple[frozenset[str], ...]
) -> Iterator[tuple[int, int, int, int]]:
    """Integer factors per group whose product is at most the instances, the third as large as it can be."""
    most = [_most(layer, fanout, group) for group in groups]
    for weight in range(1, most[0] + 1):
        for data in range(1, min(most[1], fanout.instances // weight) + 1):
            for kernel in range(1, min(most[3], fanout.instances // (weight * data)) + 1):
                yield weight, data, min(most[2], fanout.instances // (weight * data * kernel)), kernel


def _most(layer: Layer, fanout: Fanout, group: frozenset[str]) -> int:
    """Largest factor that a group of dimensions can take on a fanout."""
    trips = 1
    for (_, size), dims in zip(fanout.axes, fanout.dims, strict=True):
        if any(dims is None or name in dims for name in group):
            trips *= size
    return min(trips, math.prod(layer.extents[name] for name in group))
