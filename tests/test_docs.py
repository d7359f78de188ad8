"""What the pages in docs/ print is what the program says now."""

from __future__ import annotations

import ast
import json
import operator
import re
import runpy
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seada.cli.main import run_command

ROOT = Path(__file__).parent.parent
MODEL = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs" / "worked_example"
COMMAND = [
    *("evaluate", str(EXAMPLE / "arch.yaml"), "gemm M=4 N=4 K=8", str(EXAMPLE / "mapping.yaml")),
    *("--precision", "int8"),
]
ROW = re.compile(r"^\| ([a-z_.]+) \| (.+?) = ([0-9.]+) \|", re.MULTILINE)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run_command([*COMMAND, *arguments]) == 0
    return capsys.readouterr().out


def lines_of(text: str) -> list[str]:
    """Lines without the blanks at their ends and without rules, whose length depends on the terminal."""
    return [line for raw in text.splitlines() if (line := raw.rstrip()) and set(line) - set(" ─")]


def value_of(node: ast.AST) -> float:
    """The value of sums, products and quotients of numbers."""
    if isinstance(node, ast.Expression):
        return value_of(node.body)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp):
        return float(OPERATORS[type(node.op)](value_of(node.left), value_of(node.right)))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    assert node.func.id == "ceil"
    return ceil(value_of(node.args[0]))


def figures(result: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Everything that the worked example derives, by the name it has there."""
    for kind, entries in (("", result["memories"]), ("link.", result["links"])):
        for entry in entries:
            for role, numbers in entry["operands"].items():
                yield from ((f"{kind}{entry['name']}.{role}.{key}", n) for key, n in numbers.items())
    yield from ((f"energy.{part}", pj) for part, pj in result["energy_breakdown_pj"].items())
    yield from ((f"latency.{part}", cycles) for part, cycles in result["latency_breakdown_cycles"].items())
    yield "energy.total", result["energy_pj"]
    yield "latency.total", result["latency_cycles"]


def test_the_output_in_the_worked_example_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", MODEL, re.DOTALL)
    assert lines_of(shown) == lines_of(run(capsys))


def test_every_derivation_gives_the_figure_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    known = dict(figures(json.loads(run(capsys, "--json"))))
    rows = ROW.findall(MODEL)
    for name, derivation, stated in rows:
        assert value_of(ast.parse(derivation, mode="eval")) == pytest.approx(float(stated)), name
        assert known[name] == pytest.approx(float(stated)), name
    derived = {name for name, _, _ in rows}
    printed = {name for name, value in known.items() if value and not name.endswith("bits")}
    assert printed - derived == set()


def test_the_batch_in_the_page_costs_the_worked_example(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", MODEL, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace('"docs/', f'"{ROOT}/docs/'), names)
    result = json.loads(run(capsys, "--json"))
    costs = names["costs"]
    assert costs.latency_cycles[0] == result["latency_cycles"]
    assert costs.energy_pj[0] == result["energy_pj"]
    assert np.isnan(costs.energy_pj).tolist() == [row in costs.refused for row in range(3)]


def test_the_table_of_other_tools_names_every_switch() -> None:
    from seada.peers.convention import ALLOWED

    assert set(re.findall(r"^\|.*?\(`([a-z]+)`\)", MODEL, re.MULTILINE)) == set(ALLOWED)


CALIBRATION = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")


def test_the_calibration_page_shows_what_a_fit_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    rows = runpy.run_path(str(ROOT / "scripts" / "gemmini_rows.py"))
    names = ("tile_cycles", "first_word_cycles", "reload_cycles")
    rows["write_tables"](tmp_path)
    capsys.readouterr()
    command = ["calibrate", "docs/calibration/gemmini_rtl.yaml", str(tmp_path / "test.csv"), "--json"]
    assert run_command([*command, *(word for name in names for word in ("--parameter", name))]) == 0
    found = json.loads(capsys.readouterr().out)
    for parameter in found["parameters"]:
        (value, error) = re.findall(rf"^ ?{parameter['name']} +([0-9.]+) +([0-9.]+)$", CALIBRATION, re.M)[0]
        assert float(value) == pytest.approx(parameter["value"], rel=1e-3)
        assert float(error) == pytest.approx(parameter["standard_error"], rel=1e-2)
    errors = re.findall(
        r"mean absolute error ([0-9.]+) % on the rows, ([0-9.]+) % on rows left out", CALIBRATION
    )
    stated = [100 * found["mape"], 100 * found["cross_validated_mape"]]
    assert [float(error) for error in errors[0]] == pytest.approx(stated, abs=0.1)


@pytest.mark.parametrize("suite", ["accelforge", "bitfusion", "factorflow", "timeloop"])
def test_the_validation_page_counts_what_the_suites_count(suite: str) -> None:
    from seada.validate.registry import run_suite

    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    (stated,) = re.findall(rf"^\| `{suite}` \|.*\| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    result = run_suite(suite)
    assert [int(number) for number in stated] == [result.passed, result.failed, result.skipped]


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_links_into_the_model_page_name_a_heading() -> None:
    slugs = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^## (.+)$", MODEL, re.MULTILINE)
    }
    texts = [MODEL, *((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/validation.md"))]
    targets = {t for text in texts for t in re.findall(r"\((?:docs/)?(?:model\.md)?#([0-9a-z-]+)\)", text)}
    assert targets
    assert targets <= slugs
