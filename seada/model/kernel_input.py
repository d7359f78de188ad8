"""Transfers of weight and input between a level and its parent at one transition of the odometer."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.kernel_axis import axis_list, bystander_list, copy_rows, multiply
from seada.model.kernel_chain import combinations
from seada.model.kernel_words import tile_bits, tile_words, words_of
from seada.model.nest_arrays import Ints, Nest, Work


@kernel
def tile_lists(
    nest: Nest,
    o: int,
    level: int,
    above: int,
    j: int,
    after: Ints,
    before: Ints,
    padding: bool,
    work: Work,
    space: Ints,
) -> tuple[int, int]:
    """Lists (union, kept part) per instance outside slot `above`, in ``work.parents``, and per child in
    ``work.members``.
    """
    for k in range(3):
        work.parents[0, k] = 1
        work.members[0, k] = 1
    parents = 1
    members = 1
    for a in range(nest.axis_count[o]):
        count = axis_list(nest, o, a, level, above, j, after, before, padding, work, space)
        parents, members = multiply_both(parents, members, count, work)
    for d in range(nest.dims):
        if nest.relevant[o, d] or combinations(nest, d, 0, nest.slots_above[o, level]) == 1:
            continue
        count = bystander_list(nest, o, d, level, above, after, work)
        parents, members = multiply_both(parents, members, count, work)
    return parents, members


@kernel
def multiply_both(parents: int, members: int, count: int, work: Work) -> tuple[int, int]:
    """Multiply the running lists by those of one more axis."""
    parents = multiply(work.parents, parents, work.table, count, 2, work.spare, work.row)
    copy_rows(work.spare, parents, 2, work.parents)
    members = multiply(work.members, members, work.table2, work.lengths[0], 2, work.spare, work.row)
    copy_rows(work.spare, members, 2, work.members)
    return parents, members


@kernel
def moved(rows: Ints, count: int, first: bool) -> tuple[int, int]:
    """(elements over all instances, most at one) of a list of (union, kept)."""
    total = 0
    most = 0
    for i in range(count):
        elements = rows[i, 0] - (0 if first else rows[i, 1])
        total += elements * rows[i, 2]
        most = max(most, elements)
    return total, most


@kernel
def moved_stored(
    nest: Nest, memory: int, o: int, scaled: bool, rows: Ints, count: int, first: bool
) -> tuple[int, int]:
    """(bits, words) over all instances of a list of (union, kept), each instance rounded up."""
    bits = 0
    words = 0
    for i in range(count):
        elements = rows[i, 0] - (0 if first else rows[i, 1])
        bits += stored_bits(nest, o, scaled, elements) * rows[i, 2]
        words += stored_words(nest, memory, o, scaled, elements) * rows[i, 2]
    return bits, words


@kernel
def stored_bits(nest: Nest, o: int, scaled: bool, elements: int) -> int:
    """Bits of an access, with scales or (MACs) without."""
    return tile_bits(nest, o, elements) if scaled else int(elements * nest.element_bits[o])


@kernel
def stored_words(nest: Nest, memory: int, o: int, scaled: bool, elements: int) -> int:
    """Words of an access, with scales or (MACs) without."""
    if scaled:
        return tile_words(nest, memory, o, elements)
    return words_of(nest, memory, elements, nest.element_bits[o])


@kernel
def input_transfer(
    nest: Nest,
    o: int,
    level: int,
    j: int,
    after: Ints,
    before: Ints,
    first: bool,
    times: int,
    work: Work,
    space: Ints,
    amounts: Ints,
    links: Ints,
) -> None:
    """Fill of level `level` of weight or input when loop j advances, or (`first`) at the start of the layer.

    For the level of the MACs: the reads of one step, nothing kept. `times` such transfers are added to
    `amounts`.
    """
    mac = level == nest.levels[o] - 1
    parent = level - 1
    padding = mac and parent > 0
    scaled = not mac
    low = nest.fanouts_above[o, parent]
    high = nest.fanouts_above[o, level]
    above = nest.slots_above[o, parent]
    parents, members = tile_lists(nest, o, level, above, j, after, before, padding, work, space)
    whole = first or mac
    elements, most = moved(work.parents, parents, whole)
    memory = nest.memory[o, parent]
    bits, words = moved_stored(nest, memory, o, scaled, work.parents, parents, whole)
    amounts[0] += times * elements
    amounts[1] += times * bits
    amounts[2] += times * words
    amounts[12] = max(amounts[12], stored_words(nest, memory, o, scaled, most))
    own, own_most = moved(work.members, members, whole)
    if not mac:
        memory = nest.memory[o, level]
        bits, words = moved_stored(nest, memory, o, scaled, work.members, members, whole)
        amounts[9] += times * own
        amounts[10] += times * bits
        amounts[11] += times * words
        amounts[13] = max(amounts[13], stored_words(nest, memory, o, scaled, own_most))
    for f in range(low, high):
        boundary = nest.first_slot[f]
        root_elements, root_most = elements, most
        if boundary != above:
            parents, _ = tile_lists(nest, o, level, boundary, j, after, before, padding, work, space)
            root_elements, root_most = moved(work.parents, parents, whole)
        hops = root_elements if nest.branches[f] == 0 else 0
        for i in range(nest.branches[f]):
            boundary = nest.branch_slot[f, i]
            parents, _ = tile_lists(nest, o, level, boundary, j, after, before, padding, work, space)
            passing, _ = moved(work.parents, parents, whole)
            hops += passing
        links[f, 0] += times * hops
        links[f, 1] += times * stored_bits(nest, o, scaled, hops)
        links[f, 3] = max(links[f, 3], stored_bits(nest, o, scaled, root_most))
