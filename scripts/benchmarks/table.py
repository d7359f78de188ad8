"""Tables that are printed, and written as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.timing import Spread, digits

Cell = str | int | float | Spread | None


@dataclass(frozen=True)
class Table:
    """What one section measured.

    Attributes
    ----------
    columns : headings with their units
    rows : cells in the order of the columns; None is shown as a dash
    notes : what is compared with what, and what could not be measured
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Aligned columns, numbers to the right."""
        lines = [self.columns, *(tuple(map(_text, row)) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = [self.title, "=" * len(self.title)]
        for line in lines if self.rows else []:
            cells = [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
            shown.append("  ".join(cells).rstrip())
        return "\n".join([*shown, *(f"  {note}" for note in self.notes)])

    def data(self) -> dict[str, Any]:
        """The same as plain data; a spread has its median, low, high and repeats."""
        rows = [
            {
                name: asdict(cell) if isinstance(cell, Spread) else cell
                for name, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return f"{cell:,}"
    return digits(cell) if isinstance(cell, float) else str(cell)
