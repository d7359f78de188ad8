"""The main job: a whole network on one chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import isfinite
from typing import Any

from seada.arch.hardware import Arch
from seada.mapper.objective import parse_objective
from seada.mapper.result import MapResult
from seada.mapping.text import format_mapping
from seada.mapping.yaml_form import to_data
from seada.model.float_unit import outer_bits
from seada.precision.data import Data
from seada.system.accuracy import measure
from seada.system.assign import Assignment, Conversion, PrecisionChoice, assign, resolve_requests
from seada.system.chip import chip_of
from seada.system.jobs import Answers, Effort, Progress, Question, answer_all
from seada.system.result import ARRAY, FLOAT, LayerRow, RunResult
from seada.system.totals import is_weight, total_of
from seada.system.vector import VectorModel, require_vector_unit
from seada.workload.coverage import coverage
from seada.workload.network import Network, Node

AUTO = "auto"


def run(
    arch: Arch,
    network: Network,
    precision: PrecisionChoice = None,
    objective: str = "edp",
    *,
    jobs: int = 1,
    max_evaluations: int | None = None,
    time_s: float | None = None,
    progress: Progress | None = None,
    evaluation: Data | None = None,
    calibration: Data | None = None,
    known: Answers | None = None,
) -> RunResult:
    """Cost of every row of a network, each layer with its best mapping, and the totals.

    Parameters
    ----------
    precision : str, PrecisionRequest, mapping by layer name, or None
        One request for all layers; or one per layer, the others keep the file's own; or the file's own;
        or ``auto``, which is `seada.system.select.select_precisions` with its defaults.
    objective : str
        What each layer's mapping makes small. For a product such as ``edp`` this is each layer's own
        product; the network's product of sums has no bound then.
    jobs : int
        Processes that map layers; the result is the same for any number.
    evaluation, calibration : Data or None
        Labelled items to measure the accuracy of these formats on, and unlabelled ones that fix the scales
        of activations.
    known : dict or None
        Answers from earlier runs of the same architecture, objective and effort; new ones are added.

    Raises
    ------
    UserError
        If a layer has no formats, or the objective is none.
    InfeasibleError
        If a layer fits nowhere; the message names the first.
    """
    parse_objective(objective)
    if precision == AUTO:
        from seada.system.select import select_precisions

        return select_precisions(
            arch,
            network,
            objective=objective,
            inputs=calibration,
            evaluation=evaluation,
            jobs=jobs,
            effort=Effort(max_evaluations, time_s),
            progress=progress,
        )
    assignment = assign(arch, network, resolve_requests(network, precision))
    require_vector_unit(arch, network, assignment)
    nodes = [(node, layer) for node in network.nodes for layer in node.layers]
    questions = [
        Question(layer, assignment.requests[node.name], assignment.on_float_unit.get(node.name))
        for node, layer in nodes
    ]
    effort = Effort(max_evaluations, time_s)
    answers = answer_all(arch, questions, objective, jobs=jobs, effort=effort, progress=progress, known=known)
    results = {layer.name: answer for (_, layer), answer in zip(nodes, answers, strict=True) if answer}
    result = _Assembly(arch, network, assignment, objective, results).result(precision)
    if evaluation is None:
        return result
    accuracy = measure(network, assignment.requests, evaluation, calibration)
    return replace(result, accuracy=accuracy)


@dataclass
class _Assembly:
    """Puts rows, totals and provenance together once every layer is mapped."""

    arch: Arch
    network: Network
    assignment: Assignment
    objective: str
    results: Mapping[str, MapResult]

    def result(self, precision: PrecisionChoice) -> RunResult:
        rows = self._rows()
        precisions = {
            node.name: self.results[node.layers[0].name].setup.precision
            for node in self.network.nodes
            if node.layers
        }
        return RunResult(
            chip=chip_of(self.arch),
            network=self.network.name,
            objective=self.objective,
            layers=tuple(rows),
            total=total_of(self.arch, self.network, self.assignment, rows, precisions, self.objective),
            coverage=coverage(self.network),
            provenance=provenance(self.arch, self.network, self.objective, precision),
            notes=self._notes(),
            results=dict(self.results),
        )

    def _rows(self) -> list[LayerRow]:
        vector = VectorModel(self.arch, self.network, self.assignment)
        waiting: dict[str, list[Conversion]] = {}
        for item in self.assignment.conversions:
            waiting.setdefault(item.after, []).append(item)
        rows = [vector.conversion(item) for item in waiting.pop("", [])]
        for node in self.network.nodes:
            if node.layers:
                done = [self._layer_row(node, self.results[layer.name]) for layer in node.layers]
                cycles = sum(row.latency_cycles for row in done)
                done[-1] = vector.behind_layer(node, done[-1], cycles)
                rows += done
            elif node.work is not None:
                rows.append(vector.node(node))
            rows += [vector.conversion(item) for item in waiting.pop(node.name, [])]
        return rows

    def _layer_row(self, node: Node, answer: MapResult) -> LayerRow:
        layer, setup, cost = answer.layer, answer.setup, answer.cost
        on_float_unit = node.name in self.assignment.on_float_unit
        notes = [self.assignment.notes.get(node.name, setup.note), self._own(node)]
        return LayerRow(
            name=layer.name,
            type=layer.kind,
            unit=FLOAT if on_float_unit else ARRAY,
            macs=cost.macs,
            operations=0,
            precision=setup.precision.to_dict(),
            latency_cycles=cost.latency_cycles,
            energy_pj=cost.energy_pj,
            utilization=cost.utilization,
            optimal=None if on_float_unit else answer.optimal,
            gap=_finite(answer.gap),
            bound=_finite(answer.bound),
            estimate=cost.estimate,
            weight_bits=_weight_bits(self.network, node, answer),
            outer_bits=self._outer_bits(answer),
            bound_by=cost.bound_by,
            energy_breakdown_pj=dict(cost.energy_breakdown_pj),
            latency_breakdown_cycles=dict(cost.latency_breakdown_cycles),
            dims=dict(layer.dims),
            mapping_text=format_mapping(answer.mapping, layer) if answer.mapping else "",
            mapping_nodes=tuple(to_data(answer.mapping)["nodes"]) if answer.mapping else (),
            space=answer.space,
            search=_search(answer),
            note="; ".join(note for note in notes if note),
        )

    def _own(self, node: Node) -> str:
        """What to say where a request differs from the formats that the file states."""
        own, used = node.precision, self.assignment.requests[node.name]
        if own is None or (own.weight, own.input) == (used.weight, used.input):
            return ""
        return f"the file states {own.weight} x {own.input}; overridden by the request"

    def _outer_bits(self, answer: MapResult) -> int:
        if answer.cost.counts is None:
            return outer_bits(self.arch, answer.layer, answer.setup.precision)
        return sum(access.read_bits + access.write_bits for access in answer.cost.counts.memories[0])

    def _notes(self) -> tuple[str, ...]:
        notes = list(self.network.notes)
        if self.arch.resident is not None:
            notes.append(
                f"{self.arch.name} declares {self.arch.resident} as the place where tensors rest between "
                f"layers; not modelled yet: every tensor rests in {self.arch.memories[0].name}"
            )
        if self.arch.prefetch_weights:
            notes.append(
                f"{self.arch.name} declares prefetch of weights; not modelled yet: layers run in sequence"
            )
        return tuple(notes)


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: a gap to a bound of zero says nothing."""
    return value if value is not None and isfinite(value) else None


def _search(answer: MapResult) -> dict[str, Any] | None:
    """How the search went, without times: a result must not differ from run to run."""
    if answer.search is None:
        return None
    return {
        "evaluated": answer.search.evaluated,
        "pruned": answer.search.pruned,
        "stopped_by": answer.search.stopped_by,
    }


def _weight_bits(network: Network, node: Node, answer: MapResult) -> int:
    if not is_weight(network, node):
        return 0
    layer = answer.layer
    return answer.setup.precision.weight.stored_bits(layer.elements("weight"), layer.channel_elements)


def provenance(arch: Arch, network: Network, objective: str, precision: PrecisionChoice) -> dict[str, Any]:
    """Everything that determines a result, by content: no times, no machines, no paths."""
    return {
        "package": "seada",
        "version": version("seada"),
        "architecture": {"name": arch.name, "content_hash": arch.content_hash},
        "workload": {"name": network.name, "content_hash": network.content_hash},
        "objective": objective,
        "precision": _described(precision),
        "conventions": "default",
        "seed": 0,
    }


def _described(precision: PrecisionChoice) -> Any:
    if precision is None:
        return "the file's own"
    if isinstance(precision, Mapping):
        return {name: _described(choice) for name, choice in precision.items()}
    if isinstance(precision, str):
        return precision
    named = {
        "w": precision.weight,
        "a": precision.input,
        "acc": precision.accumulator,
        "out": precision.output,
    }
    return ",".join(f"{key}:{value}" for key, value in named.items() if value is not None)
