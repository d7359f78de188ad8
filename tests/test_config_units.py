"""Quantities with units."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seada.errors import UserError
from seada.units import parse_quantity


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("128 KiB", "bit", 128 * 1024 * 8),
        ("0.5KiB", "bit", 4096),
        ("1 kB", "bit", 8000),
        ("3 Gbit", "bit", 3 * 10**9),
        ("16 bits", "bit", 16),
        ("6 pJ", "pJ", 6),
        ("1.5 nJ/word", "pJ/word", 1500),
        ("0.4 pJ/bit", "pJ/bit", Fraction(2, 5)),
        ("8 pJ/B", "pJ/bit", 1),
        ("25.6 GB/s", "bit/s", 204_800_000_000),
        ("8 words/cycle", "word/cycle", 8),
        ("16 B/cycle", "bit/cycle", 128),
        ("200 MHz", "Hz", 200_000_000),
        ("12.5 um2", "um2", Fraction(25, 2)),
        ("1 mm2", "um2", 1_000_000),
        ("1.2 mW", "W", Fraction(12, 10_000)),
        ("1e-3 W", "W", Fraction(1, 1000)),
        ("45 nm", "nm", 45),
    ],
)
def test_exact_internal_values(text: str, unit: str, value: Fraction | int) -> None:
    quantity = parse_quantity(text, {unit})
    assert (quantity.value, quantity.unit) == (value, unit)


@pytest.mark.parametrize(
    ("text", "units", "words"),
    [
        (6, {"pJ"}, "number with a unit is needed, found 6; allowed: pJ"),
        (None, {"pJ"}, "found nothing"),
        (True, {"pJ"}, "found True"),
        ("6", {"pJ", "pJ/bit"}, "has no unit; allowed: pJ, pJ/bit"),
        ("6 pj", {"pJ"}, "did you mean 'pJ'"),
        ("6 GHZ", {"Hz"}, "did you mean 'GHz'"),
        ("6 pJ/bit", {"pJ"}, "not a unit that is allowed here"),
        ("6 furlong", {"pJ"}, "not a unit"),
        ("-6 pJ", {"pJ"}, "negative"),
        ("0 pJ", {"pJ"}, "zero"),
        ("nan pJ", {"pJ"}, "not a number"),
        ("inf pJ", {"pJ"}, "not a number"),
        ("1e300 pJ", {"pJ"}, "sensible range"),
        ("1e-90 pJ", {"pJ"}, "sensible range"),
        ("1e9999 pJ", {"pJ"}, "not a"),
        ("6 pJ 7 pJ", {"pJ"}, "not a"),
        ("9" * 100 + " pJ", {"pJ"}, "not a number"),
        ("1 000 pJ", {"pJ"}, "not a"),
        ("6 pJ/bit/s", {"pJ"}, "not a"),
    ],
)
def test_refused(text: object, units: set[str], words: str) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        parse_quantity(text, units)


def test_zero_where_allowed() -> None:
    assert parse_quantity("0 pJ", {"pJ"}, zero=True).value == 0
    with pytest.raises(UserError, match="negative"):
        parse_quantity("-1 pJ", {"pJ"}, zero=True)


@given(st.integers(1, 10**9), st.sampled_from(["B", "KiB", "MiB", "kB", "bit"]))
def test_order_and_scale_agree_with_plain_arithmetic(number: int, unit: str) -> None:
    bits = {"B": 8, "KiB": 8 * 2**10, "MiB": 8 * 2**20, "kB": 8000, "bit": 1}[unit]
    assert parse_quantity(f"{number} {unit}", {"bit"}).value == number * bits
    assert parse_quantity(f"{number}{unit}", {"bit"}).value == number * bits


@given(st.text(max_size=40))
def test_any_text_is_a_positive_quantity_or_refused(text: str) -> None:
    try:
        quantity = parse_quantity(text, {"bit", "pJ", "pJ/bit", "bit/s"})
    except UserError:
        return
    assert quantity.value > 0
