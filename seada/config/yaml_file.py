"""Strict YAML files: `load_yaml(path, Model)` for a pydantic model, `load_document(path)` for plain data.

Differences from PyYAML alone: a duplicate key is an error; scalars follow the YAML 1.2 core schema (``1e9``
is a number, ``no`` and ``12:30`` are text); tags, merge keys, several documents and keys that are no text
are refused; size, depth, nodes and aliases are limited; every value knows its line and column.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from seada.config.problems import YamlPath, describe_errors
from seada.errors import ConfigError, Place

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 64
MAX_NODES = 300_000
MAX_ALIASES = 10_000
MAX_DIGITS = 40

_NULL = re.compile(r"|~|null|Null|NULL")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Document:
    """The content of one YAML file.

    Attributes
    ----------
    file : str
        Name as the user gave it.
    data : Any
        Dicts with text keys, lists, str, int, float, bool, None.
    marks : dict of path to (line, column)
        Where each value stands, counted from 1; a path is a tuple of keys and indices.
    sha256 : str
        Of the bytes of the file.
    problems : tuple of Place
        Duplicate keys and the like; `load_document` raises if there are any.
    """

    file: str
    data: Any
    marks: dict[YamlPath, tuple[int, int]]
    sha256: str
    problems: tuple[Place, ...] = ()

    def place(self, path: YamlPath, message: str) -> Place:
        """A problem at `path`, or at its innermost part that stands in the file."""
        known = path
        while known and known not in self.marks:
            known = known[:-1]
        line, column = self.marks.get(known, (0, 0))
        return Place(self.file, line, column, format_path(path), message)

    def error(self, path: YamlPath, message: str) -> ConfigError:
        """A `ConfigError` with this one problem."""
        return config_error([self.place(path, message)])


def format_path(path: YamlPath) -> str:
    """A path as a person writes it: ``nodes[2].read_energy``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def config_error(places: list[Place] | tuple[Place, ...]) -> ConfigError:
    """One error for all problems of a file, ordered by place; duplicates are dropped."""
    unique = sorted(set(places), key=lambda place: (place.file, place.line, place.column, place.path))
    return ConfigError("\n".join(str(place) for place in unique), unique)


def load_yaml(path: str | Path, model: type[Model]) -> Model:
    """Read a YAML file into a pydantic model.

    Raises
    ------
    ConfigError
        With every problem of the file: structure, unknown keys, missing keys, wrong values.
    """
    return validate_document(read_document(path), model)


def load_document(path: str | Path) -> Document:
    """Read a YAML file as plain data with marks.

    Raises
    ------
    ConfigError
        If the file cannot be read, is no YAML, or breaks a rule of this module.
    """
    document = read_document(path)
    if document.problems:
        raise config_error(document.problems)
    return document


def validate_document(document: Document, model: type[Model]) -> Model:
    """The document as a pydantic model; problems of both the text and the schema raise one `ConfigError`."""
    places = list(document.problems)
    result: Model | None = None
    try:
        result = model.model_validate(document.data)
    except ValidationError as error:
        problems = describe_errors(error, model, document.data)
        places += [document.place(path, message) for path, message in problems]
    if places or result is None:
        raise config_error(places)
    return result


def read_document(path: str | Path) -> Document:
    """Like `load_document`, but repairable problems (duplicate keys, tags) are left in `problems`."""
    name = str(path)
    text = _decode(_read_bytes(Path(path), name), name)
    return _parse(text, name)


def parse_yaml_text(text: str, file: str = "<text>") -> Document:
    """Parse YAML from a string; `file` is the name shown in errors.

    >>> parse_yaml_text("rate: 1e9\\nanswer: no").data
    {'rate': 1000000000.0, 'answer': 'no'}
    """
    document = _parse(text, file)
    if document.problems:
        raise config_error(document.problems)
    return document


def _fail(file: str, message: str, line: int = 0, column: int = 0) -> ConfigError:
    return config_error([Place(file, line, column, "", message)])


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        if path.is_dir():
            raise _fail(name, "is a directory; a YAML file is needed")
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _fail(name, f"no such file{_nearest_file(path)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _fail(name, f"cannot be read: {reason}") from None
    if len(content) > MAX_BYTES:
        raise _fail(name, f"is larger than the limit of {MAX_BYTES // 2**20} MiB for YAML files")
    return content


def _nearest_file(path: Path) -> str:
    import difflib

    try:
        names = [other.name for other in path.parent.iterdir()]
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(path.name, names, 1)
    return f"; did you mean {path.parent / close[0]}?" if close else ""


def _decode(content: bytes, name: str) -> str:
    if b"\0" in content:
        raise _fail(name, "is a binary file; a YAML file (UTF-8 text) is needed")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        raise _fail(name, "is not UTF-8 text", line, column) from None


@dataclass
class _Node:
    """A parsed node before aliases are expanded: a scalar, or a list or mapping of nodes."""

    mark: tuple[int, int]
    value: Any = None
    items: list[tuple[Any, _Node]] | None = None
    is_mapping: bool = False
    complete: bool = False


@dataclass
class _Composer:
    """Builds nodes from parser events and collects problems."""

    file: str
    events: Iterator[Any]
    anchors: dict[str, _Node] = field(default_factory=dict)
    problems: list[Place] = field(default_factory=list)
    aliases: int = 0

    def problem(self, mark: tuple[int, int], message: str, path: YamlPath) -> None:
        self.problems.append(Place(self.file, *mark, format_path(path), message))

    def node(self, event: Any, path: YamlPath) -> _Node:
        mark = (event.start_mark.line + 1, event.start_mark.column + 1)
        if len(path) >= MAX_DEPTH:
            raise _fail(self.file, f"is nested deeper than the limit of {MAX_DEPTH}", *mark)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event.anchor, mark)
        node = _Node(mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        if event.tag is not None and event.tag != "!":
            self.problem(mark, f"tag {event.tag!r} is not allowed; write plain values", path)
        if isinstance(event, yaml.ScalarEvent):
            node.value = self.scalar(event, mark, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            self.sequence(node, path)
        else:
            self.mapping(node, path)
        node.complete = True
        return node

    def alias(self, anchor: str | None, mark: tuple[int, int]) -> _Node:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise _fail(self.file, f"has more than {MAX_ALIASES} aliases", *mark)
        node = self.anchors.get(anchor or "")
        if node is None:
            raise _fail(self.file, f"alias *{anchor} has no anchor before it", *mark)
        if not node.complete:
            raise _fail(self.file, f"alias *{anchor} stands inside its own anchor", *mark)
        return node

    def scalar(self, event: Any, mark: tuple[int, int], path: YamlPath) -> Any:
        if not event.implicit[0]:
            return event.value
        try:
            return resolve_scalar(event.value)
        except ValueError as error:
            self.problem(mark, str(error), path)
            return None

    def sequence(self, node: _Node, path: YamlPath) -> None:
        node.items = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            index = len(node.items)
            node.items.append((index, self.node(event, (*path, index))))

    def mapping(self, node: _Node, path: YamlPath) -> None:
        node.items, node.is_mapping = [], True
        first: dict[str, tuple[int, int]] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            mark = (event.start_mark.line + 1, event.start_mark.column + 1)
            if not isinstance(event, yaml.ScalarEvent):
                raise _fail(self.file, "a key must be plain text", *mark)
            key = event.value
            inside = (*path, key)
            value = self.node(next(self.events), inside)
            if key in first:
                self.problem(mark, f"duplicate key {key!r}; first given on line {first[key][0]}", inside)
            elif key == "<<":
                self.problem(mark, "merge keys are not allowed; write the values out", inside)
            else:
                first[key] = mark
                node.items.append((key, value))


def _parse(text: str, file: str) -> Document:
    composer = _Composer(file, iter(yaml.parse(text, Loader=_LOADER)))
    try:
        root = _root(composer)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise _fail(file, f"is not valid YAML: {reason}", line, column) from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise _fail(file, f"is not valid YAML: {reason}") from None
    marks: dict[YamlPath, tuple[int, int]] = {}
    data = _expand(root, (), marks, file)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document(file, data, marks, digest, tuple(composer.problems))


def _root(composer: _Composer) -> _Node:
    root: _Node | None = None
    for event in composer.events:
        if isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent):
            continue
        mark = (event.start_mark.line + 1, event.start_mark.column + 1)
        if root is not None:
            raise _fail(composer.file, "holds more than one YAML document; one is allowed", *mark)
        root = composer.node(next(composer.events), ())
    if root is None or (root.items is None and root.value is None):
        raise _fail(composer.file, "is empty")
    return root


def _expand(node: _Node, path: YamlPath, marks: dict[YamlPath, tuple[int, int]], file: str) -> Any:
    if len(marks) >= MAX_NODES:
        raise _fail(file, f"has more than {MAX_NODES} values once its aliases are expanded", *node.mark)
    if len(path) > MAX_DEPTH:
        raise _fail(file, f"is nested deeper than the limit of {MAX_DEPTH}", *node.mark)
    marks[path] = node.mark
    if node.items is None:
        return node.value
    values = [(key, _expand(child, (*path, key), marks, file)) for key, child in node.items]
    return dict(values) if node.is_mapping else [value for _, value in values]


def resolve_scalar(text: str) -> bool | int | float | str | None:
    """The value of a plain scalar by the YAML 1.2 core schema.

    Raises
    ------
    ValueError
        If a number has absurdly many digits.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if not text[0].isascii() or text[0] not in "+-.0123456789":
        return text
    return _resolve_number(text)


def _resolve_number(text: str) -> int | float | str:
    if _INTEGER.fullmatch(text) or _BASED.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of {len(text)} digits is too long; the limit is {MAX_DIGITS}")
        return int(text, 0) if _BASED.fullmatch(text) else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _SPECIAL_FLOAT.fullmatch(text):
        return float("nan") if match[3] else float(f"{match[1]}inf")
    return text
