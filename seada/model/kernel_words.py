"""Elements to words of a memory."""

from __future__ import annotations

from seada.model.jit import kernel
from seada.model.nest_arrays import Nest


@kernel
def words_of(nest: Nest, memory: int, elements: int, bits: int) -> int:
    """Whole words that one access of `elements` of `bits` each moves in that memory."""
    word = nest.word_bits[memory]
    if nest.aligned[memory]:
        if bits > word:
            return elements * ((bits + word - 1) // word)
        per_word = word // bits
        return (elements + per_word - 1) // per_word
    return (elements * bits + word - 1) // word
