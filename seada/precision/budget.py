"""Budgets of a selection: ``METRIC<=VALUE`` with units."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seada.errors import UserError
from seada.precision.quantise import check_choice
from seada.units import parse_quantity

METRICS = ("latency", "energy", "edp", "power", "weight_bytes", "bops", "accuracy_loss")
_FORMS = {
    "latency": "a time or cycles, such as 2 ms or 1e6 cycles",
    "energy": "an energy, such as 3 mJ",
    "edp": "an energy times a time or cycles, such as 2 uJ*ms or 1e12 pJ*cycles",
    "power": "a power, such as 500 mW",
    "weight_bytes": "bytes, such as 100 KiB or 100000",
    "bops": "bit operations (MACs x weight bits x input bits), such as 5e9",
    "accuracy_loss": "percentage points, such as 1 or 0.5",
}
_BARE = re.compile(r"\d+\.?\d*([eE][-+]?\d{1,3})?|\.\d+([eE][-+]?\d{1,3})?")
_BUDGET = re.compile(r"\s*([A-Za-z_]+)\s*(<=|>=|==|=|<|>)\s*(.*\S)\s*")


@dataclass(frozen=True)
class Budget:
    """An upper limit of one metric of the network.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    limit : float
        Cycles, pJ, pJ x cycles, pJ per cycle, bytes, bit operations, or percentage points.
    text : str
        As it was given.
    """

    metric: str
    limit: float
    text: str

    def __str__(self) -> str:
        return self.text


def parse_budget(text: str, clock_hz: float) -> Budget:
    """Read a budget; times become cycles of the given clock.

    >>> parse_budget("latency <= 2 ms", 500e6).limit
    1000000.0
    >>> parse_budget("power<=1 W", 1e9).limit
    1000.0

    Raises
    ------
    UserError
        If the metric is unknown, the comparison is not ``<=``, or the value has no unit of the metric.
    """
    match = _BUDGET.fullmatch(text)
    if match is None or match[2] != "<=":
        raise UserError(f"budget {text!r}: expected METRIC<=VALUE with METRIC one of {', '.join(METRICS)}")
    metric, value = match[1], match[3]
    check_choice("budget of", metric, METRICS)
    try:
        return Budget(metric, _limit(metric, value, clock_hz), text.strip())
    except UserError as error:
        raise UserError(f"budget {text!r}: {error.message}; {metric} is {_FORMS[metric]}") from None


def _limit(metric: str, value: str, clock_hz: float) -> float:
    if metric == "latency":
        return _cycles(value, clock_hz)
    if metric == "energy":
        return float(parse_quantity(value, {"pJ"}))
    if metric == "power":
        return float(parse_quantity(value, {"W"})) * 1e12 / clock_hz
    if metric == "edp":
        energy, star, time = value.partition("*")
        if not star:
            raise UserError(f"{value!r} is no product of two quantities")
        return float(parse_quantity(energy, {"pJ"})) * _cycles(f"1 {time.strip()}", clock_hz)
    if _BARE.fullmatch(value):
        return _positive(metric, value)
    if metric == "weight_bytes":
        return float(parse_quantity(value, {"bit"})) / 8
    raise UserError(f"{value!r} is not a number")


def _positive(metric: str, value: str) -> float:
    number = float(value)
    if number == 0 and metric != "accuracy_loss":
        raise UserError(f"{value!r} is zero; a positive number is needed")
    return number


def _cycles(text: str, clock_hz: float) -> float:
    quantity = parse_quantity(text, {"cycle", "s"})
    return float(quantity) * (clock_hz if quantity.unit == "s" else 1)
