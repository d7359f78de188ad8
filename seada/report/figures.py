"""Figures of a network's result: matplotlib on the Agg canvas, no global state.

Each figure is drawn by a function of a `RunResult` that gives None where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from seada.report.figure_base import styled
from seada.report.figure_layers import (
    energy_per_layer,
    latency_per_layer,
    precision_per_layer,
    utilization_per_layer,
)
from seada.report.figure_network import (
    accuracy_against_cost,
    area_by_part,
    energy_by_level,
    latency_by_resource,
    roofline,
)
from seada.system.result import RunResult

Draw = Callable[[RunResult], Figure | None]


@dataclass(frozen=True)
class Named:
    """A figure with its file name, a caption and what a screen reader says."""

    name: str
    title: str
    caption: str
    draw: Draw


FIGURES: tuple[Named, ...] = (
    Named(
        "energy_by_level",
        "Where the energy goes",
        "Energy of the network by memory level and operand; compute, links, vector unit and leakage apart.",
        energy_by_level,
    ),
    Named(
        "latency_by_resource",
        "What the time is bound by",
        "Latency of the network by the resource that binds each layer.",
        latency_by_resource,
    ),
    Named("area_by_part", "Where the area goes", "Area of the chip by part, all instances.", area_by_part),
    Named(
        "roofline",
        "Roofline",
        "Each point is a layer. The slope is the bandwidth of the outermost memory, the flat lines the peak "
        "rate of each precision in use.",
        roofline,
    ),
    Named(
        "accuracy_vs_cost",
        "Accuracy against cost",
        "Measured accuracy on held-out data: formats chosen per layer beside uniform precisions.",
        accuracy_against_cost,
    ),
    Named(
        "precision_per_layer",
        "Precision per layer",
        "Formats of every MAC layer, in execution order.",
        precision_per_layer,
    ),
    Named(
        "energy_per_layer",
        "Energy per layer",
        "By memory level (hue) and operand (shade), in execution order; grey names are vector operators.",
        energy_per_layer,
    ),
    Named(
        "latency_per_layer",
        "Latency per layer",
        "By cause, in execution order; fused operators are hidden behind their producer.",
        latency_per_layer,
    ),
    Named(
        "utilization_per_layer",
        "Utilisation per layer",
        "MACs over latency times the peak rate at the layer's own precision.",
        utilization_per_layer,
    ),
)


def draw_all(result: RunResult) -> dict[str, Figure]:
    """All figures that the result has data for, by name."""
    figures: dict[str, Figure] = {}
    for item in FIGURES:
        with styled():
            figure = item.draw(result)
            if figure is None:
                continue
            # The layout is solved once, not again for every file that the figure is saved to.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figures[item.name] = figure
    return figures
