"""Selection against brute force over all assignments, published assignments, and the shipped network."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.errors import InfeasibleError, UserError
from seada.formats import parse_format
from seada.precision.budget import METRICS, Budget, parse_budget
from seada.precision.choice import Candidate, Costs, Selection
from seada.precision.scores import FormatPair, LayerScore
from seada.precision.select import AUTO_KL, Measurement, select

WIDTHS = ("int2", "int4", "int8")
Options = dict[str, list[Candidate]]
Scores = dict[str, LayerScore]


def candidate(name: str, latency: float, energy: float, size: float = 0.0, bops: float = 0.0) -> Candidate:
    fmt = parse_format(name)
    return Candidate(FormatPair(fmt, fmt), Costs(latency, energy, size, bops))


def score(*losses: float, reference: float = 0.0) -> LayerScore:
    return LayerScore(losses, reference, None, "nat")


@st.composite
def questions(draw: st.DrawFn) -> tuple[Options, Scores, Costs]:
    """Up to five layers with up to three candidates; small whole numbers, so that ties are frequent."""
    number = st.integers(1, 12)
    options: Options = {}
    scores: Scores = {}
    for layer in range(draw(st.integers(1, 5))):
        names = WIDTHS[: draw(st.integers(1, 3))]
        options[f"l{layer}"] = [
            candidate(n, draw(number), draw(number), draw(number), draw(number)) for n in names
        ]
        scores[f"l{layer}"] = score(*(float(draw(st.integers(0, 12))) for _ in names), reference=draw(number))
    return options, scores, Costs(draw(st.integers(0, 5)), draw(st.integers(0, 5)))


def every(options: Options, fixed: Costs) -> Iterator[tuple[tuple[int, ...], Costs]]:
    """All assignments with their costs."""
    for choice in itertools.product(*(range(len(c)) for c in options.values())):
        total = fixed
        for index, candidates in zip(choice, options.values(), strict=True):
            total = total + candidates[index].costs
        yield choice, total


def loss_of(choice: tuple[int, ...], scores: Scores) -> float:
    return sum(s.losses[i] for i, s in zip(choice, scores.values(), strict=True))


def figure(costs: Costs, metric: str) -> float:
    return {
        "latency": costs.latency_cycles,
        "energy": costs.energy_pj,
        "edp": costs.edp_pj_cycles,
        "power": costs.energy_pj / costs.latency_cycles,
        "weight_bytes": costs.weight_bytes,
        "bops": costs.bops,
    }[metric]


COMPUTED = [metric for metric in METRICS if metric != "accuracy_loss"]


@given(questions(), st.data())
@settings(max_examples=60, deadline=None)
def test_budgets_are_met_with_the_least_loss(
    question: tuple[Options, Scores, Costs], data: st.DataObject
) -> None:
    options, scores, fixed = question
    everything = list(every(options, fixed))
    budgets = []
    for metric in data.draw(st.lists(st.sampled_from(COMPUTED), min_size=1, max_size=3, unique=True)):
        limit = figure(data.draw(st.sampled_from(everything))[1], metric)
        budgets.append(Budget(metric, limit * data.draw(st.sampled_from([0.9, 1.0, 1.0, 1.1])), metric))

    def meets(costs: Costs) -> bool:
        return all(figure(costs, b.metric) <= b.limit * (1 + 1e-9) for b in budgets)

    within = [loss_of(choice, scores) for choice, costs in everything if meets(costs)]
    try:
        got = select(options, scores, method="nmse", budgets=budgets, fixed=fixed)
    except InfeasibleError as error:
        least = min(figure(costs, budgets[0].metric) for _, costs in everything)
        named = len(budgets) > 1 or f"can be {least:.6g} " in error.message
        assert (within, named) == ([], True)
        return
    assert meets(got.costs)
    assert got.loss == pytest.approx(min(within), abs=1e-9)


@given(questions(), st.sampled_from(["edp", "energy", "latency"]), st.sampled_from(["output_kl", "nmse"]))
@settings(max_examples=60, deadline=None)
def test_auto_is_the_cheapest_within_its_limit(
    question: tuple[Options, Scores, Costs], objective: str, method: str
) -> None:
    options, scores, fixed = question
    everything = list(every(options, fixed))
    least = min(loss_of(choice, scores) for choice, _ in everything)
    limit = (
        least + AUTO_KL if method == "output_kl" else max(least, sum(s.reference for s in scores.values()))
    )
    within = [
        figure(costs, objective) for choice, costs in everything if loss_of(choice, scores) <= limit + 1e-9
    ]
    got = select(options, scores, method=method, objective=objective, fixed=fixed)
    assert got.loss <= limit + 1e-9
    assert figure(got.costs, objective) == pytest.approx(min(within), rel=1e-6)


@given(questions(), st.sampled_from(["edp", "energy", "latency"]))
@settings(max_examples=60, deadline=None)
def test_no_assignment_beats_a_point_of_the_front(
    question: tuple[Options, Scores, Costs], objective: str
) -> None:
    options, scores, fixed = question
    everything = [
        (figure(costs, objective), loss_of(choice, scores)) for choice, costs in every(options, fixed)
    ]
    front = select(options, scores, method="nmse", objective=objective, fixed=fixed).front
    assert front[-1].loss == pytest.approx(min(loss for _, loss in everything))
    assert figure(front[0].costs, objective) == pytest.approx(min(cost for cost, _ in everything))
    if objective == "edp":
        everything = [(figure(point.costs, "edp"), point.loss) for point in front]
    for point in front:
        cost = figure(point.costs, objective)
        assert not any(c < cost * (1 - 1e-6) and loss <= point.loss + 1e-9 for c, loss in everything)
    losses = [point.loss for point in front]
    assert losses == sorted(losses, reverse=True)


@given(questions())
@settings(max_examples=60, deadline=None)
def test_the_front_holds_the_optima_of_all_weighted_sums(question: tuple[Options, Scores, Costs]) -> None:
    options, scores, _ = question
    points = [(costs.energy_pj, loss_of(choice, scores)) for choice, costs in every(options, Costs())]
    front = select(options, scores, method="nmse", objective="energy").front
    for weight in np.geomspace(1e-3, 1e3, 40):
        least = min(cost + weight * loss for cost, loss in points)
        assert min(p.costs.energy_pj + weight * p.loss for p in front) == pytest.approx(least, rel=1e-9)


def test_tied_layers_agree_and_count_together() -> None:
    options = {
        "a": [candidate("int4", 1, 1), candidate("int8", 5, 5)],
        "b": [candidate("int8", 5, 5), candidate("int4", 1, 1), candidate("int2", 0.5, 0.5)],
        "c": [candidate("int4", 1, 1), candidate("int8", 5, 5)],
    }
    scores = {"a": score(3, 0), "b": score(0, 4, 9), "c": score(1, 0)}
    budget = [Budget("energy", 11, "energy<=11")]

    def picked(ties: list[list[str]]) -> list[str]:
        found = select(options, scores, method="nmse", budgets=budget, ties=ties)
        return [formats.weight.name for formats in found.assignment.values()]

    assert picked([]) == ["int8", "int8", "int4"]
    assert picked([["a", "b"]]) == ["int8", "int8", "int4"]
    assert picked([["b", "c"]]) == ["int4", "int8", "int8"]
    assert picked([["b", "c"], ["c", "a"]]) == ["int4", "int4", "int4"]
    found = select(options, scores, method="nmse", budgets=budget, ties=[["b", "c"]])
    assert found.choices[1].tied_to == ("c",)
    assert "same formats as c by a tie" in found.choices[1].reason


def test_equal_losses_are_told_apart_by_cost() -> None:
    options = {"a": [candidate("int8", 9, 9), candidate("int4", 2, 2), candidate("int2", 3, 3)]}
    found = select(options, {"a": score(1, 1, 1)}, method="nmse", budgets=[Budget("energy", 10, "e")])
    assert found.assignment["a"].weight.name == "int4"


def test_the_accuracy_that_is_measured_decides() -> None:
    options = {
        f"l{i}": [candidate(n, b, b) for n, b in (("int2", 2), ("int4", 4), ("int8", 8))] for i in range(6)
    }
    scores = {layer: score(4.0 + i, 1.0 + i / 10, 0.01) for i, layer in enumerate(options)}
    asked = []

    def measured(assignment: object) -> float:
        bits = [formats.weight.bits for formats in assignment.values()]  # type: ignore[attr-defined]
        asked.append(bits)
        return 0.9 - 0.02 * sum(8 - b for b in bits) / 8

    measurement = Measurement(measured, 0.9)
    budgets = [Budget("accuracy_loss", 2.0, "accuracy_loss<=2")]
    found = select(
        options, scores, method="nmse", objective="energy", budgets=budgets, measurement=measurement
    )
    lost = 2 * sum(8 - f.weight.bits for f in found.assignment.values()) / 8
    assert 0 < lost <= 2.0
    assert len(asked) < len(found.front)
    cheaper = [point for point in found.front if point.costs.energy_pj < found.costs.energy_pj]
    assert all(2 * sum(8 - f.weight.bits for f in p.assignment.values()) / 8 > 2 for p in cheaper)
    assert sum(point.accuracy is not None for point in found.front) == len(asked)
    hopeless = Measurement(lambda assignment: 0.81, 0.9)
    with pytest.raises(InfeasibleError, match=r"loses 9\.00 percentage points"):
        select(options, scores, method="nmse", budgets=budgets, measurement=hopeless)
    with pytest.raises(UserError, match="needs labelled data"):
        select(options, scores, method="nmse", budgets=budgets)


def test_reasons_tell_what_the_neighbours_would_change() -> None:
    options = {"a": [candidate("int8", 10, 10), candidate("int4", 5, 4), candidate("int2", 4, 2)]}
    scores = {"a": LayerScore((0.25, 1, 4), 0.5, 2.5, "bit", "assumed")}
    found = select(
        options,
        scores,
        method="bit_entropy",
        budgets=[Budget("energy", 5, "energy<=5 pJ")],
        warn=lambda layer, formats: f"{layer} in {formats.weight}",
    )
    reason = found.choices[0].reason
    assert reason.startswith("score 2.5 bit, loss 1 of 1 in all layers, 5 cycles, 4 pJ")
    assert "up to int8 x int8: loss -0.75, energy +150.0 %, latency +100.0 %" in reason
    assert "down to int2 x int2: loss +3, energy -50.0 %, latency -20.0 %" in reason
    assert reason.endswith("(assumed)")
    assert found.choices[0].warning == "a in int4"
    told = found.to_dict()
    assert told["layers"][0]["candidates"][2]["weight"] == "int2"
    assert told["budgets"] == ["energy<=5 pJ"]
    assert told["front"][-1]["formats"] == {"a": ["int4", "int4"]}


def test_infeasible_budgets_name_the_nearest_values() -> None:
    options = {"a": [candidate("int8", 10, 4), candidate("int4", 5, 8)]}
    scores = {"a": score(0, 1)}
    with pytest.raises(InfeasibleError, match=r"energy<=3 pJ: energy can be 4 pJ at least"):
        select(options, scores, method="nmse", budgets=[Budget("energy", 3, "energy<=3 pJ")])
    both = [Budget("energy", 6, "E"), Budget("latency", 7, "T")]
    with pytest.raises(
        InfeasibleError, match="energy can be 8 pJ at least within the other budgets; latency can be 10"
    ):
        select(options, scores, method="nmse", budgets=both)
    three = [Budget("energy", 1, "E"), Budget("latency", 1, "T"), Budget("edp", 1, "EDP")]
    with pytest.raises(InfeasibleError, match="contradict"):
        select(options, scores, method="nmse", budgets=three)


def test_malformed_questions_are_refused() -> None:
    options = {"a": [candidate("int8", 1, 1)], "b": [candidate("int4", 1, 1)]}
    scores = {"a": score(0), "b": score(0)}
    bad: list[tuple[type[Exception], str, Callable[[], Selection]]] = [
        (UserError, "did you mean 'energy'", lambda: select(options, scores, method="m", objective="enrgy")),
        (UserError, "no layer", lambda: select({}, {}, method="m")),
        (InfeasibleError, "layer a has no", lambda: select({"a": []}, scores, method="m")),
        (UserError, "not as many scores", lambda: select(options, {"a": score(0)}, method="m")),
        (UserError, "no finite", lambda: select(options, {**scores, "b": score(math.nan)}, method="m")),
        (UserError, "layer of a tie 'c'", lambda: select(options, scores, method="m", ties=[["a", "c"]])),
        (InfeasibleError, "in common", lambda: select(options, scores, method="m", ties=[["a", "b"]])),
    ]
    for kind, message, call in bad:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.parametrize(
    ("text", "metric", "limit"),
    [
        ("latency<=2 ms", "latency", 1e6),
        ("latency <= 3e6 cycles", "latency", 3e6),
        ("energy<=1.5 uJ", "energy", 1.5e6),
        ("edp<=2 uJ*ms", "edp", 1e12),
        ("edp<=1e12 pJ*cycles", "edp", 1e12),
        ("power<=500 mW", "power", 1e3),
        ("weight_bytes<=2 KiB", "weight_bytes", 2048),
        ("weight_bytes<=2000", "weight_bytes", 2000),
        ("bops<=5e9", "bops", 5e9),
        ("accuracy_loss<=0.5", "accuracy_loss", 0.5),
        ("accuracy_loss<=0", "accuracy_loss", 0),
    ],
)
def test_budgets_read_units(text: str, metric: str, limit: float) -> None:
    budget = parse_budget(text, 500e6)
    assert (budget.metric, budget.limit) == (metric, pytest.approx(limit))


@pytest.mark.parametrize(
    "text",
    [
        "latency<2 ms",
        "latency=2 ms",
        "latency",
        "latncy<=2 ms",
        "latency<=2",
        "latency<=2 mJ",
        "energy<=-1 pJ",
        "edp<=3 pJ",
        "edp<=3 pJ*mm2",
        "power<=3 W*s",
        "bops<=many",
        "bops<=0",
        "weight_bytes<=3 ms",
        "accuracy_loss<=1 mJ",
        "accuracy_loss<=-1",
        "",
    ],
)
def test_malformed_budgets_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="budget"):
        parse_budget(text, 1e9)


# HAWQ-V3 (Yao et al., ICML 2021), ResNet-18: inputs of its integer program and published assignments, from
# the authors' repository Zhen-Dong/HAWQ (ILP.ipynb, bit_config.py). One entry per quantised layer.
TRACE = [
    0.068578, 0.031624, 0.032986, 0.012057, 0.022224, 0.0059634, 0.069318, 0.0080713, 0.003729, 0.005307,
    0.0020901, 0.0073757, 0.0021045, 0.001512, 0.0015804, 0.00078146, 0.0045184, 0.00098745, 0.00072944,
]  # fmt: skip
ERROR_INT8 = [
    0.0235, 0.0125, 0.0102, 0.0082, 0.0145, 0.0344, 0.0023, 0.0287, 0.0148, 0.0333, 0.0682, 0.0027, 0.0448,
    0.0336, 0.0576, 0.113, 0.0102, 0.0947, 0.0532,
]  # fmt: skip
ERROR_INT4 = [
    6.743, 3.9691, 3.3281, 2.6796, 4.7277, 10.597, 0.6827, 9.0942, 4.8857, 10.76, 21.755, 0.8603, 14.532,
    10.965, 18.771, 36.404, 3.1572, 29.699, 17.402,
]  # fmt: skip
PARAMETERS_MI = [
    0.035156, 0.035156, 0.035156, 0.035156, 0.070312, 0.14062, 0.0078125, 0.14062, 0.14062, 0.28125, 0.5625,
    0.03125, 0.5625, 0.5625, 1.125, 2.25, 0.125, 2.25, 2.25,
]  # fmt: skip
MEGA_MACS = [
    115.61, 115.61, 115.61, 115.61, 57.803, 115.61, 6.4225, 115.61, 115.61, 57.803, 115.61, 6.4225, 115.61,
    115.61, 57.803, 115.61, 6.4225, 115.61, 115.61,
]  # fmt: skip
T4_INT4 = [
    0.21094, 0.21093, 0.21104, 0.21087, 0.13642, 0.19168, 0.025322, 0.19148, 0.19143, 0.11395, 0.20556,
    0.019175, 0.20567, 0.20567, 0.13185, 0.22288, 0.017901, 0.22305, 0.22286,
]  # fmt: skip
T4_INT8 = [
    0.36189, 0.36212, 0.31142, 0.30454, 0.19185, 0.38949, 0.033417, 0.38905, 0.38929, 0.19135, 0.34307,
    0.028024, 0.34313, 0.34311, 0.21117, 0.37377, 0.028968, 0.37398, 0.37405,
]  # fmt: skip
PUBLISHED = {
    ("weight_bytes", 0.75): "8888888888888488884",
    ("weight_bytes", 0.25): "8888888888888844444",
    ("bops", 0.75): "8888888848888484884",
    ("bops", 0.25): "8884848444444444444",
    ("latency", 0.75): "8888888848888484884",
    ("latency", 0.25): "8884848444444444444",
}
RESIDUAL_TIES = [["4", "6"], ["9", "11"], ["14", "16"]]


@pytest.mark.parametrize(("metric", "share"), PUBLISHED)
def test_published_assignments_of_hawq_v3_are_reproduced(metric: str, share: float) -> None:
    options: Options = {}
    scores: Scores = {}
    for i in range(len(TRACE)):
        options[str(i)] = [
            candidate("int4", T4_INT4[i], 1, PARAMETERS_MI[i] / 2, MEGA_MACS[i] * 16),
            candidate("int8", T4_INT8[i], 1, PARAMETERS_MI[i], MEGA_MACS[i] * 64),
        ]
        scores[str(i)] = score(TRACE[i] * ERROR_INT4[i], TRACE[i] * ERROR_INT8[i])
    field = "latency_cycles" if metric == "latency" else metric
    low, high = (sum(getattr(c[j].costs, field) for c in options.values()) for j in (0, 1))
    budget = Budget(metric, low + share * (high - low), metric)
    found = select(options, scores, method="nmse", budgets=[budget], ties=RESIDUAL_TIES)
    assert "".join(str(f.weight.bits) for f in found.assignment.values()) == PUBLISHED[metric, share]


def test_the_solver_leaves_standard_output_alone() -> None:
    code = (
        "import numpy as np; from seada.precision.solver import *;"
        "rng = np.random.default_rng(0); n = 12; slots = Slots((4,) * n); print('before', flush=True);"
        "a, b = rng.random(4 * n), rng.random(4 * n);"
        "[minimise(slots, a, [Limit(b, 0.0, x)]) for x in np.linspace(2, 6, 30)]; print('after')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["before", "after"]


def test_a_hundred_layers_are_chosen_exactly_and_soon() -> None:
    rng = np.random.default_rng(4)
    options: Options = {}
    scores: Scores = {}
    for i in range(100):
        size = float(rng.integers(1_000, 2_000_000))
        options[f"l{i}"] = [
            candidate(n, size * b, size * b * b, size * b / 8)
            for n, b in (("int2", 2), ("int4", 4), ("int8", 8))
        ]
        sensitivity = float(rng.lognormal(0, 2))
        scores[f"l{i}"] = score(*(sensitivity * 4.0**-b for b in (2, 4, 8)))
    total = sum(c[2].costs.weight_bytes for c in options.values())
    found = select(options, scores, method="nmse", budgets=[Budget("weight_bytes", total / 2, "half")])
    assert found.costs.weight_bytes <= total / 2
    # Lagrangian bound: no choice within the budget has a smaller loss than this, whatever the price.
    losses = np.array([s.losses for s in scores.values()])
    sizes = np.array([[c.costs.weight_bytes for c in cs] for cs in options.values()])
    bound = max(
        float((losses + p * sizes).min(axis=1).sum() - p * total / 2) for p in np.geomspace(1e-12, 1, 4000)
    )
    assert bound <= found.loss <= bound * 1.02
