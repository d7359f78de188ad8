"""The strict YAML loader: what it reads, what it refuses, and where it says the problem is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from seada.config.base import ConfigModel, FormatName, SchemaVersion
from seada.config.yaml_file import (
    MAX_BYTES,
    Document,
    format_path,
    load_document,
    load_yaml,
    parse_yaml_text,
)
from seada.errors import ConfigError


class Inner(ConfigModel):
    size: int
    kind: FormatName = "int8"


class Outer(ConfigModel):
    schema_version: SchemaVersion
    items: list[Inner]
    by_name: dict[str, Inner] = Field(default_factory=dict)


def error_of(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_yaml_text(text, "f.yaml")
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1e9", 1e9),
        ("-.5", -0.5),
        ("+12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("1_000", "1_000"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'12'", "12"),
        ("128 KiB", "128 KiB"),
        ("0b11", "0b11"),
    ],
)
def test_scalars_follow_yaml_1_2(scalar: str, value: object) -> None:
    read = parse_yaml_text(f"key: {scalar}").data["key"]
    assert read == value
    assert type(read) is type(value)


def test_marks_count_from_one_and_follow_aliases() -> None:
    document = parse_yaml_text("a: &x\n  - {k: 1}\nb: *x\n")
    assert document.data == {"a": [{"k": 1}], "b": [{"k": 1}]}
    assert document.marks[("a", 0, "k")] == (2, 9)
    assert document.marks[("b", 0, "k")] == (2, 9)
    assert document.place(("a", 0, "missing"), "x").line == 2


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\na: 2", "f.yaml:2:1", "duplicate key 'a'; first given on line 1"),
        ("a: [1, 2", "f.yaml:2:1", "not valid YAML"),
        ("", "f.yaml", "empty"),
        ("# nothing", "f.yaml", "empty"),
        ("a: 1\n---\nb: 1", "f.yaml:2:1", "more than one"),
        ("? [a]\n: 1", "f.yaml:1:3", "key must be plain text"),
        ("a: !!python/object/apply:os.system [ls]", "f.yaml:1:4", "tag"),
        ("a: &x {b: *x}", "f.yaml:1:11", "inside its own anchor"),
        ("a: *y", "f.yaml:1:4", "no anchor"),
        ("a: &x {k: 1}\nb: {<<: *x}", "f.yaml:2:5", "merge keys"),
        ("a:\n\tb: 1", "f.yaml:2:1", "not valid YAML"),
        ("[" * 100, "f.yaml:1:65", "nested deeper"),
        ("a: " + "9" * 50, "f.yaml:1:4", "too long"),
    ],
)
def test_refused_text(text: str, place: str, words: str) -> None:
    message = error_of(text)
    assert message.startswith(f"{place}: ")
    assert words in message


def test_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "once its aliases are expanded" in error_of("\n".join(lines))


def test_nesting_through_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 80)]
    assert "nested deeper" in error_of("\n".join(lines))


def test_all_problems_of_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(
        "schema_version: 2\n"
        "items:\n"
        "  - {siez: 3}\n"
        "  - {size: big, kind: int77}\n"
        "by_name:\n"
        "  a: {size: 1, size: 2}\n"
        "  b: 3\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_yaml(path, Outer)
    found = {(place.line, place.path): place.message for place in caught.value.places}
    assert set(found) == {
        (1, "schema_version"),
        (3, "items[0].siez"),
        (3, "items[0].size"),
        (4, "items[1].size"),
        (4, "items[1].kind"),
        (6, "by_name.a.size"),
        (7, "by_name.b"),
    }
    assert "did you mean 'size'?" in found[3, "items[0].siez"]
    assert "allowed: kind, size" in found[3, "items[0].siez"]
    assert "allowed: 1" in found[1, "schema_version"]
    assert "int1..int32" in found[4, "items[1].kind"]
    assert all(place.file == str(path) for place in caught.value.places)


def test_strict_types(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    for bad in ("'3'", "3.0", "true", "~"):
        path.write_text(f"schema_version: 1\nitems: [{{size: {bad}}}]\n")
        with pytest.raises(ConfigError, match=r"items\[0\]\.size"):
            load_yaml(path, Outer)
    path.write_text("schema_version: 1\nitems: [{size: 3}]\n")
    assert load_yaml(path, Outer).items[0].size == 3


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "archive.yaml").write_text("a: 1")
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: é".encode("latin-1"))
    (tmp_path / "large.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    expected = {
        "archiv.yaml": "no such file; did you mean",
        "binary": "is a binary file",
        ".": "is a directory",
        "latin.yaml": "latin.yaml:2:4: is not UTF-8",
        "large.yaml": "larger than the limit",
        "a\0b": "cannot be read",
    }
    for name, words in expected.items():
        with pytest.raises(ConfigError, match=words):
            load_document(f"{tmp_path}/{name}")


def test_byte_order_mark_and_crlf_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("\ufeffa: 1\r\nb: 2\r\n".encode())
    assert load_document(path).data == {"a": 1, "b": 2}


def test_format_path() -> None:
    assert format_path(("nodes", 2, "size")) == "nodes[2].size"
    assert format_path((0, "a")) == "[0].a"
    assert Document("f", None, {}, "").place((), "m").line == 0


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        document = parse_yaml_text(text)
    except ConfigError:
        return
    assert document.data is not None
