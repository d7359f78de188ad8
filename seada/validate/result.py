"""What a validation suite answers: rows, and statistics over groups of rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure of ours beside the reference.

    Attributes
    ----------
    ok : bool or None
        Exact suites: equal as the suite defines it. Statistical suites: it could be computed. None: skipped,
        and `note` says why.
    ours, reference : float or None
    error : float or None
        Signed and relative, (ours - reference) / reference; None where it has no meaning.
    note : str
        Cause of a difference, name of an exception, reason of a skip.
    group : str
        Group whose statistics the row belongs to; rows without one are in no statistic.
    """

    name: str
    ok: bool | None
    ours: float | int | None
    reference: float | int | None
    error: float | None = None
    note: str = ""
    group: str = ""


@dataclass(frozen=True)
class Group:
    """Statistics of the relative errors of some rows, and whether the stated target is met.

    Attributes
    ----------
    mape, median, p90, max : float
        Of the absolute relative errors.
    rank : float or None
        Spearman's rank correlation between ours and the reference; None for fewer than 3 rows.
    target : str
        In words, such as ``mape < 0.12 and rank > 0.98``; empty: informative only.
    """

    name: str
    n: int
    mape: float
    median: float
    p90: float
    max: float
    rank: float | None
    target: str
    ok: bool


@dataclass(frozen=True)
class SuiteResult:
    """All rows and groups of a suite; `parameters` lists every fitted or guessed number with its reason."""

    suite: str
    rows: tuple[Row, ...]
    groups: tuple[Group, ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()

    @property
    def passed(self) -> int:
        """Rows and judged groups that hold."""
        return sum(row.ok is True for row in self.rows) + sum(bool(g.target) and g.ok for g in self.groups)

    @property
    def failed(self) -> int:
        """Rows and judged groups that do not."""
        return sum(row.ok is False for row in self.rows) + sum(not group.ok for group in self.groups)

    @property
    def skipped(self) -> int:
        """Rows that cannot be described."""
        return sum(row.ok is None for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "suite": self.suite,
            "rows": [asdict(row) for row in self.rows],
            "groups": [asdict(group) for group in self.groups],
            "parameters": list(self.parameters),
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
        }


def relative_error(ours: float, reference: float) -> float | None:
    """(ours - reference) / reference; None if the reference is zero and ours is not."""
    if reference == 0:
        return 0.0 if ours == 0 else None
    return (ours - reference) / reference


def group_rows(
    name: str,
    rows: tuple[Row, ...],
    *,
    mape_below: float | None = None,
    max_below: float | None = None,
    rank_above: float | None = None,
    median_below: float | None = None,
    within: tuple[float, float] | None = None,
) -> Group:
    """Statistics of the rows of one group that could be computed, judged against what is given.

    `within` is a share of the rows and the error that they must stay in.
    """
    chosen = [row for row in rows if row.group == name and row.ok is not None and row.error is not None]
    errors = sorted(abs(row.error) for row in chosen if row.error is not None)
    rank = _rank([float(row.ours or 0) for row in chosen], [float(row.reference or 0) for row in chosen])
    mape, worst = (mean(errors), errors[-1]) if errors else (0.0, 0.0)
    inside = sum(error <= within[1] for error in errors) / len(errors) if within and errors else 0.0
    checks: list[tuple[object, str, bool]] = [
        (
            median_below,
            f"median < {median_below}",
            median_below is None or (bool(errors) and median(errors) < median_below),
        ),
        (
            within,
            "" if within is None else f"{within[0]:.0%} within {within[1]} (have {inside:.1%})",
            within is None or inside >= within[0],
        ),
        (mape_below, f"mape < {mape_below}", mape_below is None or mape < mape_below),
        (max_below, f"max < {max_below}", max_below is None or worst < max_below),
        (rank_above, f"rank > {rank_above}", rank_above is None or (rank is not None and rank > rank_above)),
    ]
    target = " and ".join(text for limit, text, _ in checks if limit is not None)
    return Group(
        name=name,
        n=len(chosen),
        mape=mape,
        median=median(errors) if errors else 0.0,
        p90=errors[min(len(errors) - 1, int(0.9 * len(errors)))] if errors else 0.0,
        max=worst,
        rank=rank,
        target=target,
        ok=not target or (bool(errors) and all(holds for _, _, holds in checks)),
    )


def _rank(ours: list[float], reference: list[float]) -> float | None:
    if len(ours) < 3 or len(set(ours)) == 1 or len(set(reference)) == 1:
        return None
    from scipy.stats import spearmanr

    value = float(spearmanr(ours, reference).statistic)
    return value if value == value else None
