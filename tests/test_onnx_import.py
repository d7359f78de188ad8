"""Reading of ONNX: real networks, small models built here, and broken files."""

from __future__ import annotations

import pickle
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.errors import WorkloadError
from seada.workload.coverage import coverage, coverage_text
from seada.workload.dump import dump_network, save_network
from seada.workload.load import load_workload
from seada.workload.network import Network, VectorWork

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LIGHT_NAMES = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet"),
    *("squeezenet", "vgg19", "zfnet512"),
)
DEMO = Path(__file__).resolve().parent.parent / "workloads"
Dims = list[int | str | None]


def _value(name: str, shape: Dims, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: list[Any],
    inputs: dict[str, Dims],
    outputs: dict[str, Dims | None],
    constants: dict[str, np.ndarray[Any, Any]] | None = None,
    opset: int = 17,
    **graph: Any,
) -> Any:
    made = helper.make_graph(
        nodes,
        "g",
        [_value(name, shape) for name, shape in inputs.items()],
        [
            _value(name, shape) if shape is not None else onnx.ValueInfoProto(name=name)
            for name, shape in outputs.items()
        ],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
        **graph,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)])


def _save(model: Any, directory: Path, name: str = "m.onnx") -> Path:
    file = directory / name
    file.write_bytes(model.SerializeToString())
    return file


def _load(model: Any, directory: Path, dims: dict[str, int] | None = None) -> Network:
    return load_workload(_save(model, directory), dims)


def _weight(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(prod(shape), dtype=np.float32).reshape(shape)


def _library_macs(file: Path) -> int:
    """MACs by the shapes of the library's own inference: outputs times reduction length."""
    model = onnx.shape_inference.infer_shapes(onnx.load(str(file)), data_prop=True)
    values = [*model.graph.value_info, *model.graph.input, *model.graph.output]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    shapes.update({t.name: list(t.dims) for t in model.graph.initializer})
    macs = 0
    for node in model.graph.node:
        if node.op_type == "Conv":
            macs += prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:])
        if node.op_type == "Gemm":
            macs += prod(shapes[node.output[0]]) * shapes[node.input[0]][1]
    return macs


@pytest.mark.parametrize("name", LIGHT_NAMES)
def test_macs_of_real_networks(name: str) -> None:
    file = LIGHT / f"light_{name}.onnx"
    network = load_workload(file)
    assert network.macs == _library_macs(file) > 0
    assert coverage(network)["unmodelled"] == []
    assert "Constant" not in coverage_text(network)


def test_resnet50_is_read_fast_and_right() -> None:
    start = time.process_time()
    network = load_workload(LIGHT / "light_resnet50.onnx")
    assert time.process_time() - start < 2
    assert network.macs == 4_089_184_256
    assert len(network.layers) == 54
    assert len({node.name for node in network.nodes}) == len(network.nodes) == 176
    again = load_workload(LIGHT / "light_resnet50.onnx")
    assert (again.nodes, again.tensors, again.content_hash) == (
        network.nodes,
        network.tensors,
        network.content_hash,
    )


@pytest.mark.parametrize("name", ["resnet50", "shufflenet", "densenet121"])
def test_import_survives_own_yaml(name: str, tmp_path: Path) -> None:
    network = load_workload(LIGHT / f"light_{name}.onnx")
    file = tmp_path / "net.yaml"
    file.write_text(dump_network(network), encoding="utf-8")
    again = load_workload(file)
    assert (again.nodes, again.tensors, again.inputs) == (network.nodes, network.tensors, network.inputs)


def test_weights_of_real_networks_are_computed_when_asked_for() -> None:
    network = load_workload(LIGHT / "light_squeezenet.onnx")
    node = next(node for node in network.nodes if node.type == "Conv")
    assert network.weights is not None
    assert network.weights[node.weight].shape == network.tensors[node.weight].shape


@pytest.mark.parametrize("name", ["demo_digits.onnx", "demo_digits.yaml"])
def test_networks_can_be_sent_to_another_process(name: str) -> None:
    network = load_workload(DEMO / name)
    again = pickle.loads(pickle.dumps(network))
    assert (again.nodes, again.tensors) == (network.nodes, network.tensors)
    assert network.weights is not None
    for key, array in network.weights.items():
        np.testing.assert_array_equal(again.weights[key], array)


def test_onnx_and_yaml_of_the_demo_agree() -> None:
    from_onnx = load_workload(DEMO / "demo_digits.onnx")
    from_yaml = load_workload(DEMO / "demo_digits.yaml")
    assert from_onnx.layers == from_yaml.layers
    assert [node.work for node in from_onnx.nodes] == [node.work for node in from_yaml.nodes]
    assert from_onnx.weights is not None
    assert from_yaml.weights is not None
    for name in from_yaml.weights:
        np.testing.assert_array_equal(from_onnx.weights[name], from_yaml.weights[name])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_convolutions_in_all_shapes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))

    def per_axis(low: int, high: int, count: int = axes) -> list[int]:
        return data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    groups, per_group, inputs = (
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(1, 3)),
    )
    kernel, sizes = per_axis(1, 3), per_axis(7, 11)
    attributes: dict[str, Any] = {"group": groups, "strides": per_axis(1, 4), "dilations": per_axis(1, 3)}
    auto_pad = data.draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto_pad == "NOTSET":
        attributes["pads"] = per_axis(0, 2, 2 * axes)
    else:
        attributes["auto_pad"] = auto_pad
    shape = [2, groups * inputs, *sizes]
    weight = _weight(groups * per_group, inputs, *kernel)
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    model = _model([node], {"x": shape}, {"y": None}, {"w": weight})
    network = _load(model, tmp_path_factory.mktemp("conv"))
    expected = ReferenceEvaluator(model).run(None, {"x": np.ones(shape, np.float32)})[0]
    layer = network.layers["Conv_0"]
    assert network.tensors["y"].shape == expected.shape
    assert layer.macs == expected.size * inputs * prod(kernel)
    assert layer.elements("input") == prod(shape)
    assert layer.elements("weight") == weight.size
    assert layer.elements("output") == expected.size
    # Padding enters the layer as the first coordinate of the first window: the same sums result.
    np.testing.assert_array_equal(_walk(layer, np.ones(shape, np.float32), weight), expected)


def _walk(layer: Any, data: np.ndarray[Any, Any], weight: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The output by the affine form of the layer itself; only the three operands' axes are used."""
    extents = layer.extents
    spatial = [axis.terms[0][0] for axis in layer.input.axes[3:]]
    kernel = [axis.terms[1][0] for axis in layer.input.axes[3:]]
    groups, outputs, inputs = extents["G"], extents["K"], extents["C"]
    data = data.reshape(extents["N"], groups, inputs, *data.shape[2:])
    weight = weight.reshape(groups, outputs, inputs, *weight.shape[2:])
    result = np.zeros((extents["N"], groups, outputs, *(extents[name] for name in spatial)), np.float32)
    for tap in np.ndindex(*(extents[name] for name in kernel)):
        for place in np.ndindex(*(extents[name] for name in spatial)):
            position = []
            for axis, out, r in zip(layer.input.axes[3:], place, tap, strict=True):
                position.append(axis.terms[0][1] * out + axis.terms[1][1] * r - axis.offset)
            inside = all(0 <= x < axis.size for x, axis in zip(position, layer.input.axes[3:], strict=True))
            if inside:
                taken, factor = data[(..., *position)], weight[(..., *tap)]
                result[(..., *place)] += np.einsum("ngc,gkc->ngk", taken, factor)
    return result.reshape(extents["N"], groups * outputs, *result.shape[3:])


@settings(max_examples=60, deadline=None)
@given(
    left=st.lists(st.sampled_from([1, 3]), max_size=3),
    right=st.lists(st.sampled_from([1, 3]), max_size=3),
    sizes=st.tuples(*[st.integers(1, 4)] * 3),
    constant=st.sampled_from(["a", "b", ""]),
)
def test_matrix_products_of_any_rank(
    tmp_path_factory: pytest.TempPathFactory,
    left: list[int],
    right: list[int],
    sizes: tuple[int, int, int],
    constant: str,
) -> None:
    m, k, n = sizes
    shapes = {"a": [*left, m, k], "b": [*right, k, n]}
    node = helper.make_node("MatMul", ["a", "b"], ["y"], name="product")
    inputs: dict[str, Dims] = {name: [*shape] for name, shape in shapes.items() if name != constant}
    constants = {constant: _weight(*shapes[constant])} if constant else {}
    network = _load(_model([node], inputs, {"y": None}, constants), tmp_path_factory.mktemp("matmul"))
    expected = np.zeros(shapes["a"]) @ np.zeros(shapes["b"])
    layer, lowered = network.layers["product"], network.nodes[0]
    assert network.tensors["y"].shape == expected.shape
    assert layer.macs == expected.size * k
    assert lowered.weight == (constant or "b")
    for role, name in (("weight", lowered.weight), ("input", lowered.input)):
        assert layer.elements(role) == prod(shapes[name])
    assert layer.elements("output") == expected.size


def test_attention_product_keeps_its_batch(tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["q", "k"], ["s"], name="scores")
    model = _model([node], {"q": [1, 12, 128, 64], "k": [1, 12, 64, 100]}, {"s": None})
    assert _load(model, tmp_path)["scores"].extents == {"B": 12, "M": 100, "N": 128, "K": 64}


def test_grouped_query_heads_share_keys(tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["q", "k"], ["s"], name="scores")
    model = _model([node], {"q": [1, 2, 4, 10, 64], "k": [1, 2, 1, 64, 30]}, {"s": None})
    layer = _load(model, tmp_path)["scores"]
    assert layer.extents == {"B": 2, "M": 30, "N": 40, "K": 64}


@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_with_transposition(tmp_path: Path, trans_a: int, trans_b: int) -> None:
    a: Dims = [5, 3] if trans_a else [3, 5]
    b = (7, 5) if trans_b else (5, 7)
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transA=trans_a, transB=trans_b)
    network = _load(_model([node], {"a": a}, {"y": [3, 7]}, {"b": _weight(*b), "c": _weight(7)}), tmp_path)
    assert network["Gemm_0"].extents == {"M": 7, "N": 3, "K": 5}
    assert network.nodes[0].weight == "b"
    assert network.nodes[0].work == VectorWork(21, fuses=True)


def _shape_computation() -> list[Any]:
    """Flatten by computed shape, as exporters write it: Shape, Gather, Unsqueeze, Concat, Reshape."""
    return [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Constant", [], ["zero"], value_int=0),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Constant", [], ["axis"], value_ints=[0]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Constant", [], ["rest"], value=numpy_helper.from_array(np.array([-1]))),
        helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]


def test_shape_computations_fold_away(tmp_path: Path) -> None:
    model = _model(_shape_computation(), {"x": ["batch", 4, 5]}, {"y": None}, {"w": _weight(20, 3)})
    network = _load(model, tmp_path)
    assert [node.type for node in network.nodes] == ["Reshape", "MatMul"]
    assert network.nodes[0].inputs == ("x",)
    assert network.nodes[0].attributes["shape"] == [1, -1]
    assert network.notes == ("dimension 'batch' is taken as a batch of 1",)
    assert network["MatMul_8"].extents == {"M": 3, "N": 1, "K": 20}
    bound = _load(model, tmp_path, {"batch": 6})
    assert bound.notes == ()
    assert bound["MatMul_8"].extents == {"M": 3, "N": 6, "K": 20}


def test_weights_from_constants_identity_and_functions_of_them(tmp_path: Path) -> None:
    weight = _weight(4, 3, 1, 1)
    nodes = [
        helper.make_node("Identity", ["w0"], ["w"]),
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(weight)),
        helper.make_node("Neg", ["c"], ["d"]),
        helper.make_node("Conv", ["x", "d"], ["b"]),
        helper.make_node(
            "ConstantOfShape", ["sizes"], ["e"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2])
        ),
        helper.make_node("Conv", ["x", "e"], ["f"]),
        helper.make_node("Sum", ["a", "b", "f"], ["y"]),
    ]
    constants = {"w0": weight, "sizes": np.array([4, 3, 1, 1])}
    network = _load(_model(nodes, {"x": [1, 3, 4, 4]}, {"y": None}, constants), tmp_path)
    assert [node.type for node in network.nodes] == ["Conv", "Conv", "Conv", "Sum"]
    assert network.weights is not None
    np.testing.assert_array_equal(network.weights["w"], weight)
    np.testing.assert_array_equal(network.weights["d"], -weight)
    np.testing.assert_array_equal(network.weights["e"], np.full((4, 3, 1, 1), 2.0))
    assert network.nodes[3].work == VectorWork(2 * 64, 3 * 64, 64)
    save_network(network, tmp_path / "own.yaml")
    own = load_workload(tmp_path / "own.yaml")
    assert own.nodes == network.nodes
    assert own.weights is not None
    np.testing.assert_array_equal(own.weights["d"], -weight)


def test_initialisers_that_are_also_inputs_are_constants(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    inputs: dict[str, Dims] = {"x": [1, 3, 4, 4], "w": [4, 3, 1, 1]}
    network = _load(_model([node], inputs, {"y": None}, {"w": _weight(4, 3, 1, 1)}), tmp_path)
    assert network.inputs == ("x",)
    assert network.tensors["w"].constant


def test_a_weight_that_is_an_input(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    network = _load(_model([node], {"x": [1, 3, 4, 4], "w": [4, 3, 1, 1]}, {"y": None}), tmp_path)
    assert network.inputs == ("x", "w")
    assert network.nodes[0].weight == "w"
    assert network.weights is None


def test_parameters_become_attributes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Clip", ["x", "low", "high"], ["a"]),
        helper.make_node("Clip", ["a", "", "infinite"], ["b"]),
        helper.make_node("ReduceMean", ["b"], ["c"], axes=[2, 3], keepdims=0),
    ]
    constants = {name: np.array(v, np.float32) for name, v in (("low", 0), ("high", 6), ("infinite", np.inf))}
    network = _load(_model(nodes, {"x": [1, 3, 4, 4]}, {"c": None}, constants), tmp_path)
    assert [dict(node.attributes) for node in network.nodes] == [
        {"min": 0.0, "max": 6.0},
        {},
        {"axes": [2, 3], "keepdims": 0},
    ]
    assert all(node.inputs == (source,) for node, source in zip(network.nodes, "xab", strict=True))
    assert not any(tensor.constant for tensor in network.tensors.values())


def test_missing_and_repeated_names(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], name=name) for i, name in enumerate(["", "a", "a"])
    ]
    network = _load(_model(nodes, {"t0": [1, 3]}, {"t3": [1, 3]}), tmp_path)
    assert [node.name for node in network.nodes] == ["Relu_0", "a", "Relu_2"]


def test_unsorted_nodes_are_ordered(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["x"], ["a"])]
    network = _load(_model(nodes, {"x": [1, 3]}, {"b": [1, 3]}), tmp_path)
    assert [node.name for node in network.nodes] == ["Neg_1", "Relu_0"]


def test_unknown_operators_stay_as_unmodelled_nodes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["a"], strides=[2, 2]),
        helper.make_node("Conv", ["a", "v"], ["b"], domain="my.own"),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    constants = {"w": _weight(3, 4, 2, 2), "v": _weight(4, 4, 1, 1)}
    model = _model(nodes, {"x": [1, 3, 4, 4]}, {"y": None}, constants, value_info=[_value("b", [1, 4, 8, 8])])
    model.opset_import.append(helper.make_opsetid("my.own", 1))
    network = _load(model, tmp_path)
    assert network.tensors["a"].shape == (1, 4, 8, 8)
    assert coverage(network) == {
        "modelled": 1,
        "total": 3,
        "unmodelled": [{"type": "ConvTranspose", "count": 1}, {"type": "my.own.Conv", "count": 1}],
    }
    assert not network.layers


def test_subgraphs_are_counted(tmp_path: Path) -> None:
    def branch(kind: str) -> Any:
        out = _value("o", [1, 3])
        inner = [helper.make_node(kind, ["x"], ["m"]), helper.make_node("Relu", ["m"], ["o"])]
        return helper.make_graph(inner, kind, [], [out])

    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs"))
    model = _model([node], {"x": [1, 3]}, {"y": [1, 3]})
    model.graph.input.append(_value("flag", [], TensorProto.BOOL))
    found = coverage(_load(model, tmp_path))
    assert (found["modelled"], found["total"]) == (0, 5)
    assert {item["type"]: item["count"] for item in found["unmodelled"]} == {
        "If": 1,
        "Neg": 1,
        "Abs": 1,
        "Relu": 2,
    }


def test_dimensions_bind_by_symbol_and_by_place(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    model = _model([node], {"x": ["n", 3, "height", None]}, {"y": None})
    network = _load(model, tmp_path, {"height": 8, "x.3": 9})
    assert network.tensors["x"].shape == (1, 3, 8, 9)
    with pytest.raises(WorkloadError) as caught:
        _load(model, tmp_path)
    for part in ("axis 2 of tensor 'x' (bind height=SIZE)", "axis 3 of tensor 'x' (bind x.3=SIZE)"):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("dims", "part"),
    [
        ({"hight": 8}, "did you mean 'height'"),
        ({"height": 0}, "height=0 is out of range"),
        ({"height": 2**50}, "is out of range"),
        ({"height": 8, "x.1": 4}, "x.1 is 3 in the file"),
    ],
)
def test_wrong_dimensions(tmp_path: Path, dims: dict[str, int], part: str) -> None:
    model = _model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["n", 3, "height"]}, {"y": None})
    with pytest.raises(WorkloadError) as caught:
        _load(model, tmp_path, dims)
    assert part in caught.value.message


@pytest.mark.parametrize("batch", [0, -1, None, "N"])
def test_unknown_batches_are_one(tmp_path: Path, batch: int | str | None) -> None:
    model = _model([helper.make_node("Relu", ["x"], ["y"])], {"x": [batch, 3]}, {"y": None})
    network = _load(model, tmp_path)
    assert network.tensors["y"].shape == (1, 3)
    assert "batch of 1" in network.notes[0]


def _external(directory: Path, location: str, size: int = 48) -> Any:
    weight = _weight(4, 3, 1, 1)
    (directory / "data.bin").write_bytes(weight.tobytes()[:size])
    model = _model(
        [helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 3, 4, 4]}, {"y": None}, {"w": weight}
    )
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "48")):
        tensor.external_data.add(key=key, value=value)
    return model


def test_external_data_is_read_when_asked_for(tmp_path: Path) -> None:
    network = _load(_external(tmp_path, "data.bin"), tmp_path)
    (tmp_path / "data.bin").rename(tmp_path / "away.bin")
    assert network.macs == 4 * 3 * 16
    assert network.weights is not None
    with pytest.raises(WorkloadError, match="No such file"):
        network.weights["w"]
    (tmp_path / "away.bin").rename(tmp_path / "data.bin")
    np.testing.assert_array_equal(network.weights["w"], _weight(4, 3, 1, 1))


@pytest.mark.parametrize("location", ["../data.bin", "/etc/passwd"])
def test_external_data_stays_in_the_directory(tmp_path: Path, location: str) -> None:
    network = _load(_external(tmp_path, location), tmp_path)
    assert network.weights is not None
    with pytest.raises(WorkloadError, match="must stay inside"):
        network.weights["w"]


def test_external_data_that_ends_early(tmp_path: Path) -> None:
    network = _load(_external(tmp_path, "data.bin", size=40), tmp_path)
    assert network.weights is not None
    with pytest.raises(WorkloadError, match="ends after 40 of 48 bytes"):
        network.weights["w"]


def test_cut_off_and_foreign_files(tmp_path: Path) -> None:
    whole = (LIGHT / "light_squeezenet.onnx").read_bytes()
    contents = [
        whole[: len(whole) // 2],
        whole[:-5],
        whole[:1],
        b"",
        b"hello, this is text\n",
        bytes(range(256)),
    ]
    for content in contents:
        file = tmp_path / "broken.onnx"
        file.write_bytes(content)
        with pytest.raises(WorkloadError, match="no ONNX file, or is cut off"):
            load_workload(file)


@pytest.mark.parametrize(
    ("nodes", "inputs", "part"),
    [
        ([], {"x": [1, 3]}, "no nodes"),
        ([("Shape", ["x"], ["y"], {})], {"x": [1, 3]}, "no nodes"),
        ([("Relu", ["y"], ["y"], {})], {"x": [1, 3]}, "has a cycle"),
        ([("Relu", ["z"], ["y"], {}), ("Relu", ["y"], ["z"], {})], {"x": [1, 3]}, "has a cycle"),
        ([("Relu", ["q"], ["y"], {})], {"x": [1, 3]}, "node Relu_0: tensor 'q' is no input"),
        ([("Conv", ["x", "w"], ["y"], {})], {"x": [1, 3, 2, 2]}, "node Conv_0 (Conv): axis 0: a window of 3"),
        ([("Conv", ["x", "w"], ["y"], {"strides": [0, 1]})], {"x": [1, 3, 8, 8]}, "strides is [0, 1]"),
        ([("Conv", ["x", "w"], ["y"], {"pads": [1, 1]})], {"x": [1, 3, 8, 8]}, "pads has 2 values"),
        ([("Conv", ["x", "w"], ["y"], {"group": 0})], {"x": [1, 3, 8, 8]}, "channels do not fit"),
        ([("Conv", ["x", "w"], ["y"], {"auto_pad": "SOME"})], {"x": [1, 3, 8, 8]}, "auto_pad is 'SOME'"),
        ([("Conv", ["x"], ["y"], {})], {"x": [1, 3, 8, 8]}, "not those of Conv"),
        ([("Conv", ["x", "w"], ["y"], {})], {"x": [1, 3, 2**41, 8]}, "tensor x"),
        ([("NonZero", ["x"], ["y"], {})], {"x": [1, 3]}, "shape of tensor 'y' is not known"),
        ([("Reshape", ["x", "x"], ["y"], {})], {"x": [1, 3]}, "shape of tensor 'y' is not known"),
        ([("MatMul", ["x", "w"], ["y"], {})], {"x": [1, 7]}, "lengths 7 and 3 differ"),
    ],
)
def test_broken_graphs_name_the_culprit(
    tmp_path: Path,
    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]],
    inputs: dict[str, Dims],
    part: str,
) -> None:
    made = [helper.make_node(kind, ins, outs, **attributes) for kind, ins, outs, attributes in nodes]
    model = _model(made, inputs, {"y": None}, {"w": _weight(4, 3, 3, 3)})
    file = _save(model, tmp_path)
    with pytest.raises(WorkloadError) as caught:
        load_workload(file)
    assert caught.value.message.startswith(str(file))
    assert part in caught.value.message


def test_stated_sizes_of_convolutions_are_checked(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    model = _model([node], {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]}, {"w": _weight(4, 3, 3, 3)})
    with pytest.raises(WorkloadError, match=r"file says that tensor 'y' has shape \[1, 4, 8, 8\]"):
        _load(model, tmp_path)


def test_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    model = _model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 3]}, {"y": None})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(WorkloadError, match="input 'x' is no tensor of known rank"):
        _load(model, tmp_path)
