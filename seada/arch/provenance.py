"""Numbers of an architecture file on their way to hardware, each leaving its provenance behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from seada.arch.config import (
    BANDWIDTH,
    ENERGY_PER_ACCESS,
    FREE,
    UNLIMITED,
    UNMODELLED,
    Number,
    Provenance,
)
from seada.arch.hardware import Source
from seada.units import Quantity, parse_quantity

_UNITS = (*ENERGY_PER_ACCESS, *BANDWIDTH, "pJ/step", "pJ/op", "pJ/MAC", "W", "um2", "bit", "word", "Hz")


def node_nm(text: str | None) -> int | None:
    """Technology node as whole nanometres."""
    return None if text is None else round(parse_quantity(text, {"nm"}).value)


@dataclass
class Ledger:
    """Collects the provenance of every number that is taken through it.

    Attributes
    ----------
    blocks : tuple of Provenance
        Enclosing blocks, outermost first; a number inherits what it does not state from the innermost.
    unsourced, unmodelled : list of str
        Paths of numbers without source and status, and of those counted as zero for want of a number.
    """

    blocks: tuple[Provenance, ...]
    sources: list[Source] = field(default_factory=list)
    unsourced: list[str] = field(default_factory=list)
    unmodelled: list[str] = field(default_factory=list)

    def inside(self, block: Provenance) -> Ledger:
        """The same ledger within one more block."""
        return Ledger((*self.blocks, block), self.sources, self.unsourced, self.unmodelled)

    def quantity(self, number: Number | None, path: str) -> Quantity | None:
        """The number as a quantity; None for ``unlimited`` and, after a note, for numbers counted as zero."""
        if number is None or number.value == UNMODELLED:
            self.unmodelled.append(path)
            self.sources.append(Source(path, "0", "placeholder", "not modelled: counted as zero"))
            return None
        self.record(path, str(number.value), number)
        if number.value in (FREE, UNLIMITED):
            return None
        return parse_quantity(number.value, _UNITS)

    def value(self, number: Number | None, path: str) -> float:
        """The number in its internal unit; zero for ``free`` and ``unmodelled``."""
        quantity = self.quantity(number, path)
        return 0.0 if quantity is None else float(quantity)

    def record(self, path: str, value: str, *own: Provenance) -> None:
        """Note where a value comes from."""
        chain = [*own, *reversed(self.blocks)]
        source, status, node, boundary = (
            next((found for block in chain if (found := getattr(block, key)) is not None), None)
            for key in ("source", "status", "node", "boundary")
        )
        if source is None or status is None:
            self.unsourced.append(path)
        self.sources.append(
            Source(
                path,
                value,
                status if source and status else "unverified",
                source or "",
                node_nm(node),
                boundary,
            )
        )
