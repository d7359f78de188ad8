"""The validation suites: they hold on their data, notice one wrong number, refuse files of another form."""

from __future__ import annotations

import copy
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from seada.cli.main import run_command
from seada.errors import ConfigError, UserError
from seada.validate.form import Maybe, departures, read_reference
from seada.validate.registry import DATA, SUITES, run_suite
from seada.validate.result import Row, SuiteResult, group_rows, relative_error

EXACT = ("timeloop", "factorflow", "accelforge", "bitfusion")


def own_data(name: str) -> dict[str, Any]:
    suite = import_module(f"seada.validate.suite_{name}")
    path = (DATA / getattr(suite, "DATA_FILE", f"{name}.json")).resolve()
    return dict(json.loads(path.read_text(encoding="utf-8")))


def run(name: str, data: dict[str, Any]) -> SuiteResult:
    result = import_module(f"seada.validate.suite_{name}").run(data)
    assert isinstance(result, SuiteResult)
    return result


@pytest.mark.parametrize("name", EXACT)
def test_exact_suites_hold(name: str) -> None:
    result = run_suite(name)
    assert [row for row in result.rows if row.ok is False] == []
    assert [group for group in result.groups if not group.ok] == []
    assert result.passed > 100


def test_area_of_bit_fusion_is_near_the_published_total() -> None:
    rows = {row.name: row for row in run("bitfusion", {**own_data("bitfusion"), "rows": []}).rows}
    total = rows["area mm2 total"]
    assert total.reference == pytest.approx(2.14098641856)
    assert total.error == pytest.approx(-0.0369, abs=0.001)
    assert rows["area mm2 weight_buffer"].error == pytest.approx(0, abs=1e-6)
    assert "third port" in rows["area mm2 output_buffer"].note


def first_case(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Only the first rows of a suite, to be quick."""
    data = copy.deepcopy(data)
    if name == "timeloop":
        data["cases"] = data["cases"][:1]
    elif name == "accelforge":
        key = next(key for key, row in data["results"].items() if "mapping" in row)
        data["results"] = {key: data["results"][key]}
    else:
        key = "results" if name == "factorflow" else "rows"
        data[key] = data[key][:1]
    return data


def spoil(data: dict[str, Any], name: str) -> None:
    """Change one recorded number by one."""
    if name == "timeloop":
        data["cases"][0]["printed"]["levels"][1]["operands"]["Weights"]["reads"] += 1
    elif name == "factorflow":
        data["results"][0]["counts"][0]["in_reads"] += 1
    elif name == "accelforge":
        row = next(iter(data["results"].values()))
        row["access_words"]["DRAM"]["I"]["read"] *= 1.00001
    else:
        data["rows"][0]["compute_cycles"] += 1


@pytest.mark.parametrize("name", EXACT)
def test_one_wrong_number_is_noticed(name: str) -> None:
    data = first_case(own_data(name), name)
    assert run(name, data).failed == 0
    spoil(data, name)
    assert sum(row.ok is False for row in run(name, data).rows) == 1


def test_the_sram_estimate_of_rows_left_out() -> None:
    groups = {group.name: group for group in run_suite("cacti").groups}
    for quantity in ("read energy", "write energy", "leakage", "area"):
        assert groups[quantity].n == 60
        assert groups[quantity].ok
        assert groups[quantity].mape < 0.08
        assert groups[quantity].max < 0.20
        assert groups[f"{quantity}, between the table's sizes and widths"].mape < 0.08


def test_a_wrong_sram_figure_is_noticed_and_other_kinds_are_skipped() -> None:
    data = {"rows": own_data("cacti")["rows"][:3]}
    data["rows"][0]["read_nJ"] *= 1.5
    data["rows"][1]["node_nm"] = 28
    data["rows"][2]["bytes"] = 0
    result = run("cacti", data)
    assert result.failed == 1
    assert result.skipped == 8
    assert {row.note for row in result.rows if row.ok is None} == {
        "no macros of this node, cell and ports in the table",
        "the table does not reach this size and width",
    }


def test_eyeriss_layers() -> None:
    from seada.validate import silicon_eyeriss

    chip = next(chip for chip in own_data("silicon")["chips"] if chip["id"] == "eyeriss_v1")
    rows, groups, parameters = silicon_eyeriss.rows(chip)
    assert all(row.ok for row in rows if "active PEs" in row.name)
    cycles = next(group for group in groups if group.name == "eyeriss cycles")
    assert cycles.n == 14
    assert cycles.mape < 0.08
    assert sum(p["status"] == "guessed" for p in parameters) == 9


@pytest.mark.full
def test_gemmini_rows_beat_the_authors_model() -> None:
    groups = {group.name: group for group in run_suite("silicon").groups}
    ours, theirs = groups["gemmini mapping given"], groups["gemmini mapping given, authors' model"]
    assert ours.n == theirs.n == 148
    assert ours.mape < theirs.mape
    assert ours.rank is not None
    assert ours.rank > 0.98


def test_interpreter_and_events_on_a_few_problems() -> None:
    from seada.validate import suite_events, suite_oracle

    assert suite_oracle.run({}, 40).failed == 0
    rows = suite_events.run({}, 40).rows
    assert [row for row in rows if row.ok is False] == []


def test_a_file_of_another_form_is_refused_by_row(tmp_path: Path) -> None:
    data = own_data("bitfusion")
    del data["rows"][2]["ic"]
    data["rows"][5]["compute_cycles"] = "many"
    path = tmp_path / "other.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError) as caught:
        run_suite("bitfusion", path)
    assert [place.path for place in caught.value.places] == ["rows[2]", "rows[5].compute_cycles"]
    assert "'ic' is missing" in caught.value.message


@pytest.mark.parametrize("text", ["", "[", '{"rows": NaN}', "[" * 100_000])
def test_unreadable_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UserError):
        read_reference(path, {"rows": [dict]})


def test_departures_name_place_and_need() -> None:
    form = {"rows": [{"name": str, "x": (int, float), "y": Maybe(int)}]}
    data = {"rows": [{"name": "a", "x": 1}, {"name": "b", "x": True}, {"x": 2, "name": "c", "y": "z"}, 7]}
    assert list(departures(data, form)) == [
        ("rows[1: b].x", "a number is needed, not a boolean"),
        ("rows[2: c].y", "a number is needed, not text"),
        ("rows[3]", "an object with name, x, y is needed, not a number"),
    ]


def test_suites_and_data_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean timeloop"):
        run_suite("timelop")
    with pytest.raises(UserError, match="takes no --data"):
        run_suite("oracle", tmp_path / "x.json")


def test_groups_judge_what_they_state() -> None:
    rows = tuple(
        Row(f"r{i}", True, 100 + i, 100, relative_error(100 + i, 100), "", "g") for i in (0, 5, 10, 40)
    )
    group = group_rows("g", rows, mape_below=0.14, max_below=0.3)
    assert group.mape == pytest.approx(0.1375)
    assert group.median == pytest.approx(0.075)
    assert not group.ok
    assert group_rows("g", rows, mape_below=0.14).ok
    assert group_rows("g", rows, within=(0.75, 0.1)).ok
    assert not group_rows("g", rows, within=(0.8, 0.1)).ok
    assert not group_rows("empty", rows, mape_below=1.0).ok


def test_the_command_prints_json_and_ends_with_4_on_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = first_case(own_data("bitfusion"), "bitfusion")
    path = tmp_path / "one.json"
    path.write_text(json.dumps(data))
    assert run_command(["validate", "bitfusion", "--data", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["suite"] == "bitfusion"
    assert set(document["rows"][0]) >= {"name", "ok", "ours", "reference", "error", "note"}
    assert document["failed"] == 0
    spoil(data, "bitfusion")
    path.write_text(json.dumps(data))
    assert run_command(["validate", "bitfusion", "--data", str(path), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["failed"] == 1
    assert run_command(["validate", "bitfusion", "--data", str(tmp_path / "none.json")]) == 2
    assert run_command(["validate", "--data", str(path)]) == 2


def test_every_suite_is_there() -> None:
    for name in SUITES:
        suite = import_module(f"seada.validate.suite_{name}")
        assert callable(suite.run)
