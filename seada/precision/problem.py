"""The question of a selection in figures per variable, for the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seada.errors import InfeasibleError, UserError
from seada.precision.choice import Assignment, Candidate, Costs
from seada.precision.quantise import check_choice
from seada.precision.scores import LayerScore
from seada.precision.solver import Product, Slots, Vector

Chosen = NDArray[np.intp]


@dataclass(frozen=True)
class Problem:
    """The question in figures per variable; a variable is one candidate of a slot of tied layers."""

    options: Mapping[str, tuple[Candidate, ...]]
    scores: Mapping[str, LayerScore]
    groups: tuple[tuple[str, ...], ...]
    members: tuple[tuple[int, ...], ...]
    slots: Slots
    fixed: Costs

    def total(self, figure: Callable[[str, int], float]) -> Vector:
        """A figure of each variable, summed over the layers of its slot."""
        sums, variable = [], 0
        for group, size in zip(self.groups, self.slots.sizes, strict=True):
            for position in range(variable, variable + size):
                indices = zip(group, self.members[position], strict=True)
                sums.append(sum(figure(layer, index) for layer, index in indices))
            variable += size
        return np.array(sums)

    def cost(self, metric: str) -> Vector:
        """A field of `Costs` per variable."""
        return self.total(lambda layer, index: getattr(self.options[layer][index].costs, metric))

    @cached_property
    def loss(self) -> Vector:
        """Loss per variable."""
        return self.total(lambda layer, index: self.scores[layer].losses[index])

    @cached_property
    def product(self) -> Product:
        """Latency times energy of the network."""
        fixed = self.fixed
        latency, energy = self.cost("latency_cycles"), self.cost("energy_pj")
        return Product(latency, fixed.latency_cycles, energy, fixed.energy_pj)

    @cached_property
    def tie_break(self) -> Vector:
        """Energy and latency, each as a share of the most that a choice can cost."""
        parts = []
        for vector in (self.product.first, self.product.second):
            most = -self.slots.least(-vector).sum()
            parts.append(vector / most if most > 0 else vector)
        result: Vector = parts[0] + parts[1]
        return result

    def indices(self, chosen: Chosen) -> dict[str, int]:
        """Candidate by layer, in execution order."""
        found = {
            layer: index
            for group, variable in zip(self.groups, chosen, strict=True)
            for layer, index in zip(group, self.members[variable], strict=True)
        }
        return {layer: found[layer] for layer in self.options}

    def assignment(self, chosen: Chosen) -> Assignment:
        """Formats by layer."""
        return {name: self.options[name][i].formats for name, i in self.indices(chosen).items()}

    def costs(self, chosen: Chosen) -> Costs:
        """Costs of the network."""
        total = self.fixed
        for layer, index in self.indices(chosen).items():
            total = total + self.options[layer][index].costs
        return total


def _labels(candidates: Sequence[Candidate]) -> dict[tuple[str, str], int]:
    return {(c.formats.weight.name, c.formats.input.name): i for i, c in enumerate(candidates)}


def _tied_groups(options: Mapping[str, Any], ties: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Layers that must agree, joined over ties that overlap; every other layer alone."""
    group_of = {layer: {layer} for layer in options}
    for tie in ties:
        for layer in tie:
            if layer not in group_of:
                check_choice("layer of a tie", layer, list(options))
        joined = set().union(*(group_of[layer] for layer in tie))
        for layer in joined:
            group_of[layer] = joined
    order = {layer: position for position, layer in enumerate(options)}
    groups = {tuple(sorted(group, key=order.__getitem__)) for group in group_of.values()}
    return tuple(sorted(groups, key=lambda group: order[group[0]]))


def make_problem(
    options: Mapping[str, Sequence[Candidate]],
    scores: Mapping[str, LayerScore],
    ties: Sequence[Sequence[str]] = (),
    fixed: Costs | None = None,
) -> Problem:
    """Figures of the question.

    Raises
    ------
    UserError
        If a layer has no candidates, scores do not match candidates, or a tie names an unknown layer.
    InfeasibleError
        If tied layers have no candidate in common.
    """
    if not options:
        raise UserError("there is no layer to choose formats for")
    for layer, candidates in options.items():
        if not candidates:
            raise InfeasibleError(f"layer {layer} has no candidate formats that the array supports")
        if layer not in scores or len(scores[layer].losses) != len(candidates):
            raise UserError(f"layer {layer} has {len(candidates)} candidates but not as many scores")
        if not np.isfinite(scores[layer].losses).all():
            raise UserError(f"layer {layer} has a score that is no finite number")
    groups = _tied_groups(options, ties)
    members: list[tuple[int, ...]] = []
    sizes = []
    for group in groups:
        labels = [_labels(options[layer]) for layer in group]
        common = [label for label in labels[0] if all(label in other for other in labels)]
        if not common:
            raise InfeasibleError(f"tied layers {', '.join(group)} have no candidate formats in common")
        members += [tuple(other[label] for other in labels) for label in common]
        sizes.append(len(common))
    frozen = {layer: tuple(candidates) for layer, candidates in options.items()}
    return Problem(frozen, dict(scores), groups, tuple(members), Slots(tuple(sizes)), fixed or Costs())
