"""Numeric formats: how many bits a number takes and which numbers it can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
# OCP Microscaling Formats (MX) Specification, version 1.0: elements in blocks of 32 with one E8M0 scale.
_MX_ELEMENTS = {
    "mxfp8_e4m3": "fp8_e4m3",
    "mxfp8_e5m2": "fp8_e5m2",
    "mxfp6_e3m2": "e3m2",
    "mxfp6_e2m3": "e2m3",
    "mxfp4_e2m1": "e2m1",
    "mxint8": "int8",
}
_MX_GROUP, _MX_SCALE_BITS = 32, 8
_SCALE_BITS = 32  # an fp32 scale, unless the name says otherwise
_INTEGER = re.compile(r"(u?)int(\d+)")
_FLOAT = re.compile(r"e(\d+)m(\d+)")
_SCALED = re.compile(r"(\w+?)_(channel|g\d+)(?:_s(\d+))?")
MAX_INT_BITS = 32
MAX_GROUP = 1 << 20
MAX_SCALE_BITS = 64


@dataclass(frozen=True, order=True)
class Format:
    """One numeric format.

    Attributes
    ----------
    name : str
        Canonical name (``int8``, ``uint4``, ``bf16``, ``e3m2``, ``mxfp4_e2m1``, ``int4_g128_s16``).
    bits : int
        Storage of one element in bits, sign included; its share of a scale left out.
    exponent_bits, mantissa_bits : int
        Explicit fields of a floating format; zero for integers.
    signed : bool
        Whether negative numbers can be held; floats always can.
    scale_bits : int
        Bits of a scale that several elements share; 0 if there is none.
    group : int
        Elements that share one scale; 0 with a scale: all elements of one output channel (weights only).
    """

    name: str
    bits: int
    exponent_bits: int = 0
    mantissa_bits: int = 0
    signed: bool = True
    scale_bits: int = 0
    group: int = 0

    @property
    def is_float(self) -> bool:
        """Whether this is a floating format."""
        return self.exponent_bits > 0

    @property
    def per_channel(self) -> bool:
        """Whether all elements of one output channel share a scale."""
        return self.scale_bits > 0 and self.group == 0

    @property
    def in_pe(self) -> Format:
        """The format that the PE multiplies: a scale per channel is left to the finished sums."""
        if not self.per_channel:
            return self
        return replace(self, name=self.name.partition("_channel")[0], scale_bits=0)

    def stored_bits(self, elements: int, channel_elements: int) -> int:
        """Bits of `elements` elements and the scales that they need, ``ceil(elements / group)``.

        >>> parse_format("int8").stored_bits(33, 9), parse_format("mxint8").stored_bits(33, 9)
        (264, 280)
        """
        group = self.group or channel_elements
        scales = -(-elements // group) if self.scale_bits else 0
        return elements * self.bits + scales * self.scale_bits

    def represents(self, other: Format) -> bool:
        """Whether every number of `other` is exactly a number of this format.

        A scale per channel multiplies finished sums, outside the PE: only the elements count. Scales of
        groups inside a sum need a PE that applies the same ones.

        Integers of b bits need a significand (mantissa and hidden bit) of b-1 bits beside the sign
        (b if unsigned) and an exponent range that reaches 2^(b-1).
        """
        if other.group and (self.group, self.scale_bits) != (other.group, other.scale_bits):
            return False
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
    """Read a format by name: ``int1``..``int32``, ``uint1``.., the named floats, any ``eXmY``; with scales:
    the MX formats, ``NAME_channel`` (one per output channel) and ``NAME_gN`` (one per N elements), of 32 bits
    each or ``_sB`` bits.

    >>> parse_format("int4_g128_s16").stored_bits(256, 1), parse_format("mxfp4_e2m1").group
    (1056, 32)

    Raises
    ------
    UserError
        If the name is no format.
    """
    name = text.strip().lower()
    if name in _MX_ELEMENTS:
        element = parse_format(_MX_ELEMENTS[name])
        return replace(element, name=name, scale_bits=_MX_SCALE_BITS, group=_MX_GROUP)
    if match := _SCALED.fullmatch(name):
        return _with_scales(name, match[1], match[2], int(match[3] or _SCALE_BITS))
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
        f"{', '.join(_NAMED_FLOATS)}, or eXmY, each with _channel or _gN for shared scales; "
        f"{', '.join(_MX_ELEMENTS)}"
    )


def _with_scales(name: str, element: str, sharing: str, scale_bits: int) -> Format:
    """The format of an element name with shared scales."""
    plain = parse_format(element)
    if plain.scale_bits:
        raise UserError(f"{name!r}: {element} has scales of its own")
    group = 0 if sharing == "channel" else int(sharing[1:])
    if sharing != "channel" and not 2 <= group <= MAX_GROUP:
        raise UserError(f"{name!r}: a scale is shared by 2..{MAX_GROUP} elements, not {group}")
    if not 1 <= scale_bits <= MAX_SCALE_BITS:
        raise UserError(f"{name!r}: a scale has 1..{MAX_SCALE_BITS} bits, not {scale_bits}")
    return replace(plain, name=name, scale_bits=scale_bits, group=group)


def _require_expressible(formats: Mapping[str, Format | None]) -> None:
    """Raise if an operand cannot have the scales that its format states."""
    for role, fmt in formats.items():
        if fmt is not None and role == "accumulator" and fmt.scale_bits:
            raise UserError(f"accumulator {fmt}: partial sums have no shared scales; use a plain format")
        if fmt is not None and role != "weight" and fmt.per_channel:
            raise UserError(
                f"{role} {fmt}: only weights have a scale per output channel; spell the operands out, such "
                f"as w:{fmt},a:{fmt.in_pe}, or use groups ({_in_groups(fmt)})"
            )


def _in_groups(fmt: Format) -> str:
    return fmt.name.replace("_channel", "_g32")


@dataclass(frozen=True, order=True)
class Precision:
    """The numeric format of each operand of a layer."""

    weight: Format
    input: Format
    accumulator: Format
    output: Format

    def __post_init__(self) -> None:
        _require_expressible(vars(self))

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

    def __post_init__(self) -> None:
        _require_expressible(vars(self))


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
