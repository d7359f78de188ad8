"""What a command prints: JSON or text on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seada.errors import MappingError, Place, SeadaError

if TYPE_CHECKING:
    from rich.console import RenderableType

SCHEMA_VERSION = 1
_PIPE_WIDTH = 160


def print_json(kind: str, content: Mapping[str, Any]) -> None:
    """One document; `content` may bring a version and kind of its own."""
    document = {"schema_version": SCHEMA_VERSION, "kind": kind, **content}
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def print_text(*parts: RenderableType) -> None:
    """Text and tables for a person; no colours and no wrapping at 80 columns where nobody looks."""
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    for part in parts:
        if isinstance(part, str):
            console.print(part, markup=False, soft_wrap=True)
        else:
            console.print(part)


def provenance(inputs: Mapping[str, Any], **choices: Any) -> dict[str, Any]:
    """Everything that determines a result by content: package, inputs with their hashes, choices, seed."""
    import seada

    return {
        "package": "seada",
        "version": seada.__version__,
        "conventions": "default",
        **inputs,
        **choices,
        "seed": 0,
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Progress:
    """One line on standard error that is rewritten as work goes on; silent if that is no terminal.

    Use as a context manager; the line is gone afterwards.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.shown = sys.stderr.isatty()

    def __call__(self, done: int, total: int, last: str) -> None:
        if self.shown:
            text = f"{self.label}: {done} of {total} ({last})"
            sys.stderr.write(f"\r\x1b[K{_printable(text)[:100]}")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        if self.shown:
            sys.stderr.write(f"{self.label} ...")
            sys.stderr.flush()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def report_failure(as_json: bool, kind: str, message: str, error: SeadaError | None = None) -> None:
    """Print why a command failed: a JSON document on standard output, or text on standard error."""
    if not as_json:
        if isinstance(error, MappingError):
            message = "\n  ".join(["the mapping is not legal", *map(str, error.violations)])
        sys.stderr.write(f"error: {_printable(message)}\n")
        return
    places = [_place_data(place) for place in error.places] if error else []
    content: dict[str, Any] = {"kind": kind, "message": message, "places": places}
    if isinstance(error, MappingError):
        content["violations"] = [vars(violation) for violation in error.violations]
    document = {"schema_version": SCHEMA_VERSION, "error": content}
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=True) + "\n")


def _place_data(place: Place) -> dict[str, Any]:
    return vars(place)


def _printable(text: str) -> str:
    """Without characters that steer a terminal: names in messages come from the user's files."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)
