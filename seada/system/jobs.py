"""Mapping many layers: each distinct question once, on any number of processes, with the same answers."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace

from seada.arch.hardware import Arch, Setup
from seada.errors import InfeasibleError
from seada.formats import Format, Precision, PrecisionRequest
from seada.mapper.api import map_layer
from seada.mapper.result import MapResult
from seada.model.float_unit import float_mode, float_unit_cost
from seada.workload.layer import Layer

Progress = Callable[[int, int, str], None]
"""Called with the number done, the number in total and the name of what was done last."""


@dataclass(frozen=True)
class Question:
    """One layer at one precision; `float_format` if it runs on the floating-point unit."""

    layer: Layer
    request: PrecisionRequest
    float_format: Format | None = None

    def anonymous(self) -> Question:
        """The same without the name of the layer: equal questions have equal answers."""
        return replace(self, layer=replace(self.layer, name=""))


Answers = dict[Question, MapResult | InfeasibleError]
"""What is known already, by question without a name; infeasible ones included."""


@dataclass(frozen=True)
class Effort:
    """How hard to search; None leaves the mapper's default. With a time limit answers depend on it."""

    max_evaluations: int | None = None
    time_s: float | None = None


def answer_all(
    arch: Arch,
    questions: Sequence[Question],
    objective: str,
    *,
    jobs: int = 1,
    effort: Effort = Effort(),
    progress: Progress | None = None,
    infeasible: str = "raise",
    known: Answers | None = None,
) -> list[MapResult | None]:
    """The answer to every question, in order.

    Parameters
    ----------
    jobs : int
        Processes; 1 runs in this one. From a script with more than one, guard it by ``__name__ ==
        "__main__"``.
    infeasible : ``raise`` or ``none``
        Whether a question without an answer raises, or is answered by None.
    known : dict or None
        Answers from before, for the same architecture, objective and effort; new ones are added to it.

    Raises
    ------
    InfeasibleError
        Names the first layer (in order) that fits nowhere, and why.
    """
    distinct: dict[Question, list[int]] = {}
    for index, question in enumerate(questions):
        distinct.setdefault(question.anonymous(), []).append(index)
    # Large layers take longest: start them first. Answers do not depend on this order.
    found: Answers = {} if known is None else known
    order = sorted(distinct.keys() - found.keys(), key=lambda item: (-item.layer.macs, distinct[item]))
    named = [questions[distinct[item][0]] for item in order]
    for done, (position, answer) in enumerate(_answers(arch, named, objective, jobs, effort), 1):
        found[order[position]] = answer
        if progress is not None:
            progress(done, len(order), named[position].layer.name)
    return _in_order(questions, found, infeasible)


def _in_order(
    questions: Sequence[Question], found: Mapping[Question, MapResult | InfeasibleError], infeasible: str
) -> list[MapResult | None]:
    results: list[MapResult | None] = []
    for question in questions:
        answer = found[question.anonymous()]
        if isinstance(answer, MapResult):
            results.append(replace(answer, layer=question.layer))
        elif infeasible == "raise":
            raise InfeasibleError(f"layer {question.layer.name}: {answer.message}")
        else:
            results.append(None)
    return results


def _answers(
    arch: Arch, questions: list[Question], objective: str, jobs: int, effort: Effort
) -> Iterator[tuple[int, MapResult | InfeasibleError]]:
    if jobs <= 1 or len(questions) <= 1:
        for index, question in enumerate(questions):
            yield index, _answer(arch, question, objective, effort)
        return
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(min(jobs, len(questions)), mp_context=context) as pool:
        futures: dict[Future[MapResult | InfeasibleError], int] = {
            pool.submit(_answer, arch, question, objective, effort): index
            for index, question in enumerate(questions)
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _answer(arch: Arch, question: Question, objective: str, effort: Effort) -> MapResult | InfeasibleError:
    """One answer; infeasibility is returned, so that the caller can name the first layer in order."""
    if question.float_format is not None:
        return _estimate(arch, question, question.float_format, objective)
    try:
        return map_layer(
            arch,
            question.layer,
            question.request,
            objective,
            max_evaluations=effort.max_evaluations,
            time_s=effort.time_s,
        )
    except InfeasibleError as error:
        return error


def _estimate(arch: Arch, question: Question, compute: Format, objective: str) -> MapResult:
    """The closed form of the floating-point unit as the mapper's answer: no mapping, nothing proven."""
    request = question.request
    precision = Precision(
        request.weight, request.input, request.accumulator or compute, request.output or request.input
    )
    mode = float_mode(arch, compute)
    cost = float_unit_cost(arch, question.layer, precision, compute)
    return MapResult(
        layer=question.layer,
        setup=Setup(arch, precision, mode, "closed-form estimate of the floating-point unit"),
        mapping=None,
        cost=cost,
        objective=objective,
        optimal=False,
        bound=None,
        gap=None,
        search=None,
        space="floating-point unit, closed form",
    )
