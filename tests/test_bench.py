"""The parts of `make bench` that carry meaning: problems and mappings in plain form, tables, absent tools."""

from __future__ import annotations

import json

import pytest

import bench
import seada
from benchmarks import against_accelforge
from benchmarks.comparison import GEMM, chip, costed, quality_row, set_up
from benchmarks.environments import ACCELFORGE, NotAvailable, Peer, install
from benchmarks.own import CONV_3X3, batch_rows
from benchmarks.problem import plain_arch, plain_layer, plain_mapping, read_mapping, weight_stationary
from benchmarks.table import Table
from benchmarks.timing import cpu_seconds, spread
from seada.model.evaluate import evaluate_mapping
from seada.workload.line import parse_layer

STATIONARY = """
[dram holds weight, input, output]
for M in 0..? step 256
  for N in 0..? step 128
    for K in 0..? step 16
      [glb holds input, output]
      for M in 0..256 step 16
        parallel-for M in 0..16 step 1 on pe.x
          parallel-for K in 0..16 step 1 on pe.y
            [rf holds weight]
            for N in 0..128 step 1
              mac
"""


def test_plain_mapping_and_back_costs_the_same() -> None:
    layer = parse_layer(CONV_3X3)
    setup = set_up(chip(), layer)
    order, steps = batch_rows(1, ragged=False)
    mapping = against_accelforge._with_steps(order, steps[0])
    plain = json.loads(json.dumps(plain_mapping(mapping, layer)))
    again = read_mapping(plain, layer, "pe")
    assert len(again.nodes) < len(mapping.nodes)
    assert evaluate_mapping(layer, setup, again) == evaluate_mapping(layer, setup, mapping)


def test_plain_layer_leaves_out_dimensions_of_one() -> None:
    plain = plain_layer(parse_layer("conv K=8 C=4 P=5 Q=6 R=3 S=1 stride=2"))
    assert plain["dims"] == {"K": 8, "C": 4, "P": 5, "Q": 6, "R": 3}
    assert plain["operands"]["input"] == [[("C", 1)], [("P", 2), ("R", 1)], [("Q", 2)]]


def test_weight_stationary_chip_says_what_each_axis_reuses() -> None:
    plain = plain_arch(set_up(weight_stationary(chip(), GEMM), GEMM))
    array = next(node for node in plain["nodes"] if "axes" in node)
    assert [(axis["size"], axis["reuse"]) for axis in array["axes"]] == [(16, "input"), (16, "output")]
    keeps = {node["name"]: node["keep"] for node in plain["nodes"] if "keep" in node}
    assert keeps["rf"] == {"weight": "must", "input": "never", "output": "never"}
    assert keeps["dram"] == dict.fromkeys(("weight", "input", "output"), "must")


def test_weight_stationary_chip_takes_such_nests_only() -> None:
    setup = set_up(weight_stationary(chip(), GEMM), GEMM)
    mapping = seada.parse_mapping(STATIONARY)
    assert costed(GEMM, setup, mapping).energy_pj is not None
    swapped = STATIONARY.replace("pe.x", "pe").replace("pe.y", "pe.x").replace("on pe\n", "on pe.y\n")
    refused = costed(GEMM, setup, seada.parse_mapping(swapped))
    assert refused.energy_pj is None
    assert "pe." in refused.reason


def test_quality_row_compares_the_same_counts() -> None:
    setup = set_up(chip(), GEMM)
    once = costed(GEMM, setup, seada.parse_mapping(STATIONARY))
    nothing = costed(GEMM, setup, None)
    assert quality_row("x", 1e6, once, once)[4] == "1.0000"
    assert quality_row("x", 1e6, nothing, once)[2:5] == (None, quality_row("x", 1e6, once, once)[3], None)


def test_tables_print_and_write_spreads() -> None:
    table = Table(
        "Times", ("what", "took [s]"), [("one", spread([2.0, 1.0, 30.0])), ("two", None)], ["a note"]
    )
    assert table.text().splitlines()[3:] == ["one   2.00 (1.00..30.0)", "two                   -", "  a note"]
    assert table.data()["rows"][0]["took [s]"] == {"median": 2.0, "low": 1.0, "high": 30.0, "repeats": 3}


def test_ratio_spans_what_both_spreads_allow() -> None:
    ratio = spread([8.0, 10.0, 12.0]).over(spread([1.0, 2.0]))
    assert (ratio.median, ratio.low, ratio.high) == (10 / 1.5, 4.0, 12.0)
    assert cpu_seconds(3, sum, [1, 2]).repeats == 3


def test_absent_tool_is_named_and_the_rest_goes_on() -> None:
    newest = Peer("none", ("nothing==0",), (4, 0))
    with pytest.raises(NotAvailable, match=r"needs Python 4\.0"):
        install(newest)

    def section() -> list[Table]:
        raise NotAvailable("needs Python 4.0")

    (table,) = bench.run("some", section)
    assert table.text().splitlines()[-1].strip() == "needs Python 4.0"
    assert ACCELFORGE.python == (3, 12)
