"""One choice of formats per layer: exact, under budgets, with its reason.

What is minimised:

- **budgets given**: the summed loss of the layers (see `scores`), within all budgets. Choices whose
  losses are equal to one part in a million are told apart by energy and latency.
- **budget accuracy_loss given** (needs a measurement): the objective, along the Pareto front of objective
  and summed loss, within all other budgets. The cheapest point whose *measured* accuracy is within the
  budget is searched by bisection, which takes accuracy to fall along the front.
- **no budget (`auto`)**: the objective, with the summed loss held to a limit that the method sets. For
  `output_kl` it is 0.04 nat above the least possible sum (by Pinsker's inequality the probabilities of all
  classes then move by 0.14 at most in total variation, on average over the inputs). For scores without
  such a meaning it is the summed loss of int6 x int6 in every layer: no coarser on the whole than six
  bits by that score.

Losses add up over layers, which is an approximation; latency, energy, bytes and bit operations do add up.
Budgets on power and on the energy-delay product are those of the whole network, solved exactly. Costs of
conversions between layers of different formats are not in the candidates: the run of the whole network
afterwards counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seada.errors import InfeasibleError, UserError
from seada.precision.budget import Budget
from seada.precision.choice import Assignment, Candidate, Costs, FrontPoint, LayerChoice, Selection
from seada.precision.problem import Chosen, Problem, make_problem
from seada.precision.quantise import check_choice
from seada.precision.runtime import OperandFormats
from seada.precision.scores import LayerScore
from seada.precision.solver import (
    Limit,
    Vector,
    minimise,
    minimise_product,
    minimise_then,
    minimise_within_product,
    supported_points,
)

OBJECTIVES = ("edp", "energy", "latency")

# How far the summed KL divergence may rise above the least possible one in `auto`, in nats: about what int6
# in every layer sums to in the shipped network (0.041).
AUTO_KL = 0.04
# Points of the front in the result; the search for an accuracy looks at all of them.
MAX_FRONT = 40


@dataclass(frozen=True)
class Measurement:
    """How accuracy is measured: by formats of each layer, and what the unrounded network has; both 0..1."""

    accuracy: Callable[[Assignment], float]
    reference: float


def _limits(problem: Problem, budgets: Sequence[Budget]) -> list[Limit]:
    """Budgets that are linear in the choice."""
    fixed = problem.fixed
    limits = []
    for budget in budgets:
        if budget.metric == "power":
            # energy / latency <= power, with all latencies positive.
            row = problem.product.second - budget.limit * problem.product.first
            limits.append(Limit(row, fixed.energy_pj - budget.limit * fixed.latency_cycles, 0.0))
        elif budget.metric in _FIELDS:
            field = _FIELDS[budget.metric]
            limits.append(Limit(problem.cost(field), getattr(fixed, field), budget.limit))
    return limits


_FIELDS = {
    "latency": "latency_cycles",
    "energy": "energy_pj",
    "weight_bytes": "weight_bytes",
    "bops": "bops",
}
_UNITS = {
    "latency": "cycles",
    "energy": "pJ",
    "edp": "pJ*cycles",
    "power": "pJ/cycle",
    "weight_bytes": "bytes",
    "bops": "bit operations",
}


def _least_loss(problem: Problem, budgets: Sequence[Budget]) -> Chosen | None:
    """Least summed loss within all budgets that can be computed."""

    def solve(limits: list[Limit]) -> Chosen | None:
        return minimise_then(problem.slots, [problem.loss, problem.tie_break], limits)

    def loss(chosen: Chosen) -> float:
        return float(problem.loss[chosen].sum())

    limits = _limits(problem, budgets)
    bounds = [budget.limit for budget in budgets if budget.metric == "edp"]
    if not bounds:
        return solve(limits)
    return minimise_within_product(problem.slots, solve, loss, problem.product, min(bounds), limits)


def _cheapest(problem: Problem, objective: str, limits: list[Limit]) -> Chosen | None:
    """Least objective within linear limits; of equal ones the least loss."""
    if objective == "edp":
        found = minimise_product(problem.slots, problem.product, limits)
        if found is None:
            return None
        # Same energy and latency or less: a smaller loss at no cost.
        latency, energy = problem.product.factors(found)
        pinned = [
            Limit(problem.product.first, problem.product.first_constant, latency),
            Limit(problem.product.second, problem.product.second_constant, energy),
        ]
        return minimise(problem.slots, problem.loss, [*limits, *pinned])
    main, other = problem.product.first, problem.product.second
    order = [main, problem.loss, other] if objective == "latency" else [other, problem.loss, main]
    return minimise_then(problem.slots, order, limits)


def _least_value(problem: Problem, budget: Budget, others: Sequence[Budget]) -> float | None:
    """The least value of a budget's metric within the other budgets; None if these alone cannot be met."""
    limits = _limits(problem, others)
    if budget.metric == "edp":
        found = minimise_product(problem.slots, problem.product, limits)
        return None if found is None else problem.product.value(found)
    if budget.metric == "power":
        return _least_power(problem, limits)
    field = _FIELDS[budget.metric]
    found = minimise(problem.slots, problem.cost(field), limits)
    return None if found is None else getattr(problem.costs(found), field)


def _least_power(problem: Problem, limits: list[Limit]) -> float | None:
    """Least energy per cycle: a ratio of two sums, by Dinkelbach's iteration."""
    product, found, ratio = problem.product, minimise(problem.slots, problem.product.second, limits), np.inf
    while found is not None:
        latency, energy = product.factors(found)
        if energy / latency >= ratio * (1 - 1e-9):
            break
        ratio = energy / latency
        found = minimise(problem.slots, product.second - ratio * product.first, limits)
    return None if np.isinf(ratio) else float(ratio)


def _infeasible(problem: Problem, budgets: Sequence[Budget]) -> InfeasibleError:
    """Name the nearest value of each budget that can be met."""
    nearest = []
    for position, budget in enumerate(budgets):
        if budget.metric == "accuracy_loss":
            continue
        others = [*budgets[:position], *budgets[position + 1 :]]
        least = _least_value(problem, budget, others)
        if least is not None and least > budget.limit:
            within = " within the other budgets" if len(others) else ""
            nearest.append(f"{budget.metric} can be {least:.6g} {_UNITS[budget.metric]} at least{within}")
    shown = ", ".join(budget.text for budget in budgets)
    detail = "; ".join(nearest) or "they contradict each other even with any one left out"
    return InfeasibleError(f"no choice of formats meets {shown}: {detail}")


def pareto_front(problem: Problem, objective: str, budgets: Sequence[Budget] = ()) -> list[Chosen]:
    """Choices from the cheapest to the most precise, none of which is beaten by another one in both.

    The corners of the convex hull of objective and summed loss, with its ends exact; for the energy-delay
    product those of several weightings of energy and latency. Choices that break a budget are left out.

    Raises
    ------
    InfeasibleError
        If no choice meets the budgets.
    """
    precise = _least_loss(problem, budgets)
    if precise is None:
        raise _infeasible(problem, budgets)
    limits = _limits(problem, budgets)
    cheapest = _cheapest(problem, objective, limits)
    assert cheapest is not None
    found = [cheapest, precise]
    for cost in _weightings(problem, objective):
        found += supported_points(problem.slots, cost, problem.loss)
    bound = min((budget.limit for budget in budgets if budget.metric == "edp"), default=np.inf)
    within = [
        chosen
        for chosen in found
        if problem.product.value(chosen) <= bound * (1 + 1e-9)
        and all(limit.holds(chosen) for limit in limits)
    ]
    return _not_beaten(problem, objective, within)


def _weightings(problem: Problem, objective: str) -> list[Vector]:
    """Linear costs whose optima make up the front of an objective."""
    latency, energy = problem.product.first, problem.product.second
    if objective != "edp":
        return [latency if objective == "latency" else energy]
    shares = [vector / max(float(vector.sum()), 1e-300) for vector in (latency, energy)]
    return [weight * shares[0] + (1 - weight) * shares[1] for weight in np.linspace(0.1, 0.9, 9)]


def _not_beaten(problem: Problem, objective: str, choices: list[Chosen]) -> list[Chosen]:
    """By rising objective, those whose loss is less than that of everything before."""
    figures = [
        (_value(problem.costs(chosen), objective), float(problem.loss[chosen].sum()), tuple(chosen))
        for chosen in choices
    ]
    front: list[Chosen] = []
    least = np.inf
    for _, loss, variables in sorted(figures):
        if loss < least:
            front.append(np.array(variables, dtype=np.intp))
            least = loss
    return front


def _value(costs: Costs, objective: str) -> float:
    figures = {"edp": costs.edp_pj_cycles, "energy": costs.energy_pj, "latency": costs.latency_cycles}
    return figures[objective]


def _thinned(front: list[Chosen], keep: Iterable[int]) -> list[int]:
    """Positions of `MAX_FRONT` points at most, evenly spread, with those that must stay."""
    count = min(len(front), MAX_FRONT)
    spread = {round(position) for position in np.linspace(0, len(front) - 1, count)}
    return sorted(spread | set(keep))


def _auto(problem: Problem, method: str, objective: str) -> tuple[Chosen, str]:
    """The choice without budgets, and the rule in words."""
    least = float(problem.slots.least(problem.loss).sum())
    if method == "output_kl":
        limit = least + AUTO_KL
        rule = f"the summed loss at most {AUTO_KL} nat above the least possible"
    else:
        limit = max(least, sum(problem.scores[layer].reference for layer in problem.options))
        rule = "a summed loss no larger than that of int6 x int6 in every layer"
    within = _cheapest(problem, objective, [Limit(problem.loss, 0.0, limit)])
    assert within is not None
    return within, f"least {objective} with {rule}"


def _within_accuracy(
    problem: Problem, front: list[Chosen], measurement: Measurement, budget: Budget
) -> tuple[Chosen, dict[int, float]]:
    """The cheapest point of the front whose measured accuracy loss is within the budget, by bisection."""
    measured: dict[int, float] = {}

    def lost(position: int) -> float:
        if position not in measured:
            measured[position] = measurement.accuracy(problem.assignment(front[position]))
        return 100 * (measurement.reference - measured[position])

    low, high = 0, len(front) - 1
    if lost(high) > budget.limit + 1e-9:
        raise InfeasibleError(
            f"no choice of formats meets {budget.text}: the most precise one within the other budgets loses "
            f"{lost(high):.2f} percentage points"
        )
    while low < high:
        middle = (low + high) // 2
        if lost(middle) <= budget.limit + 1e-9:
            high = middle
        else:
            low = middle + 1
    return front[high], measured


def select(
    options: Mapping[str, Sequence[Candidate]],
    scores: Mapping[str, LayerScore],
    *,
    method: str,
    objective: str = "edp",
    budgets: Sequence[Budget] = (),
    ties: Sequence[Sequence[str]] = (),
    fixed: Costs | None = None,
    measurement: Measurement | None = None,
    warn: Callable[[str, OperandFormats], str] = lambda layer, formats: "",
) -> Selection:
    """Choose formats for every layer (see the head of this file).

    Parameters
    ----------
    options : mapping
        Candidates by layer, in execution order.
    scores : mapping
        By layer, one loss per candidate, from `score_layers`.
    method : str
        The name of the score.
    objective : str
        ``edp``, ``energy`` or ``latency``: minimised where no budget says otherwise, and of the front.
    ties : sequence of sequences of layer names
        Layers that must take the same formats.
    fixed : Costs or None
        Of everything else in the network (vector operators), counted in all budgets.
    measurement : Measurement or None
        Needed by a budget of accuracy_loss.
    warn : function of (layer, formats)
        What to warn of if the layer takes these formats; empty if nothing.

    Raises
    ------
    UserError
        If the question is malformed, or accuracy cannot be measured.
    InfeasibleError
        If no choice meets the budgets; the message names the nearest value that can be met.
    """
    check_choice("objective", objective, OBJECTIVES)
    accuracy_budgets = [b for b in budgets if b.metric == "accuracy_loss"]
    if accuracy_budgets and measurement is None:
        raise UserError(f"budget {accuracy_budgets[0].text!r} needs labelled data to measure accuracy on")
    problem = make_problem(options, scores, ties, fixed)
    front = pareto_front(problem, objective, budgets)
    measured: dict[int, float] = {}
    if accuracy_budgets:
        assert measurement is not None
        tightest = min(accuracy_budgets, key=lambda budget: budget.limit)
        chosen, measured = _within_accuracy(problem, front, measurement, tightest)
        rule = f"least {objective} along the front with the measured accuracy within the budget"
    elif budgets:
        least = _least_loss(problem, budgets)
        assert least is not None
        chosen, rule = least, "least summed loss within the budgets"
    else:
        chosen, rule = _auto(problem, method, objective)
    points = tuple(
        FrontPoint(
            problem.assignment(front[position]),
            problem.costs(front[position]),
            float(problem.loss[front[position]].sum()),
            measured.get(position),
        )
        for position in _thinned(front, measured)
    )
    choices = _choices(problem, chosen, warn)
    total = float(problem.loss[chosen].sum())
    return Selection(method, objective, tuple(budgets), rule, choices, problem.costs(chosen), total, points)


def _choices(
    problem: Problem, chosen: Chosen, warn: Callable[[str, OperandFormats], str]
) -> tuple[LayerChoice, ...]:
    total = float(problem.loss[chosen].sum())
    groups = {layer: group for group in problem.groups for layer in group}
    choices = []
    for layer, index in problem.indices(chosen).items():
        candidates, score = problem.options[layer], problem.scores[layer]
        tied = tuple(other for other in groups[layer] if other != layer)
        reason = _reason(candidates, score, index, total)
        if tied:
            reason += f"; same formats as {', '.join(tied)} by a tie"
        warning = warn(layer, candidates[index].formats)
        choices.append(LayerChoice(layer, candidates, score, index, reason, warning, tied))
    return tuple(choices)


def _reason(candidates: Sequence[Candidate], score: LayerScore, index: int, total: float) -> str:
    """The figures of the chosen candidate, and what the next smaller and larger loss would cost."""
    chosen, loss = candidates[index], score.losses[index]
    figure = f"score {score.value:.4g} {score.unit}, " if score.value is not None else ""
    share = f" of {total:.3g} in all layers" if total > 0 else ""
    text = (
        f"{figure}loss {loss:.3g}{share}, {chosen.costs.latency_cycles:.6g} cycles, "
        f"{chosen.costs.energy_pj:.4g} pJ"
    )
    order = sorted(range(len(candidates)), key=lambda i: (-score.losses[i], candidates[i].costs.energy_pj, i))
    position = order.index(index)
    for word, beside in (("up", position + 1), ("down", position - 1)):
        if 0 <= beside < len(order):
            text += f"; {word} to {_step(candidates, score, index, order[beside])}"
    return text + (f" ({score.note})" if score.note else "")


def _step(candidates: Sequence[Candidate], score: LayerScore, index: int, other: int) -> str:
    """What another candidate would change."""
    here, there = candidates[index].costs, candidates[other].costs

    def change(new: float, old: float) -> str:
        return f"{100 * (new / old - 1):+.1f} %" if old > 0 else f"{new - old:+.3g}"

    return (
        f"{candidates[other].label}: loss {score.losses[other] - score.losses[index]:+.3g}, "
        f"energy {change(there.energy_pj, here.energy_pj)}, "
        f"latency {change(there.latency_cycles, here.latency_cycles)}"
    )
