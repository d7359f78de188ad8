"""The form that a suite expects of its reference file, and every place where a file departs from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seada.errors import ConfigError, Place, UserError

MAX_BYTES = 64 << 20
MOST_PROBLEMS = 50
number = (int, float)


@dataclass(frozen=True)
class Maybe:
    """A key that may be missing or null."""

    form: Any


@dataclass(frozen=True)
class MapOf:
    """An object with any keys, each value of one form."""

    form: Any


def departures(value: Any, form: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, what is wrong) of everything in `value` that is not of the form.

    A form is a type, a tuple of types, a list of one form, `MapOf` one, or a dictionary of keys to forms
    (other keys are allowed). A row that has a name or id is called by it.
    """
    if isinstance(form, Maybe):
        if value is not None:
            yield from departures(value, form.form, path)
    elif isinstance(form, MapOf):
        if not isinstance(value, dict):
            yield path, f"an object is needed, not {_kind(value)}"
            return
        for key, item in value.items():
            yield from departures(item, form.form, f"{path}.{key}")
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield path, f"a list is needed, not {_kind(value)}"
            return
        for index, item in enumerate(value):
            yield from departures(item, form[0], f"{path}[{_label(item, index)}]")
    elif isinstance(form, dict):
        yield from _object_departures(value, form, path)
    elif isinstance(value, bool) and bool not in (form if isinstance(form, tuple) else (form,)):
        yield path, f"{_names(form)} is needed, not a boolean"
    elif not isinstance(value, form):
        yield path, f"{_names(form)} is needed, not {_kind(value)}"


def _object_departures(value: Any, form: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield path, f"an object with {', '.join(form)} is needed, not {_kind(value)}"
        return
    for key, part in form.items():
        if key in value:
            yield from departures(value[key], part, f"{path}.{key}" if path else key)
        elif not isinstance(part, Maybe):
            yield path, f"'{key}' is missing"


def _label(item: Any, index: int) -> str:
    name = next((item[key] for key in ("name", "id") if isinstance(item, dict) and key in item), None)
    return f"{index}: {name}" if isinstance(name, str) else str(index)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "a boolean"}.get(
        type(value), "a number"
    )


def _names(form: Any) -> str:
    kinds = form if isinstance(form, tuple) else (form,)
    return "a number" if set(kinds) <= {int, float} else " or ".join(kind.__name__ for kind in kinds)


def read_reference(path: Path, form: Any) -> dict[str, Any]:
    """A reference file of the given form.

    Raises
    ------
    UserError
        If the file cannot be read or is no JSON.
    ConfigError
        With every row that is not of the form.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON: {error}") from None
    problems = list(departures(data, form))
    if problems:
        shown = [Place(str(path), 0, 0, where, what) for where, what in problems[:MOST_PROBLEMS]]
        more = f", the first {MOST_PROBLEMS} shown" if len(problems) > MOST_PROBLEMS else ""
        text = "\n".join(f"  {where or 'the file'}: {what}" for where, what in problems[:MOST_PROBLEMS])
        raise ConfigError(
            f"{path}: not of the form of this suite ({len(problems)} places{more})\n{text}", shown
        )
    assert isinstance(data, dict)
    return data


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number in JSON")
