"""Fake quantisation in numpy: the codes that a format stores for a tensor, and the numbers that they mean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seada.errors import UserError
from seada.formats import Format
from seada.precision.floating import Floats, float_codes, max_finite, round_to_float

SCALES = ("max", "percentile", "mse")
GRANULARITIES = ("tensor", "channel", "group")

# Floating formats up to this width are scaled to the tensor's range; wider ones have range enough and are
# not.
SCALED_FLOAT_BITS = 8
# Searching the best clipping looks at no more elements of one tensor (channel, group) than this.
MSE_SAMPLE = 1 << 16
# float32 holds every code of an integer format up to this width, with room for the rounding of x / scale.
_SINGLE_BITS = 16


def check_choice(label: str, value: str, allowed: Collection[str]) -> None:
    """Refuse a name that is not allowed; the message names the nearest."""
    if value not in allowed:
        near = get_close_matches(value, allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UserError(f"{label} {value!r} is unknown; allowed: {', '.join(allowed)}{hint}")


@dataclass(frozen=True)
class Quantiser:
    """How the numbers of a tensor are mapped onto a format.

    The default is the simplest one in use: one symmetric scale per tensor that maps the largest magnitude
    onto the largest code.

    Attributes
    ----------
    scale : str
        ``max`` (no clipping), ``percentile`` (clips magnitudes above `percentile`) or ``mse`` (the clipping
        with the least squared error, found on a grid).
    symmetric : bool
        Zero point 0. Otherwise integers use the whole range between the least and the largest number (zero
        included). Floating formats are always symmetric.
    granularity : str
        One scale per ``tensor``, per output ``channel``, or per ``group`` of `group_size` consecutive
        elements of a channel (the last group may be shorter).
    """

    scale: str = "max"
    symmetric: bool = True
    granularity: str = "tensor"
    group_size: int = 32
    percentile: float = 99.9

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, SCALES)
        check_choice("granularity", self.granularity, GRANULARITIES)
        if self.group_size < 1:
            raise UserError(f"group_size is {self.group_size}, must be 1 or more")
        if not 0 < self.percentile <= 100:
            raise UserError(f"percentile is {self.percentile}, must be above 0 and at most 100")


DEFAULT_QUANTISER = Quantiser()


@dataclass(frozen=True)
class Grid:
    """The numbers ``scale * (code - zero_point)`` that a format offers; arrays broadcast against rows.

    Attributes
    ----------
    scale, zero_point : float64 arrays of shape (rows, 1)
        The zero point is a whole number, 0 for floating formats.
    """

    format: Format
    scale: NDArray[np.float64]
    zero_point: NDArray[np.float64]

    def codes(self, rows: Floats) -> Floats:
        """Integer codes, or unscaled values of a floating format, of numbers of shape (rows, elements)."""
        single = not self.format.is_float and self.format.bits <= _SINGLE_BITS
        dtype = np.float32 if single and rows.dtype == np.float32 else np.float64
        scaled = rows.astype(dtype, copy=False) / self.scale.astype(dtype)
        if self.format.is_float:
            return round_to_float(scaled, self.format)
        low, high = code_range(self.format)
        codes: Floats = np.rint(scaled)
        codes += self.zero_point.astype(dtype)
        np.clip(codes, low, high, out=codes)
        return codes

    def values(self, codes: Floats) -> Floats:
        """The numbers that codes mean."""
        centred = codes if not self.zero_point.any() else codes - self.zero_point.astype(codes.dtype)
        values: Floats = centred * self.scale.astype(codes.dtype)
        return values


@dataclass(frozen=True)
class Quantised:
    """A tensor in a format.

    Attributes
    ----------
    values : array of the tensor's shape
        What the codes mean: float32, or float64 where the tensor or the format is wider than that.
    """

    format: Format
    values: Floats
    _stored: Floats

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Stored integers; for floating formats the bit patterns."""
        if self.format.is_float:
            return float_codes(self._stored.astype(np.float64), self.format)
        return self._stored.astype(np.int64)


def code_range(fmt: Format) -> tuple[int, int]:
    """Least and largest code of an integer format."""
    if fmt.signed:
        return -(2 ** (fmt.bits - 1)), 2 ** (fmt.bits - 1) - 1
    return 0, 2**fmt.bits - 1


def _check_finite(x: Floats) -> None:
    if not np.isfinite(x).all():
        raise UserError(f"{int(np.count_nonzero(~np.isfinite(x)))} of {x.size} numbers are infinite or NaN")


def _safe(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scales of all-zero rows, or so small that they vanish in single precision, become 1."""
    tiny = float(np.finfo(np.float32).tiny)
    return np.where(scale > tiny, scale, 1.0)


def _is_scaled(fmt: Format) -> bool:
    return not fmt.is_float or fmt.bits <= SCALED_FLOAT_BITS


def _grid_of_range(fmt: Format, low: NDArray[np.float64], high: NDArray[np.float64], symmetric: bool) -> Grid:
    """The grid whose ends meet the range low..high (which holds zero), shapes (rows, 1)."""
    zero = np.zeros_like(low)
    if fmt.is_float:
        return Grid(fmt, _safe(np.maximum(-low, high) / max_finite(fmt)), zero)
    least, largest = code_range(fmt)
    if symmetric:
        return Grid(fmt, _safe(np.maximum(-low, high) / largest), zero)
    scale = _safe((high - low) / (largest - least))
    return Grid(fmt, scale, np.clip(np.rint(least - low / scale), least, largest))


def _check_representable(fmt: Format, rows: Floats, symmetric: bool) -> None:
    if fmt.is_float or not symmetric:
        return
    if fmt.signed and fmt.bits == 1:
        raise UserError("int1 holds only -1 and 0 and has no symmetric scale; use int2 or more, or uint1")
    if not fmt.signed and rows.size and rows.min() < 0:
        raise UserError(
            f"the tensor holds negative numbers, which {fmt} with a symmetric scale cannot; "
            f"use int{fmt.bits} or an asymmetric quantiser"
        )


def _squared_error(rows: Floats, grid: Grid) -> NDArray[np.float64]:
    difference = grid.values(grid.codes(rows)).astype(np.float64) - rows
    error: NDArray[np.float64] = np.einsum("re,re->r", difference, difference)[:, None]
    return error


def _best_clipping(
    fmt: Format, rows: Floats, low: NDArray[np.float64], high: NDArray[np.float64], symmetric: bool
) -> Grid:
    """Shrink the range by the ratio with the least squared error: a geometric grid, then a linear one around
    its best.

    The first grid is 1 .. 1/128 in 57 steps, enough for tails of more than a hundred standard deviations.
    """
    step = -(-rows.shape[1] // MSE_SAMPLE)
    sample = rows[:, ::step]
    best = np.full_like(low, np.inf)
    ratio = np.ones_like(low)
    for candidates in (np.geomspace(1, 1 / 128, 57), np.linspace(0.92, 1.08, 9)):
        around = ratio
        for candidate in candidates:
            tried = np.minimum(around * candidate, 1.0)
            error = _squared_error(sample, _grid_of_range(fmt, low * tried, high * tried, symmetric))
            better = error < best
            best, ratio = np.where(better, error, best), np.where(better, tried, ratio)
    return _grid_of_range(fmt, low * ratio, high * ratio, symmetric)


def fit_grid(rows: Floats, fmt: Format, quantiser: Quantiser = DEFAULT_QUANTISER) -> Grid:
    """The grid for numbers of shape (rows, elements), one scale per row.

    Raises
    ------
    UserError
        If a symmetric quantiser is asked to hold negative numbers in an unsigned format, or for int1.
    """
    count = len(rows)
    symmetric = quantiser.symmetric or fmt.is_float
    _check_representable(fmt, rows, symmetric)
    if not _is_scaled(fmt) or rows.shape[1] == 0:
        return Grid(fmt, np.ones((count, 1)), np.zeros((count, 1)))
    if quantiser.scale == "percentile" and symmetric:
        high = np.percentile(np.abs(rows), quantiser.percentile, axis=1, keepdims=True).astype(np.float64)
        low = -high
    elif quantiser.scale == "percentile":
        ends = [100 - quantiser.percentile, quantiser.percentile]
        low, high = np.percentile(rows, ends, axis=1, keepdims=True).astype(np.float64)
    else:
        low = rows.min(axis=1, keepdims=True).astype(np.float64)
        high = rows.max(axis=1, keepdims=True).astype(np.float64)
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    if quantiser.scale == "mse":
        return _best_clipping(fmt, rows, low, high, symmetric)
    return _grid_of_range(fmt, low, high, symmetric)


def _result_type(x: Floats, fmt: Format) -> type[np.floating[Any]]:
    fits = not fmt.is_float or (fmt.exponent_bits <= 8 and fmt.mantissa_bits <= 23)
    return np.float32 if fits and x.dtype.itemsize <= 4 else np.float64


def _quantise_rows(rows: Floats, fmt: Format, quantiser: Quantiser) -> tuple[Floats, Floats]:
    grid = fit_grid(rows, fmt, quantiser)
    codes = grid.codes(rows)
    return codes, grid.values(codes)


def _in_groups(channels: Floats, fmt: Format, quantiser: Quantiser) -> tuple[Floats, Floats]:
    """Quantise (channels, elements) with one scale per group; the last group of a channel may be shorter."""
    count, elements = channels.shape
    whole = elements - elements % quantiser.group_size
    parts = []
    if whole:
        grouped = channels[:, :whole].reshape(-1, quantiser.group_size)
        codes, values = _quantise_rows(grouped, fmt, quantiser)
        parts.append((codes.reshape(count, whole), values.reshape(count, whole)))
    if whole < elements:
        parts.append(_quantise_rows(channels[:, whole:], fmt, quantiser))
    return np.concatenate([p[0] for p in parts], axis=1), np.concatenate([p[1] for p in parts], axis=1)


def quantise(
    x: NDArray[Any], fmt: Format, quantiser: Quantiser = DEFAULT_QUANTISER, *, axis: int = 0
) -> Quantised:
    """Quantise a tensor.

    Integers: ``code = clip(round(x / scale) + zero_point)``, round half to even. Floating formats: round to
    nearest even with subnormals, saturating; those of 8 bits or less are scaled by the tensor's range
    first, wider ones not.

    Parameters
    ----------
    x : array
    axis : int
        Channel axis, for scales per channel or group.

    Raises
    ------
    UserError
        If a number is infinite or NaN, the format cannot hold the tensor's sign, or it has scales of its own
        (the quantiser's granularity says how scales are shared here).
    """
    if fmt.scale_bits:
        raise UserError(
            f"{fmt}: values of formats with shared scales are not computed; give the format of the elements "
            "and the quantiser's granularity (channel or group)"
        )
    numbers = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    _check_finite(numbers)
    if numbers.size == 0:
        return Quantised(fmt, numbers, numbers)
    if quantiser.granularity == "tensor" or numbers.ndim == 0:
        codes, values = _quantise_rows(numbers.reshape(1, -1), fmt, quantiser)
        shape, moved = numbers.shape, None
    else:
        moved = np.moveaxis(numbers, axis, 0)
        channels = moved.reshape(len(moved), -1)
        rule = _in_groups if quantiser.granularity == "group" else _quantise_rows
        codes, values = rule(channels, fmt, quantiser)
        shape = moved.shape
    codes, values = codes.reshape(shape), values.reshape(shape)
    if moved is not None:
        codes, values = np.moveaxis(codes, 0, axis), np.moveaxis(values, 0, axis)
    return Quantised(fmt, values.astype(_result_type(numbers, fmt), copy=False), codes)
