"""Networks in own YAML: both forms, weights beside the file, writing and reading back, and broken files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seada.errors import ConfigError, UserError, WorkloadError
from seada.formats import parse_format
from seada.workload.coverage import coverage, coverage_text
from seada.workload.dump import dump_network, save_network
from seada.workload.line import parse_layer
from seada.workload.load import load_workload
from seada.workload.network import Network
from seada.workload.show import describe
from seada.workload.yaml_network import WorkloadFile

SMALL = """\
schema_version: 1
name: small
graph:
  inputs: {x: [1, 3, 8, 8]}
  outputs: [logits]
  weights: small.npz
  constants: {b: [4]}
  nodes:
    - name: conv
      type: Conv
      inputs: [x, w, b]
      outputs: [h]
      attributes: {pads: [1, 1, 1, 1]}
      precision: {weight: int4, input: int8, accumulator: int32, output: int8}
    - {type: Relu, inputs: [h], outputs: [h2]}
    - {type: Odd, inputs: [h2], outputs: [odd]}
    - {name: pool, type: GlobalAveragePool, inputs: [odd], outputs: [p]}
    - {name: flat, type: Flatten, inputs: [p], outputs: [f]}
    - {name: fc, type: Gemm, inputs: [f, v], outputs: [logits], attributes: {transB: 1, alpha: 0.5}}
  tensors: {odd: [1, 4, 2, 2]}
"""


def _write(directory: Path, text: str, name: str = "net.yaml") -> Path:
    file = directory / name
    file.write_text(text, encoding="utf-8")
    return file


def _small(directory: Path) -> Network:
    weights = {"w": np.ones((4, 3, 3, 3), np.float32), "v": np.arange(40.0).reshape(10, 4)}
    np.savez_compressed(directory / "small.npz", **weights)
    return load_workload(_write(directory, SMALL))


def _same(a: Network, b: Network) -> bool:
    return (a.name, a.nodes, a.tensors, a.inputs, a.outputs) == (
        b.name,
        b.nodes,
        b.tensors,
        b.inputs,
        b.outputs,
    )


def test_list_of_layers(tmp_path: Path) -> None:
    text = """\
schema_version: 1
layers:
  - {name: a, type: conv, K: 8, C: 4, P: 7, Q: 9, R: 3, S: 2, stride: [2, 1], pad: 1, groups: 2, repeat: 2}
  - {name: b, type: conv, K: 8, C: 8, Q: 9, S: 5, dilation: 2, N: 3}
  - {name: c, type: conv, K: 2, C: 1, O: 3, P: 4, Q: 5, T: 1, R: 2, S: 3}
  - {name: d, type: gemm, M: 10, N: 2, K: 64}
  - {name: e, type: matmul, B: 2, M: 10, N: 3, K: 64}
"""
    network = load_workload(_write(tmp_path, text))
    lines = {
        "a_1": "conv K=8 C=4 P=7 Q=9 R=3 S=2 stride=2,1 pad=1 groups=2",
        "a_2": "conv K=8 C=4 P=7 Q=9 R=3 S=2 stride=2,1 pad=1 groups=2",
        "b": "conv K=8 C=8 Q=9 S=5 dilation=2 N=3",
        "c": "conv K=2 C=1 O=3 P=4 Q=5 T=1 R=2 S=3",
        "d": "gemm M=10 N=2 K=64",
        "e": "matmul B=2 M=10 N=3 K=64",
    }
    assert network.name == "net"
    assert network.layers == {name: parse_layer(line, name) for name, line in lines.items()}
    assert network.weights is None
    by_name = {node.name: node for node in network.nodes}
    assert network.tensors[by_name["d"].weight].constant
    assert not network.tensors[by_name["e"].weight].constant


def test_graph_with_weights(tmp_path: Path) -> None:
    network = _small(tmp_path)
    conv, relu, odd, pool, flat, fc = network.nodes
    assert [node.name for node in network.nodes] == ["conv", "Relu_1", "Odd_2", "pool", "flat", "fc"]
    assert network["conv"].macs == 4 * 3 * 64 * 9
    assert network["fc"].extents == {"M": 10, "N": 1, "K": 4}
    assert conv.precision is not None
    assert conv.precision.weight == parse_format("int4")
    assert not odd.modelled
    assert all(node.modelled for node in (conv, relu, pool, flat, fc))
    assert network.tensors["f"].shape == (1, 4)
    assert network.weights is not None
    assert sorted(network.weights) == ["v", "w"]
    np.testing.assert_array_equal(network.weights["v"], np.arange(40.0).reshape(10, 4))
    assert network.tensors["b"].constant
    with pytest.raises(KeyError):
        network.weights["b"]


def test_content_hash_depends_on_text_and_weights(tmp_path: Path) -> None:
    first = _small(tmp_path).content_hash
    assert _small(tmp_path).content_hash == first
    np.savez(tmp_path / "small.npz", w=np.zeros((4, 3, 3, 3), np.float32), v=np.zeros((10, 4)))
    second = load_workload(tmp_path / "net.yaml").content_hash
    _write(tmp_path, SMALL.replace("alpha: 0.5", "alpha: 0.25"))
    assert len({first, second, load_workload(tmp_path / "net.yaml").content_hash}) == 3


def test_coverage_and_description(tmp_path: Path) -> None:
    network = _small(tmp_path)
    assert coverage(network) == {"modelled": 5, "total": 6, "unmodelled": [{"type": "Odd", "count": 1}]}
    assert coverage_text(network) == "5 of 6 nodes modelled; not modelled: Odd x1"
    text = describe(network)
    for part in ("6,912", "w:int4,a:int8,acc:int32,out:int8", "not modelled", "a view", "1 x 3 x 8 x 8"):
        assert part in text


def test_written_network_reads_back(tmp_path: Path) -> None:
    network = _small(tmp_path)
    without = load_workload(_write(tmp_path, dump_network(network), "without.yaml"))
    assert _same(network, without)
    assert without.weights is None
    save_network(network, tmp_path / "saved.yaml")
    saved = load_workload(tmp_path / "saved.yaml")
    assert _same(network, saved)
    assert saved.weights is not None
    assert network.weights is not None
    for name in network.weights:
        np.testing.assert_array_equal(saved.weights[name], network.weights[name])
    assert dump_network(saved) == dump_network(network)


def test_odd_names_survive(tmp_path: Path) -> None:
    names = [
        "1e9",
        "no",
        "a: b",
        'quote"d',
        "null",
        "/m/Conv_0",
        "ü\u0085 \U0001f600",
        "- x",
        "#y",
        "x\ty",
        "12",
    ]
    lines = "\n".join(f"    - {{type: Relu, inputs: [x{i}], outputs: [x{i + 1}]}}" for i in range(len(names)))
    text = f"schema_version: 1\ngraph:\n  inputs: {{x0: [1]}}\n  outputs: [x1]\n  nodes:\n{lines}\n"
    network = load_workload(_write(tmp_path, text))
    nodes = tuple(replace(node, name=name) for node, name in zip(network.nodes, names, strict=True))
    again = load_workload(_write(tmp_path, dump_network(replace(network, nodes=nodes))))
    assert [node.name for node in again.nodes] == names
    assert again.nodes == nodes


def test_schema_names_every_field() -> None:
    schema = WorkloadFile.model_json_schema()
    assert set(schema["properties"]) == {"schema_version", "name", "layers", "graph"}
    assert {"type", "inputs", "outputs"} <= set(schema["$defs"]["NodeFields"]["properties"])


LAYER = "schema_version: 1\nlayers:\n  - "
GRAPH = SMALL.replace("  weights: small.npz\n", "").replace(
    "{b: [4]}", "{b: [4], w: [4, 3, 3, 3], v: [10, 4]}"
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (LAYER + "@{name: a, type: gemm, M: 1, N: 1}", "gemm needs K"),
        (LAYER + "{name: a, type: @gem, M: 1, N: 1, K: 1}", "did you mean 'gemm'"),
        (LAYER + "@{name: a, type: gemm, M: 1, N: 1, K: 0}", "K=0 is out of range"),
        (LAYER + "{name: a, type: gemm, M: 1, N: 1, K: @1.0}", "integer"),
        (LAYER + "{name: a, type: gemm, M: 1, N: 1, K: @true}", "integer"),
        (LAYER + "{name: a, type: gemm, M: 1, N: 1, K: 1, repet: @2}", "did you mean 'repeat'"),
        (LAYER + "{name: a, type: gemm, M: 1, N: 1, K: 1, repeat: @0}", "repeat"),
        (LAYER + "@{name: a, type: gemm, M: 1, N: 1, K: 1, stride: 2}", "no key 'stride'"),
        (LAYER + "{name: a, @name: b, type: gemm, M: 1, N: 1, K: 1}", "duplicate key 'name'"),
        ("@schema_version: 1\n", "exactly one of 'layers' and 'graph'"),
        ("schema_version: @2\nlayers: []\n", "schema_version"),
        ("schema_version: 1\nlayers: @[]\n", "layers"),
        (GRAPH.replace("int4", "@int99"), "'int99' is not a numeric format"),
        (GRAPH.replace("[1, 3, 8, 8]", "[1, 3, 8, @8.5]"), "integer"),
    ],
)
def test_broken_forms_have_a_place(tmp_path: Path, text: str, part: str) -> None:
    before, _, after = text.partition("@")
    file = _write(tmp_path, before + after)
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(ConfigError) as caught:
        load_workload(file)
    assert f"{file}:{line}:{column}: " in caught.value.message
    assert part in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("[1, 3, 8, 8]", "[1, 3, 8, 0]", "size 0"),
        ("[1, 3, 8, 8]", "[1, 4, 8, 8]", "node conv (Conv): channels do not fit"),
        ("outputs: [logits]\n", "outputs: [logit]\n", "output 'logit' is no tensor"),
        ("inputs: [x, w, b]", "inputs: [x, ww, b]", "tensor 'ww' is no input, constant or output"),
        ("inputs: [x, w, b]", "inputs: [f, w, b]", "has a cycle"),
        ("outputs: [h2]", "outputs: [h]", "'h' is produced twice"),
        ("  tensors: {odd: [1, 4, 2, 2]}\n", "", "shape of tensor 'odd' is not known"),
        ("tensors: {odd", "tensors: {p: [1, 4, 2, 2], odd", "but the file says [1, 4, 2, 2]"),
        ("pads: [1, 1, 1, 1]", "pads: [1, 1]", "pads has 2 values"),
        ("pads: [1, 1, 1, 1]", "pads: same", "not those of Conv"),
        ("pads: [1, 1, 1, 1]", "strides: [0, 1]", "strides is [0, 1]"),
        ("inputs: [x, w, b]", "inputs: [x]", "not those of Conv"),
    ],
)
def test_broken_graphs_name_the_culprit(tmp_path: Path, old: str, new: str, part: str) -> None:
    assert old in GRAPH
    file = _write(tmp_path, GRAPH.replace(old, new))
    with pytest.raises(WorkloadError) as caught:
        load_workload(file)
    assert caught.value.message.startswith(str(file))
    assert part in caught.value.message


def test_repeated_layer_names(tmp_path: Path) -> None:
    line = "  - {name: a, type: gemm, M: 1, N: 1, K: 1}\n"
    with pytest.raises(WorkloadError, match="repeated: a"):
        load_workload(_write(tmp_path, f"schema_version: 1\nlayers:\n{line}{line}"))


def test_weights_stay_in_the_directory(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    np.savez(tmp_path / "small.npz", w=np.ones((4, 3, 3, 3)), v=np.ones((10, 4)))
    for path in ("../small.npz", str(tmp_path / "small.npz")):
        with pytest.raises(WorkloadError, match="must stay inside"):
            load_workload(_write(inner, SMALL.replace("small.npz", path)))
    (inner / "small.npz").symlink_to(tmp_path / "small.npz")
    with pytest.raises(WorkloadError, match="must stay inside"):
        load_workload(_write(inner, SMALL))


def test_broken_weights(tmp_path: Path) -> None:
    file = _write(tmp_path, SMALL)
    with pytest.raises(WorkloadError, match="no such file of weights"):
        load_workload(file)
    (tmp_path / "small.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(WorkloadError, match=r"no \.npz file"):
        load_workload(file)
    np.savez(tmp_path / "small.npz", w=np.array([object()]), v=np.ones((10, 4)))
    with pytest.raises(WorkloadError, match="Python objects"):
        load_workload(file)
    np.savez(tmp_path / "small.npz", w=np.ones((4, 3, 3, 3)), v=np.ones((10, 4)), b=np.ones(5))
    with pytest.raises(WorkloadError, match=r"'b' has shape \[4\], but \[5\]"):
        load_workload(file)
    (tmp_path / "small.npz").unlink()
    (tmp_path / "small.npz").mkdir()
    with pytest.raises(WorkloadError, match="is a directory"):
        load_workload(file)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nett.yaml", "no such file; did you mean 'net.yaml'"),
        ("missing/net.yaml", "no such file"),
        ("net.txt", "suffixes .yaml, .yml, .onnx"),
        ("net", "suffixes .yaml, .yml, .onnx"),
        ("", "is a directory"),
        ("net\0.yaml", "no such file"),
    ],
)
def test_unreadable_paths(tmp_path: Path, name: str, part: str) -> None:
    _write(tmp_path, GRAPH)
    with pytest.raises(UserError) as caught:
        load_workload(f"{tmp_path}/{name}")
    assert part in caught.value.message


def test_dimensions_are_for_onnx_only(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="ONNX files only"):
        load_workload(_write(tmp_path, GRAPH), {"batch": 2})
