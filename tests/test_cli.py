"""The commands: what they print for people and as JSON, and that results read back."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from seada.cli.main import run_command
from seada.cli.output import Progress
from seada.config.yaml_file import load_document
from seada.mapping.text import parse_mapping
from seada.mapping.yaml_form import from_data, to_yaml

ROOT = Path(__file__).parent.parent
ARCHS = sorted((ROOT / "arch_configs").glob("*.yaml"))
WORKLOADS = sorted((ROOT / "workloads").glob("*.yaml"))
ARCH = ROOT / "arch_configs" / "reference_16x16.yaml"
FUSED = ROOT / "arch_configs" / "multiprecision_16x16.yaml"
DEMO = ROOT / "workloads" / "demo_digits.yaml"
ONNX = ROOT / "workloads" / "demo_digits.onnx"
SMALL = "conv K=4 C=3 P=5 Q=5 R=3 S=3 pad=1"
QUICK = ["--max-evaluations", "200"]
SCHEMA = json.loads((ROOT / "seada" / "data" / "result.schema.json").read_text(encoding="utf-8"))
COMMANDS = ["run", "map", "evaluate", "select", "show", "check", "schema", "import", "warmup", "doctor"]
NETWORK = """
schema_version: 1
name: two
layers:
  - {name: first, type: conv, K: 4, C: 3, P: 5, Q: 5, R: 3, S: 3, pad: 1}
  - {name: last, type: gemm, M: 10, N: 1, K: 20}
"""


def validate(document: dict[str, Any], kind: str) -> None:
    """Check a document against its part of the schema, where every key must be described."""
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(document)


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def text(self, *arguments: object) -> str:
        code = run_command([str(argument) for argument in arguments])
        shown = self.capsys.readouterr()
        assert code == 0, shown.err + shown.out
        assert shown.err == ""
        return shown.out

    def json(self, *arguments: object) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        assert document["schema_version"] == 1
        return document


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_help_names_every_command(shell: Shell) -> None:
    text = shell.text("--help")
    for command in COMMANDS:
        assert f"  {command} " in text


def test_version(shell: Shell) -> None:
    assert shell.text("--version").startswith("seada 0.")


def test_all_shipped_files_pass_the_check(shell: Shell) -> None:
    document = shell.json("check", *ARCHS, *WORKLOADS, ONNX)
    validate(document, "other")
    assert [entry["kind"] for entry in document["files"]] == ["arch"] * len(ARCHS) + ["workload"] * (
        len(WORKLOADS) + 1
    )
    assert f"{ARCH}: arch, no errors" in shell.text("check", ARCH)


@pytest.mark.parametrize("kind", ["arch", "workload", "mapping", "precision", "result"])
def test_schemas_are_schemas(shell: Shell, kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(shell.text("schema", kind)))


@pytest.mark.parametrize("path", [*ARCHS, *WORKLOADS], ids=lambda path: path.stem)
def test_shipped_files_match_the_printed_schema(shell: Shell, path: Path) -> None:
    kind = "arch" if path in ARCHS else "workload"
    jsonschema.validate(load_document(path).data, json.loads(shell.text("schema", kind)))


def test_show_draws_every_kind(shell: Shell) -> None:
    assert "[glb] 128 KiB" in shell.text("show", ARCH)
    assert "nodes modelled" in shell.text("show", DEMO)
    mapping = parse_mapping("[dram holds weight]\nfor K in 0..? step 4")
    Path("m.yaml").write_text(to_yaml(mapping), encoding="utf-8")
    assert parse_mapping(shell.text("show", "m.yaml")) == mapping
    for path, part in ((ARCH, "chip"), (DEMO, "layers"), ("m.yaml", "mapping")):
        document = shell.json("show", path)
        validate(document, "other")
        assert document[part]
    for mode in shell.json("show", FUSED)["chip"]["modes"]:
        validate(mode, "pe_mode")


def test_a_mapping_that_was_found_costs_the_same_when_it_is_given(shell: Shell) -> None:
    found = shell.json("map", FUSED, SMALL, "--precision", "w4a8", *QUICK)
    validate(found, "map")
    Path("m.yaml").write_text(to_yaml(from_data(found["mapping"])), encoding="utf-8")
    given = shell.json("evaluate", FUSED, SMALL, "m.yaml", "--precision", "w4a8")
    validate(given, "evaluate")
    assert parse_mapping(found["mapping"]["text"]) == from_data(given["mapping"])
    own = {"kind", "objective", "optimal", "bound", "gap", "search", "space", "provenance"}
    assert {key: found[key] for key in found if key not in own} == {
        k: given[k] for k in given if k not in own
    }
    assert [given[key] for key in ("objective", "optimal", "bound", "gap", "search", "space")] == [None] * 6
    assert found["macs"] == 4 * 3 * 5 * 5 * 9
    assert found["energy_pj"] == pytest.approx(sum(found["energy_breakdown_pj"].values()))
    parts = ("first_fill", "compute", "stall", "last_drain", "ramp")
    cycles = sum(found["latency_breakdown_cycles"][part] for part in parts)
    assert found["latency_cycles"] == pytest.approx(cycles, abs=1)


def test_map_for_people(shell: Shell) -> None:
    text = shell.text("map", FUSED, SMALL, "--precision", "int8", *QUICK)
    assert "2,700 MACs" in text
    assert "mac" in text
    rows = [line.split()[:2] for line in text.splitlines()]
    assert ["dram", "weight"] in rows
    assert ["first_fill"] in [row[:1] for row in rows]


def test_formats_of_a_layer_come_from_its_file(shell: Shell) -> None:
    text = NETWORK.replace(
        "M: 10,", "M: 10, precision: {weight: int4, input: int8, accumulator: int32, output: int8},"
    )
    Path("n.yaml").write_text(text, encoding="utf-8")
    document = shell.json("map", FUSED, "n.yaml:last", *QUICK)
    assert (document["precision"]["weight"], document["precision"]["input"]) == ("int4", "int8")
    assert document["provenance"]["workload"]["name"] == "two"
    document = shell.json("map", FUSED, "n.yaml:last", "--precision", "int8", *QUICK)
    assert document["precision"]["weight"] == "int8"


def test_formats_without_a_mode_run_on_the_floating_point_unit(shell: Shell) -> None:
    document = shell.json("map", FUSED, SMALL, "--precision", "fp32")
    validate(document, "map")
    assert document["estimate"]
    assert (document["mapping"], document["search"], document["memories"]) == (None, None, [])
    assert "estimate" in shell.text("map", FUSED, SMALL, "--precision", "fp32")


def test_run_prints_layers_and_totals(shell: Shell) -> None:
    Path("n.yaml").write_text(NETWORK, encoding="utf-8")
    command = ["run", FUSED, "n.yaml", "--precision", "int8", "--jobs", "1", *QUICK]
    document = shell.json(*command)
    validate(document, "run")
    assert document == shell.json(*command)
    total = document["total"]
    assert [row["name"] for row in document["layers"] if row["macs"]] == ["first", "last"]
    for key in ("latency_cycles", "macs"):
        assert total[key] == sum(row[key] for row in document["layers"])
    assert total["energy_pj"] == pytest.approx(sum(row["energy_pj"] for row in document["layers"]))
    text = shell.text(*command)
    assert "2 of 2 nodes modelled" in text
    assert f"latency {total['latency_cycles']:,} cycles" in text


def test_run_takes_one_format_per_layer_from_a_file(shell: Shell) -> None:
    Path("n.yaml").write_text(NETWORK, encoding="utf-8")
    Path("p.yaml").write_text("schema_version: 1\nlayers: {first: int4, last: w4a8}\n", encoding="utf-8")
    document = shell.json("run", FUSED, "n.yaml", "--precision", "p.yaml", "--jobs", "1", *QUICK)
    formats = {row["name"]: row["precision"] for row in document["layers"] if row["macs"]}
    assert formats["first"]["weight"] == "int4"
    assert (formats["last"]["weight"], formats["last"]["input"]) == ("int4", "int8")


def test_run_writes_a_report(shell: Shell) -> None:
    Path("n.yaml").write_text(NETWORK, encoding="utf-8")
    text = shell.text("run", FUSED, "n.yaml", "--precision", "int8", "--out", "out", "--jobs", "1", *QUICK)
    assert "out/report.html" in text
    validate(json.loads(Path("out/result.json").read_text(encoding="utf-8")), "run")
    assert Path("out/report.html").stat().st_size > 1000


@pytest.mark.full
def test_select_explains_its_choice(shell: Shell) -> None:
    command = ["select", FUSED, DEMO, "--candidates", "int4,int8", "--jobs", "1", *QUICK]
    document = shell.json(*command, "--eval", DEMO.with_name("demo_digits_test.npz"))
    validate(document, "run")
    assert all(choice["reason"] for choice in document["selection"]["layers"])
    assert 0 < document["accuracy"]["measured"] <= 1
    assert "chosen by" in shell.text(*command)


def test_import_reads_back(shell: Shell) -> None:
    text = shell.text("import", ONNX)
    Path("again.yaml").write_text(text, encoding="utf-8")
    first, again = shell.json("show", ONNX), shell.json("show", "again.yaml")
    assert first["layers"] == again["layers"]
    assert "layers; " in shell.text("import", ONNX, "--out", "with_weights.yaml")
    assert Path("with_weights.npz").exists()
    assert shell.json("show", "with_weights.yaml")["layers"] == first["layers"]
    validate(shell.json("import", ONNX), "other")


def test_doctor_and_warmup(shell: Shell) -> None:
    document = shell.json("doctor")
    validate(document, "other")
    assert {"python", "numba", "kernel cache"} <= {finding["name"] for finding in document["findings"]}
    assert "numpy" in shell.text("doctor")
    validate(shell.json("warmup"), "other")


def test_doctor_finds_a_missing_package(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("seada.cli.machine_commands._CORE", ("numpy", "no-such-package"))
    assert run_command(["doctor"]) == 1
    assert "PROBLEM  no-such-package: missing" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_and_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress("mapping") as silent:
        silent(1, 2, "a")
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("mapping") as shown:
        shown(1, 2, "conv\x1b1")
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "1 of 2 (conv\\x1b1)" in written
    assert "\n" not in written
    assert written.endswith("\r\x1b[K")


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "seada", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_a_command_cleanly(tmp_path: Path, number: int, code: int) -> None:
    pipe = tmp_path / "never.yaml"
    os.mkfifo(pipe)  # Reading it blocks, so the command is surely at work when the signal comes.
    process = start("check", pipe, "--json")
    with pipe.open("w"):
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert json.loads(out)["error"]["kind"] in ("terminated", "interrupted")
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_fault() -> None:
    process = start("schema", "arch")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


def test_the_installed_program_exits_with_the_code_of_the_command() -> None:
    process = start("check", "/nowhere/at/all.yaml")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no such file" in err


def test_time_limits_are_recorded(shell: Shell) -> None:
    started = time.perf_counter()
    document = shell.json("map", ARCH, SMALL, "--precision", "int16", "--time", "200 ms")
    assert document["provenance"]["time_s"] == 0.2
    assert time.perf_counter() - started < 60
