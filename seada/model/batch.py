"""The cost of many mappings that share their order of loops and keeps and differ in their tile sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seada.arch.hardware import Fanout, Setup
from seada.errors import InfeasibleError, MappingError, UserError, Violation
from seada.mapping.check import check
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.batch_arrays import IS_KEEP, IS_SPATIAL, IS_TEMPORAL, NODES, PROGRAM, Program
from seada.model.evaluate import cost_of
from seada.model.flatten import frame
from seada.model.kernel_batch import COSTED, REFUSED, cost_batch
from seada.model.nest_arrays import MEMORIES
from seada.model.regular import scratch
from seada.model.standby import idle_pj_per_cycle, leakage_w
from seada.workload.layer import ROLES, Layer

Steps = NDArray[np.int64]
_OF_ORDER = {
    "unknown name",
    "outermost keep",
    "keep twice",
    "order of keeps",
    "must keep",
    "must not keep",
    "order of fanouts",
    "place of spatial loop",
    "dimension of axis",
    "order of axes",
}
"""Rules that the order of loops and keeps breaks, whatever the steps."""


@dataclass(frozen=True)
class BatchCost:
    """Costs of a batch, row by row.

    Attributes
    ----------
    energy_pj : array of n floats, NaN where refused
    latency_cycles : array of n integers, 0 where refused
    refused : rows that are not legal, each with every rule that it breaks
    """

    energy_pj: NDArray[np.float64]
    latency_cycles: NDArray[np.int64]
    refused: dict[int, tuple[Violation, ...]]


class Batch:
    """One layer on one set-up, and one order of loops and keeps.

    Parameters
    ----------
    mapping : Mapping
        Any mapping of that order; its steps are not looked at.

    Raises
    ------
    MappingError
        If the order itself breaks a rule (names, order of keeps and fanouts).
    UserError
        If it has more nodes than a batch holds.
    """

    def __init__(self, layer: Layer, setup: Setup, mapping: Mapping) -> None:
        self.layer = layer
        self.setup = setup
        self.mapping = mapping
        self.loops = [node for node in mapping.nodes if isinstance(node, Loop)]
        broken = [
            found for found in check(layer, setup, self._row(self._narrow())) if found.rule in _OF_ORDER
        ]
        if broken:
            raise MappingError(broken)
        self.nest = frame(layer, setup)[0]
        self.program = _program(layer, setup, mapping)

    def _narrow(self) -> list[int]:
        """Steps with all of a dimension in its last temporal loop, or in its last loop."""
        steps = [0] * len(self.loops)
        for dim, extent in self.layer.dims:
            own = [i for i, loop in enumerate(self.loops) if loop.dim == dim]
            temporal = [i for i in own if self.loops[i].on is None]
            split = (temporal or own or [0])[-1]
            for i in own:
                steps[i] = extent if i < split else 1
        return steps

    def _row(self, steps: Sequence[int]) -> Mapping:
        """The mapping of one row of steps."""
        remaining = iter(steps)
        nodes: list[Keep | Loop] = []
        for node in self.mapping.nodes:
            nodes.append(Loop(node.dim, int(next(remaining)), node.on) if isinstance(node, Loop) else node)
        return Mapping(tuple(nodes))

    def cost(self, steps: Steps) -> BatchCost:
        """Cost of each row.

        Parameters
        ----------
        steps : array of shape (n, loops)
            The step of every loop, in the order of the mapping.

        Raises
        ------
        UserError
            If the array has another shape or does not hold integers.
        """
        rows = np.ascontiguousarray(steps)
        if rows.ndim != 2 or rows.shape[1] != len(self.loops) or rows.dtype.kind not in "iu":
            raise UserError(
                f"steps must be integers of shape (n, {len(self.loops)}), one column per loop of the "
                f"mapping; they are {rows.dtype} of shape {rows.shape}"
            )
        rows = rows.astype(np.int64, copy=False)
        count = len(rows)
        energies, latencies = np.full(count, np.nan), np.zeros(count, np.int64)
        status = np.zeros(count, np.int64)
        work, space = scratch(int(self.nest.span))
        words = np.zeros((MEMORIES, 3, 2), np.int64)
        cost_batch(self.nest, self.program, rows, work, space, words, energies, latencies, status)
        refused: dict[int, tuple[Violation, ...]] = {}
        for row in np.flatnonzero(status != COSTED):
            self._slowly(int(row), rows[row], status[row] == REFUSED, energies, latencies, refused)
        return BatchCost(energies, latencies, refused)

    def _slowly(
        self,
        row: int,
        steps: Steps,
        surely_refused: bool,
        energies: NDArray[np.float64],
        latencies: NDArray[np.int64],
        refused: dict[int, tuple[Violation, ...]],
    ) -> None:
        """A row that the closed form left: check it, then cost it by the general path."""
        mapping = self._row(list(steps))
        violations = check(self.layer, self.setup, mapping)
        if violations or surely_refused:
            assert violations
            refused[row] = tuple(violations)
            return
        try:
            cost = cost_of(self.layer, self.setup, mapping)
        except InfeasibleError as error:
            refused[row] = (Violation("size", self.layer.name, "nest", "countable", error.message),)
            return
        energies[row], latencies[row] = cost.energy_pj, cost.latency_cycles


def _program(layer: Layer, setup: Setup, mapping: Mapping) -> Program:
    """Order of the nodes, and the prices of everything that is counted."""
    if len(mapping.nodes) > NODES:
        raise UserError(
            f"a batch holds mappings of at most {NODES} loops and keeps, not {len(mapping.nodes)}"
        )
    program = np.zeros(1, dtype=PROGRAM).view(np.recarray)[0]
    program.nodes = len(mapping.nodes)
    fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
    memories = setup.arch.memories
    dims = {name: d for d, (name, _) in enumerate(layer.dims)}
    axes = {f"{fanout.name}.{axis}": size for fanout in fanouts for axis, size in fanout.axes}
    numbers = {name: number for number, name in enumerate(axes)}
    program.axis_size[: len(axes)] = list(axes.values())
    for place, node in enumerate(mapping.nodes):
        if isinstance(node, Keep):
            program.kind[place] = IS_KEEP
            program.operand[place] = ROLES.index(node.operand)
            program.memory[place] = next(m for m, memory in enumerate(memories) if memory.name == node.memory)
            continue
        program.kind[place] = IS_TEMPORAL if node.on is None else IS_SPATIAL
        program.dim[place] = dims[node.dim]
        if node.on is not None:
            program.axis[place] = numbers[node.on]
            name, axis = node.on.split(".")
            f, fanout = next((f, fanout) for f, fanout in enumerate(fanouts) if fanout.name == name)
            program.fanout[place] = f
            program.axis_of_fanout[place] = [name for name, _ in fanout.axes].index(axis)
    for name, d in dims.items():
        program.is_reduction[d] = name in layer.reduction_dims
    _prices(program, setup, fanouts)
    return program


def _prices(program: Program, setup: Setup, fanouts: list[Fanout]) -> None:
    memories = setup.arch.memories
    program.memories = len(memories)
    for m, memory in enumerate(memories):
        place = setup.nodes.index(memory)
        program.outside[m] = sum(isinstance(node, Fanout) for node in setup.nodes[:place])
        program.buffers[m] = memory.buffers
        program.size_words[m] = -1 if memory.size_words is None else memory.size_words
        program.read_pj[m], program.write_pj[m] = memory.read_energy_pj, memory.write_energy_pj
    for f, fanout in enumerate(fanouts):
        program.hop_pj[f] = fanout.hop_energy_pj_per_bit
        program.addition_pj[f] = fanout.reduction_energy_pj_per_bit
    program.accumulator_bits = setup.precision.accumulator.bits
    program.mac_pj = setup.mode.energy_pj_per_step
    program.clock_hz = setup.arch.clock_hz
    program.leakage_w = leakage_w(setup.arch, setup.mode.block)
    program.pes = setup.arch.instances(setup.arch.compute.name)
    block = next((b for b in setup.arch.compute.blocks if b.name == setup.mode.block), None)
    program.idle_fraction = block.idle_fraction if block is not None and block.gating == "none" else 0.0
    program.unused_pj = idle_pj_per_cycle(setup.arch, setup.mode.block)


__all__ = ["Batch", "BatchCost"]
