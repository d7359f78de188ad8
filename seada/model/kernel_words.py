"""Elements to words of a memory."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.nest_arrays import Nest


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
def words_of_two(nest: Nest, memory: int, some: int, bits: int, others: int, other_bits: int) -> int:
    """Whole words of one access of elements of two widths; aligned ones of different widths share no word."""
    if nest.aligned[memory] or some == 0 or others == 0:
        if bits == other_bits:
            return words_of(nest, memory, some + others, bits)
        return words_of(nest, memory, some, bits) + words_of(nest, memory, others, other_bits)
    word = nest.word_bits[memory]
    return int((some * bits + others * other_bits + word - 1) // word)
