"""Reports: page, figures, CSV, tables; read by parsers and, where there is one, a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from seada.errors import UserError
from seada.report import text, write_report
from seada.report.csv_table import layers_csv
from seada.report.figure_base import MAX_ROWS, shown_rows
from seada.report.figure_layers import energy_per_layer
from seada.report.figures import draw_all
from seada.report.labels import CHARACTER_PT, LINE_PT, label_spots
from seada.report.page import page
from seada.report.palette import blended, format_colour, grouped, readable_on
from seada.system import jobs
from seada.system.result import RunResult
from seada.system.run import run
from tests.fake_mapper import fake_map_layer, residual, small_arch

NASTY = "<script>alert(1)</script>&\"'"


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> RunResult:
    monkeypatch.setattr(jobs, "map_layer", fake_map_layer)
    return run(small_arch(), residual(), {"conv1": "int8", "conv2": "int4", "conv3": "fp32"})


def _with_accuracy(result: RunResult) -> RunResult:
    costs = {"energy_pj": 2e6, "latency_cycles": 900, "weight_bytes": 40}
    points = [
        {"precision": "int8", "accuracy": 0.97, "chosen": False, **costs},
        {"precision": "selected", "accuracy": 0.95, "chosen": True, **costs, "energy_pj": 1e6},
    ]
    accuracy = {"measured": 0.95, "reference": 0.98, "items": 1500, "points": points}
    layers = [{"layer": "conv1", "weight": "int8", "input": "int8", "reason": "cheap", "warning": "outliers"}]
    selection = {"method": "output_kl", "budgets": ["edp<=3"], "rule": "least loss", "layers": layers}
    return replace(result, accuracy=accuracy, selection=selection)


class _Checker(HTMLParser):
    """Collects elements and fails on tags that do not nest."""

    VOID = frozenset({"meta", "br", "use", "path", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [
            v for k in ("href", "src", "xlink:href") if (v := named.get(k)) and not v.startswith("#")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:
            return
        assert self.open.pop() == tag


def _checked(html: str) -> _Checker:
    checker = _Checker()
    checker.feed(html)
    assert checker.open == []
    return checker


def test_page_is_well_formed_self_contained_and_complete(result: RunResult) -> None:
    result = _with_accuracy(result)
    html = page(result, draw_all(result))
    checked = _checked(html)
    assert len(checked.ids) == len(set(checked.ids)), "figures must not share ids"
    assert checked.links == [], "the page must not need anything else"
    assert "script" not in checked.tags
    assert not re.search(r"url\((?!#)", html)
    for row in result.layers:
        assert row.name.replace(">", "&gt;") in html
    for expected in (
        "6 of 6 nodes",
        "placeholder",
        "a guess",
        "closed-form estimate",
        "output_kl",
        "outliers",
        "97.00 %",
    ):
        assert expected in html


def test_words_from_files_are_escaped(result: RunResult) -> None:
    rows = tuple(replace(row, name=NASTY + row.name, note=NASTY, bound_by=NASTY) for row in result.layers)
    chip = replace(result.chip, name=NASTY, warnings=(NASTY,))
    nasty = _with_accuracy(replace(result, layers=rows, chip=chip, network=NASTY, notes=(NASTY,)))
    checked = _checked(page(nasty, draw_all(nasty)))
    assert "script" not in checked.tags


@pytest.mark.full
def test_report_is_the_same_every_time(result: RunResult, tmp_path: Path) -> None:
    first, second = (write_report(result, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == [path.name for path in second]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_report_is_written_whole_and_without_leftovers(result: RunResult, tmp_path: Path) -> None:
    write_report(_with_accuracy(result), tmp_path)
    assert (tmp_path / "figures" / "accuracy_vs_cost.png").exists()
    written = write_report(result, tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(written)
    assert not (tmp_path / "figures" / "accuracy_vs_cost.png").exists(), "of an earlier report"
    back = RunResult.from_dict(json.loads((tmp_path / "result.json").read_text()))
    assert page(back, draw_all(back)) == (tmp_path / "report.html").read_text(), "the JSON holds all of it"


def test_directory_that_cannot_be_written_is_a_user_error(result: RunResult, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_report(result, tmp_path / "file")


def test_csv_has_every_row_and_its_energy_adds_up(result: RunResult) -> None:
    rows = list(csv.DictReader(io.StringIO(layers_csv(result))))
    assert [row["name"] for row in rows] == [row.name for row in result.layers]
    for row, source in zip(rows, result.layers, strict=True):
        parts = [float(value) for key, value in row.items() if key.startswith("energy_pj_") and value]
        assert sum(parts) == pytest.approx(source.energy_pj)
        assert int(row["latency_cycles"]) == source.latency_cycles
    nasty = replace(result, layers=(replace(result.layers[0], name="=1+1"),))
    assert "'=1+1" in layers_csv(nasty), "a spreadsheet must not run a name"


def test_long_networks_keep_their_sums(result: RunResult) -> None:
    layer, operator = result.layers[0], result.layer("add")
    many = tuple(
        replace(layer, name=f"conv{i}", energy_pj=1.0 + i, energy_breakdown_pj={"mac": 1.0 + i})
        for i in range(200)
    )
    long = replace(result, layers=(*many, operator, operator))
    shown = shown_rows(long)
    assert len(shown) <= MAX_ROWS
    assert sum(row.energy_pj for row in shown) == pytest.approx(sum(row.energy_pj for row in long.layers))
    assert sum(row.latency_cycles for row in shown) == sum(row.latency_cycles for row in long.layers)
    assert shown[-1].name == "2 vector operators"
    assert energy_per_layer(long) is not None


def test_figures_exist_only_where_there_is_data(result: RunResult) -> None:
    assert "accuracy_vs_cost" not in draw_all(result)
    assert {"roofline", "energy_by_level", "precision_per_layer", "latency_per_layer"} <= set(
        draw_all(result)
    )
    assert (
        draw_all(
            replace(result, layers=(), total=replace(result.total, energy_pj=0.0, area_breakdown_um2={}))
        )
        == {}
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 J"),
        (1e-12, "1 pJ"),
        (999.6, "1,000 J"),
        (1.5e6, "1.5 MJ"),
        (-2e-3, "-2 mJ"),
        (1e-20, "1e-05 fJ"),
    ],
)
def test_si(value: float, shown: str) -> None:
    assert text.si(value, "J") == shown


def test_labels_do_not_cover_each_other() -> None:
    names = ["first", "second", "third", "blocked"]
    points = [(0.5, 0.5), (0.5, 0.5), (0.52, 0.5), (0.9, 0.9)]
    spots = label_spots(points, names, (200.0, 100.0), blocked=[((1.0, 0.8), 190.0)])
    assert spots[3] is None
    placed = [
        (n, 200 * p[0] + s[0], 100 * p[1] + s[1]) for n, p, s in zip(names, points, spots, strict=True) if s
    ]
    assert len(placed) == 3
    for i, (name, x, y) in enumerate(placed):
        for other, u, v in placed[i + 1 :]:
            apart_x = x + len(name) * CHARACTER_PT <= u or u + len(other) * CHARACTER_PT <= x
            assert apart_x or abs(y - v) >= LINE_PT
    assert label_spots(points, names, (200.0, 100.0), limit=1)[1:] == [None] * 3


def test_parts_of_a_memory_stand_together_outermost_first() -> None:
    parts = grouped(
        {"mac": 1.0, "glb.output": 2.0, "dram.input": 3.0, "glb.weight": 4.0, "link.pe": 5.0}, ["dram", "glb"]
    )
    assert [part.label for part in parts] == ["dram input", "glb weight", "glb output", "mac", "link"]


def test_colours_are_readable() -> None:
    assert blended("#000000", "#ffffff", 0.5) == "#808080"
    assert format_colour("int8") != format_colour("fp8_e4m3")
    assert readable_on("#ffffff") != readable_on("#000000")


@pytest.mark.full
def test_page_in_a_real_browser(result: RunResult, tmp_path: Path) -> None:
    browser = next(
        (p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None
    )
    if browser is None:
        pytest.skip("no Chromium installed")
    write_report(_with_accuracy(result), tmp_path)
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1240,1600"]
    url = (tmp_path / "report.html").as_uri()
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    dom = subprocess.run(
        [*command, profile, "--dump-dom", url], capture_output=True, text=True, timeout=90, check=True
    )
    assert "residual" in dom.stdout
    assert dom.stdout.count("<svg") >= 7
    assert dom.stdout.count("<details") >= len(result.layers)
    picture = tmp_path / "page.png"
    subprocess.run(
        [*command, profile, f"--screenshot={picture}", url], capture_output=True, timeout=90, check=True
    )
    from matplotlib.image import imread

    pixels = imread(picture)
    assert pixels.shape[:2] == (1600, 1240)
    assert len({tuple(p) for p in pixels[::7, ::7, :3].reshape(-1, 3).round(2)}) > 50, (
        "a blank page has few colours"
    )
