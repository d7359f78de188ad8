"""Objectives: reading, values, ties."""

import pytest

from seada.errors import UserError
from seada.mapper.objective import parse_objective


@pytest.mark.parametrize(
    ("text", "energy_power", "latency_power"),
    [
        ("edp", 1, 1),
        ("energy", 1, 0),
        ("Latency", 0, 1),
        ("energy^2 * latency", 2, 1),
        ("latency^0.5", 0, 0.5),
        ("energy*latency^3", 1, 3),
    ],
)
def test_reads(text: str, energy_power: float, latency_power: float) -> None:
    objective = parse_objective(text)
    assert (objective.energy_power, objective.latency_power) == (energy_power, latency_power)
    assert objective.value(3.0, 5) == 3.0**energy_power * 5.0**latency_power


@pytest.mark.parametrize(
    "text", ["", "power", "energy^", "energy+latency", "energy*energy", "energy^0", "latency^99", "energy^-1"]
)
def test_refuses_with_what_is_allowed(text: str) -> None:
    with pytest.raises(UserError, match=r"edp|exponents"):
        parse_objective(text)


def test_ties_go_to_the_other_metric() -> None:
    assert parse_objective("latency").key(5.0, 10) < parse_objective("latency").key(6.0, 10)
    assert parse_objective("energy").key(5.0, 10) < parse_objective("energy").key(5.0, 11)
    assert parse_objective("edp").key(5.0, 12) < parse_objective("edp").key(6.0, 10)
