"""Rounding to floating formats, with subnormals and saturation, and their bit patterns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seada.formats import Format

Floats = NDArray[np.floating[Any]]

# Formats of at most this width use every code as a number (OCP Microscaling Formats 1.0: E2M1, E2M3, E3M2);
# wider ones follow IEEE 754 and keep the topmost exponent for infinities and NaN.
_ALL_FINITE_BITS = 6


def exponent_bias(fmt: Format) -> int:
    """Bias of the exponent field, as in IEEE 754: 2^(exponent bits - 1) - 1."""
    return (1 << (fmt.exponent_bits - 1)) - 1


def min_exponent(fmt: Format) -> int:
    """Exponent of the smallest normal number, which subnormals share."""
    return 1 - exponent_bias(fmt)


def max_finite(fmt: Format) -> float:
    """Largest finite number of a floating format.

    E4M3 follows OCP FP8 (arXiv 2209.05433): only the topmost code is NaN, so the largest number is 448.
    Formats of 6 bits or less have no infinities and no NaN. All others are IEEE 754: the topmost exponent
    is reserved (E5M2: 57344, fp16: 65504).
    """
    top_field = 2**fmt.exponent_bits - 1
    top_mantissa = 2**fmt.mantissa_bits - 1
    if (fmt.exponent_bits, fmt.mantissa_bits) == (4, 3):
        top_mantissa -= 1
    elif fmt.bits > _ALL_FINITE_BITS:
        top_field -= 1
    hidden = 2**fmt.mantissa_bits if top_field > 0 else 0
    quantum = max(top_field, 1) - exponent_bias(fmt) - fmt.mantissa_bits
    return float(np.ldexp(float(hidden + top_mantissa), quantum))


def round_to_float(x: Floats, fmt: Format) -> NDArray[np.float64]:
    """The nearest number of `fmt` for every element: ties to even, subnormals kept, saturating.

    Parameters
    ----------
    x : array of finite numbers
    fmt : Format
        A floating format.
    """
    wide = np.asarray(x, dtype=np.float64)
    _, exponent = np.frexp(wide)
    quantum = np.maximum(exponent - 1, min_exponent(fmt)) - fmt.mantissa_bits
    rounded = np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum)
    limit = max_finite(fmt)
    result: NDArray[np.float64] = np.clip(rounded, -limit, limit)
    return result


def float_codes(values: NDArray[np.float64], fmt: Format) -> NDArray[np.int64]:
    """Bit patterns (sign, exponent, mantissa) of numbers that `fmt` holds exactly."""
    magnitude = np.abs(values)
    _, exponent = np.frexp(magnitude)
    quantum = np.maximum(exponent - 1, min_exponent(fmt)) - fmt.mantissa_bits
    significand = np.ldexp(magnitude, -quantum).astype(np.int64)
    hidden = np.int64(1) << fmt.mantissa_bits
    normal = significand >= hidden
    field = np.where(normal, quantum + fmt.mantissa_bits + exponent_bias(fmt), 0).astype(np.int64)
    mantissa = significand - np.where(normal, hidden, 0)
    sign = np.signbit(values).astype(np.int64) << (fmt.bits - 1)
    codes: NDArray[np.int64] = sign | (field << fmt.mantissa_bits) | mantissa
    return codes
