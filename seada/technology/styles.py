"""Published rates of styles of PE by format, and what serving several precisions costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from seada.technology.tables import technology_data

DATA_FILE = "pe_styles"


@dataclass(frozen=True)
class Rate:
    """MACs of a format per cycle over those of a 16 bit format on the same unit."""

    relative: Fraction
    status: str
    source: str


@dataclass(frozen=True)
class Overhead:
    """Area and energy of a multi-precision unit relative to a plain multiplier."""

    area: float
    energy: float
    status: str
    source: str


def rates(style: str) -> dict[str, Rate]:
    """Rates by format of ``tensorcore`` and ``vector_fp``; other styles have none and raise `KeyError`."""
    known = technology_data(DATA_FILE)["rates"][style]
    return {
        name: Rate(
            Fraction(row["rate"]), row.get("status", known["status"]), row.get("source", known["source"])
        )
        for name, row in known["formats"].items()
    }


def extra_mode() -> Overhead:
    """Shares of area and energy that each further mode adds to a shared multiplier."""
    return _overhead("extra_mode")


def bit_serial() -> Overhead:
    """Area and energy per cycle of the bit-serial units in place of one bit-parallel MAC, over that MAC."""
    return _overhead("bit_serial")


def _overhead(name: str) -> Overhead:
    row: dict[str, Any] = technology_data(DATA_FILE)[name]
    return Overhead(row["area"], row["energy"], row["status"], row["source"])
