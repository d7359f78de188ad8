"""Entropies of the codes that a format stores for a tensor, in bits.

All of them come from one histogram of the codes, so a tensor is read once whatever is asked.

- ``hist_entropy``: Shannon entropy of the codes, ``-sum p_i log2 p_i`` (the score of EAGL, arXiv
  2301.13330, there of weights trained with quantisation).
- bit-plane entropies: ``H2(p_k) = -p log2 p - (1-p) log2 (1-p)`` with p_k the share of ones in bit k of
  the code. ``plane_mean`` and ``plane_sum`` are their mean and sum over the planes. ``plane_msb`` is the
  number of planes that are left when planes are dropped from the least significant one on, as long as
  those left hold at least `PLANE_MSB_SHARE` of the sum.

"Bit-level entropy" has no one definition in the literature; the readings here go by these names. Codes
are read in sign-magnitude by default: in two's complement the sign extension makes the upper planes of
small numbers random, and the planes of all layers of a network look alike (measured: 0.993 to 1.000 in a
keyword-spotting network at 8 bits).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seada.errors import UserError
from seada.formats import Format
from seada.precision.quantise import check_choice, code_range

VARIANTS = ("plane_mean", "plane_sum", "plane_msb")
ENCODINGS = ("sign_magnitude", "twos_complement")

# What the planes that are kept by `plane_msb` must hold of the entropy of all; no source, chosen by us.
PLANE_MSB_SHARE = 0.9
# A histogram of a wider format would be mostly empty.
MAX_HISTOGRAM_BITS = 16

Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Codes that occur, and how often."""


def histogram(codes: NDArray[np.int64], fmt: Format) -> Histogram:
    """Count the codes of a tensor; floating formats count their bit patterns."""
    if fmt.bits > MAX_HISTOGRAM_BITS:
        values, counts = np.unique(codes, return_counts=True)
        return values, counts.astype(np.int64)
    offset = 0 if fmt.is_float else code_range(fmt)[0]
    counts = np.bincount(codes.reshape(-1) - offset, minlength=1)
    used = np.flatnonzero(counts)
    return used + offset, counts[used]


def hist_entropy(counted: Histogram) -> float:
    """Shannon entropy of the codes in bits per element, 0 to the width of the format.

    >>> hist_entropy((np.array([-1, 0, 1]), np.array([1, 2, 1])))
    1.5
    """
    counts = counted[1]
    shares = counts / counts.sum()
    # Adding zero turns the -0.0 of a single code into 0.0.
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def plane_shares(counted: Histogram, fmt: Format, encoding: str = "sign_magnitude") -> NDArray[np.float64]:
    """Share of ones in every bit plane, least significant first; the sign is the last plane.

    In sign-magnitude the most negative integer code counts as the one next to it, since its magnitude has
    no code. The patterns of floating formats and unsigned integers are read as they are.

    Raises
    ------
    UserError
        If the encoding is unknown.
    """
    check_choice("encoding", encoding, ENCODINGS)
    codes, counts = counted
    patterns = codes
    if not fmt.is_float and fmt.signed:
        least, largest = code_range(fmt)
        magnitude = np.minimum(np.abs(codes), largest)
        sign = (codes < 0).astype(np.int64) << (fmt.bits - 1)
        patterns = magnitude | sign if encoding == "sign_magnitude" else codes & (largest - least)
    ones = (patterns[:, None] >> np.arange(fmt.bits)) & 1
    shares: NDArray[np.float64] = (ones * counts[:, None]).sum(axis=0) / counts.sum()
    return shares


def plane_entropies(counted: Histogram, fmt: Format, encoding: str = "sign_magnitude") -> NDArray[np.float64]:
    """Binary entropy of every bit plane, 0..1, least significant first."""
    ones = plane_shares(counted, fmt, encoding)
    both = np.stack([ones, 1 - ones])
    terms = np.where(both > 0, both * np.log2(np.where(both > 0, both, 1)), 0)
    entropies: NDArray[np.float64] = 0.0 - terms.sum(axis=0)
    return entropies


def bit_entropy(
    counted: Histogram, fmt: Format, variant: str = "plane_mean", encoding: str = "sign_magnitude"
) -> float:
    """Bit-plane entropy by a named variant (see the head of this file).

    Raises
    ------
    UserError
        If the variant or the encoding is unknown.
    """
    check_choice("variant of bit_entropy", variant, VARIANTS)
    planes = plane_entropies(counted, fmt, encoding)
    if variant == "plane_mean":
        return float(planes.mean())
    if variant == "plane_sum":
        return float(planes.sum())
    kept = np.cumsum(planes[::-1])
    enough = np.flatnonzero(kept >= PLANE_MSB_SHARE * kept[-1] - 1e-12)
    return float(enough[0] + 1) if kept[-1] > 0 else 0.0


def quantiser_waste(counted: Histogram, fmt: Format) -> float:
    """Bits of the format that the codes leave unused: width minus `hist_entropy`.

    A large value tells of a heavy-tailed tensor whose scale follows a few outliers: clip, or use a scale
    per channel.
    """
    if not counted[1].size:
        raise UserError("an empty tensor has no entropy")
    return fmt.bits - hist_entropy(counted)
