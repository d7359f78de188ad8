"""CPU seconds of repeated work, and what is shown of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of repeated measurements."""

    median: float
    low: float
    high: float
    repeats: int

    def scaled(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.repeats)

    def over(self, other: Spread) -> Spread:
        """Ratio to another: of the medians, and the extremes that the two spreads allow."""
        repeats = min(self.repeats, other.repeats)
        return Spread(self.median / other.median, self.low / other.high, self.high / other.low, repeats)

    def __str__(self) -> str:
        return f"{digits(self.median)} ({digits(self.low)}..{digits(self.high)})"


def spread(values: Sequence[float]) -> Spread:
    """The spread of measured values."""
    return Spread(statistics.median(values), min(values), max(values), len(values))


def cpu_seconds(repeats: int, work: Callable[..., object], *arguments: object) -> Spread:
    """CPU time of this process (user and system, all threads) of each of `repeats` calls."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work(*arguments)
        seconds.append(time.process_time() - start)
    return spread(seconds)


def digits(value: float) -> str:
    """At least two significant digits from 0.001 on, without an exponent."""
    places = next((places for limit, places in ((100, 0), (10, 1), (1, 2)) if abs(value) >= limit), 4)
    return f"{value:,.{places}f}"
