"""Element counts of sliding-window axes for all tile sizes, tabulated once per layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seada.model.jit import kernel


@kernel
def distinct(first: int, second: int, first_step: int, second_step: int) -> int:
    """Distinct values of ``a * i + b * j`` with 0 <= i < first and 0 <= j < second, a and b coprime.

    Two pairs give one value exactly if they differ by a multiple of (b, -a), so every point without a
    predecessor at (i - b, j + a) starts one chain of equal values.
    """
    return first * second - max(0, first - second_step) * max(0, second - first_step)


@kernel
def window_tables(
    first_extent: int, second_extent: int, first_step: int, second_step: int, offset: int, size: int
) -> NDArray[np.float64]:
    """Counts of an axis ``first_step * i + second_step * j - offset`` with data in ``0 <= x < size``.

    Returns
    -------
    array, ((first_extent + 1) * (second_extent + 1), 4)
        Row ``e1 * (second_extent + 1) + e2`` for tiles of e1 x e2: see `Problem.tables`. Where the window has
        gaps, padding is taken out in proportion to the span of the tile.
    """
    common = np.gcd(first_step, second_step)
    a, b = first_step // common, second_step // common
    row_length = second_extent + 1
    tables = np.zeros(((first_extent + 1) * row_length, 4))
    for e1 in range(1, first_extent + 1):
        for e2 in range(1, second_extent + 1):
            row = tables[e1 * row_length + e2]
            for start1 in range(0, first_extent, e1):
                n1 = min(e1, first_extent - start1)
                for start2 in range(0, second_extent, e2):
                    n2 = min(e2, second_extent - start2)
                    low = first_step * start1 + second_step * start2 - offset
                    high = low + first_step * (n1 - 1) + second_step * (n2 - 1)
                    elements = distinct(n1, n2, a, b)
                    inside = max(0, min(high, size - 1) - max(low, 0) + 1) / (high - low + 1)
                    row[0] += elements * inside
                    # Without gaps the part that is data is exact.
                    gapless = elements == (high - low) // common + 1
                    row[3] = max(
                        row[3], np.ceil(elements * inside - 1e-9) if gapless else min(elements, size)
                    )
                    # The union of two neighbouring tiles is one larger tile.
                    new1 = distinct(n1 + e1, n2, a, b) - distinct(e1, n2, a, b) if start1 > 0 else elements
                    new2 = distinct(n1, n2 + e2, a, b) - distinct(n1, e2, a, b) if start2 > 0 else elements
                    row[1] += _inside(new1, elements, low, high, first_step * n1, start1, size)
                    row[2] += _inside(new2, elements, low, high, second_step * n2, start2, size)
    return tables


@kernel
def _inside(new: int, elements: int, low: int, high: int, advance: int, start: int, size: int) -> float:
    """Part of the new elements of a tile that is data; they lie in its last `advance` positions."""
    first = low if start == 0 or new == elements else max(low, high - advance + 1)
    return new * max(0, min(high, size - 1) - max(first, 0) + 1) / (high - first + 1)
