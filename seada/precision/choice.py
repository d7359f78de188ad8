"""What selection works on and answers with: costs, candidates, the choice per layer and the Pareto front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seada.precision.budget import Budget
from seada.precision.runtime import OperandFormats
from seada.precision.scores import LayerScore

Assignment = dict[str, OperandFormats]
"""Formats by layer name."""


@dataclass(frozen=True)
class Costs:
    """What a layer, or a network, costs; all of them add up over layers."""

    latency_cycles: float = 0.0
    energy_pj: float = 0.0
    weight_bytes: float = 0.0
    bops: float = 0.0

    def __add__(self, other: Costs) -> Costs:
        """Costs of both together."""
        return Costs(
            self.latency_cycles + other.latency_cycles,
            self.energy_pj + other.energy_pj,
            self.weight_bytes + other.weight_bytes,
            self.bops + other.bops,
        )

    @property
    def edp_pj_cycles(self) -> float:
        """Energy times latency."""
        return self.energy_pj * self.latency_cycles

    def to_dict(self) -> dict[str, float]:
        """Figures by name, as in results."""
        return {
            "latency_cycles": self.latency_cycles,
            "energy_pj": self.energy_pj,
            "edp_pj_cycles": self.edp_pj_cycles,
            "weight_bytes": self.weight_bytes,
            "bops": self.bops,
        }


@dataclass(frozen=True)
class Candidate:
    """Formats that a layer may take, and what it costs in them."""

    formats: OperandFormats
    costs: Costs

    @property
    def label(self) -> str:
        """Weight and input format, such as ``int4 x int8``."""
        return f"{self.formats.weight} x {self.formats.input}"


@dataclass(frozen=True)
class LayerChoice:
    """What was chosen for one layer, and why.

    Attributes
    ----------
    candidates : tuple of Candidate
    score : LayerScore
        With one loss per candidate.
    index : int
        The chosen candidate.
    reason : str
        The figures of the choice and of its neighbours.
    warning : str
        What is wrong with the quantisation and what helps; empty if nothing.
    tied_to : tuple of str
        Layers that had to take the same formats.
    """

    layer: str
    candidates: tuple[Candidate, ...]
    score: LayerScore
    index: int
    reason: str
    warning: str = ""
    tied_to: tuple[str, ...] = ()

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[self.index]

    def to_dict(self) -> dict[str, Any]:
        """As in results."""
        table = [
            {
                "weight": candidate.formats.weight.name,
                "input": candidate.formats.input.name,
                "loss": loss,
                **candidate.costs.to_dict(),
            }
            for candidate, loss in zip(self.candidates, self.score.losses, strict=True)
        ]
        return {
            "layer": self.layer,
            "weight": self.chosen.formats.weight.name,
            "input": self.chosen.formats.input.name,
            "loss": self.score.losses[self.index],
            "score": self.score.value,
            "score_unit": self.score.unit,
            "score_note": self.score.note,
            "reason": self.reason,
            "warning": self.warning,
            "tied_to": list(self.tied_to),
            "candidates": table,
        }


@dataclass(frozen=True)
class FrontPoint:
    """One point of the Pareto front of objective and summed loss; `accuracy` where it was measured, 0..1."""

    assignment: Assignment
    costs: Costs
    loss: float
    accuracy: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As in results."""
        formats = {name: [f.weight.name, f.input.name] for name, f in self.assignment.items()}
        figures = {**self.costs.to_dict(), "loss": self.loss, "accuracy": self.accuracy}
        return {**figures, "formats": formats}


@dataclass(frozen=True)
class Selection:
    """Formats for a whole network.

    Attributes
    ----------
    method : str
        The score that was used.
    objective : str
        ``edp``, ``energy`` or ``latency``.
    budgets : tuple of Budget
    rule : str
        What was minimised under what, in words.
    choices : tuple of LayerChoice
        In execution order.
    costs : Costs
        Of the network: the chosen candidates and the fixed rest.
    loss : float
        Summed over the layers.
    front : tuple of FrontPoint
        From cheap to precise.
    """

    method: str
    objective: str
    budgets: tuple[Budget, ...]
    rule: str
    choices: tuple[LayerChoice, ...]
    costs: Costs
    loss: float
    front: tuple[FrontPoint, ...]

    @property
    def assignment(self) -> Assignment:
        """Chosen formats by layer."""
        return {choice.layer: choice.chosen.formats for choice in self.choices}

    def to_dict(self) -> dict[str, Any]:
        """As in results."""
        return {
            "method": self.method,
            "objective": self.objective,
            "budgets": [budget.text for budget in self.budgets],
            "rule": self.rule,
            "loss": self.loss,
            "costs": self.costs.to_dict(),
            "layers": [choice.to_dict() for choice in self.choices],
            "front": [point.to_dict() for point in self.front],
        }
