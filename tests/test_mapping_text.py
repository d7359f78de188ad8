"""The text form and the file form of mappings read back exactly, and refuse everything else by place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seada.errors import ConfigError, UserError
from seada.mapping.nest import Keep, Loop, Mapping
from seada.mapping.text import format_mapping, parse_mapping
from seada.mapping.yaml_form import from_data, from_yaml, load_mapping, to_data, to_yaml
from seada.workload.build import matmul
from seada.workload.layer import ROLES

NAMES = st.sampled_from(["dram", "glb", "l1-cache", "null", "rf_0", "true"])
KEEPS = st.builds(Keep, NAMES, st.sampled_from(ROLES))
LOOPS = st.builds(
    Loop,
    st.sampled_from(["K", "M", "N", "P"]),
    st.integers(1, 2**40),
    st.one_of(st.none(), st.sampled_from(["pe.x", "pe-array.y", "lanes.x"])),
)
MAPPINGS = st.builds(Mapping, st.lists(st.one_of(KEEPS, LOOPS), min_size=1, max_size=30).map(tuple))


@given(MAPPINGS)
def test_text_round_trip(mapping: Mapping) -> None:
    assert parse_mapping(format_mapping(mapping)) == mapping


@given(MAPPINGS)
def test_text_round_trip_with_a_layer(mapping: Mapping) -> None:
    layer = matmul("m", M=5, N=7, K=3)
    assert parse_mapping(format_mapping(mapping, layer)) == mapping


@given(MAPPINGS)
def test_yaml_and_data_round_trip(mapping: Mapping) -> None:
    assert from_yaml(to_yaml(mapping)) == mapping
    assert from_data(to_data(mapping)) == mapping


def test_a_person_can_read_the_text() -> None:
    nodes = [Keep("dram", "weight"), Keep("dram", "input"), Loop("M", 4), Keep("glb", "weight")]
    mapping = Mapping((*nodes, Loop("M", 1, "pe.x")))
    assert format_mapping(mapping, matmul("m", M=10, N=1, K=1)).splitlines() == [
        "[dram holds weight, input]",
        "for M in 0..10 step 4",
        "  [glb holds weight]",
        "  parallel-for M in 0..4 step 1 on pe.x",
        "    mac",
    ]


@pytest.mark.parametrize(
    ("text", "line", "culprit"),
    [
        ("[dram holds weight]\nfor K in 0..4 step 0", 2, "must be 1 or more"),
        ("for K in 0..4 step 2\nfor K in 0..3 step 1", 2, "leaves 2"),
        ("for K in 0..4 step 2 on pe.x", 1, "parallel-for"),
        ("parallel-for K in 0..4 step 2", 1, "on fanout.axis"),
        ("[dram holds wieght]", 1, "'wieght' is no operand"),
        ("[dram keeps weight]", 1, "is no line of a mapping"),
        ("mac\nfor K in 0..4 step 2", 1, "is no line of a mapping"),
        ("for K in 0..9999999999999999999 step 2", 1, "is no line of a mapping"),
    ],
)
def test_bad_lines_are_named(text: str, line: int, culprit: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_mapping(text, "m.txt")
    assert [place.line for place in caught.value.places] == [line]
    assert culprit in caught.value.message
    assert "m.txt" in caught.value.message


def test_all_bad_lines_at_once() -> None:
    with pytest.raises(UserError) as caught:
        parse_mapping("fur K\n[glb holds weight]\nwhile K")
    assert [place.line for place in caught.value.places] == [1, 3]


@pytest.mark.parametrize("text", ["", "\n  \n", "mac"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="empty"):
        parse_mapping(text)


@pytest.mark.parametrize(
    ("node", "culprit"),
    [
        ("{keep: glb}", "allowed: keep and operand"),
        ("{keep: glb, operand: wieght}", "did you mean 'weight'"),
        ("{keep: glb, operand: weight, step: 3}", "allowed: keep and operand"),
        ("{loop: K}", "allowed: keep and operand"),
        ("{loop: K, step: 0}", "greater than or equal to 1"),
        ("{loop: K, step: 1.5}", "integer"),
        ("{loop: K, step: 1, on: pe}", "is no axis; write fanout.axis"),
        ("{lop: K, step: 1}", "did you mean 'loop'"),
        ("{loop: K, loop: C, step: 1}", "duplicate key"),
        ("[K, 1]", "a mapping is needed"),
    ],
)
def test_bad_nodes_are_named_with_their_place(tmp_path: Path, node: str, culprit: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(f"schema_version: 1\nnodes:\n  - {node}\n")
    with pytest.raises(ConfigError) as caught:
        load_mapping(path)
    assert culprit in caught.value.message
    assert {place.line for place in caught.value.places} == {3}


def test_a_mapping_of_a_result_reads_back() -> None:
    mapping = Mapping((Keep("dram", "weight"), Loop("K", 1)))
    assert from_data({"text": format_mapping(mapping), "nodes": to_data(mapping)["nodes"]}) == mapping
    with pytest.raises(ConfigError):
        from_data({"text": "x"})
    with pytest.raises(ConfigError):
        from_data([1])
