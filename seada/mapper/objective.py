"""What a search makes small: ``energy``, ``latency``, ``edp`` or ``energy^a*latency^b``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from seada.errors import UserError

ALLOWED = "edp, energy, latency, energy^a*latency^b (for example energy^2*latency)"
_FACTOR = re.compile(r"(energy|latency)(?:\^(\d+(?:\.\d+)?))?")
MAX_EXPONENT = 16.0


@dataclass(frozen=True)
class Objective:
    """``energy ** energy_power * latency ** latency_power``, smallest first.

    Ties are broken by the metric that the objective does not contain (energy if it contains both), then by
    latency, then by the text of the mapping.

    Attributes
    ----------
    text : str
        As the user wrote it, without blanks.
    energy_power, latency_power : float
        At least one is positive.
    """

    text: str
    energy_power: float
    latency_power: float

    def value(self, energy_pj: float, latency_cycles: float) -> float:
        """The number to make small, in pJ^a * cycles^b."""
        return power(energy_pj, self.energy_power) * power(latency_cycles, self.latency_power)

    def key(self, energy_pj: float, latency_cycles: float) -> tuple[float, float, float]:
        """Sort key of a cost: the objective, then the other metric, then both."""
        value = self.value(energy_pj, latency_cycles)
        if self.energy_power == 0:
            return (value, energy_pj, latency_cycles)
        if self.latency_power == 0:
            return (value, latency_cycles, energy_pj)
        return (value, energy_pj, latency_cycles)


def power(base: float, exponent: float) -> float:
    """``base ** exponent`` that is exact for the common exponents 0 and 1."""
    if exponent == 0:
        return 1.0
    return base if exponent == 1 else float(base**exponent)


def parse_objective(text: str) -> Objective:
    """Read an objective.

    Raises
    ------
    UserError
        If the text is no objective that a single best mapping can answer.

    Examples
    --------
    >>> parse_objective("energy^2 * latency").energy_power
    2.0
    """
    compact = "".join(text.split()).lower()
    named = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}
    if compact in named:
        return Objective(compact, *named[compact])
    powers = {"energy": 0.0, "latency": 0.0}
    for part in compact.split("*"):
        match = _FACTOR.fullmatch(part)
        if match is None or powers[match[1]]:
            raise UserError(f"{text!r} is not an objective; allowed: {ALLOWED}")
        powers[match[1]] = float(match[2] or 1)
    if (
        not any(powers.values())
        or max(powers.values()) > MAX_EXPONENT
        or not math.isfinite(sum(powers.values()))
    ):
        raise UserError(f"{text!r}: exponents must be between 0 and {MAX_EXPONENT:g}, not all 0")
    return Objective(compact, powers["energy"], powers["latency"])
