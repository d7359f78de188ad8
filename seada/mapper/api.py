"""The best mapping of one layer, or of many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from seada.arch.hardware import Arch, Setup
from seada.arch.setup import make_setup
from seada.errors import UserError
from seada.formats import PrecisionRequest, parse_precision
from seada.mapper.bound import ROUNDING, lower_bound
from seada.mapper.objective import Objective, parse_objective
from seada.mapper.problem import build_space
from seada.mapper.result import MapResult
from seada.mapper.search import find_best
from seada.workload.layer import Layer

SPACE = (
    "nested tiles with remainders at the layer's edge, any keeps and bypasses that the memories allow, loop "
    "orders in which one operand rests below each memory, any unrolling on the fanouts; within the "
    "architecture's constraints"
)


def map_layer(
    arch: Arch,
    layer: Layer,
    precision: PrecisionRequest | str,
    objective: str = "edp",
    *,
    max_evaluations: int | None = None,
    time_s: float | None = None,
) -> MapResult:
    """The best mapping of one layer that the search finds.

    Parameters
    ----------
    precision : PrecisionRequest or str
        ``int8``, ``w4a8``, ``w:int4,a:fp8_e4m3,acc:fp32,out:fp16`` ...
    objective : str
        ``edp``, ``energy``, ``latency`` or ``energy^a*latency^b``; ties go to the other metric.
    max_evaluations : int, optional
        About how many candidates to estimate; without limits a fixed number, the same on every machine.
    time_s : float, optional
        Wall time after which the search stops; such an answer may differ between runs.

    Returns
    -------
    MapResult
        `optimal`, `bound` and `gap` concern the objective's value, not how well ties are broken.

    Raises
    ------
    UserError
        If the objective, precision or a limit cannot be read.
    InfeasibleError
        If no PE mode runs these formats or no mapping fits.
    """
    goal = parse_objective(objective)
    _check_limits(max_evaluations, time_s)
    request = parse_precision(precision) if isinstance(precision, str) else precision
    return map_setup(make_setup(arch, layer, request), layer, goal, max_evaluations, time_s)


def map_setup(
    setup: Setup, layer: Layer, objective: Objective, max_evaluations: int | None, time_s: float | None
) -> MapResult:
    """The best mapping of a layer on a set-up (see `map_layer`)."""
    space = build_space(layer, setup)
    found = find_best(space, objective, max_evaluations, time_s)
    value = objective.value(found.cost.energy_pj, found.cost.latency_cycles)
    bound = lower_bound(layer, setup, objective)
    # Sums of floats in another order differ by a few units in the last place.
    optimal = value * ROUNDING <= bound
    stats = replace(found.stats, stopped_by="proof") if optimal else found.stats
    return MapResult(
        layer=layer,
        setup=setup,
        mapping=found.mapping,
        cost=found.cost,
        objective=objective.text,
        optimal=optimal,
        bound=bound,
        gap=max(0.0, value / bound - 1) if bound > 0 else None,
        search=stats,
        space=SPACE,
    )


def map_layers(
    arch: Arch,
    layers: Sequence[tuple[Layer, PrecisionRequest | str]],
    objective: str = "edp",
    *,
    max_evaluations: int | None = None,
) -> list[MapResult]:
    """`map_layer` for many layers; layers that differ only in their name are searched once.

    Returns
    -------
    list of MapResult
        In the order of `layers`.
    """
    known: dict[tuple[Layer, PrecisionRequest], MapResult] = {}
    results = []
    for layer, precision in layers:
        request = parse_precision(precision) if isinstance(precision, str) else precision
        key = (replace(layer, name=""), request)
        if key not in known:
            known[key] = map_layer(arch, layer, request, objective, max_evaluations=max_evaluations)
        results.append(replace(known[key], layer=layer))
    return results


def _check_limits(max_evaluations: int | None, time_s: float | None) -> None:
    if max_evaluations is not None and max_evaluations < 1:
        raise UserError(f"max_evaluations is {max_evaluations}, must be 1 or more")
    if time_s is not None and not (math.isfinite(time_s) and time_s > 0):
        raise UserError(f"the time limit is {time_s} s, must be positive and finite")
