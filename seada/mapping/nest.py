"""A mapping: one list of loops and keeps, outermost first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """A loop over `dim` whose body has extent `step`; spatial if `on` names ``fanout.axis``.

    Trips are ``ceil(extent above / step)``; the last may be shorter (ragged).
    """

    dim: str
    step: int
    on: str | None = None

    @property
    def is_spatial(self) -> bool:
        """Whether the iterations run on different instances."""
        return self.on is not None


@dataclass(frozen=True)
class Keep:
    """From here inward the tile of `operand` (a role) rests in `memory`."""

    memory: str
    operand: str


@dataclass(frozen=True)
class Mapping:
    """A loop nest as data; see `seada.mapping.check` for the rules it must obey."""

    nodes: tuple[Loop | Keep, ...]
