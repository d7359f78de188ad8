"""The rules that a mapping must obey on its hardware; `check` names every one that is broken.

- Loops split every dimension of the layer down to 1; a step lies between 1 and the extent above it.
- The outermost keep of each operand is in the outermost memory, above all loops; the keeps
  of one operand follow the order of the memories, each memory once, and respect ``must`` and ``never``.
- Spatial loops of a fanout stand below the keeps of the memories outside it and above those inside it, in
  the order of the fanouts; their trips fit on the axis, which must allow the dimension. On a tree they
  follow the order of its axes.
- Where partial sums of one element arrive from several instances that the fanout does not add up, the
  memory that they arrive at must accumulate.
- Every memory holds all its tiles, all buffers counted, in whole words (see `seada.mapping.capacity`).
- Declared constraints hold. A fixed unrolling uses the stated trips of its dimension on its axis, or all of
  the dimension if the layer has less. ``weight``, ``input`` and ``output`` stationary: the operand is kept
  in the innermost memory that may keep it, and below its next outer keep no temporal loop that leaves its
  tile alone stands around one that changes it, so that each element enters the PE once per visit of the tile
  outside. ``row`` stationary: each PE runs whole rows of the kernel (all of S) on its own rows of weights and
  inputs.
- All counters fit in 63 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from seada.arch.hardware import Fanout, Setup
from seada.config.problems import did_you_mean
from seada.errors import MappingError, Violation
from seada.mapping.capacity import capacity_violations
from seada.mapping.nest import Keep, Mapping
from seada.mapping.placed import Nest, PlacedKeep, PlacedLoop, is_reduction, place
from seada.workload.layer import ROLES, Layer

COUNTER_LIMIT = 2**63
_COUNTERS_PER_MAC = 4
"""Elements of an operand that any one counter holds per MAC, at most: reads, writes, returns, drains."""


def check(layer: Layer, setup: Setup, mapping: Mapping) -> list[Violation]:
    """Every rule that a mapping breaks; an empty list if it is legal.

    Unknown names are reported alone, and capacities only if the nest is well formed: nothing else can be
    said of them.
    """
    unknown = list(_names(layer, setup, mapping))
    if unknown:
        return unknown
    nest = place(layer, setup, mapping)
    violations = [*_loops(nest), *_keeps(nest), *_spatial(nest), *_counters(nest)]
    if violations:
        return violations
    return [*_accumulation(nest), *capacity_violations(nest), *_constraints(nest)]


def require_legal(layer: Layer, setup: Setup, mapping: Mapping) -> None:
    """Raise `MappingError` with every violation unless the mapping is legal."""
    violations = check(layer, setup, mapping)
    if violations:
        raise MappingError(violations)


def _names(layer: Layer, setup: Setup, mapping: Mapping) -> Iterator[Violation]:
    """Dimensions, memories, operands and axes that do not exist; steps below 1."""
    memories = [memory.name for memory in setup.arch.memories]
    axes = [
        f"{node.name}.{axis}" for node in setup.nodes if isinstance(node, Fanout) for axis, _ in node.axes
    ]
    for position, node in enumerate(mapping.nodes):
        where = f"node {position}"
        if isinstance(node, Keep):
            yield from _known(where, "memory", node.memory, memories)
            yield from _known(where, "operand", node.operand, ROLES)
            continue
        yield from _known(where, "dimension", node.dim, [name for name, _ in layer.dims])
        if node.on is not None:
            yield from _known(where, "axis", node.on, axes)
        if node.step < 1:
            yield Violation("step", where, f"step of {node.dim}", "1 or more", node.step)


def _known(where: str, kind: str, name: str, allowed: list[str] | tuple[str, ...]) -> Iterator[Violation]:
    if name not in allowed:
        yield Violation("unknown name", where, kind, ", ".join(allowed), name + did_you_mean(name, allowed))


def _loops(nest: Nest) -> Iterator[Violation]:
    """Steps within the extents, and nothing left over."""
    above = dict(nest.layer.dims)
    for placed in nest.loops:
        loop = placed.loop
        if loop.step > above[loop.dim]:
            yield Violation(
                "step", f"node {placed.position}", f"step of {loop.dim}", f"1..{above[loop.dim]}", loop.step
            )
        above[loop.dim] = min(loop.step, above[loop.dim])
    for dim, extent in nest.left.items():
        if extent != 1:
            yield Violation("coverage", "below all loops", f"extent of {dim}", 1, extent)


def _keeps(nest: Nest) -> Iterator[Violation]:
    """The chain of each operand: begins outermost, follows the hierarchy, respects the memories' rules."""
    first_loop = nest.loops[0].position if nest.loops else None
    home = nest.setup.arch.memories[0].name
    for role, chain in nest.chains.items():
        if not chain or chain[0].keep.memory != home or _is_below(chain[0], first_loop):
            have = _describe_first(chain, first_loop)
            yield Violation("outermost keep", home, role, f"kept in {home} above all loops", have)
        for outer, inner in pairwise(chain):
            if inner.index == outer.index:
                yield Violation("keep twice", inner.keep.memory, role, "one keep", "two")
            elif inner.index < outer.index:
                need = f"kept above {outer.keep.memory}"
                yield Violation("order of keeps", inner.keep.memory, role, need, "kept below it")
        yield from _keep_rules(nest.setup, role, {placed.keep.memory for placed in chain})


def _is_below(placed: PlacedKeep, first_loop: int | None) -> bool:
    return first_loop is not None and placed.position > first_loop


def _describe_first(chain: list[PlacedKeep], first_loop: int | None) -> str:
    if not chain:
        return "no keep"
    below = " below a loop" if _is_below(chain[0], first_loop) else ""
    return f"first kept in {chain[0].keep.memory}{below}"


def _keep_rules(setup: Setup, role: str, kept: set[str]) -> Iterator[Violation]:
    for memory in setup.arch.memories:
        rule = memory.keep[ROLES.index(role)]
        if rule == "must" and memory.name not in kept:
            yield Violation("must keep", memory.name, role, "a keep", "none")
        if rule == "never" and memory.name in kept:
            yield Violation("must not keep", memory.name, role, "no keep", "one")


def _spatial(nest: Nest) -> Iterator[Violation]:
    """Place, order, dimensions and trips of spatial loops."""
    used: dict[tuple[int, str], int] = {}
    furthest: dict[int, int] = {}
    deepest = -1
    for placed, index, axis in nest.spatial:
        fanout = nest.fanout(index)
        where = f"{fanout.name}.{axis}"
        if index < deepest:
            need = f"above the loops of {nest.fanout(deepest).name}"
            yield Violation("order of fanouts", where, f"loop over {placed.loop.dim}", need, "below them")
        deepest = max(deepest, index)
        number = [name for name, _ in fanout.axes].index(axis)
        if fanout.topology == "tree" and number < furthest.get(index, 0):
            need = f"above those of {fanout.name}.{fanout.axes[furthest[index]][0]}, as the tree branches"
            yield Violation("order of axes", where, f"loop over {placed.loop.dim}", need, "below them")
        furthest[index] = max(number, furthest.get(index, 0))
        yield from _order_with_keeps(nest, placed, index, where)
        allowed = fanout.dims[[name for name, _ in fanout.axes].index(axis)]
        if allowed is not None and placed.loop.dim not in allowed and placed.moves:
            names = ", ".join(sorted(allowed)) or "none of this layer"
            yield Violation("dimension of axis", where, "dimension", names, placed.loop.dim)
        used[index, axis] = used.get((index, axis), 1) * placed.trips
    for (index, axis), trips in used.items():
        size = dict(nest.fanout(index).axes)[axis]
        if trips > size:
            where = f"{nest.fanout(index).name}.{axis}"
            yield Violation("size of axis", where, "trips of its loops", f"at most {size}", trips)


def _order_with_keeps(nest: Nest, placed: PlacedLoop, index: int, where: str) -> Iterator[Violation]:
    for keep in nest.keeps:
        above = keep.position < placed.position
        if above != (keep.index < index):
            side = "below" if keep.index < index else "above"
            need = f"{side} the keep of {keep.keep.operand} in {keep.keep.memory}"
            have = "above it" if side == "below" else "below it"
            yield Violation("place of spatial loop", where, f"loop over {placed.loop.dim}", need, have)


def _counters(nest: Nest) -> Iterator[Violation]:
    precision = nest.setup.precision
    formats = (precision.weight, precision.input, precision.accumulator, precision.output)
    largest = nest.layer.macs * _COUNTERS_PER_MAC * max(fmt.bits + fmt.scale_bits for fmt in formats)
    if largest >= COUNTER_LIMIT:
        yield Violation("range of counters", nest.layer.name, "bits moved", f"below {COUNTER_LIMIT}", largest)


def _accumulation(nest: Nest) -> Iterator[Violation]:
    """Memories that must add sums which arrive from several instances."""
    chain = nest.chains["output"]
    for number, placed in enumerate(chain):
        inner = chain[number + 1].index if number + 1 < len(chain) else len(nest.setup.nodes)
        apart = [
            nest.fanout(index).name
            for loop, index, _ in nest.spatial
            if placed.index < index < inner and loop.moves and is_reduction(nest, loop)
            if not nest.fanout(index).reduces
        ]
        if apart and not nest.memory(placed).accumulates:
            what = f"partial sums from {', '.join(dict.fromkeys(apart))}, which does not reduce"
            yield Violation("accumulation", placed.keep.memory, what, "accumulates: true", "false")


def _constraints(nest: Nest) -> Iterator[Violation]:
    constraints = nest.setup.arch.constraints
    trips: dict[tuple[str, str], int] = {}
    for placed, _, _ in nest.spatial:
        key = (str(placed.loop.on), placed.loop.dim)
        trips[key] = trips.get(key, 1) * placed.trips
    for axis, dim, fixed in constraints.spatial:
        need = min(fixed, nest.layer.extents.get(dim, 1))
        have = trips.get((axis, dim), 1)
        if have != need:
            yield Violation("fixed unrolling", axis, f"trips of {dim}", need, have)
    if constraints.dataflow == "row":
        yield from _row_stationary(nest)
    elif constraints.dataflow is not None:
        yield from _stationary(nest, constraints.dataflow)


def _stationary(nest: Nest, role: str) -> Iterator[Violation]:
    o = ROLES.index(role)
    home = [m.name for m in nest.setup.arch.memories if m.keep[o] != "never"][-1]
    chain = nest.chains[role]
    what = f"{role} stationary"
    if chain[-1].keep.memory != home:
        yield Violation("dataflow", home, what, f"{role} kept in {home}", f"kept in {chain[-1].keep.memory}")
        return
    if len(chain) == 1:
        return
    relevant = nest.layer.operand(role).dims
    between = [p for p in nest.temporal if chain[-2].position < p.position < chain[-1].position]
    for outer, inner in pairwise(between):
        if outer.loop.dim not in relevant and inner.loop.dim in relevant:
            need = f"loop over {outer.loop.dim} inside that over {inner.loop.dim}"
            yield Violation("dataflow", home, what, need, "around it")


def _row_stationary(nest: Nest) -> Iterator[Violation]:
    windows = [axis.terms for axis in nest.layer.input.axes if len(axis.terms) > 1]
    if not windows:
        return
    column = windows[-1][1][0]
    last = max(chain[-1].position for role, chain in nest.chains.items() if role != "output")
    for placed in nest.loops:
        if placed.loop.dim == column and placed.moves and (placed.loop.is_spatial or placed.position < last):
            need = f"all of {column} below the innermost keeps of weight and input"
            yield Violation(
                "dataflow", f"node {placed.position}", "row stationary", need, f"loop over {column}"
            )
