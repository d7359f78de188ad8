"""Exact counts and cycles of one mapping: the object layer around the kernels."""

from __future__ import annotations

from threading import local

import numpy as np

from seada.arch.hardware import Setup
from seada.errors import InfeasibleError
from seada.mapping.nest import Mapping
from seada.model.counts import Access, Counts, LinkCount, Timing
from seada.model.flatten import flatten, port_names
from seada.model.kernel_walk import FIRST, LAST, run
from seada.model.nest_arrays import WORK, Ints, Nest, Work, empty_record
from seada.model.regular import regular_counts
from seada.model.regular_arrays import Regular
from seada.workload.layer import Layer

_NO_ACCESS = Access()


def count(layer: Layer, setup: Setup, mapping: Mapping) -> tuple[Counts, Timing]:
    """Counts and timing of a legal mapping (see docs/model.md for every rule).

    Raises
    ------
    InfeasibleError
        If the nest has more loops, instances or kinds of tiles than the kernels hold, or its cycles do not
        fit in 63 bits. (Counters fit wherever `seada.mapping.check` finds nothing.)
    """
    counts, timing, _ = count_with_ports(layer, setup, mapping)
    return counts, timing


def count_with_ports(layer: Layer, setup: Setup, mapping: Mapping) -> tuple[Counts, Timing, dict[str, float]]:
    """As `count`, with the cycles that each limited port is busy at its busiest instance."""
    nest = _flatten(layer, setup, mapping)
    known = regular_counts(nest)
    if known is not None:
        return _counts(setup, nest, known), *_regular_timing(setup, nest, known)
    return _walk(layer, setup, nest)


def count_by_walk(layer: Layer, setup: Setup, mapping: Mapping) -> tuple[Counts, Timing]:
    """As `count`, by the general walk also where the closed form of regular nests would do."""
    counts, timing, _ = _walk(layer, setup, _flatten(layer, setup, mapping))
    return counts, timing


def _flatten(layer: Layer, setup: Setup, mapping: Mapping) -> Nest:
    try:
        return flatten(layer, setup, mapping)
    except OverflowError as error:
        raise _too_large(layer, error) from error


def _walk(layer: Layer, setup: Setup, nest: Nest) -> tuple[Counts, Timing, dict[str, float]]:
    try:
        work, space = _scratch(int(nest.span))
        body = int(run(nest, work, space))
    except OverflowError as error:
        raise _too_large(layer, error) from error
    return _counts(setup, nest, work), *_timing(setup, nest, work, body)


def _too_large(layer: Layer, error: OverflowError) -> InfeasibleError:
    return InfeasibleError(f"this mapping of {layer.name} is too large to count exactly: {error}")


_THREAD = local()


def _scratch(span: int) -> tuple[Work, Ints]:
    """Scratch record and index space of this thread, with counters at zero."""
    if not hasattr(_THREAD, "work"):
        _THREAD.work = empty_record(WORK)
        _THREAD.space = np.zeros((3, 0), np.int64)
    if _THREAD.space.shape[1] < span:
        _THREAD.space = np.zeros((3, span), np.int64)
    _THREAD.space[:] = 0
    for name in (
        "counts",
        "link_counts",
        "chain",
        "steps",
        "stamps",
        "after",
        "before",
        "at_last",
        "step_key",
    ):
        _THREAD.work[name][:] = 0
    return _THREAD.work, _THREAD.space


def _counts(setup: Setup, nest: Nest, work: Work) -> Counts:
    memories = [[_NO_ACCESS] * 3 for _ in setup.arch.memories]
    for o in range(3):
        for level in range(1, int(nest.levels[o])):
            moved = [int(v) for v in work.counts[o, level]]
            outer, inner = int(nest.memory[o, level - 1]), int(nest.memory[o, level])
            memories[outer][o] += Access(moved[0], moved[3], moved[1], moved[4], moved[2], moved[5])
            if inner >= 0:
                memories[inner][o] += Access(moved[6], moved[9], moved[7], moved[10], moved[8], moved[11])
    fanouts = int(nest.fanouts)
    links = tuple(
        tuple(LinkCount(*(int(v) for v in work.link_counts[o, f])) for o in range(3)) for f in range(fanouts)
    )
    return Counts(
        memories=tuple(tuple(row) for row in memories),  # type: ignore[misc]
        links=links,  # type: ignore[arg-type]
        compute_steps=int(work.steps[0]),
        mode_steps=int(work.steps[1]),
    )


def _timing(setup: Setup, nest: Nest, work: Work, body: int) -> tuple[Timing, dict[str, float]]:
    traffic = work.traffic[0, : nest.ports]
    body = max(body, int(traffic.max(initial=0)))
    extremes = (_extreme(nest, work, FIRST, 1), _extreme(nest, work, LAST, 3))
    used = slice(int(nest.timing_levels))
    first = work.loads[FIRST, used, 1, : nest.ports].sum(axis=0)
    last = work.loads[LAST, used, 3, : nest.ports].sum(axis=0)
    return _add_up(setup, nest, work, body, extremes, traffic + first + last)


def _regular_timing(setup: Setup, nest: Nest, work: Regular) -> tuple[Timing, dict[str, float]]:
    busy = work.traffic[: nest.ports] + work.busy_ends[: nest.ports]
    return _add_up(setup, nest, work, int(work.body), (int(work.extreme[0]), int(work.extreme[1])), busy)


def _add_up(
    setup: Setup, nest: Nest, work: Work | Regular, body: int, extremes: tuple[int, int], busy: Ints
) -> tuple[Timing, dict[str, float]]:
    """The latency from its parts in ticks, and the cycles that each port is busy."""
    ticks = int(nest.ticks_per_cycle)
    once = sum(
        int(nest.ramp_cycles[o])
        for o in range(3)
        if nest.levels[o] < 3 or nest.double_buffered[o, nest.levels[o] - 2]
    )
    total = extremes[0] + body + extremes[1] + once * ticks
    timing = Timing(
        latency_cycles=-(-total // ticks),
        first_fill=extremes[0] / ticks,
        body=body / ticks,
        last_drain=extremes[1] / ticks,
        ramp=float(once),
        compute=float(int(work.steps[0]) * setup.mode.cycles_per_step),
    )
    return timing, dict(zip(port_names(setup), map(float, busy / ticks), strict=True))


def _extreme(nest: Nest, work: Work, handle: int, kind: int) -> int:
    """Ticks of the double-buffered first fills or last drains: busiest port or longest chain."""
    ports = work.loads[handle, : nest.timing_levels, kind, : nest.ports].sum(axis=0)
    return max(int(ports.max(initial=0)), int(work.chain[:, handle].max(initial=0)))


__all__ = ["count", "count_by_walk", "count_with_ports"]
