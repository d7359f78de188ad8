"""The flat form of (layer, setup, mapping) that the kernels take: two records of integers, no objects.

Records of fixed layout travel as one pointer, which keeps the kernels quick to compile and to call.

Conventions: operands are 0 weight, 1 input, 2 output. Temporal loops are numbered from 1, outermost first (0
stands for "before the first"); spatial loops are *slots*, numbered from 0 outermost first. Loops with one
trip are dropped. *Level* i of an operand is its i-th keep, outermost first; the level after the last keep is
the MAC.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Nest = Any  # a record of NEST
Work = Any  # a record of WORK

OUTPUT = 2  # number of the operand
COMPLETE = 3  # kind of element: 0 weight, 1 input, 2 partial sum, 3 complete sum

DIMS, TEMPORAL, SLOTS, FANOUTS, LEVELS, MEMORIES, AXES, PORTS, TIMING, CHAIN = (
    12,
    64,
    32,
    8,
    10,
    10,
    8,
    32,
    24,
    32,
)
BRANCHES = 8
ROWS, COLUMNS = 1024, 192
RUNS = 2048
REMEMBERED = 1024
SHARERS = 4096
HANDLES = 8 + 3 * TEMPORAL

_NEST_FIELDS: list[tuple[str, tuple[int, ...]]] = [
    ("dims", ()),
    ("temporals", ()),
    ("slots", ()),
    ("fanouts", ()),
    ("ports", ()),
    ("extent", (DIMS,)),
    ("temporal_dim", (TEMPORAL + 1,)),
    ("temporal_step", (TEMPORAL + 1,)),
    ("slot_dim", (SLOTS,)),
    ("slot_trips", (SLOTS,)),
    ("slot_fanout", (SLOTS,)),
    ("joins", (3, FANOUTS)),  # 1 where the fanout multicasts (weight, input) or reduces (output)
    ("chain_length", (DIMS,)),  # loops of the dimension in nest order
    ("chain_is_slot", (DIMS, CHAIN)),
    ("chain_index", (DIMS, CHAIN)),  # temporal number or slot number
    ("chain_step", (DIMS, CHAIN)),
    ("levels", (3,)),  # keeps + 1
    ("memory", (3, LEVELS)),
    ("slots_above", (3, LEVELS)),
    ("fanouts_above", (3, LEVELS)),
    ("changes_at", (3, LEVELS)),  # innermost temporal loop above the level that its tile depends on
    ("cut", (3, LEVELS, DIMS)),  # entries of the chain above the level
    ("relevant", (3, DIMS)),
    ("axis_count", (3,)),
    ("axis_dim", (3, AXES, 2)),  # -1 where absent
    ("axis_coefficient", (3, AXES, 2)),
    ("axis_low", (3, AXES)),  # data where low <= coefficient . index <= high
    ("axis_high", (3, AXES)),
    (
        "border",
        (DIMS,),
    ),  # 1 where windows that slide along it may touch padding, 2 for kernel dimensions of these
    ("border_axis", (DIMS,)),  # axis of the input that the dimension slides along
    ("uneven", (DIMS,)),  # 1 where some trip of the dimension's chain is ragged
    (
        "step_radix",
        (TEMPORAL + 1,),
    ),  # weight of a loop's index in the key of a step, 0 if it makes no difference
    ("uneven_sums", ()),  # 1 where a reduction dimension with slots has a ragged trip
    ("element_bits", (4,)),  # by kind of element
    ("scale_bits", (4,)),  # of one scale; 0 where elements of the kind have none
    ("scale_group", (4,)),  # elements that share it
    ("word_bits", (MEMORIES,)),
    ("aligned", (MEMORIES,)),
    ("read_port", (MEMORIES,)),  # -1 without a limit
    ("write_port", (MEMORIES,)),
    ("link_port", (FANOUTS,)),
    ("branches", (FANOUTS,)),  # levels at which the link is counted: 0 bus, 1 mesh, one per axis of a tree
    ("branch_slot", (FANOUTS, BRANCHES)),  # slots outside the instances that a level counts
    ("slot_axis", (SLOTS,)),  # of a slot's fanout
    ("lanes_fanout", ()),  # number of the lanes, or of fanouts if there are none
    ("first_slot", (FANOUTS + 1,)),  # slots of fanout f: first_slot[f] .. first_slot[f + 1]
    ("port_ticks", (PORTS,)),  # ticks per word (bit for a link)
    ("ticks_per_cycle", ()),
    ("cycles_per_step", ()),
    ("timing_levels", ()),
    ("timing_position", (TIMING,)),
    ("timing_level", (3, LEVELS)),  # -1 for outermost keeps and the MAC
    ("double_buffered", (3, LEVELS)),
    ("ramp_cycles", (3,)),  # of the fanouts whose stationary operand is this one
    ("last_change", ()),  # deepest `changes_at` of all keeps
    ("span", ()),  # largest index range of an axis with two dimensions
]

_WORK_FIELDS: list[tuple[str, tuple[int, ...]]] = [
    ("after", (TEMPORAL + 1,)),
    ("before", (TEMPORAL + 1,)),
    ("at_last", (TEMPORAL + 1,)),
    ("slots", (SLOTS,)),
    ("runs", (TEMPORAL + 1, RUNS)),
    ("now", (4,)),
    ("then", (4,)),
    ("row", (COLUMNS,)),
    ("child", (COLUMNS,)),
    ("stamps", (1,)),
    ("lengths", (1,)),
    ("reach", (2,)),  # slots from the first to the second join
    ("joined", (2,)),  # elements that one instance serves, and how many of these all who need them had before
    ("table", (ROWS, COLUMNS)),
    ("table2", (ROWS, COLUMNS)),
    ("spare", (ROWS, COLUMNS)),
    ("parents", (ROWS, COLUMNS)),
    ("members", (ROWS, COLUMNS)),
    ("kinds", (COLUMNS,)),
    ("marks", (TEMPORAL + 1,)),  # how many, then reduction loops at which a visit of children may begin
    ("moving", (LEVELS + 1,)),
    ("positions", (TEMPORAL + 1,)),
    ("present", (SHARERS,)),
    # by output level, in the last step of the reduction and below the first parent instance:
    ("workers", (LEVELS,)),  # instances that work
    ("ends_as_one", (LEVELS,)),  # whether their sums meet on the way to the parent
    ("departs", (LEVELS,)),  # deepest loop past the last work of one that works no more; 0 if there is none
    ("departs_apart", (LEVELS,)),  # the same over those whose sums do not meet the first one's
    ("flow", (3 + 4 * FANOUTS,)),
    ("arrived", (2,)),  # whether partial and complete sums arrived in a transfer
    ("scaled_hops", (FANOUTS,)),  # of complete sums in a transfer that have scales
    ("flow2", (3 + 4 * FANOUTS,)),
    ("amounts", (17,)),
    ("links", (FANOUTS, 5)),
    (
        "counts",
        (3, LEVELS, 12),
    ),  # parent reads (elements, bits, words), parent writes, child reads, child writes
    ("link_counts", (3, FANOUTS, 3)),  # hops, bits, additions
    (
        "loads",
        (HANDLES, TIMING, 4, PORTS),
    ),  # ticks of single fills, double fills, single drains, double drains
    ("chain", (3, 2)),  # ticks of the longest way of first fills and last drains
    ("traffic", (TIMING + TEMPORAL + 2, PORTS)),
    ("run", (TEMPORAL + 1,)),  # of each loop: present run, how many, copies of the position it stands for
    ("run_count", (TEMPORAL + 1,)),
    ("copies", (TEMPORAL + 1,)),
    ("frames", (TIMING + TEMPORAL + 2, 6)),  # of each depth: enter, leave, times, ticks, part, handle onward
    ("moves", (HANDLES, 3)),  # whether the innermost tile of an operand changes
    ("steps", (2,)),  # steps, steps of all PEs
    ("step_key", (REMEMBERED,)),  # accesses of one step of the MACs that were worked out before
    ("step_amounts", (REMEMBERED, 3, 17)),
    ("step_links", (REMEMBERED, 3, FANOUTS, 5)),
    ("step_elements", (REMEMBERED,)),
]

NEST = np.dtype([(name, np.int64, shape) if shape else (name, np.int64) for name, shape in _NEST_FIELDS])
WORK = np.dtype([(name, np.int64, shape) if shape else (name, np.int64) for name, shape in _WORK_FIELDS])


def empty_record(layout: np.dtype[Any]) -> Any:
    """A zeroed record of that layout."""
    return np.zeros(1, dtype=layout).view(np.recarray)[0]
