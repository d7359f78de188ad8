"""What one transition of a regular nest moves between a level and its parent: amounts at both ends and on
links.

The numbers of ``work.amounts`` and ``work.links`` are those of the general walk: parent reads, parent
writes, child reads, child writes (elements, bits, words each), then the words of the busiest instance for
fills (parent, child) and drains (child, parent, parent's reads); per fanout hops, bits, additions, and bits
of fills and drains.
"""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_chain import combinations, interval, last_interval, set_slots
from seada.model.kernel_regular_axis import (
    active,
    add_one,
    along_axis,
    below,
    clear_slots,
    find_breaks,
    multiply_list,
    start_list,
    stays,
)
from seada.model.kernel_words import tile_bits, tile_words
from seada.model.nest_arrays import COMPLETE, OUTPUT, Ints, Nest
from seada.model.regular_arrays import Regular


@kernel
def slots_product(nest: Nest, first: int, stop: int) -> int:
    """Instances of the slots from `first` to `stop`."""
    count = 1
    for s in range(first, stop):
        count *= nest.slot_trips[s]
    return count


@kernel
def sharers(nest: Nest, first: int, stop: int) -> int:
    """Instances of the slots from `first` to `stop` that share each output."""
    count = 1
    for s in range(first, stop):
        if not nest.relevant[OUTPUT, nest.slot_dim[s]]:
            count *= nest.slot_trips[s]
    return count


@kernel
def link_slot(nest: Nest, f: int, branch: int) -> int:
    """Slots outside the instances at which the links of a fanout are counted, at one level of branches."""
    return int(nest.first_slot[f] if nest.branches[f] == 0 else nest.branch_slot[f, branch])


@kernel
def fill_of_inputs(
    nest: Nest, o: int, level: int, low: int, split: int, j: int, first: bool, work: Regular, space: Ints
) -> tuple[int, int]:
    """(elements through the instances below the slots from `low` to `split`, the same at the parent)."""
    union, kept = 1, 1
    through = 1
    for a in range(nest.axis_count[o]):
        some, both = along_axis(nest, o, a, level, low, split, j, work, space)
        union *= some
        kept *= both
    for d in range(nest.dims):
        if not nest.relevant[o, d]:
            through *= active(nest, o, level, d, low, split, work)
    moved = union if first else union - kept
    return moved * through, moved


@kernel
def children(nest: Nest, o: int, level: int, low: int, first: bool, work: Regular) -> None:
    """Fills of tiles in ``work.list`` at one parent's children: ``amounts[9..11]`` and ``amounts[13]``."""
    copies = 1
    for d in range(nest.dims):
        if not nest.relevant[o, d]:
            copies *= active(nest, o, level, d, low, nest.slots_above[o, level], work)
    count_children(nest, nest.memory[o, level], o, copies, 9, 13, first, work)


@kernel
def count_children(
    nest: Nest, memory: int, kind: int, copies: int, place: int, peak: int, first: bool, work: Regular
) -> None:
    """Elements, bits, words and most words of the tiles in ``work.list``, what is kept left out."""
    for i in range(work.lengths[0]):
        elements = work.list[i, 0] - (0 if first else work.list[i, 1])
        words = tile_words(nest, memory, kind, elements)
        times = work.list[i, 2] * copies
        work.amounts[place] += elements * times
        work.amounts[place + 1] += tile_bits(nest, kind, elements) * times
        work.amounts[place + 2] += words * times
        work.amounts[peak] = max(work.amounts[peak], words)


@kernel
def input_move(nest: Nest, o: int, level: int, j: int, first: bool, work: Regular, space: Ints) -> None:
    """Fill of weight or input at level `level` at one transition, for all parents."""
    parent = level - 1
    low = nest.slots_above[o, parent]
    union, kept = 1, 1
    start_list(work)
    for a in range(nest.axis_count[o]):
        some, both = along_axis(nest, o, a, level, low, low, j, work, space)
        multiply_list(work)
        union *= some
        kept *= both
    elements = union if first else union - kept
    if elements == 0:
        return
    parents = slots_product(nest, 0, low)
    amounts, links = work.amounts, work.links
    amounts[0] = elements
    amounts[1] = tile_bits(nest, o, elements)
    amounts[2] = tile_words(nest, nest.memory[o, parent], o, elements)
    amounts[12] = amounts[2]
    children(nest, o, level, low, first, work)
    for f in range(nest.fanouts_above[o, parent], nest.fanouts_above[o, level]):
        hops = 0
        for i in range(max(1, nest.branches[f])):
            split = link_slot(nest, f, i)
            passing = elements
            if split > low:
                passing, _ = fill_of_inputs(nest, o, level, low, split, j, first, work, space)
            hops += passing
        links[f, 0] = hops * parents
        links[f, 1] = tile_bits(nest, o, hops * parents)
        links[f, 3] = amounts[1]
    for k in range(12):
        amounts[k] *= parents


@kernel
def parent_leaves(nest: Nest, level: int, j: int, work: Regular) -> bool:
    """Whether the output tile of the parent of `level` changes at the transition."""
    parent = level - 1
    if parent == 0:
        return False
    for d in range(nest.dims):
        if not nest.relevant[OUTPUT, d] or stays(nest, work, d, nest.cut[OUTPUT, parent, d], j):
            continue
        if work.plain[d]:
            return True
        cut = nest.cut[OUTPUT, parent, d]
        start, _ = interval(nest, d, cut, work.after, work.slots)
        before, _, _, _ = last_interval(nest, d, OUTPUT, parent, parent, work.before, work.slots, j)
        if start != before:
            return True
    return False


@kernel
def output_tiles(
    nest: Nest, d: int, level: int, leaves: bool, drains: bool, j: int, work: Regular
) -> tuple[int, int]:
    """(elements, those that stay) along d of the tiles that drain, or fill; ``work.one`` lists single
    tiles.
    """
    low = nest.slots_above[OUTPUT, level - 1]
    high = nest.slots_above[OUTPUT, level]
    cut = nest.cut[OUTPUT, level, d]
    total = combinations(nest, d, low, high)
    work.lengths[2] = 0
    if work.plain[d]:
        size = below(nest, d, cut)
        kept = size if not leaves and stays(nest, work, d, cut, j) else 0
        add_one(work, size, kept, total)
        return total * size, total * kept
    elements, staying = 0, 0
    outer = level - 1 if leaves else level
    runs = find_breaks(nest, d, low, high, j, work) if total > 1 else 0
    for r in range(total if runs == 0 else runs):
        code, copies = r, 1
        if runs > 0:
            code, copies = work.breaks[r], work.breaks[r + 1] - work.breaks[r]
        if total > 1:
            set_slots(nest, d, low, high, code, work.slots)
        start, size = interval(nest, d, cut, work.after, work.slots)
        before, old, _, _ = last_interval(nest, d, OUTPUT, outer, level, work.before, work.slots, j)
        same = 0
        if drains:
            same = old if not leaves and size > 0 and start == before else 0
            size = old if leaves or size > 0 else 0
        elif size > 0 and not leaves and old > 0 and start == before:
            same = size
        if size > 0:
            add_one(work, size, same, copies)
            elements += size * copies
            staying += same * copies
    if total > 1:
        clear_slots(nest, work)
    return elements, staying


@kernel
def output_list(nest: Nest, level: int, leaves: bool, drains: bool, j: int, work: Regular) -> int:
    """Elements of the output tiles below one parent that drain, or fill; their list goes to ``work.list``."""
    start_list(work)
    whole, staying = 1, 1
    for d in range(nest.dims):
        if nest.relevant[OUTPUT, d]:
            some, same = output_tiles(nest, d, level, leaves, drains, j, work)
            multiply_list(work)
            whole *= some
            staying *= same
    return whole - staying


@kernel
def output_move(nest: Nest, level: int, j: int, final: bool, done: bool, due: bool, work: Regular) -> int:
    """Drain and fill of the output at level `level` at one transition, for all parents.

    `done`: the sums that drain include everything; `due`: sums that come back are not at zero; `final`: the
    last drain of the layer.

    Returns
    -------
    elements filled at all children, were each of those that share them filled
    """
    parent = level - 1
    low, high = nest.slots_above[OUTPUT, parent], nest.slots_above[OUTPUT, level]
    leaves = final or parent_leaves(nest, level, j, work)
    drained = output_list(nest, level, leaves, True, j, work)
    if drained == 0:
        return 0
    sharing = sharers(nest, low, high)
    amounts, links = work.amounts, work.links
    accumulator = nest.element_bits[OUTPUT]
    kind = COMPLETE if done else OUTPUT
    own = kind if sharing == 1 else OUTPUT
    inner, outer = nest.memory[OUTPUT, level], nest.memory[OUTPUT, parent]
    count_children(nest, inner, own, sharing, 6, 14, False, work)
    amounts[3] = drained
    amounts[4] = tile_bits(nest, kind, drained)
    amounts[5] = tile_words(nest, outer, kind, drained)
    amounts[15] = amounts[5]
    filled = 0
    if due and not final:
        filled = output_list(nest, level, leaves, False, j, work)
        count_children(nest, inner, OUTPUT, 1, 9, 13, False, work)
        amounts[0] = filled
        amounts[1] = filled * accumulator
        amounts[2] = tile_words(nest, outer, OUTPUT, filled)
        amounts[12] = amounts[2]
    parents = slots_product(nest, 0, low)
    for f in range(nest.fanouts_above[OUTPUT, parent], nest.fanouts_above[OUTPUT, level]):
        before = sharers(nest, low, nest.first_slot[f])
        here = sharers(nest, nest.first_slot[f], nest.first_slot[f + 1])
        hops = 0
        for i in range(max(1, nest.branches[f])):
            hops += drained * sharers(nest, low, link_slot(nest, f, i))
        back = filled * max(1, nest.branches[f])
        links[f, 0] = (hops + back) * parents
        links[f, 1] = tile_bits(nest, kind, hops * parents) + back * accumulator * parents
        links[f, 2] = drained * before * (here - 1) * parents
        links[f, 3] = filled * accumulator
        links[f, 4] = amounts[4]
    for k in range(12):
        amounts[k] *= parents
    return filled * parents
