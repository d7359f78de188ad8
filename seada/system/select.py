"""Formats for every layer: candidates mapped, scored and chosen, and the network run with the choice.

Candidates are mapped with their own input format as output; what consumers in other formats and conversions
cost is counted in the final run, not in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seada.arch.hardware import Arch
from seada.errors import InfeasibleError, UserError
from seada.formats import PrecisionRequest, parse_precision
from seada.precision.budget import parse_budget
from seada.precision.choice import Assignment, Candidate, Costs
from seada.precision.data import Data
from seada.precision.quantise import check_choice
from seada.precision.runtime import OperandFormats, Runtime, accuracy, check_executable
from seada.precision.scores import score_layers, waste_warning
from seada.precision.select import OBJECTIVES, Measurement, select
from seada.system.accuracy import described, label
from seada.system.jobs import Answers, Effort, Progress, Question, answer_all
from seada.system.result import RunResult
from seada.system.run import run
from seada.system.totals import is_weight, stored_weight_bits
from seada.workload.network import Network, Node

ACTIVATION_BITS = 8


def default_candidates(arch: Arch) -> list[PrecisionRequest]:
    """What a layer may run in if nobody says: modes of the array for signed integers, narrow to wide.

    Weight and input of equal width, and narrower weights beside inputs of 8 bits. An array without signed
    integer modes gives all its modes.
    """
    modes = arch.compute.modes
    signed = [
        mode
        for mode in modes
        if mode.weight.signed and mode.input.signed and not (mode.weight.is_float or mode.input.is_float)
        if not (mode.weight.scale_bits or mode.input.scale_bits)
    ]
    chosen = [
        m for m in signed if m.weight.bits == m.input.bits or m.weight.bits < m.input.bits == ACTIVATION_BITS
    ]
    pairs = {(m.weight, m.input): PrecisionRequest(m.weight, m.input) for m in chosen or modes}
    return sorted(pairs.values(), key=lambda r: (r.weight.bits, r.input.bits, r.weight.name, r.input.name))


def select_precisions(
    arch: Arch,
    network: Network,
    *,
    candidates: Sequence[str | PrecisionRequest] | None = None,
    method: str | None = None,
    budgets: Sequence[str] = (),
    objective: str = "edp",
    inputs: Data | None = None,
    evaluation: Data | None = None,
    jobs: int = 1,
    effort: Effort = Effort(),
    progress: Progress | None = None,
) -> RunResult:
    """Choose formats per layer and run the network with them.

    Parameters
    ----------
    candidates : formats that each layer may take; default `default_candidates`
    method : str or None
        The score; by default ``output_kl`` with `inputs`, else ``bit_entropy``.
    budgets : sequence of str
        ``METRIC<=VALUE``; none is the automatic choice of `seada.precision.select`.
    objective : ``edp``, ``energy`` or ``latency``
    inputs : Data or None
        Unlabelled items: for scores that need outputs, and to fix the scales of activations.
    evaluation : Data or None
        Labelled items; accuracy is then measured for the choice and for uniform formats.

    Returns
    -------
    RunResult
        With `selection` (reasons, candidates and costs per layer, the front, uniform formats) and, where
        there is labelled data, `accuracy`.

    Raises
    ------
    UserError
        If the network has no weights, or method, candidates or budgets are wrong.
    InfeasibleError
        If a layer runs in none of the candidates, or no choice meets the budgets.
    """
    check_choice("objective", objective, OBJECTIVES)
    requests = _requests(arch, candidates)
    parsed = [parse_budget(text, arch.clock_hz) for text in budgets]
    runtime = Runtime(network, calibration=inputs)
    if evaluation is not None:
        check_executable(network)
    search = _Search(arch, network, objective, jobs, effort, progress)
    options = search.options(requests)
    names: dict[str, list[OperandFormats]] = {
        name: [candidate.formats for candidate in found] for name, found in options.items()
    }
    used, scores = score_layers(runtime, names, method=method, data=inputs)
    measurement = _measurement(runtime, evaluation)
    uniform = search.uniform(requests, options)
    selection = select(
        options,
        scores,
        method=used,
        objective=objective,
        budgets=parsed,
        ties=_ties(network),
        fixed=_fixed(uniform[-1][1]) if uniform else None,
        measurement=measurement,
        warn=lambda layer, formats: waste_warning(runtime, layer, formats.weight),
    )
    chosen = {name: PrecisionRequest(f.weight, f.input) for name, f in selection.assignment.items()}
    result = search.run(chosen)
    points = [_point(label(request.weight, request.input), found) for request, found in uniform]
    told = {**selection.to_dict(), "uniform": points, "chosen": _point("selected", result)}
    result = replace(result, selection=told)
    if measurement is None or evaluation is None:
        return result
    return replace(result, accuracy=_accuracies(runtime, evaluation, measurement, uniform, result, chosen))


def _requests(arch: Arch, candidates: Sequence[str | PrecisionRequest] | None) -> list[PrecisionRequest]:
    if candidates is None:
        return default_candidates(arch)
    if not candidates:
        raise UserError("no candidates: give at least one format, such as int8 or w4a8")
    read = [parse_precision(item) if isinstance(item, str) else item for item in candidates]
    return list(dict.fromkeys(read))


@dataclass
class _Search:
    """Maps layers and runs networks of one question, each distinct layer and format once."""

    arch: Arch
    network: Network
    objective: str
    jobs: int
    effort: Effort
    progress: Progress | None
    known: Answers = field(default_factory=dict)

    def options(self, requests: Sequence[PrecisionRequest]) -> dict[str, list[Candidate]]:
        """Candidates with their costs by node; those that fit nowhere left out."""
        nodes = [node for node in self.network.nodes if node.layers]
        keyed = [(node, request, layer) for node in nodes for request in requests for layer in node.layers]
        questions = [Question(layer, replace(r, output=r.output or r.input)) for _, r, layer in keyed]
        answers = answer_all(
            self.arch,
            questions,
            self.objective,
            jobs=self.jobs,
            effort=self.effort,
            progress=self.progress,
            infeasible="none",
            known=self.known,
        )
        costs: dict[tuple[str, PrecisionRequest], Costs | None] = {}
        for (node, request, layer), answer in zip(keyed, answers, strict=True):
            bits = request.weight.bits * request.input.bits
            before = costs.get((node.name, request), _weight_costs(self.network, node, request))
            one = answer and Costs(answer.cost.latency_cycles, answer.cost.energy_pj, 0.0, layer.macs * bits)
            costs[node.name, request] = before + one if before and one else None
        return {node.name: self._feasible(node, requests, costs) for node in nodes}

    def _feasible(
        self,
        node: Node,
        requests: Sequence[PrecisionRequest],
        costs: dict[tuple[str, PrecisionRequest], Costs | None],
    ) -> list[Candidate]:
        found = [Candidate(r, cost) for r in requests if (cost := costs[node.name, r]) is not None]
        if not found:
            tried = ", ".join(label(request.weight, request.input) for request in requests)
            question = Question(node.layers[0], replace(requests[0], output=requests[0].input)).anonymous()
            answer = self.known[question]
            why = f": {answer.message}" if isinstance(answer, InfeasibleError) else ""
            raise InfeasibleError(f"layer {node.name} runs in none of the candidates {tried}{why}")
        return found

    def uniform(
        self, requests: Sequence[PrecisionRequest], options: dict[str, list[Candidate]]
    ) -> list[tuple[PrecisionRequest, RunResult]]:
        """The network with one and the same formats everywhere, for each candidate that every layer has."""
        common = [
            request
            for request in requests
            if all(any(c.formats == request for c in found) for found in options.values())
        ]
        return [(request, self.run(request)) for request in common]

    def run(self, precision: PrecisionRequest | dict[str, PrecisionRequest]) -> RunResult:
        """The network in these formats."""
        return run(
            self.arch,
            self.network,
            precision,
            self.objective,
            jobs=self.jobs,
            max_evaluations=self.effort.max_evaluations,
            time_s=self.effort.time_s,
            known=self.known,
        )


def _weight_costs(network: Network, node: Node, request: PrecisionRequest) -> Costs:
    if not is_weight(network, node):
        return Costs()
    return Costs(weight_bytes=stored_weight_bits(network, node, request.weight) / 8)


def _fixed(result: RunResult) -> Costs:
    """What the network costs beside its MAC layers; taken from the widest uniform formats for all choices."""
    others = [row for row in result.layers if not row.macs]
    return Costs(sum(row.latency_cycles for row in others), sum(row.energy_pj for row in others))


def _ties(network: Network) -> list[list[str]]:
    """Layers that share a stored weight must agree on its format."""
    sharing: dict[str, list[str]] = {}
    for node in network.nodes:
        if node.layers and node.weight and is_weight(network, node):
            sharing.setdefault(node.weight, []).append(node.name)
    return [names for names in sharing.values() if len(names) > 1]


def _measurement(runtime: Runtime, evaluation: Data | None) -> Measurement | None:
    if evaluation is None:
        return None

    def measured(assignment: Assignment) -> float:
        return accuracy(runtime, evaluation, assignment)

    return Measurement(measured, accuracy(runtime, evaluation))


def _point(name: str, result: RunResult) -> dict[str, Any]:
    total = result.total
    return {
        "precision": name,
        "latency_cycles": total.latency_cycles,
        "energy_pj": total.energy_pj,
        "edp_pj_cycles": total.edp_pj_cycles,
        "weight_bytes": total.weight_bytes,
        "bops": total.bops,
    }


def _accuracies(
    runtime: Runtime,
    evaluation: Data,
    measurement: Measurement,
    uniform: Sequence[tuple[PrecisionRequest, RunResult]],
    result: RunResult,
    chosen: dict[str, PrecisionRequest],
) -> dict[str, Any]:
    """Accuracy of the choice, beside uniform formats."""
    points = []
    for request, found in uniform:
        same: Assignment = dict.fromkeys(chosen, request)
        point = _point(label(request.weight, request.input), found)
        points.append({**point, "accuracy": measurement.accuracy(same), "chosen": False})
    measured = measurement.accuracy(dict(chosen))
    points.append({**_point("selected", result), "accuracy": measured, "chosen": True})
    return {**described(runtime, evaluation, measured, measurement.reference), "points": points}
