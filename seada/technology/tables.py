"""Tables of arithmetic, kinds of DRAM and methods of scaling, from the package's data files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from seada.config.problems import did_you_mean
from seada.errors import UserError


@dataclass(frozen=True)
class Figure:
    """One published or derived figure.

    Attributes
    ----------
    energy_pj : of one operation (of DRAM: per bit); area_um2 and leakage_uw : None where the table has none
    """

    energy_pj: float
    area_um2: float | None
    leakage_uw: float | None
    node_nm: float | None
    status: str
    source: str
    boundary: str | None = None


@lru_cache
def technology_data(name: str) -> dict[str, Any]:
    """The data file ``data/technology/<name>.yaml``, read once."""
    text = (files("seada") / "data" / "technology" / f"{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def _choose(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        hint = did_you_mean(name, list(known))
        raise UserError(f"there is no {kind} {name!r}{hint}; allowed: {', '.join(known)}")
    return known[name]


def pe_table(name: str) -> dict[str, Figure]:
    """A table of arithmetic by entry.

    Raises
    ------
    UserError
        If there is no such table.
    """
    table = _choose("table", name, technology_data("arithmetic")["tables"])
    node = float(table["node"].split()[0])
    return {
        entry: Figure(
            energy_pj=row["energy"],
            area_um2=row.get("area"),
            leakage_uw=row.get("leakage"),
            node_nm=node,
            status=row.get("status", table["status"]),
            source=f"{name}: {row.get('source', table['source'])}",
        )
        for entry, row in table["entries"].items()
    }


def arithmetic(table: str, entry: str) -> Figure:
    """One entry of a table of arithmetic.

    Raises
    ------
    UserError
        If there is no such table or entry.
    """
    figure: Figure = _choose(f"entry of {table}", entry, pe_table(table))
    return figure


def dram(kind: str) -> Figure:
    """Energy per bit of a kind of DRAM, in any case of letters.

    Raises
    ------
    UserError
        If there is no such kind.
    """
    kinds = technology_data("dram")["kinds"]
    row = _choose("kind of DRAM", kind.lower() if kind.lower() in kinds else kind, kinds)
    kind = kind.lower()
    return Figure(row["energy"], None, None, None, row["status"], f"{kind}: {row['source']}", row["boundary"])


def scaled(quantity: str, value: float, from_nm: float, to_nm: float, method: str) -> float:
    """A figure at another node by a named method; `quantity` is ``energy`` or ``area``.

    Raises
    ------
    UserError
        If there is no such method, or it has no factor for one of the nodes.
    """
    factors = _choose("method of scaling", method, technology_data("scaling")["methods"]).get(quantity)
    if factors is None:
        raise UserError(f"the method {method} does not scale {quantity}")
    for node in (from_nm, to_nm):
        if node not in factors:
            nodes = ", ".join(f"{n} nm" for n in factors)
            raise UserError(f"the method {method} has no factor for {node:g} nm; it has {nodes}")
    return float(value * factors[to_nm] / factors[from_nm])


def scaling_methods(purpose: str) -> list[str]:
    """Names of the methods for ``arithmetic`` or ``sram``."""
    return [
        name for name, method in technology_data("scaling")["methods"].items() if purpose in method["for"]
    ]


def scaling_method(name: str, purpose: str) -> Mapping[str, Any]:
    """A method of scaling: its source, and its factors per node by quantity.

    Raises
    ------
    UserError
        If there is no such method for that purpose.
    """
    methods = technology_data("scaling")["methods"]
    allowed = {known: methods[known] for known in scaling_methods(purpose)}
    found: Mapping[str, Any] = _choose(f"method of scaling for {purpose}", name, allowed)
    return found


def scaling_source(method: str) -> str:
    """Where a method of scaling comes from."""
    return str(_choose("method of scaling", method, technology_data("scaling")["methods"])["source"])
