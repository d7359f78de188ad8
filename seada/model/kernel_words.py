"""Elements to words of a memory."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.nest_arrays import COMPLETE, OUTPUT, Nest


@kernel
def words_of(nest: Nest, memory: int, elements: int, bits: int) -> int:
    """Whole words that one access of `elements` of `bits` each moves in that memory."""
    word = int(nest.word_bits[memory])
    if nest.aligned[memory]:
        if bits > word:
            return elements * ((bits + word - 1) // word)
        per_word = word // bits
        return (elements + per_word - 1) // per_word
    return (elements * bits + word - 1) // word


@kernel
def scales_of(nest: Nest, kind: int, elements: int) -> int:
    """Scales that an access of so many elements of a kind needs."""
    if nest.scale_bits[kind] == 0:
        return 0
    return int((elements + nest.scale_group[kind] - 1) // nest.scale_group[kind])


@kernel
def tile_bits(nest: Nest, kind: int, elements: int) -> int:
    """Bits of an access with its scales."""
    return int(elements * nest.element_bits[kind] + scales_of(nest, kind, elements) * nest.scale_bits[kind])


@kernel
def tile_words(nest: Nest, memory: int, kind: int, elements: int) -> int:
    """As `words_of`, with scales; aligned ones stand in words of their own."""
    if nest.scale_bits[kind] == 0:
        return words_of(nest, memory, elements, nest.element_bits[kind])
    if nest.aligned[memory]:
        scales = words_of(nest, memory, scales_of(nest, kind, elements), nest.scale_bits[kind])
        return words_of(nest, memory, elements, nest.element_bits[kind]) + scales
    word = nest.word_bits[memory]
    return int((tile_bits(nest, kind, elements) + word - 1) // word)


@kernel
def words_of_sums(nest: Nest, memory: int, partial: int, complete: int) -> int:
    """Whole words of one access of partial and complete sums; aligned ones of two widths share no word."""
    if partial == 0:
        return tile_words(nest, memory, COMPLETE, complete)
    wide, narrow = nest.element_bits[OUTPUT], nest.element_bits[COMPLETE]
    if not nest.aligned[memory]:
        word = nest.word_bits[memory]
        return int((partial * wide + tile_bits(nest, COMPLETE, complete) + word - 1) // word)
    if wide != narrow:
        return words_of(nest, memory, partial, wide) + tile_words(nest, memory, COMPLETE, complete)
    words = words_of(nest, memory, partial + complete, wide)
    if nest.scale_bits[COMPLETE] > 0:
        words += words_of(nest, memory, scales_of(nest, COMPLETE, complete), nest.scale_bits[COMPLETE])
    return words
