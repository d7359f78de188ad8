"""Exact counts and cycles of regular nests: the object layer around `seada.model.kernel_regular`."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from seada.model.kernel_regular import count_regular
from seada.model.nest_arrays import Ints, Nest, empty_record
from seada.model.regular_arrays import REGULAR, Regular

_THREAD = local()


def scratch(span: int) -> tuple[Regular, Ints]:
    """Scratch record and index space of this thread; both may be used again without clearing."""
    if not hasattr(_THREAD, "work"):
        _THREAD.work = empty_record(REGULAR)
        _THREAD.space = np.zeros((3, 0), np.int64)
    if _THREAD.space.shape[1] < span:
        _THREAD.space = np.zeros((3, span), np.int64)
    return _THREAD.work, _THREAD.space


def regular_counts(nest: Nest) -> Any | None:
    """The scratch record with all counters of a nest, or None if the nest is not regular."""
    work, space = scratch(int(nest.span))
    try:
        return work if count_regular(nest, work, space) else None
    except OverflowError:  # more kinds of tiles than there is room for, met half way
        space[:] = 0
        return None
