"""Calibration: known parameters come back from synthetic rows, and users' files are read with care."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from seada.arch.hardware import Calibration
from seada.cli.main import run_command
from seada.errors import UserError
from seada.model.calibration import Features, calibrated_cycles, fit

ARCH = "arch_configs/reference_16x16.yaml"


def synthetic(count: int) -> list[Features]:
    random = Random(3)
    rows = []
    for _ in range(count):
        compute, port = random.uniform(1e3, 1e6), random.uniform(1e3, 1e6)
        rows.append(
            Features(
                latency_cycles=max(compute, port),
                compute_cycles=compute,
                port_cycles=port,
                first_cycles=port * random.uniform(0.1, 1.0),
                tiles=random.randint(1, 500),
                reloads=random.randint(1, 5000),
            )
        )
    return rows


def test_the_defaults_change_nothing() -> None:
    for row in synthetic(20):
        assert calibrated_cycles(Calibration(), row) == pytest.approx(row.latency_cycles)


def test_known_parameters_come_back() -> None:
    truth = Calibration(tile_cycles=300.0, word_cycles=1.7, overlap=0.4)
    rows = synthetic(200)
    measured = [calibrated_cycles(truth, row) for row in rows]
    found = fit(rows, measured, ("tile_cycles", "word_cycles", "overlap"))
    assert found.calibration.tile_cycles == pytest.approx(300, rel=0.01)
    assert found.calibration.word_cycles == pytest.approx(1.7, rel=0.01)
    assert found.calibration.overlap == pytest.approx(0.4, rel=0.01)
    assert found.mape < 0.01
    assert found.warnings == ()


def test_a_parameter_without_effect_is_not_claimed() -> None:
    rows = [replace(row, reloads=0) for row in synthetic(60)]
    measured = [row.latency_cycles * 1.1 for row in rows]
    found = fit(rows, measured, ("word_cycles", "reload_cycles"))
    assert found.errors["reload_cycles"] is None
    assert any("reload_cycles" in text for text in found.warnings)


def test_too_few_rows_and_unknown_names() -> None:
    with pytest.raises(UserError, match="2 measured rows cannot determine 6"):
        fit(synthetic(2), [1.0, 2.0])
    with pytest.raises(UserError, match="no parameter"):
        fit(synthetic(9), [1.0] * 9, ("tile_cicles",))


def write_rows(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(["layer,precision,mapping,cycles", *rows]) + "\n")
    return path


MAPPING = """schema_version: 1
nodes:
  - {keep: dram, operand: weight}
  - {keep: dram, operand: input}
  - {keep: dram, operand: output}
  - {loop: M, step: 8}
  - {keep: glb, operand: input}
  - {loop: N, step: 1}
  - {loop: K, step: 1}
  - {loop: M, step: 1, on: pe.x}
"""


def test_the_command_writes_a_block_that_an_architecture_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.yaml").write_text(MAPPING)
    rows = [
        f'"gemm M={m} N={n} K={k}",int16,m.yaml,{m * n * k * 3}'
        for m in (8, 16, 24)
        for n in (4, 6)
        for k in (4, 8)
    ]
    measured = write_rows(tmp_path / "rows.csv", rows)
    out = tmp_path / "calibration.yaml"
    command = ["calibrate", ARCH, str(measured), "--parameter", "word_cycles", "--parameter", "tile_cycles"]
    assert run_command([*command, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in document["parameters"]] == ["word_cycles", "tile_cycles"]
    assert document["rows"] == 12
    calibrated = tmp_path / "chip.yaml"
    calibrated.write_text(Path(ARCH).read_text() + out.read_text())
    evaluate = ["evaluate", str(calibrated), "gemm M=16 N=4 K=4", str(tmp_path / "m.yaml")]
    assert run_command([*evaluate, "--precision", "int16", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["calibrated_latency_cycles"] > 0
    assert run_command([*evaluate, "--precision", "int16"]) == 0
    assert (
        f"calibrated latency {round(result['calibrated_latency_cycles']):,} cycles" in capsys.readouterr().out
    )


def test_every_wrong_row_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ['"gemm M=4 N=4 K=4",int16,missing.yaml,5', '"gem M=4",int16,,5', '"gemm M=4 N=4 K=4",int16,,-1']
    measured = write_rows(tmp_path / "rows.csv", rows)
    assert run_command(["calibrate", ARCH, str(measured)]) == 2
    text = capsys.readouterr().err
    assert "rows.csv:2:1" in text
    assert "rows.csv:3:1" in text
    assert "must be a number above 0" in text
    (tmp_path / "short.csv").write_text("layer,cycles\n")
    assert run_command(["calibrate", ARCH, str(tmp_path / "short.csv")]) == 2
