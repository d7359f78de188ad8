"""Other tools' counts by walking every step of the loops: slow, obvious, for small nests of whole trips."""

from __future__ import annotations

from itertools import product
from math import prod

from seada.arch.hardware import Setup
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES, Layer

Totals = dict[tuple[int, str], tuple[int, int, int, int]]


def walk_totals(layer: Layer, setup: Setup, mapping: Mapping, tool: str) -> Totals:
    """(reads, fills, updates, drains) per memory and operand at one instance, by the rules of one tool."""
    memories = {memory.name: m for m, memory in enumerate(setup.arch.memories)}
    result: Totals = {}
    for role in ROLES:
        chain = [
            (i, node)
            for i, node in enumerate(mapping.nodes)
            if isinstance(node, Keep) and node.operand == role
        ]
        for number, (place, keep) in enumerate(chain):
            inner = chain[number + 1][0] if number + 1 < len(chain) else None
            served = _into(layer, mapping, role, inner, tool) * _different(
                layer, mapping, role, place, inner, tool
            )
            filled = _into(layer, mapping, role, place, tool) if number else 0
            if role != "output":
                result[memories[keep.memory], role] = (served, filled, 0, 0)
                continue
            held = len(_ever(layer, mapping, role, place))
            drains = filled if tool != "timeloop" else 0
            result[memories[keep.memory], role] = (
                served - held,
                max(0, filled - held) if number else 0,
                served,
                drains,
            )
    return result


def _loops(layer: Layer, mapping: Mapping) -> list[tuple[int, Loop, int]]:
    left = dict(layer.dims)
    found = []
    for place, node in enumerate(mapping.nodes):
        if isinstance(node, Loop):
            trips = left[node.dim] // node.step
            left[node.dim] = node.step
            if trips > 1:
                found.append((place, node, trips))
    return found


def _tile(
    layer: Layer, mapping: Mapping, role: str, place: int | None, start: dict[str, int]
) -> tuple[range, ...]:
    """Interval of every axis below a place, from the given starts of the dimensions."""
    extents = {
        dim: prod(
            t for p, loop, t in _loops(layer, mapping) if loop.dim == dim and place is not None and p > place
        )
        for dim, _ in layer.dims
    }
    ranges = []
    for axis in layer.operand(role).axes:
        low = sum(c * start[dim] for dim, c in axis.terms)
        ranges.append(range(low, low + sum(c * (extents[dim] - 1) for dim, c in axis.terms) + 1))
    return tuple(ranges)


def _positions(layer: Layer, mapping: Mapping, place: int | None) -> list[dict[str, int]]:
    """Starts of the dimensions at every step of the temporal loops above a place, in order."""
    above = [
        (loop, t) for p, loop, t in _loops(layer, mapping) if loop.on is None and (place is None or p < place)
    ]
    steps = []
    for indices in product(*(range(t) for _, t in above)):
        start = dict.fromkeys(dict(layer.dims), 0)
        for (loop, _), index in zip(above, indices, strict=True):
            start[loop.dim] += index * loop.step
        steps.append(start)
    return steps


def _into(layer: Layer, mapping: Mapping, role: str, place: int | None, tool: str) -> int:
    """Words into one instance of a keep over the layer; for MACs one per step."""
    steps = _positions(layer, mapping, place)
    if place is None:
        return len(steps)
    size = prod(len(r) for r in _tile(layer, mapping, role, place, steps[0]))
    if tool == "timeloop":
        return _sliding(layer, mapping, role, place, steps)
    if tool == "accelforge":
        return size * len(steps)
    above = [(loop, t) for p, loop, t in _loops(layer, mapping) if loop.on is None and p < place]
    if above and above[-1][0].dim not in layer.operand(role).dims:
        return size * len(steps) // above[-1][1]
    return size * len(steps)


def _sliding(layer: Layer, mapping: Mapping, role: str, place: int, steps: list[dict[str, int]]) -> int:
    """Every step of the odometer, with a memory of the last displacement."""
    words, last, memory = 0, None, None
    for start in steps:
        tile = _tile(layer, mapping, role, place, start)
        full = prod(len(r) for r in tile)
        corner = tuple(r.start for r in tile)
        if last is None:
            words += full
        elif corner != last:
            move = tuple(a - b for a, b in zip(corner, last, strict=True))
            if memory is None or memory == move:
                kept = prod(max(0, len(r) - abs(m)) for r, m in zip(tile, move, strict=True))
                words += full - kept
                memory = move
            else:
                words += full
                memory = None
        last = corner
    return words


def _different(layer: Layer, mapping: Mapping, role: str, place: int, inner: int | None, tool: str) -> int:
    """Inner instances below one outer one with data of their own."""
    end = len(mapping.nodes) if inner is None else inner
    loops = [(loop, t) for p, loop, t in _loops(layer, mapping) if loop.on is not None and place < p < end]
    if tool != "timeloop":
        return prod(t for loop, t in loops if loop.dim in layer.operand(role).dims)
    corners = set()
    for indices in product(*(range(t) for _, t in loops)):
        start = dict.fromkeys(dict(layer.dims), 0)
        for (loop, _), index in zip(loops, indices, strict=True):
            start[loop.dim] += index * loop.step
        corners.add(tuple(r.start for r in _tile(layer, mapping, role, inner, start)))
    return len(corners)


def _ever(layer: Layer, mapping: Mapping, role: str, place: int) -> set[tuple[int, ...]]:
    """Everything that the first instance ever holds."""
    held: set[tuple[int, ...]] = set()
    for start in _positions(layer, mapping, place):
        held.update(product(*_tile(layer, mapping, role, place, start)))
    return held
