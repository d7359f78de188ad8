"""Pydantic's errors as sentences for a person, each with the path of the value it concerns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

YamlPath = tuple[str | int, ...]
_SHOWN = 60


def did_you_mean(name: object, allowed: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the nearest of `allowed`, or nothing.

    >>> did_you_mean("siez", ["size", "width"])
    "; did you mean 'size'?"
    """
    by_lower = {other.lower(): other for other in allowed}
    close = difflib.get_close_matches(str(name).lower(), list(by_lower), 1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def shown(value: object) -> str:
    """A value as an error shows it, shortened."""
    kinds = {dict: "a mapping", list: "a list", type(None): "nothing"}
    if type(value) in kinds:
        return kinds[type(value)]
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def describe_errors(error: ValidationError, model: type[BaseModel], data: Any) -> list[tuple[YamlPath, str]]:
    """Every problem of a validation as (path in the document, sentence)."""
    return [_describe(item, model, data) for item in error.errors(include_url=False)]


def _describe(item: ErrorDetails, model: type[BaseModel], data: Any) -> tuple[YamlPath, str]:
    path = _document_path(item["loc"], data, item["type"] == "missing")
    return path, _sentence(item, model, path)


def _document_path(loc: tuple[int | str, ...], data: Any, missing: bool) -> YamlPath:
    """Drop the parts of `loc` that name pydantic's unions and validators and not places of the document."""
    path: list[str | int] = []
    for position, part in enumerate(loc):
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            data = data[part]
            path.append(part)
        elif missing and position == len(loc) - 1:
            path.append(part)
    return tuple(path)


def _sentence(item: ErrorDetails, model: type[BaseModel], path: YamlPath) -> str:
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing":
        return "required key is missing"
    if kind == "extra_forbidden":
        keys = sorted(_keys_at(model, path[:-1]))
        return f"unknown key {str(path[-1])!r}; allowed: {', '.join(keys)}{did_you_mean(path[-1], keys)}"
    if kind in ("literal_error", "enum"):
        return _not_allowed(value, str(context["expected"]))
    if kind == "union_tag_invalid":
        return _not_allowed(context["tag"], str(context["expected_tags"]))
    if kind == "union_tag_not_found":
        return f"one of the keys that says what this is, is missing: {context['discriminator']}"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return f"a mapping is needed, found {shown(value)}"
    if kind in ("list_type", "tuple_type"):
        return f"a list is needed, found {shown(value)}"
    if kind == "string_pattern_mismatch":
        return f"{shown(value)} is no name; names start with a letter and hold letters, digits, _ and -"
    if kind in ("value_error", "assertion_error"):
        return str(context["error"])
    message = item["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    prefix = "must be " if item["msg"].startswith("Input should be ") else ""
    return f"{prefix}{message}, found {shown(value)}" if prefix else message


def _not_allowed(value: object, expected: str) -> str:
    names = [part.strip(" '\"") for part in expected.replace(" or ", ", ").split(",")]
    return f"{shown(value)} is not allowed; allowed: {', '.join(names)}{did_you_mean(value, names)}"


def _keys_at(model: type[BaseModel], path: YamlPath) -> set[str]:
    """Keys that models allow at a path of the document."""
    models: list[Any] = [model]
    for part in path:
        models = [inner for outer in models for inner in _step(outer, part)]
    return {key for outer in models if _is_model(outer) for key in _field_names(outer)}


def _field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        yield info.alias or name


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _step(kind: Any, part: str | int) -> list[Any]:
    """Types that a value of type `kind` may hold at key or index `part`."""
    if _is_model(kind):
        fields = {info.alias or name: info.annotation for name, info in kind.model_fields.items()}
        return _flatten(fields[part]) if part in fields else []
    arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
    if get_origin(kind) is dict:
        return _flatten(arguments[1])
    return [inner for argument in arguments for inner in _flatten(argument)]


def _flatten(annotation: Any) -> list[Any]:
    """Members of a union, without `Annotated`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _flatten(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [inner for argument in get_args(annotation) for inner in _flatten(argument)]
    return [annotation]
