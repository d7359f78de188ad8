"""Colours and parts: what has the same meaning has the same colour in every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

INK, MUTED, GRID, PAPER = "#1c2733", "#64717f", "#e3e8ed", "#ffffff"
ACCENT = "#1f6f8b"

# One hue per memory, outermost first; chosen to stay apart for colour-blind readers.
_MEMORY_HUES = ("#1f4e79", "#2a9d8f", "#e0a526", "#d9713c", "#8c5a9e", "#5b8c3a", "#b0476d", "#4a7fb5")
_PART_COLOURS = {
    "mac": "#3b3f46",
    "link": "#9aa7b4",
    "additions": "#7d6b91",
    "vector": "#c25b78",
    "leakage": "#c9d1d9",
    "idle": "#dfe4e9",
}
LATENCY_COLOURS = {
    "compute": "#2a9d8f",
    "stall": "#d9713c",
    "first fill": "#e0a526",
    "last drain": "#8c5a9e",
    "ramp": "#7a8794",
    "vector": "#c25b78",
    "conversion": "#1f4e79",
}
_FORMAT_COLOURS = {
    2: "#f2c14e",
    4: "#7fb685",
    8: "#2a9d8f",
    16: "#2f6690",
    32: "#3d2c5e",
}
OPERANDS = ("weight", "input", "output", "vector")
_SHADES = {"weight": 0.0, "input": 0.3, "output": 0.55, "vector": 0.75}


@dataclass(frozen=True)
class Part:
    """One part of an energy: its group (a memory or ``mac`` ...), its operand if any, and its colour."""

    group: str
    operand: str
    colour: str

    @property
    def label(self) -> str:
        """As in legends."""
        return f"{self.group} {self.operand}" if self.operand else self.group


def part_of(name: str, memories: Sequence[str]) -> Part:
    """The part that a key of an energy breakdown belongs to."""
    first, _, rest = name.partition(".")
    if first in memories:
        hue = _MEMORY_HUES[list(memories).index(first) % len(_MEMORY_HUES)]
        return Part(first, rest, lighter(hue, _SHADES.get(rest, 0.0)))
    return Part(first, "", _PART_COLOURS.get(first, MUTED))


def grouped(breakdown: Mapping[str, float], memories: Sequence[str]) -> dict[Part, float]:
    """An energy breakdown by part: memories outermost first, then the rest in a fixed order."""
    sums: dict[Part, float] = {}
    for name, value in breakdown.items():
        part = part_of(name, memories)
        sums[part] = sums.get(part, 0.0) + value
    return dict(sorted(sums.items(), key=lambda item: _rank(item[0], memories)))


def _rank(part: Part, memories: Sequence[str]) -> tuple[int, int, str]:
    if part.group in memories:
        operand = OPERANDS.index(part.operand) if part.operand in OPERANDS else len(OPERANDS)
        return list(memories).index(part.group), operand, ""
    order = list(_PART_COLOURS)
    position = order.index(part.group) if part.group in order else len(order)
    return len(memories) + position, 0, part.group


def operand_shades(parts: Mapping[Part, float]) -> dict[str, float]:
    """How much lighter than its memory's hue each operand that occurs is drawn."""
    present = {part.operand for part in parts}
    return {operand: shade for operand, shade in _SHADES.items() if operand in present}


def memory_colour(name: str, memories: Sequence[str]) -> str:
    """The hue of a memory."""
    return _MEMORY_HUES[list(memories).index(name) % len(_MEMORY_HUES)]


def format_colour(name: str) -> str:
    """The colour of a numeric format: by its bits; floats slightly warmer than integers."""
    bits = bits_of(name)
    nearest = min(_FORMAT_COLOURS, key=lambda known: abs(known - bits))
    colour = _FORMAT_COLOURS[nearest]
    return colour if name.startswith(("int", "uint")) else blended(colour, "#b0476d", 0.45)


def bits_of(name: str) -> int:
    """Bits of a format by its name; 0 where it is none."""
    from seada.errors import UserError
    from seada.formats import parse_format

    try:
        return parse_format(name).bits
    except UserError:
        return 0


def lighter(colour: str, amount: float) -> str:
    """The colour moved towards white by a fraction."""
    return blended(colour, PAPER, amount)


def blended(first: str, second: str, amount: float) -> str:
    """A colour between two, as ``#rrggbb``."""
    pairs = [(int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * amount):02x}" for a, b in pairs)


def readable_on(colour: str) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else PAPER
