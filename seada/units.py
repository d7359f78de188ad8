"""Quantities with units, exact until they become internal numbers.

Internal units: bit, word, pJ, W, um2, s, Hz, cycle, nm; a quotient of two is written ``pJ/bit``.

>>> parse_quantity("128 KiB", {"bit"})
Quantity(value=Fraction(1048576, 1), unit='bit')
>>> float(parse_quantity("25.6 GB/s", {"bit/s", "word/cycle"}).value)
204800000000.0
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from seada.errors import UserError

_SI = {
    "f": -15,
    "p": -12,
    "n": -9,
    "u": -6,
    "µ": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
}


def _scaled(symbol: str, prefixes: str, factor: Fraction) -> dict[str, Fraction]:
    """Spellings of one unit with SI prefixes; `-` stands for no prefix."""
    names = ["" if prefix == "-" else prefix for prefix in prefixes]
    return {prefix + symbol: factor * Fraction(10) ** _SI[prefix] for prefix in names}


def _binary(symbol: str, factor: int) -> dict[str, Fraction]:
    return {
        f"{prefix}i{symbol}": Fraction(factor * 2 ** (10 * power)) for power, prefix in enumerate("KMGT", 1)
    }


_UNITS: dict[str, dict[str, Fraction]] = {
    "bit": {
        **_scaled("bit", "-kMGT", Fraction(1)),
        **_scaled("b", "-kMGT", Fraction(1)),
        "bits": Fraction(1),
        **_scaled("B", "-kMGT", Fraction(8)),
        **_binary("bit", 1),
        **_binary("b", 1),
        **_binary("B", 8),
    },
    "word": {"word": Fraction(1), "words": Fraction(1)},
    "pJ": _scaled("J", "fpnuµm-", Fraction(10) ** 12),
    "W": _scaled("W", "pnuµm-k", Fraction(1)),
    "um2": {
        "um2": Fraction(1),
        "µm2": Fraction(1),
        "um^2": Fraction(1),
        "mm2": Fraction(10**6),
        "mm^2": Fraction(10**6),
    },
    "s": _scaled("s", "pnuµm-", Fraction(1)),
    "Hz": _scaled("Hz", "-kMGT", Fraction(1)),
    "cycle": {"cycle": Fraction(1), "cycles": Fraction(1)},
    "nm": {"nm": Fraction(1), "um": Fraction(1000)},
    "MAC": {"MAC": Fraction(1), "MACs": Fraction(1)},
    "op": {"op": Fraction(1), "ops": Fraction(1)},
    "step": {"step": Fraction(1), "steps": Fraction(1)},
}
_ATOMS = {name: (unit, factor) for unit, names in _UNITS.items() for name, factor in names.items()}

# The largest value that can be meant, per internal unit of the numerator.
_LARGEST = {
    "bit": Fraction(2) ** 60,
    "word": Fraction(2) ** 56,
    "pJ": Fraction(10) ** 12,
    "W": Fraction(10) ** 5,
    "um2": Fraction(10) ** 12,
    "s": Fraction(10) ** 10,
    "Hz": Fraction(10) ** 12,
    "cycle": Fraction(2) ** 60,
    "nm": Fraction(10) ** 5,
    "MAC": Fraction(10) ** 12,
    "op": Fraction(10) ** 12,
    "step": Fraction(10) ** 12,
}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
_QUANTITY = re.compile(rf"\s*(?P<number>{_NUMBER.pattern})\s*(?P<unit>[^\s\d.][^\s]*(\s*/\s*[^\s]+)?)?\s*")
_MAX_LENGTH = 64


@dataclass(frozen=True)
class Quantity:
    """A number in an internal unit, exact.

    Attributes
    ----------
    value : Fraction
    unit : str
        ``bit``, ``pJ/word`` ...
    """

    value: Fraction
    unit: str

    def __float__(self) -> float:
        return float(self.value)


def parse_quantity(text: object, units: Collection[str], *, zero: bool = False) -> Quantity:
    """Read a quantity whose internal unit is one of `units`.

    Parameters
    ----------
    text : object
        ``128 KiB``; anything but text is refused with the units that are allowed.
    units : collection of str
        Allowed internal units, each an atom or a quotient.
    zero : bool
        Whether zero is allowed; negative numbers never are.

    Raises
    ------
    UserError
        If the text is no number with one of these units, or the number is negative, zero or absurd.
    """
    if isinstance(text, bool) or not isinstance(text, str):
        shown = "nothing" if text is None else repr(text)
        raise UserError(
            f"a number with a unit is needed, found {shown[:_MAX_LENGTH]}; allowed: {_spellings(units)}"
        )
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise UserError(f"{text[:_MAX_LENGTH]!r} is not a number with a unit; allowed: {_spellings(units)}")
    if match["unit"] is None:
        raise UserError(f"{text.strip()!r} has no unit; allowed: {_spellings(units)}")
    unit, factor = _parse_unit(match["unit"], units)
    value = Fraction(match["number"]) * factor
    _check_range(text, value, unit, zero)
    return Quantity(value, unit)


def _check_range(text: str, value: Fraction, unit: str, zero: bool) -> None:
    if value < 0:
        raise UserError(
            f"{text!r} is negative; a {'number of 0 or more' if zero else 'positive number'} is needed"
        )
    if value == 0 and not zero:
        raise UserError(f"{text!r} is zero; a positive number is needed")
    largest = _LARGEST[unit.split("/")[0]]
    # Rates per second are larger than rates per cycle by up to the fastest clock.
    largest *= 10**12 if unit.endswith("/s") else 1
    if value > largest or 0 < value < Fraction(1, 10**30):
        raise UserError(f"{text!r} is out of any sensible range; the largest is {float(largest):.3g} {unit}")


def _parse_unit(text: str, units: Collection[str]) -> tuple[str, Fraction]:
    parts = [part.strip() for part in text.split("/")]
    atoms = [_ATOMS.get(part) for part in parts]
    if len(parts) <= 2 and None not in atoms:
        known = [atom for atom in atoms if atom is not None]
        unit = "/".join(name for name, _ in known)
        if unit in units:
            return unit, known[0][1] / (known[1][1] if len(known) == 2 else 1)
    raise UserError(
        f"{text!r} is not a unit that is allowed here; allowed: {_spellings(units)}{_nearest(text, units)}"
    )


def _nearest(text: str, units: Collection[str]) -> str:
    """Propose the unit that differs in letter case or spacing only."""
    for unit in sorted(units):
        for names in product(*(_UNITS[part] for part in unit.split("/"))):
            if "/".join(names).lower() == text.replace(" ", "").lower():
                return f"; did you mean {'/'.join(names)!r}?"
    return ""


_EXAMPLES = {
    "bit": "bit, B, KiB, MiB",
    "bit/s": "GB/s, Gbit/s",
    "bit/cycle": "bit/cycle, B/cycle",
    "word/cycle": "words/cycle",
    "W": "W, mW, uW",
    "um2": "um2, mm2",
    "Hz": "Hz, MHz, GHz",
    "s": "s, ms, us, ns",
}


def _spellings(units: Collection[str]) -> str:
    return ", ".join(_EXAMPLES.get(unit, unit) for unit in sorted(units))
