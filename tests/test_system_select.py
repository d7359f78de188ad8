"""Formats chosen per layer, and the network run with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seada.errors import InfeasibleError, UserError
from seada.precision.data import Data
from seada.system import jobs
from seada.system.run import run
from seada.system.select import default_candidates, select_precisions
from seada.workload.network import Network
from tests.fake_mapper import fake_map_layer, residual, small_arch


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    questions: list[object] = []

    def recording(arch, layer, precision, objective="edp", **effort):  # type: ignore[no-untyped-def]
        questions.append((layer, precision))
        return fake_map_layer(arch, layer, precision, objective, **effort)

    monkeypatch.setattr(jobs, "map_layer", recording)
    return questions


def _trained() -> Network:
    random = np.random.default_rng(3)
    network = residual()
    constants = {name: tensor.shape for name, tensor in network.tensors.items() if tensor.constant}
    return replace(network, weights={name: random.normal(size=shape) for name, shape in constants.items()})


def _data(items: int) -> Data:
    random = np.random.default_rng(4)
    images = random.normal(size=(items, 2, 8, 8)).astype(np.float32)
    return Data({"x": images}, random.integers(0, 256, items), "random")


def test_default_candidates_are_the_modes_of_the_array() -> None:
    assert [(r.weight.name, r.input.name) for r in default_candidates(small_arch())] == [
        ("int4", "int4"),
        ("int8", "int8"),
    ]


def test_a_budget_decides_and_every_layer_has_a_reason(asked: list[object]) -> None:
    network = _trained()
    widest = run(small_arch(), network, "int8").total.weight_bytes
    generous = select_precisions(small_arch(), network, budgets=[f"weight_bytes<={widest} B"])
    assert {row.precision["weight"] for row in generous.layers if row.macs} == {"int8"}
    tight = select_precisions(small_arch(), network, budgets=[f"weight_bytes<={widest // 2} B"])
    assert {row.precision["weight"] for row in tight.layers if row.macs} == {"int4"}
    assert tight.total.weight_bytes == widest // 2
    assert tight.selection is not None
    assert [item["layer"] for item in tight.selection["layers"]] == ["conv1", "conv2", "conv3"]
    assert all(item["reason"] for item in tight.selection["layers"])
    assert [item["precision"] for item in tight.selection["uniform"]] == ["int4", "int8"]
    assert tight.accuracy is None


def test_nothing_is_mapped_twice(asked: list[object]) -> None:
    select_precisions(small_arch(), _trained(), budgets=["weight_bytes<=30 B"])
    assert len(asked) == len(set(asked))


def test_accuracy_is_measured_beside_uniform_formats() -> None:
    result = select_precisions(small_arch(), _trained(), inputs=_data(20), evaluation=_data(20))
    assert result.accuracy is not None
    assert result.selection is not None
    assert result.selection["method"] == "output_kl"
    points = result.accuracy["points"]
    assert [(point["precision"], point["chosen"]) for point in points] == [
        ("int4", False),
        ("int8", False),
        ("selected", True),
    ]
    assert result.accuracy["measured"] == points[-1]["accuracy"]
    assert result.accuracy["items"] == 20


def test_auto_is_the_selection_with_its_defaults() -> None:
    network = _trained()
    assert run(small_arch(), network, "auto").to_dict() == select_precisions(small_arch(), network).to_dict()


def test_run_measures_the_formats_that_it_is_given() -> None:
    network, data = _trained(), _data(30)
    result = run(small_arch(), network, "int8", evaluation=data)
    assert result.accuracy is not None
    assert set(result.accuracy) >= {"measured", "reference", "items"}


def test_layers_that_share_a_weight_share_its_format() -> None:
    network = _trained()
    shared = replace(network.nodes[4], weight="w2", inputs=("d", "w2"))
    network = replace(network, nodes=(*network.nodes[:4], shared, network.nodes[5]))
    result = select_precisions(small_arch(), network, budgets=["weight_bytes<=100 B"])
    assert result.selection is not None
    assert result.selection["layers"][1]["tied_to"] == ["conv3"]


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="no weights"):
        select_precisions(small_arch(), residual())
    with pytest.raises(UserError, match="no candidates"):
        select_precisions(small_arch(), _trained(), candidates=[])
    with pytest.raises(UserError, match="objective"):
        select_precisions(small_arch(), _trained(), objective="fun")
    with pytest.raises(InfeasibleError, match="conv1 runs in none of the candidates int32"):
        select_precisions(small_arch(), _trained(), candidates=["int32"])
    with pytest.raises(InfeasibleError):
        select_precisions(small_arch(), _trained(), budgets=["weight_bytes<=1 B"])
