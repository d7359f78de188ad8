"""The shipped network: its files agree, its accuracies are as stated, and selection beats uniform formats."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from seada.formats import parse_format
from seada.precision.budget import Budget
from seada.precision.choice import Assignment, Candidate, Costs
from seada.precision.data import Data, load_data
from seada.precision.runtime import Runtime, accuracy
from seada.precision.scores import FormatPair, score_layers
from seada.precision.select import Measurement, select
from seada.workload.load import load_workload
from seada.workload.network import Network

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"


@lru_cache(maxsize=1)
def demo() -> tuple[Network, Data, Data]:
    network = load_workload(WORKLOADS / "demo_digits.yaml")
    test = load_data(WORKLOADS / "demo_digits_test.npz", network, labels=True)
    return network, test, load_data(WORKLOADS / "demo_digits_calibration.npz", network)


def pair(weight: str, activation: str) -> FormatPair:
    return FormatPair(parse_format(weight), parse_format(activation))


def uniform(network: Network, weight: str, activation: str) -> Assignment:
    return dict.fromkeys(network.layers, pair(weight, activation))


def test_the_network_is_as_described() -> None:
    network, test, calibration = demo()
    assert [node.type for node in network.nodes if node.layers] == ["Conv"] * 8 + ["Gemm"]
    assert "depthwise_conv" in {layer.kind for layer in network.layers.values()}
    assert "Add" in {node.type for node in network.nodes}
    assert (test.items, calibration.items) == (1500, 200)
    assert np.bincount(test.labels).tolist() == [150] * 10  # type: ignore[arg-type]
    size = sum(path.stat().st_size for path in WORKLOADS.glob("demo_digits*"))
    assert size < 1_000_000


def test_no_test_item_is_a_calibration_item() -> None:
    _, test, calibration = demo()
    images = {item.tobytes() for item in test.inputs["input"]}
    assert not images & {item.tobytes() for item in calibration.inputs["input"]}


def test_onnx_and_yaml_hold_the_same_network() -> None:
    pytest.importorskip("onnx")
    network, test, _ = demo()
    other = load_workload(WORKLOADS / "demo_digits.onnx")
    assert other.macs == network.macs
    assert [layer.dims for layer in other.layers.values()] == [
        layer.dims for layer in network.layers.values()
    ]
    few = test.take(64)
    assert np.array_equal(Runtime(other).outputs(few), Runtime(network).outputs(few))


def test_the_runtime_agrees_with_onnxruntime() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    network, test, _ = demo()
    few = test.take(300)
    session = onnxruntime.InferenceSession(str(WORKLOADS / "demo_digits.onnx"))
    expected = session.run(None, {"input": few.inputs["input"].astype(np.float32)})[0]
    np.testing.assert_allclose(Runtime(network).outputs(few), expected, rtol=1e-3, atol=2e-4)


def test_accuracies_are_those_of_the_readme() -> None:
    network, test, calibration = demo()
    runtime = Runtime(network, calibration=calibration)
    lines = (WORKLOADS / "README.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| float32 |"))
    names = [cell.strip() for cell in lines[start].strip("| ").split("|")]
    stated = [float(x) for x in re.findall(r"([\d.]+) %", lines[start + 2])]
    assert len(names) == len(stated) == 9
    for name, percent in zip(names, stated, strict=True):
        weight, activation = ("int4", "int8") if name == "w4a8" else (name, name)
        formats = None if name == "float32" else uniform(network, weight, activation)
        # One item in 1,500 may fall the other way where sums are rounded in another order.
        assert 100 * accuracy(runtime, test, formats) == pytest.approx(percent, abs=0.15)


def candidates(network: Network) -> dict[str, list[Candidate]]:
    """Costs that grow with the product of the widths, as on a bit-fusion array."""
    made: dict[str, list[Candidate]] = {}
    for name, layer in network.layers.items():
        made[name] = []
        for weight, activation in (("int8", "int8"), ("int4", "int8"), ("int4", "int4")):
            formats = pair(weight, activation)
            bops = layer.macs * formats.weight.bits * formats.input.bits
            size = layer.elements("weight") * formats.weight.bits / 8
            made[name].append(Candidate(formats, Costs(bops / 1e4, bops / 1e2 + 8 * size, size, bops)))
    return made


def test_selection_beats_uniform_formats_at_their_cost() -> None:
    network, test, calibration = demo()
    runtime = Runtime(network, calibration=calibration)
    options = candidates(network)
    formats = {name: [c.formats for c in found] for name, found in options.items()}
    method, scores = score_layers(runtime, formats, data=calibration)
    assert method == "output_kl"
    full, half, low = (sum(found[i].costs.bops for found in options.values()) for i in range(3))
    budget = Budget("bops", half, "bops")
    chosen = select(options, scores, method=method, budgets=[budget])
    assert chosen.costs.bops <= half
    mixed = accuracy(runtime, test, chosen.assignment)
    # Measured: 90.1 % against 75.3 % for int4 weights beside int8 inputs in every layer.
    assert mixed > accuracy(runtime, test, uniform(network, "int4", "int8")) + 0.1
    automatic = select(options, scores, method=method)
    assert low < automatic.costs.bops < 0.8 * full
    assert accuracy(runtime, test, automatic.assignment) > 0.92


def test_an_accuracy_budget_is_kept_as_measured() -> None:
    network, test, calibration = demo()
    runtime = Runtime(network, calibration=calibration)
    options = candidates(network)
    formats = {name: [c.formats for c in found] for name, found in options.items()}
    method, scores = score_layers(runtime, formats, data=calibration)
    reference = accuracy(runtime, test)
    measurement = Measurement(lambda assignment: accuracy(runtime, test, assignment), reference)
    budgets = [Budget("accuracy_loss", 1.0, "accuracy_loss<=1")]
    found = select(options, scores, method=method, budgets=budgets, measurement=measurement)
    assert accuracy(runtime, test, found.assignment) >= reference - 0.01
    eight = sum(c[0].costs.latency_cycles for c in options.values())
    assert found.costs.latency_cycles < 0.85 * eight
