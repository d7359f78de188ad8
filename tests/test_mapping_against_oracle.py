"""The checks against the interpreter: what they call legal runs, and complete sums are complete."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from seada.arch.hardware import Setup
from seada.mapping.capacity import occupancies, receives_complete_sums
from seada.mapping.check import check
from seada.mapping.nest import Mapping
from seada.mapping.placed import place
from seada.oracle.walk import walk
from seada.workload.layer import Layer
from tests.strategies import problems

OUTPUT = 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_random_legal_mappings_pass(problem: tuple[Layer, Setup, Mapping]) -> None:
    assert check(*problem) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_keeps_of_complete_sums_only_receive_output_width(problem: tuple[Layer, Setup, Mapping]) -> None:
    layer, setup, mapping = problem
    nest = place(layer, setup, mapping)
    names = [memory.name for memory in setup.arch.memories]
    counts, _ = walk(layer, setup, mapping)
    widths = {o.memory: o.bits for o in occupancies(nest) if o.operand == "output"}
    for keep in nest.chains["output"]:
        written = counts.memories[names.index(keep.keep.memory)][OUTPUT]
        if receives_complete_sums(nest, keep):
            output = setup.precision.output
            narrowest = written.writes * output.bits
            assert narrowest <= written.write_bits <= narrowest + written.writes * output.scale_bits
            assert widths[keep.keep.memory] == output.bits
        else:
            assert widths[keep.keep.memory] == setup.precision.accumulator.bits
