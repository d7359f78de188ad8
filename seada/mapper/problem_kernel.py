"""The search problem and its work space as records of fixed size, which compiled code takes whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WEIGHT, INPUT, OUTPUT = 0, 1, 2
BUS, TREE = 0, 2
ACCUMULATOR_BITS, OUTPUT_BITS = 2, 3
# Columns of `tables`.
TABLE_SUM, TABLE_SLIDE_FIRST, TABLE_SLIDE_SECOND, TABLE_LARGEST = 0, 1, 2, 3

MAX_DIMS, MAX_MEMORIES, MAX_FANOUTS, MAX_SLOTS, MAX_AXES, MAX_ORDERS = 12, 10, 9, 28, 24, 64
MAX_LEVELS = 3 * MAX_MEMORIES

# One layer on one set-up. Records of fixed size keep the compiled code free of reference counting, which took
# nine tenths of the time when the same fields were arrays in a tuple. Extents are floats like all counts
# here: exact up to 2^53, and faster to divide.
PROBLEM = np.dtype(
    [
        ("dims", np.int64),
        ("slots", np.int64),
        ("memories", np.int64),
        ("fanouts", np.int64),
        ("axes", np.int64),
        ("orders", np.int64),
        # Per dimension, and per operand and dimension: 1 where the operand depends on it.
        ("extents", np.float64, (MAX_DIMS,)),
        ("relevant", np.int64, (3, MAX_DIMS)),
        # 1 where the dimension is one of two that make a sliding window of the operand.
        ("window", np.int64, (3, MAX_DIMS)),
        # Per operand axis; `axis_base` is a row of `tables`; -1 for a plain dimension or no second one.
        ("axis_role", np.int64, (MAX_AXES,)),
        ("axis_first", np.int64, (MAX_AXES,)),
        ("axis_second", np.int64, (MAX_AXES,)),
        ("axis_base", np.int64, (MAX_AXES,)),
        ("axis_row", np.int64, (MAX_AXES,)),
        # Per slot: 1 if spatial, index of its memory or fanout, instances of its axis; loops allowed, fixed.
        ("slot_spatial", np.int64, (MAX_SLOTS,)),
        ("slot_owner", np.int64, (MAX_SLOTS,)),
        ("slot_size", np.int64, (MAX_SLOTS,)),
        ("allowed", np.int64, (MAX_SLOTS, MAX_DIMS)),
        ("fixed", np.int64, (MAX_SLOTS, MAX_DIMS)),
        # Per memory; sizes in words, -1 without limit; rates in words per cycle, 0 without limit.
        ("memory_slot", np.int64, (MAX_MEMORIES,)),
        ("size_words", np.float64, (MAX_MEMORIES,)),
        ("word_bits", np.float64, (MAX_MEMORIES,)),
        ("read_energy", np.float64, (MAX_MEMORIES,)),
        ("write_energy", np.float64, (MAX_MEMORIES,)),
        ("read_rate", np.float64, (MAX_MEMORIES,)),
        ("write_rate", np.float64, (MAX_MEMORIES,)),
        ("shared_rate", np.float64, (MAX_MEMORIES,)),
        ("aligned", np.int64, (MAX_MEMORIES,)),
        ("accumulates", np.int64, (MAX_MEMORIES,)),
        ("buffers", np.int64, (MAX_MEMORIES, 3)),
        # 0 never, 1 may, 2 must.
        ("keeps", np.int64, (MAX_MEMORIES, 3)),
        # Memory where each operand rests; role that a constraint makes stationary, dimension of kernel rows
        # that a constraint keeps together (-1 if none).
        ("home", np.int64, (3,)),
        ("stationary", np.int64),
        ("row_dim", np.int64),
        # Per fanout; `joins` by role: multicast of weight and input, reduction of output.
        ("joins", np.int64, (MAX_FANOUTS, 3)),
        ("addition_energy", np.float64, (MAX_FANOUTS,)),
        ("topology", np.int64, (MAX_FANOUTS,)),  # of the links: bus, mesh, tree
        ("hop_energy", np.float64, (MAX_FANOUTS,)),
        ("link_rate", np.float64, (MAX_FANOUTS,)),
        ("ramp_role", np.int64, (MAX_FANOUTS,)),
        ("ramp_cycles", np.float64, (MAX_FANOUTS,)),
        ("step_cycles", np.float64),
        ("step_energy", np.float64),
        ("leakage", np.float64),
        ("lane_slot", np.int64),
        # Weight, input, accumulator, output.
        ("bits", np.float64, (4,)),
        # Of the same four: bits of a scale, 0 if there is none, and elements that share it.
        ("scale_bits", np.float64, (4,)),
        ("scale_group", np.float64, (4,)),
        # Loop orders, dimensions innermost first.
        ("order", np.int64, (MAX_ORDERS, MAX_DIMS)),
    ]
)

# Work space of one estimate, so that the inner loop allocates nothing.
SCRATCH = np.dtype(
    [
        # Of the candidate: operands kept, order per memory; extents above each slot, trips in it, tiles of
        # these extents along each dimension, temporal steps of one instance inside them, and the number of
        # instances that share the tiles if the busiest counts.
        ("kept", np.int64, (MAX_MEMORIES, 3)),
        ("chosen", np.int64, (MAX_MEMORIES,)),
        ("above", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("trips", np.float64, (MAX_SLOTS, MAX_DIMS)),
        ("counts", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("inner", np.float64, (MAX_SLOTS + 1, MAX_DIMS)),
        ("active", np.float64, (MAX_SLOTS + 1,)),
        # Of the keep in hand: trips of loops that leave its tile alone and the outermost slot with such a
        # loop of this dimension, whether the tile changes at all, the loop along which it slides. Of a
        # transfer through fanouts: extents of the joined tile, such transfers along each dimension, instances
        # joined, those of them whose windows lie apart, instances not joined.
        ("dropped", np.float64, (MAX_DIMS,)),
        ("drop_slot", np.int64, (MAX_DIMS,)),
        ("changes", np.int64),
        ("slide_dim", np.int64),
        ("slide_trips", np.float64),
        ("span", np.float64, (MAX_DIMS,)),
        ("tiles", np.float64, (MAX_DIMS,)),
        ("joined", np.float64, (MAX_DIMS,)),
        ("spread", np.float64),
        ("separate", np.float64),
        # Sums: words of the first tiles (or last ones) by port, bits per fanout instance.
        ("first_reads", np.float64, (MAX_MEMORIES,)),
        ("first_writes", np.float64, (MAX_MEMORIES,)),
        # Per instance: words by port that one pass moves so far, from the MACs outwards.
        ("load_reads", np.float64, (MAX_MEMORIES,)),
        ("load_writes", np.float64, (MAX_MEMORIES,)),
        # Per keep below the outermost of its operand: steps at which its tile changes, the memories on both
        # sides, words per instance at their ports without the first fill or last drain, cycles that nothing
        # overlaps.
        ("levels", np.int64),
        ("level_steps", np.float64, (MAX_LEVELS,)),
        ("level_parent", np.int64, (MAX_LEVELS,)),
        ("level_child", np.int64, (MAX_LEVELS,)),
        ("level_words", np.float64, (MAX_LEVELS, 4)),
        ("level_exposed", np.float64, (MAX_LEVELS,)),
        ("link_bits", np.float64, (MAX_FANOUTS,)),
        ("energy", np.float64),
        ("ramp", np.float64),
        ("chain", np.float64),
    ]
)

# Records of these types; numpy has no static type for the fields of a record.
Problem = Any
Scratch = Any
