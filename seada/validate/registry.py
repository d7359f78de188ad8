"""The validation suites by name.

A suite is a module ``seada.validate.suite_<name>`` with ``FORM`` (the form of its reference file, None if
it has none) and ``run(data) -> SuiteResult``; its own data are ``data/<name>.json`` beside it.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from seada.errors import UserError
from seada.validate.form import read_reference
from seada.validate.result import SuiteResult

SUITES = ("timeloop", "factorflow", "accelforge", "bitfusion", "cacti", "silicon", "oracle", "events")
DATA = Path(__file__).parent / "data"


def run_suite(name: str, data: Path | None = None) -> SuiteResult:
    """Run one suite on its own data, or on another file of the same form.

    Raises
    ------
    UserError
        If there is no such suite, it takes no data, or the file is not of its form.
    """
    if name not in SUITES:
        near = get_close_matches(name, SUITES, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(f"there is no suite {name!r}; allowed: {', '.join(SUITES)}{hint}")
    suite: Any = import_module(f"seada.validate.suite_{name}")
    if suite.FORM is None:
        if data is not None:
            raise UserError(f"the suite {name} makes its own problems and takes no --data")
        return _checked(suite.run({}))
    own = DATA / getattr(suite, "DATA_FILE", f"{name}.json")
    return _checked(suite.run(read_reference(data or own.resolve(), suite.FORM)))


def _checked(result: SuiteResult) -> SuiteResult:
    assert isinstance(result, SuiteResult)
    return result
