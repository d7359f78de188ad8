"""Every exception that seada raises on purpose.

::

    SeadaError                 base; `exit_code` says how the command line ends
    ├── UserError        (2)   unreadable, wrong or contradictory input
    │   ├── ConfigError        one or more places in a file
    │   ├── WorkloadError      a network or layer that cannot be read
    │   └── MappingError       a mapping that breaks a rule of its hardware
    └── InfeasibleError  (3)   a well-put question without a feasible answer
"""

from __future__ import annotations

from dataclasses import dataclass


class SeadaError(Exception):
    """Base of all errors with a meaning for the user.

    Parameters
    ----------
    message : str
        One sentence that says what is wrong and what is allowed.
    places : sequence of Place
        Where in the user's files, if anywhere.
    """

    exit_code = 1
    kind = "internal"

    def __init__(self, message: str, places: tuple[Place, ...] | list[Place] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.places = tuple(places)


@dataclass(frozen=True)
class Place:
    """One problem at one place of one file; `line` and `column` count from 1, 0 where unknown."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class UserError(SeadaError):
    """The input is unreadable, wrong or contradictory (exit code 2)."""

    exit_code = 2
    kind = "user"


class ConfigError(UserError):
    """A configuration file has one or more problems; all of them are in `places`."""

    kind = "config"


class WorkloadError(UserError):
    """A network or layer cannot be read."""

    kind = "workload"


@dataclass(frozen=True)
class Violation:
    """One broken rule of a mapping: which memory or fanout, which operand or dimension, need and have."""

    rule: str
    where: str
    what: str
    need: int | str
    have: int | str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}, {self.what}: needs {self.need}, has {self.have}"


class MappingError(UserError):
    """A mapping breaks a rule; `violations` holds every one of them."""

    kind = "mapping"

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__("; ".join(str(v) for v in violations))
        self.violations = tuple(violations)


class InfeasibleError(SeadaError):
    """The question is well put but has no feasible answer (exit code 3)."""

    exit_code = 3
    kind = "infeasible"
