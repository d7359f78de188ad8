"""The shipped networks without weights: MACs against closed forms, and files against their generator."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from seada.workload.coverage import coverage
from seada.workload.load import load_workload
from seada.workload.network import Network

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("resnet50", "mobilenet_v2", "bert_base_layer")


def _network(name: str) -> Network:
    return load_workload(ROOT / "workloads" / f"{name}.yaml")


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_workloads", ROOT / "scripts" / "make_workloads.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _resnet50_macs() -> int:
    """Stem, stages of (blocks, width, output side) with 3x3 stride, classifier."""
    macs = 64 * 3 * 49 * 112**2 + 2048 * 1000
    inputs = 64
    for blocks, width, side in ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)):
        first_side = side if width == 64 else 2 * side
        macs += inputs * width * first_side**2 + (blocks - 1) * 4 * width * width * side**2
        macs += blocks * (9 * width**2 + 4 * width**2) * side**2
        macs += inputs * 4 * width * side**2
        inputs = 4 * width
    return macs


def _mobilenet_v2_macs() -> int:
    macs, inputs, side = 32 * 3 * 9 * 112**2, 32, 112
    for expansion, outputs, repeats, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for step in [stride] + [1] * (repeats - 1):
            width = expansion * inputs
            macs += inputs * width * side**2 if expansion > 1 else 0
            side //= step
            macs += (9 * width + width * outputs) * side**2
            inputs = outputs
    return macs + 320 * 1280 * 49 + 1280 * 1000


def test_resnet50() -> None:
    network = _network("resnet50")
    assert network.macs == _resnet50_macs() == 4_089_184_256
    types = Counter(node.type for node in network.nodes)
    assert types == Counter(Conv=53, Relu=49, Add=16, Gemm=1, MaxPool=1, GlobalAveragePool=1, Flatten=1)
    # Parameters of the published model with batch normalisation folded in.
    weights = sum(layer.elements("weight") for layer in network.layers.values())
    assert weights == 25_502_912


def test_mobilenet_v2() -> None:
    network = _network("mobilenet_v2")
    assert network.macs == _mobilenet_v2_macs() == 300_774_272
    kinds = Counter(layer.kind for layer in network.layers.values())
    assert kinds == Counter(conv=35, depthwise_conv=17, gemm=1)
    assert sum(node.type == "Add" for node in network.nodes) == 10


def test_bert_base_layer() -> None:
    network = _network("bert_base_layer")
    tokens, width = 128, 768
    assert network.macs == tokens * (4 * width**2 + 2 * width * 3072) + 2 * tokens**2 * width
    assert network["scores"].extents == {"B": 12, "M": 128, "N": 128, "K": 64}
    assert network["context"].extents == {"B": 12, "M": 64, "N": 128, "K": 128}


@pytest.mark.parametrize("name", NAMES)
def test_every_node_is_modelled(name: str) -> None:
    network = _network(name)
    assert coverage(network)["unmodelled"] == []
    assert all(node.precision is None for node in network.nodes)


@pytest.mark.parametrize("name", NAMES)
def test_file_is_that_of_the_generator(name: str) -> None:
    made = getattr(_generator(), name)()
    network = _network(name)
    assert (made.nodes, made.tensors) == (network.nodes, network.tensors)
