"""Minima over the lattice of tile sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seada.model.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Of what moves, beside weights and inputs: sums at accumulator width, sums at output width.
PARTIAL, COMPLETE, STREAMS = 2, 3, 4


@kernel
def least_inside(values: Floats, sizes: Ints, counts: Ints, strides: Ints, free: Ints) -> None:
    """Replace each node's values by the least over all tiles that divide it.

    Parameters
    ----------
    values : (criteria, nodes), changed in place
    free : (dims,) dimensions that may shrink; the others stay
    """
    nodes = values.shape[1]
    for d in range(len(counts)):
        if free[d] == 0:
            continue
        stride, count = strides[d], counts[d]
        for node in range(nodes - 1, -1, -1):
            digit = (node // stride) % count
            for inner in range(digit):
                if sizes[d, digit] % sizes[d, inner] == 0:
                    other = node - (digit - inner) * stride
                    for c in range(values.shape[0]):
                        if values[c, other] < values[c, node]:
                            values[c, node] = values[c, other]


@kernel
def quotients(trips: Ints, sizes: Ints, counts: Ints, strides: Ints, nodes: int) -> Ints:
    """Node of the tile that each way of unrolling leaves to an instance, -1 if it does not divide.

    Returns
    -------
    array, (ways, nodes)
    """
    ways = trips.shape[0]
    result = np.zeros((ways, nodes), np.int64)
    drop = np.zeros(sizes.shape[1], np.int64)
    for way in range(ways):
        result[way] = np.arange(nodes)
        for d in range(len(counts)):
            if trips[way, d] == 1:
                continue
            for digit in range(counts[d]):
                drop[digit] = -1
                for inner in range(digit):
                    if sizes[d, inner] * trips[way, d] == sizes[d, digit]:
                        drop[digit] = (digit - inner) * strides[d]
            for node in range(nodes):
                step = drop[(node // strides[d]) % counts[d]]
                if step < 0:
                    result[way, node] = -1
                elif result[way, node] >= 0:
                    result[way, node] -= step
    return result


@kernel
def least_unrolled(values: Floats, inside: Ints, extra: Floats, result: Floats) -> None:
    """Per node the least over all ways to spread it: `result` from `values`, both (criteria, nodes).

    `extra`, (ways, criteria), is added to the values of each way.
    """
    result[:] = np.inf
    for way in range(inside.shape[0]):
        for node in range(inside.shape[1]):
            inner = inside[way, node]
            if inner >= 0:
                for c in range(values.shape[0]):
                    value = values[c, inner] + extra[way, c]
                    if value < result[c, node]:
                        result[c, node] = value
