"""What the batch kernel needs beside a nest: the order of loops and keeps, and all prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from seada.model.nest_arrays import FANOUTS, MEMORIES

Program = Any  # a record of PROGRAM

NODES = 96
AXES_OF_FANOUTS = 32
IS_KEEP, IS_TEMPORAL, IS_SPATIAL = 0, 1, 2

_FIELDS: list[tuple[str, Any, tuple[int, ...]]] = [
    ("nodes", np.int64, ()),
    ("kind", np.int64, (NODES,)),
    ("dim", np.int64, (NODES,)),  # of a loop
    ("axis", np.int64, (NODES,)),  # of a spatial loop, numbered over all fanouts
    ("fanout", np.int64, (NODES,)),  # of a spatial loop
    ("axis_of_fanout", np.int64, (NODES,)),  # of a spatial loop, numbered within its fanout
    ("operand", np.int64, (NODES,)),  # of a keep
    ("memory", np.int64, (NODES,)),  # of a keep
    ("axis_size", np.int64, (AXES_OF_FANOUTS,)),
    ("memories", np.int64, ()),
    ("outside", np.int64, (MEMORIES,)),  # fanouts outside a memory
    ("buffers", np.int64, (MEMORIES, 3)),
    ("size_words", np.int64, (MEMORIES,)),  # -1 without a limit
    ("is_reduction", np.int64, (12,)),
    ("read_pj", np.float64, (MEMORIES,)),
    ("write_pj", np.float64, (MEMORIES,)),
    ("hop_pj", np.float64, (FANOUTS,)),
    ("addition_pj", np.float64, (FANOUTS,)),
    ("accumulator_bits", np.int64, ()),
    ("mac_pj", np.float64, ()),
    ("leakage_w", np.float64, ()),
    ("clock_hz", np.float64, ()),
    ("unused_pj", np.float64, ()),  # per cycle, of ungated blocks that the mode does not use
    ("idle_fraction", np.float64, ()),  # of the energy per step of a PE that idles; 0 if it is gated
    ("pes", np.int64, ()),
]

PROGRAM = np.dtype([(name, kind, shape) if shape else (name, kind) for name, kind, shape in _FIELDS])
