"""Numeric formats: how many bits a number takes and which numbers it can hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from seada.errors import UserError

_NAMED_FLOATS = {
    "fp8_e4m3": (4, 3),
    "fp8_e5m2": (5, 2),
    "fp16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 10),
    "fp32": (8, 23),
}
_INTEGER = re.compile(r"(u?)int(\d+)")
_FLOAT = re.compile(r"e(\d+)m(\d+)")
MAX_INT_BITS = 32


@dataclass(frozen=True, order=True)
class Format:
    """One numeric format.

    Attributes
    ----------
    name : str
        Canonical name (``int8``, ``uint4``, ``bf16``, ``e3m2``).
    bits : int
        Storage of one element in bits, sign included.
    exponent_bits, mantissa_bits : int
        Explicit fields of a floating format; zero for integers.
    signed : bool
        Whether negative numbers can be held; floats always can.
    """

    name: str
    bits: int
    exponent_bits: int = 0
    mantissa_bits: int = 0
    signed: bool = True

    @property
    def is_float(self) -> bool:
        """Whether this is a floating format."""
        return self.exponent_bits > 0

    def represents(self, other: Format) -> bool:
        """Whether every number of `other` is exactly a number of this format.

        Integers of b bits need a significand (mantissa and hidden bit) of b-1 bits beside the sign
        (b if unsigned) and an exponent range that reaches 2^(b-1).
        """
        if other.is_float:
            return (
                self.is_float
                and self.exponent_bits >= other.exponent_bits
                and self.mantissa_bits >= other.mantissa_bits
            )
        magnitude_bits = other.bits - 1 if other.signed else other.bits
        if self.is_float:
            largest_exponent = 2 ** (self.exponent_bits - 1) - 1
            return self.mantissa_bits + 1 >= magnitude_bits and largest_exponent >= other.bits
        if other.signed and not self.signed:
            return False
        return (self.bits - 1 if self.signed else self.bits) >= magnitude_bits

    def __str__(self) -> str:
        return self.name


@lru_cache(maxsize=256)
def parse_format(text: str) -> Format:
    """Read a format by name: ``int1``..``int32``, ``uint1``.., the named floats, any ``eXmY``.

    Raises
    ------
    UserError
        If the name is no format.
    """
    name = text.strip().lower()
    if name in _NAMED_FLOATS:
        exponent, mantissa = _NAMED_FLOATS[name]
        return Format(name, 1 + exponent + mantissa, exponent, mantissa)
    if match := _INTEGER.fullmatch(name):
        bits = int(match[2])
        if 1 <= bits <= MAX_INT_BITS:
            return Format(name, bits, signed=not match[1])
    if match := _FLOAT.fullmatch(name):
        exponent, mantissa = int(match[1]), int(match[2])
        if 1 <= exponent <= 11 and 0 <= mantissa <= 52:
            return Format(name, 1 + exponent + mantissa, exponent, mantissa)
    raise UserError(
        f"{text!r} is not a numeric format; allowed: int1..int32, uint1..uint32, "
        f"{', '.join(_NAMED_FLOATS)}, or eXmY"
    )


@dataclass(frozen=True, order=True)
class Precision:
    """The numeric format of each operand of a layer."""

    weight: Format
    input: Format
    accumulator: Format
    output: Format

    def to_dict(self) -> dict[str, str]:
        """Names by operand, as in results."""
        return {
            "weight": self.weight.name,
            "input": self.input.name,
            "accumulator": self.accumulator.name,
            "output": self.output.name,
        }

    def __str__(self) -> str:
        return f"w:{self.weight},a:{self.input},acc:{self.accumulator},out:{self.output}"


@dataclass(frozen=True)
class PrecisionRequest:
    """Formats asked for; None leaves the choice to the mode (accumulator) or the consumer (output)."""

    weight: Format
    input: Format
    accumulator: Format | None = None
    output: Format | None = None


_SHORT = re.compile(r"w(\d+)a(\d+)")
_OPERAND_KEYS = {"w": "weight", "a": "input", "acc": "accumulator", "out": "output"}


def parse_precision(text: str) -> PrecisionRequest:
    """Read a precision: one format for weight and input, ``w4a8``, or each operand spelled out.

    >>> parse_precision("w4a8").weight.name
    'int4'
    >>> parse_precision("w:int4,a:fp8_e4m3,acc:fp32").input.name
    'fp8_e4m3'

    Raises
    ------
    UserError
        If it is none of these, names an operand twice, or leaves out weight or input.
    """
    if match := _SHORT.fullmatch(text.strip().lower()):
        return PrecisionRequest(parse_format(f"int{match[1]}"), parse_format(f"int{match[2]}"))
    if ":" not in text:
        single = parse_format(text)
        return PrecisionRequest(single, single)
    formats: dict[str, Format] = {}
    for part in text.split(","):
        key, _, name = part.partition(":")
        operand = _OPERAND_KEYS.get(key.strip().lower())
        if operand is None or operand in formats:
            problem = "names an operand twice" if operand else f"has the unknown key {key.strip()!r}"
            raise UserError(f"precision {text!r} {problem}; allowed: {', '.join(_OPERAND_KEYS)}, each once")
        formats[operand] = parse_format(name)
    if "weight" not in formats or "input" not in formats:
        raise UserError(f"precision {text!r} must give both w and a, such as w:int4,a:int8")
    return PrecisionRequest(**formats)
