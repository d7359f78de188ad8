"""Scratch space of the closed-form count of regular nests (see `seada.model.kernel_regular`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from seada.model.nest_arrays import DIMS, FANOUTS, LEVELS, PORTS, TEMPORAL, TIMING

Regular = Any  # a record of REGULAR

KINDS = 512  # kinds of blocks over all dimensions
STATES = 1024  # kinds of positions of the odometer
PARTS = 4096
HANDLES = 1024  # kinds of transitions
ITEMS = 4096  # kinds of steps with the transitions before and after
LINKS = 16384
HASHED = 16384
LOADS = 1 << 17
RUN_ROOM = 2046
ROWS = 256

_FIELDS: list[tuple[str, tuple[int, ...]]] = [
    ("loops_of", (DIMS, TEMPORAL + 1)),  # temporal loops of a dimension, outermost first
    ("loop_entry", (TEMPORAL + 1,)),  # place of a temporal loop in the chain of its dimension
    ("passed", (DIMS, TEMPORAL + 2)),  # loops of the dimension among the first j
    (
        "kinds_at",
        (DIMS, TEMPORAL + 2),
    ),  # kinds of blocks of d below c of its loops: kinds_at[d, c] .. [d, c + 1]
    ("parent", (KINDS,)),
    ("index", (KINDS,)),  # first iteration of the run that the kind stands for
    ("length", (KINDS,)),  # iterations in the run
    ("kids", (KINDS, 2)),
    ("slot_step", (64,)),
    ("breaks", (8,)),
    ("starts", (ROWS,)),
    ("plain", (DIMS,)),  # 1 where all blocks at a depth are alike
    ("runs", (RUN_ROOM + 2,)),
    ("slots", (64,)),
    ("after", (TEMPORAL + 1,)),
    ("before", (TEMPORAL + 1,)),
    ("zero", (TEMPORAL + 1,)),
    # states: kinds of positions above a loop
    ("states_at", (TEMPORAL + 2,)),
    ("state_kind", (STATES, DIMS)),
    ("state_flags", (STATES,)),  # 1: all reduction loops at zero, 2: all at their last iteration
    ("state_times", (STATES,)),
    ("state_parts", (STATES, 2)),
    ("state_key", (STATES,)),
    ("part_state", (PARTS,)),
    ("part_length", (PARTS,)),
    ("part_index", (PARTS,)),  # its first iteration
    ("part_enter", (PARTS,)),  # handle of the transition into the part
    ("part_within", (PARTS,)),  # handle of the transitions within it
    ("handles", ()),
    ("loads", (LOADS,)),  # of handle h, level g, kind, port
    ("moves", (HANDLES, 3)),
    ("items_at", (TEMPORAL + 2,)),
    ("item_state", (ITEMS,)),
    ("item_enter", (ITEMS,)),
    ("item_leave", (ITEMS,)),
    ("item_links", (ITEMS, 2)),
    ("item_ticks", (ITEMS,)),
    ("item_traffic", (ITEMS, PORTS)),
    ("link_item", (LINKS,)),
    ("link_copies", (LINKS,)),
    ("hash_stamp", (HASHED,)),
    ("hash_item", (HASHED,)),
    ("stamp", ()),
    # lists of (size, overlap, copies)
    ("list", (ROWS, 3)),
    ("list2", (ROWS, 3)),
    ("one", (ROWS, 3)),
    ("lengths", (4,)),
    ("now", (4,)),
    ("then", (4,)),
    ("amounts", (17,)),
    ("links", (FANOUTS, 5)),
    ("join_slots", (3, LEVELS)),  # reduction slots (output) between the parent of a level and the level
    ("counts", (3, LEVELS, 12)),
    ("link_counts", (3, FANOUTS, 3)),
    ("chain", (3, 2)),
    ("steps", (2,)),
    ("traffic", (PORTS,)),
    ("extreme", (2,)),  # ticks of the first fill and of the last drain
    ("busy_ends", (PORTS,)),  # ticks of double-buffered first fills and last drains
    ("body", ()),
    ("unread", ()),  # MAC steps of sums that start at zero beside one that continues
]

REGULAR = np.dtype([(name, np.int64, shape) if shape else (name, np.int64) for name, shape in _FIELDS])
assert TIMING
