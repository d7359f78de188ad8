"""The switches in which the counting rules of other tools differ from ours, and their settings by tool."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from seada.errors import UserError

ALLOWED: dict[str, tuple[str, ...]] = {
    "drain": ("read", "free"),
    "returning": ("one", "every"),
    "words": ("whole", "blocks", "fractional", "value"),
    "width": ("accumulator", "single"),
    "windows": ("exact", "displacement", "none"),
    "stationarity": ("whole", "none", "outward"),
    "multicast": ("union", "equal", "irrelevant"),
    "ragged": ("true", "padded"),
    "padding": ("absent", "data"),
    "capacity": ("buffers", "tile"),
    "cycles": ("recurrence", "overlap", "halves"),
}


@dataclass(frozen=True)
class Convention:
    """How things are counted; the defaults are the rules of docs/model.md.

    Attributes
    ----------
    drain
        ``read`` where an output tile that leaves is read, ``free`` where it is not.
    returning
        Sums that come back below a reducing fanout: ``one`` instance continues, or ``every`` one is filled.
    words
        ``whole`` words per step and instance; ``blocks``: rounded up once per operand, action and run;
        ``fractional``; ``value``: one word a value.
    width
        Partial sums at ``accumulator`` width until complete, or all outputs at a ``single`` width.
    windows
        Sliding windows fetch ``exact`` differences; ``displacement``: the overlap is kept only while the
        displacement repeats; ``none``.
    stationarity
        Over the ``whole`` nest; ``none``: every loop above a keep fetches again; ``outward``: the first level
        outward with a loop decides, its innermost loop is free if irrelevant.
    multicast
        One read for the ``union`` of what instances need, for ``equal`` tiles of one fanout, or along
        ``irrelevant`` dimensions.
    ragged
        ``true`` remainders, or trips ``padded``.
    padding
        ``absent``, or moved and stored like ``data``.
    capacity
        All ``buffers`` in whole words, or one ``tile`` in values.
    cycles
        The ``recurrence`` with fills and drains; ``overlap``: the slowest of compute and every port, reads
        and writes on their own limits; ``halves``: the same, reads and writes on half the bandwidth each.
    """

    drain: str = "read"
    returning: str = "one"
    words: str = "whole"
    width: str = "accumulator"
    windows: str = "exact"
    stationarity: str = "whole"
    multicast: str = "union"
    ragged: str = "true"
    padding: str = "absent"
    capacity: str = "buffers"
    cycles: str = "recurrence"

    def __str__(self) -> str:
        for name, convention in PRESETS.items():
            if convention == self:
                return name
        return ",".join(
            f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default
        )


DEFAULT = Convention()
_TOTALS = Convention(returning="every", width="single", padding="data", ragged="padded", capacity="tile")
PRESETS: dict[str, Convention] = {
    "default": DEFAULT,
    "timeloop": replace(
        _TOTALS, drain="free", words="blocks", windows="displacement", multicast="equal", cycles="overlap"
    ),
    "accelforge": replace(
        _TOTALS,
        words="fractional",
        windows="none",
        stationarity="none",
        multicast="irrelevant",
        cycles="overlap",
    ),
    "factorflow": replace(
        _TOTALS,
        words="value",
        windows="none",
        stationarity="outward",
        multicast="irrelevant",
        cycles="halves",
    ),
}


def parse_convention(text: str) -> Convention:
    """A preset by name, single switches, or a preset followed by switches: ``timeloop,drain=read``.

    Raises
    ------
    UserError
        With what is allowed, and the nearest name.

    Examples
    --------
    >>> str(parse_convention("cycles=overlap,words=fractional"))
    'words=fractional,cycles=overlap'
    """
    convention = DEFAULT
    for number, part in enumerate(text.replace(" ", "").split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            if number > 0 or name not in PRESETS:
                raise UserError(
                    f"{part!r} is no convention; {_allowed(name, tuple(PRESETS))} or switch=value"
                )
            convention = PRESETS[name]
            continue
        if name not in ALLOWED:
            raise UserError(f"there is no switch {name!r}; {_allowed(name, tuple(ALLOWED))}")
        if value not in ALLOWED[name]:
            raise UserError(f"{name}={value}: {_allowed(value, ALLOWED[name])}")
        convention = replace(convention, **{name: value})
    return convention


def _allowed(text: str, names: tuple[str, ...]) -> str:
    near = get_close_matches(text, names, 1)
    return f"allowed: {', '.join(names)}" + (f"; did you mean {near[0]}?" if near else "")
