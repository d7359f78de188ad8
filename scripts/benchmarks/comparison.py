"""What comparisons with other tools share: the chip, and costs of one mapping under one convention."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.own import shipped_arch
from benchmarks.problem import single_buffered
from benchmarks.table import Cell
from seada.arch.hardware import Arch, Setup
from seada.arch.setup import make_setup
from seada.errors import MappingError, UserError
from seada.formats import parse_precision
from seada.mapping.nest import Mapping
from seada.peers.convention import parse_convention
from seada.peers.cost import cost_under
from seada.workload.layer import Layer
from seada.workload.line import parse_layer

GEMM = parse_layer("gemm M=512 N=512 K=512")
PRECISION = "int16"
OBJECTIVE = "energy"
RULES = parse_convention("cycles=overlap")
QUALITY_COLUMNS = (
    "problem",
    "its own figure [uJ]",
    "its mapping [uJ]",
    "ours [uJ]",
    "ours / its",
    "its mapping [cycles]",
    "ours [cycles]",
)
QUALITY_NOTE = "its mapping and ours: both by our counts, ports overlapping perfectly; objective energy"


def chip() -> Arch:
    """The published comparison array, with capacity as the other tools count it."""
    return single_buffered(shipped_arch("reference_16x16"))


def set_up(arch: Arch, layer: Layer) -> Setup:
    """All operands at 16 bit."""
    return make_setup(arch, layer, parse_precision(PRECISION))


@dataclass(frozen=True)
class Costed:
    """Energy and cycles of a mapping, or why it has none by these rules."""

    energy_pj: float | None
    cycles: int | None
    reason: str = ""


def costed(layer: Layer, setup: Setup, mapping: Mapping | None) -> Costed:
    """A mapping by `RULES`; None, or one that is not legal here, has a reason instead."""
    if mapping is None:
        return Costed(None, None, "it cannot be written as one nest")
    try:
        cost = cost_under(RULES, layer, setup, mapping)
    except (MappingError, UserError) as error:
        return Costed(None, None, str(error))
    return Costed(cost.energy_pj, cost.latency_cycles)


def quality_row(problem: str, own_figure_pj: float, theirs: Costed, ours: Costed) -> tuple[Cell, ...]:
    """A row under `QUALITY_COLUMNS`."""
    ratio = f"{ours.energy_pj / theirs.energy_pj:.4f}" if theirs.energy_pj and ours.energy_pj else None
    energies = [_microjoule(energy) for energy in (own_figure_pj, theirs.energy_pj, ours.energy_pj)]
    return (problem, *energies, ratio, theirs.cycles, ours.cycles)


def _microjoule(energy_pj: float | None) -> str | None:
    return None if energy_pj is None else f"{energy_pj / 1e6:,.3f}"
