"""Local regression (Cleveland, JASA 74, 1979) through the neighbours of one macro of an SRAM sweep."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

REACH = 2
"""Neighbours used: up to this many steps (factors of two) along size and width."""
OTHER_NODE = 0.5
"""Weight of a row of another node, which lends its shape, over that of a row of the node itself."""


def local_trend(
    grids: Mapping[int, Mapping[tuple[int, int], tuple[float, ...]]], node_nm: int, corner: tuple[int, int]
) -> tuple[float, ...]:
    """The value of a quadratic in size and width at `corner`, fitted to its neighbours.

    Each node has a level of its own, slopes and curvatures are common: the way a macro folds into
    subarrays, which makes steps along size and width, differs little between nodes. A row weighs
    1 / (1 + squared distance in steps).

    Parameters
    ----------
    grids : per node, (log2 of bytes, log2 of word bits) to the logarithms of the quantities
    node_nm, corner : what is estimated; rows of `corner` itself, where there are any, take part

    Returns
    -------
    tuple of float
        Logarithms of the quantities, in their order in `grids`.
    """
    nodes = sorted(node for node, grid in grids.items() if grid)
    features, values, weights = [], [], []
    for node, a, b in product(nodes, range(-REACH, REACH + 1), range(-REACH, REACH + 1)):
        row = grids[node].get((corner[0] + a, corner[1] + b))
        if row is not None:
            features.append([*(float(node == other) for other in nodes), a, b, a * a, b * b, a * b])
            values.append(row)
            weights.append((1.0 if node == node_nm else OTHER_NODE) / (1 + a * a + b * b))
    root = np.sqrt(np.array(weights))[:, None]
    fitted = np.linalg.lstsq(np.array(features) * root, np.array(values) * root, rcond=None)[0]
    return tuple(float(level) for level in fitted[nodes.index(node_nm)])
