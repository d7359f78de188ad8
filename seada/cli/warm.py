"""A tiny job that runs through every kernel."""

from __future__ import annotations

import numpy as np

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode
from seada.formats import PrecisionRequest, parse_format
from seada.mapper.api import map_layer
from seada.mapping.nest import Loop
from seada.model.batch import Batch
from seada.model.count import count_by_walk
from seada.workload.build import conv

_EVALUATIONS = 50


def compile_kernels() -> None:
    """Map a layer of a few MACs, then count its mapping by the general walk and in a batch.

    Kernels have one signature each, so any layer compiles them. The search itself may never meet a nest
    that the closed form leaves to the walk.
    """
    layer = conv("warmup", outputs=(3, 3), kernel=(2, 2), K=2, C=2, pad=(1, 1))
    int8 = parse_format("int8")
    found = map_layer(_small_chip(), layer, PrecisionRequest(int8, int8), max_evaluations=_EVALUATIONS)
    assert found.mapping is not None
    count_by_walk(layer, found.setup, found.mapping)
    steps = [node.step for node in found.mapping.nodes if isinstance(node, Loop)]
    Batch(layer, found.setup, found.mapping).cost(np.array([steps], np.int64))


def _small_chip() -> Arch:
    """Two memories around four PEs with two lanes; not a model of anything."""
    int8, int32 = parse_format("int8"), parse_format("int32")
    mode = Mode(int8, int8, int32, 2, frozenset({"C"}), 1, 1.0, "mac")
    return Arch(
        name="warmup",
        clock_hz=1e9,
        nodes=(
            Memory("outer", None, 64, 1.0, 1.0, shared_words_per_cycle=1.0),
            Fanout("pe", (("x", 4),), (None,)),
            Memory("inner", 4096, 16, 1.0, 1.0),
        ),
        compute=Compute("mac", (mode,), (Block("mac", 0.0, 0.0),)),
    )
