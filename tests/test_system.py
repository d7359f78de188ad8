"""The whole network: formats, vector operators, floating-point unit, totals, reading back."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil

import pytest

from seada.arch.hardware import VectorUnit
from seada.errors import InfeasibleError, UserError
from seada.formats import Precision, PrecisionRequest, parse_precision
from seada.mapping.text import parse_mapping
from seada.model.float_unit import float_unit_cost, traffic
from seada.system import jobs
from seada.system.assign import assign, resolve_requests
from seada.system.jobs import Question, answer_all
from seada.system.result import RunResult
from seada.system.run import run
from seada.system.totals import activation_bits, bops, weight_bits
from seada.workload.build import conv, matmul
from seada.workload.network import Node, VectorWork
from tests.fake_mapper import FP32, INT4, INT8, INT32, conv_node, fake_map_layer, residual, small_arch


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Replaces the mapper by the fake and records what it was asked."""
    asked: list[tuple[object, ...]] = []

    def recording(arch, layer, precision, objective="edp", **effort):  # type: ignore[no-untyped-def]
        asked.append((layer, precision))
        return fake_map_layer(arch, layer, precision, objective, **effort)

    monkeypatch.setattr(jobs, "map_layer", recording)
    return asked


# Formats


def test_output_is_the_consumers_input_format() -> None:
    network = residual()
    requests = resolve_requests(network, {"conv1": "int8", "conv2": "int4", "conv3": "int4"})
    done = assign(small_arch(), network, requests)
    assert done.requests["conv1"].output == INT4
    assert done.requests["conv3"].output == INT4, "nobody reads it: its own input format"
    assert done.tensors["f"] == INT4
    assert done.conversions == ()


def test_consumers_that_differ_convert_the_narrower_from_the_wider() -> None:
    network = residual()
    requests = resolve_requests(network, {"conv1": "int8", "conv2": "int4", "conv3": "int8"})
    done = assign(small_arch(), network, requests)
    assert done.requests["conv1"].output == INT8, "the addition feeds conv3 and reads int8"
    assert [(c.tensor, c.source, c.target, c.elements, c.after) for c in done.conversions] == [
        ("b", INT8, INT4, 256, "relu")
    ]
    assert done.requests["conv2"].output == INT8


def test_border_between_integer_and_float_is_a_conversion() -> None:
    network = residual()
    requests = resolve_requests(network, {"conv1": "int8", "conv2": "int8", "conv3": "fp32"})
    done = assign(small_arch(), network, requests)
    assert done.on_float_unit == {"conv3": FP32}
    assert done.requests["conv2"].output == INT8
    assert [(c.tensor, c.target) for c in done.conversions] == [("b", FP32), ("c", FP32)]


def test_integers_that_only_the_float_unit_can_hold_are_converted_to_its_format() -> None:
    done = assign(small_arch(), residual(), resolve_requests(residual(), "int16"))
    assert set(done.on_float_unit) == {"conv1", "conv2", "conv3"}
    assert done.requests["conv1"].weight == FP32
    assert "floating-point unit" in done.notes["conv1"]


def test_no_unit_for_a_format_names_the_layer() -> None:
    with pytest.raises(InfeasibleError, match=r"layer conv1: .*int32"):
        assign(small_arch(), residual(), resolve_requests(residual(), "int32"))


def test_explicit_output_wins() -> None:
    requests = resolve_requests(
        residual(), {"conv1": "w:int8,a:int8,out:int4", "conv2": "int8", "conv3": "int8"}
    )
    done = assign(small_arch(), residual(), requests)
    assert done.requests["conv1"].output == INT4
    assert [(c.tensor, c.source, c.target) for c in done.conversions] == [("b", INT4, INT8)]
    assert done.tensors["a"] == done.tensors["b"] == INT4


def test_requests_must_cover_the_network() -> None:
    with pytest.raises(UserError, match="did you mean 'conv2'"):
        resolve_requests(residual(), {"conv22": "int8"})
    with pytest.raises(UserError, match="conv2, conv3"):
        resolve_requests(residual(), {"conv1": "int8"})
    with pytest.raises(UserError, match="states no formats"):
        resolve_requests(residual(), None)


def test_formats_of_the_file_are_used_and_an_override_is_reported(mapped: list[object]) -> None:
    network = residual()
    own = Precision(INT8, INT8, INT32, INT8)
    nodes = tuple(replace(node, precision=own) if node.layers else node for node in network.nodes)
    network = replace(network, nodes=nodes)
    assert run(small_arch(), network).layer("conv1").note == ""
    assert "overridden" in run(small_arch(), network, "int4").layer("conv1").note


# Rows and totals


def test_rows_add_up_and_every_node_has_one(mapped: list[object]) -> None:
    result = run(small_arch(), residual(), "int8")
    assert [row.name for row in result.layers] == ["conv1", "relu", "conv2", "add", "conv3", "flatten"]
    total = result.total
    assert total.latency_cycles == sum(row.latency_cycles for row in result.layers)
    assert total.energy_pj == pytest.approx(sum(row.energy_pj for row in result.layers))
    for row in result.layers:
        assert row.energy_pj == pytest.approx(sum(row.energy_breakdown_pj.values()))
    assert total.energy_pj == pytest.approx(sum(total.energy_breakdown_pj.values()))
    assert total.edp_pj_cycles == total.energy_pj * total.latency_cycles
    assert total.latency_s == total.latency_cycles / 1e9
    assert total.macs == 4 * 2 * 64 + 2 * 4 * 4 * 64
    assert total.bops == total.macs * 64
    assert total.weight_bytes == 8 + 16 + 16
    assert total.area_um2 == 500.0 + 4 * 10.0
    assert total.bound is None, "an EDP of sums has no bound from the layers' products"
    assert result.layer("flatten").note == "a view"


def test_additive_objective_has_a_bound(mapped: list[object]) -> None:
    total = run(small_arch(), residual(), "int8", "energy").total
    layers = total.macs * 8
    assert total.bound == pytest.approx(layers / 2 + (total.energy_pj - layers))
    assert total.gap == pytest.approx(total.energy_pj / total.bound - 1)


def test_vector_operator_takes_the_longer_of_operations_and_traffic(mapped: list[object]) -> None:
    row = run(small_arch(), residual(), "int8").layer("add")
    # 512 bytes in and 256 out: 96 words of dram at 2 a cycle; glb moves them twice, 384 words at 4 a cycle.
    assert row.latency_breakdown_cycles["port.dram.shared"] == 96 / 2
    assert row.latency_breakdown_cycles["port.glb.shared"] == 384 / 4
    assert row.latency_breakdown_cycles["compute"] == 256 / 4
    assert row.latency_cycles == 96
    assert row.energy_breakdown_pj["dram.vector"] == 96 * 100.0
    assert row.energy_breakdown_pj["glb.vector"] == 192 * 2.0 + 192 * 3.0
    assert row.energy_breakdown_pj["vector"] == 128.0
    assert row.energy_breakdown_pj["leakage"] == pytest.approx(0.001 * 96 / 1e9 * 1e12)
    assert row.outer_bits == 768 * 8


def test_fused_operator_adds_time_only_beyond_its_producer(mapped: list[object]) -> None:
    slow = run(small_arch(), residual(), "int8").layer("relu")
    assert slow.latency_cycles == 256 // 4 - 10, "the fake maps conv1 in 10 cycles"
    assert "adds 54 cycles" in slow.note
    assert set(slow.energy_breakdown_pj) == {"vector", "leakage"}
    wide = small_arch(vector_unit=VectorUnit("vector", 256, 0.5, "glb"))
    assert run(wide, residual(), "int8").layer("relu").latency_cycles == 0


def test_bias_of_a_layer_runs_in_its_drain(mapped: list[object]) -> None:
    network = residual()
    biased = replace(network.nodes[0], work=VectorWork(256, fuses=True))
    network = replace(network, nodes=(biased, *network.nodes[1:]))
    result = run(small_arch(), network, "int8")
    assert result.layer("conv1").latency_cycles == 64
    assert result.layer("conv1").energy_breakdown_pj["vector"] == 128.0
    assert result.layer("relu").latency_cycles == 64, "bias and relu: 512 operations on 4 lanes"


def test_conversion_reads_and_writes_where_the_tensor_rests(mapped: list[object]) -> None:
    result = run(small_arch(), residual(), {"conv1": "int8", "conv2": "int4", "conv3": "int8"})
    row = result.layer("b -> int4")
    assert [item.name for item in result.layers][:3] == ["conv1", "relu", "b -> int4"]
    assert row.energy_breakdown_pj["dram.vector"] == (32 + 16) * 100.0
    assert row.latency_cycles == ceil(max(256 / 4, 48 / 2))
    assert row.precision == {"input": "int8", "output": "int4"}


def test_without_a_vector_unit_the_operator_is_named(mapped: list[object]) -> None:
    with pytest.raises(InfeasibleError, match=r"no vector unit.*relu \(Relu\)"):
        run(small_arch(vector_unit=None), residual(), "int8")
    assert mapped == [], "said before the search, not after it"


def test_unmodelled_nodes_are_counted(mapped: list[object]) -> None:
    network = residual()
    network = replace(network, nodes=(*network.nodes, Node("odd", "Odd", ("f",), ("g",))))
    coverage = run(small_arch(), network, "int8").coverage
    assert coverage == {"modelled": 6, "total": 7, "unmodelled": [{"type": "Odd", "count": 1}]}


def test_equal_layers_are_mapped_once(mapped: list[tuple[object, ...]]) -> None:
    result = run(small_arch(), residual(), "int8")
    assert len(mapped) == 2, "conv2 and conv3 have the same shape and formats"
    assert result.results["conv3"].layer.name == "conv3"


def test_layer_that_fits_nowhere_is_named(mapped: list[object]) -> None:
    network = residual()
    nodes = (conv_node("huge", "x", "a", "w1", K=666, C=2), *network.nodes[1:])
    with pytest.raises(InfeasibleError, match="layer huge: glb, weight: needs 9, has 1"):
        run(small_arch(), replace(network, nodes=nodes), "int8")


def test_infeasible_candidates_can_be_left_open(mapped: list[object]) -> None:
    layer = conv("huge", outputs=(1, 1), kernel=(1, 1), K=666, C=1)
    question = Question(layer, parse_precision("int8"))
    assert answer_all(small_arch(), [question], "edp", infeasible="none") == [None]


def test_progress_counts_distinct_layers(mapped: list[object]) -> None:
    seen: list[tuple[int, int, str]] = []
    run(small_arch(), residual(), "int8", progress=lambda *step: seen.append(step))
    assert [(done, total) for done, total, _ in seen] == [(1, 2), (2, 2)]


def test_activations_each_once_and_the_most_alive() -> None:
    network = residual()
    done = assign(small_arch(), network, resolve_requests(network, "int8"))
    written, peak = activation_bits(network, done)
    # x, b, c, d, e: `a` only exists in the drain of conv1, `f` is a view of e.
    assert written == 8 * (128 + 4 * 256)
    # While the addition runs b, c and d are alive.
    assert peak == 8 * 3 * 256


def test_shared_weights_count_once_and_computed_ones_not_at_all() -> None:
    network = residual()
    precision = dict.fromkeys(("conv1", "conv2", "conv3"), Precision(INT4, INT8, INT32, INT8))
    assert weight_bits(network, precision) == 4 * (8 + 16 + 16)
    assert bops(network, precision) == network.macs * 32
    shared = replace(network.nodes[4], weight="w2", inputs=("d", "w2"))
    network = replace(network, nodes=(*network.nodes[:4], shared, network.nodes[5]))
    assert weight_bits(network, precision) == 4 * (8 + 16)
    computed = replace(network.nodes[2], weight="a", inputs=("b", "a"))
    network = replace(network, nodes=(*network.nodes[:2], computed, *network.nodes[3:4], network.nodes[5]))
    assert weight_bits(network, precision) == 4 * 8


def test_result_reads_back_from_its_own_json(mapped: list[object]) -> None:
    result = run(small_arch(), residual(), {"conv1": "int8", "conv2": "int4", "conv3": "fp32"})
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = RunResult.from_dict(json.loads(text))
    assert json.dumps(back.to_dict()) == text
    with pytest.raises(UserError, match="schema_version"):
        RunResult.from_dict({"schema_version": 7})
    with pytest.raises(UserError, match="did you mean 'conv1'"):
        back.layer("conv11")


# Floating-point unit


def _fp32() -> Precision:
    return Precision(FP32, FP32, FP32, FP32)


def test_float_unit_is_bound_by_the_slowest_of_rate_and_memories() -> None:
    layer = matmul("fc", M=64, N=1, K=64)
    cost = float_unit_cost(small_arch(), layer, _fp32(), FP32)
    dram_words = (64 * 64 + 64 + 64) * 32 // 64
    assert cost.latency_breakdown_cycles["port.dram.shared"] == dram_words / 2
    assert cost.latency_breakdown_cycles["compute"] == 64 * 64 / 2
    # Everything is written to and read from the buffer once, at 4 words a cycle.
    assert cost.latency_breakdown_cycles["port.glb.shared"] == 2 * (64 * 64 + 64 + 64) / 4
    assert cost.latency_cycles == 2 * (64 * 64 + 128) // 4
    assert cost.bound_by == "port.glb.shared"
    assert cost.estimate
    assert cost.energy_breakdown_pj["mac"] == 4.0 * 4096
    assert cost.energy_breakdown_pj["dram.weight"] == 4096 / 2 * 100.0


def test_float_unit_reports_compute_as_the_bound() -> None:
    layer = matmul("square", M=32, N=32, K=32)
    cost = float_unit_cost(small_arch(), layer, _fp32(), FP32)
    assert cost.bound_by == "compute"
    assert cost.latency_cycles == 32**3 / 2
    assert cost.utilization == 1.0
    assert cost.energy_breakdown_pj["leakage"] == pytest.approx(0.001 * cost.latency_cycles * 1e-9 * 1e12)


def test_traffic_is_minimal_where_the_working_set_fits_and_blocked_else() -> None:
    layer = matmul("gemm", M=64, N=64, K=64)
    once = 64 * 64 * 32
    assert traffic(layer, _fp32(), None) == traffic(layer, _fp32(), 1 << 24)
    assert traffic(layer, _fp32(), 1 << 24).weight == once
    size = 32 * (16 * 16 + 16 + 16)
    blocked = traffic(layer, _fp32(), size)
    best = min(
        once * (-(-64 // n)) + once * (-(-64 // m))
        for m in range(1, 65)
        for n in range(1, 65)
        if 32 * (m * n + m + n) <= size
    )
    assert blocked.weight + blocked.input == best
    assert blocked.output == once


def test_blocked_traffic_never_grows_with_the_memory() -> None:
    layer = conv("c", outputs=(14, 14), kernel=(3, 3), K=96, C=96, pad=(1, 1), inputs=(14, 14))
    sizes = [1 << k for k in range(8, 24)]
    moved = [traffic(layer, _fp32(), size) for size in sizes]
    totals = [item.weight + item.input + item.output for item in moved]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] == 32 * (96 * 96 * 9 + 2 * 96 * 14 * 14)


def test_request_with_every_operand_is_shown_in_the_provenance(mapped: list[object]) -> None:
    request = PrecisionRequest(INT8, INT8, INT32, INT8)
    assert (
        run(small_arch(), residual(), request).provenance["precision"] == "w:int8,a:int8,acc:int32,out:int8"
    )


# With the real mapper


def test_any_number_of_processes_gives_the_same_result() -> None:
    one = run(
        small_arch(), residual(), {"conv1": "int8", "conv2": "int4", "conv3": "fp32"}, max_evaluations=50
    )
    two = run(
        small_arch(),
        residual(),
        {"conv1": "int8", "conv2": "int4", "conv3": "fp32"},
        max_evaluations=50,
        jobs=2,
    )
    assert one.to_dict() == two.to_dict()
    layer = one.layer("conv1")
    assert layer.macs == 512
    assert layer.outer_bits >= 8 * (128 + 8) + 4 * 256, (
        "inputs, weights and (int4) outputs cross the outermost memory"
    )
    assert parse_mapping(layer.mapping_text) == one.results["conv1"].mapping
