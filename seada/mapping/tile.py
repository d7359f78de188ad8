"""How many elements of an operand a tile holds, and how many words and buffers that takes.

A tile is the set of distinct data elements that a sub-box of the layer touches: strides may leave elements
out, dilations leave gaps, neighbouring windows share elements, and padding is not data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd

from seada.formats import Format
from seada.workload.layer import Axis, Layer, Operand

Interval = tuple[int, int]
"""Start and length."""
_MAX_POSITIONS = 4096


def tile_elements(operand: Operand, extents: Mapping[str, int]) -> int:
    """Distinct elements of a sub-box with these extents, as if no position of it were padding.

    An upper bound of every tile of that size, and exact where the tile can lie inside the data. Missing
    dimensions have extent 1.

    Examples
    --------
    A window of 3 that slides by 2 over 4 outputs touches 9 inputs; dilated by 4, it touches 8.

    >>> from seada.workload.layer import Axis
    >>> def touched(dilation):
    ...     operand = Operand("input", (Axis((("Q", 2), ("S", dilation)), 0, 64),))
    ...     return tile_elements(operand, {"Q": 4, "S": 3})
    >>> touched(1), touched(4)
    (9, 8)
    """
    total = 1
    for axis in operand.axes:
        total *= _most_distinct(axis, tuple(extents.get(name, 1) for name, _ in axis.terms))
    return total


def largest_tile(layer: Layer, role: str, steps: Mapping[str, Sequence[int]]) -> int:
    """Elements of the largest tile that occurs below some loops of a layer.

    Parameters
    ----------
    steps : mapping
        Per dimension the steps of the loops above the tile, outermost first; missing for none.
    """
    total = 1
    for axis in layer.operand(role).axes:
        nests = tuple((layer.extents[name], tuple(steps.get(name, ()))) for name, _ in axis.terms)
        total *= _largest_along(axis, nests)
    return total


def interval_elements(axis: Axis, intervals: Sequence[Interval]) -> int:
    """Distinct data elements along one axis for one interval (start, length) per term."""
    low, high = axis.offset, axis.offset + axis.size
    if len(axis.terms) == 1:
        return _clipped(intervals[0], axis.terms[0][1], 0, low, high)
    (_, stride), (_, dilation) = axis.terms
    (start, length), (inner_start, inner_length) = intervals
    base = dilation * inner_start
    period = stride // gcd(stride, dilation)
    shift = dilation // gcd(stride, dilation)
    total = 0
    # Inner positions with one residue of the stride fill one progression, `shift` apart; others are apart.
    for first in range(min(period, inner_length)):
        count = (inner_length - first + period - 1) // period
        offset = base + dilation * first
        if shift <= length:
            total += _clipped((start, (count - 1) * shift + length), stride, offset, low, high)
        else:
            runs = ((start + index * shift, length) for index in range(count))
            total += sum(_clipped(run, stride, offset, low, high) for run in runs)
    return total


def _clipped(interval: Interval, coefficient: int, offset: int, low: int, high: int) -> int:
    """Indices i of an interval with low <= coefficient * i + offset < high."""
    start, length = interval
    first = max(start, -((offset - low) // coefficient))
    end = min(start + length, -((offset - high) // coefficient))
    return max(0, end - first)


def _most_distinct(axis: Axis, lengths: tuple[int, ...]) -> int:
    if len(lengths) == 1:
        return min(lengths[0], axis.size)
    (_, stride), (_, dilation) = axis.terms
    common = gcd(stride, dilation)
    first, second = lengths
    # Two pairs touch one element exactly if they differ by a multiple of (dilation, -stride) / common.
    repeated = max(0, first - dilation // common) * max(0, second - stride // common)
    return min(first * second - repeated, axis.size)


@lru_cache(maxsize=4096)
def _largest_along(axis: Axis, nests: tuple[tuple[int, tuple[int, ...]], ...]) -> int:
    """Most elements along one axis over all positions that the loops of its dimensions reach."""
    lengths = tuple(min((extent, *steps)) for extent, steps in nests)
    bound = _most_distinct(axis, lengths)
    best = 0
    for count, position in enumerate(_positions(nests)):
        best = max(best, interval_elements(axis, position))
        if best == bound:
            return best
        if count == _MAX_POSITIONS:
            return bound  # So many positions are never all at the border; the unclipped tile bounds them.
    return best


def _positions(nests: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[tuple[Interval, ...]]:
    """Every combination of intervals, one per dimension."""
    if not nests:
        yield ()
        return
    extent, steps = nests[0]
    for interval in _intervals(0, extent, steps):
        for rest in _positions(nests[1:]):
            yield (interval, *rest)


def _intervals(start: int, length: int, steps: Sequence[int]) -> Iterator[Interval]:
    """Where the tiles below the loops of one dimension lie."""
    if not steps:
        yield start, length
        return
    for done in range(0, length, steps[0]):
        yield from _intervals(start + done, min(steps[0], length - done), steps[1:])


def words(elements: int, fmt: Format, channel_elements: int, word_bits: int, packing: str) -> int:
    """Whole words that a tile and its scales take in a memory.

    Parameters
    ----------
    channel_elements : elements that share a scale per channel (`Layer.channel_elements`)
    packing : ``dense`` (elements and scales straddle words) or ``aligned`` (a word holds whole elements; an
        element wider than a word takes whole words of its own; scales stand in other words)

    >>> from seada.formats import parse_format
    >>> [words(10, parse_format("int12"), 1, 32, packing) for packing in ("dense", "aligned")]
    [4, 5]
    >>> words(33, parse_format("mxint8"), 1, 32, "dense"), words(33, parse_format("mxint8"), 1, 32, "aligned")
    (9, 10)
    """
    stored = fmt.stored_bits(elements, channel_elements)
    if packing == "dense":
        return -(-stored // word_bits)
    scales = (stored - elements * fmt.bits) // fmt.scale_bits if fmt.scale_bits else 0
    return _aligned(elements, fmt.bits, word_bits) + (
        _aligned(scales, fmt.scale_bits, word_bits) if scales else 0
    )


def _aligned(elements: int, bits: int, word_bits: int) -> int:
    if bits > word_bits:
        return elements * -(-bits // word_bits)
    return -(-elements // (word_bits // bits))
