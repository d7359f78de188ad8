"""The numpy runtime: operators against onnx's reference, the shipped network end to end."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.errors import UserError
from seada.formats import Precision, parse_format
from seada.precision.data import Data, load_data
from seada.precision.operators import OPERATORS
from seada.precision.quantise import Quantiser, quantise
from seada.precision.runtime import Runtime, accuracy, cross_entropy, loss
from seada.workload.build import matmul
from seada.workload.network import Network, Node, Tensor, VectorWork

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"


def both(name: str) -> Precision:
    fmt = parse_format(name)
    return Precision(fmt, fmt, parse_format("int32"), fmt)


def slow_conv(
    x: np.ndarray,
    w: np.ndarray,
    strides: list[int],
    pads: list[int],
    dilations: list[int],
    groups: int,
) -> np.ndarray:
    """One output at a time, straight from the definition."""
    batch, channels, height, width = x.shape
    outputs, per_group, rows, columns = w.shape
    p = (height + pads[0] + pads[2] - dilations[0] * (rows - 1) - 1) // strides[0] + 1
    q = (width + pads[1] + pads[3] - dilations[1] * (columns - 1) - 1) // strides[1] + 1
    out = np.zeros((batch, outputs, p, q))
    for n, k, i, j in itertools.product(range(batch), range(outputs), range(p), range(q)):
        first = k // (outputs // groups) * per_group
        for c, r, s in itertools.product(range(per_group), range(rows), range(columns)):
            h = i * strides[0] + r * dilations[0] - pads[0]
            v = j * strides[1] + s * dilations[1] - pads[1]
            if 0 <= h < height and 0 <= v < width:
                out[n, k, i, j] += x[n, first + c, h, v] * w[k, c, r, s]
    assert channels == per_group * groups
    return out


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_convolution_agrees_with_its_definition(data: st.DataObject) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    groups, per_group, multiple = draw(1, 3), draw(1, 2), draw(1, 2)
    kernel, strides, dilations = ([draw(1, 3) for _ in range(2)] for _ in range(3))
    pads = [draw(0, 2) for _ in range(4)]
    sizes = [d * (k - 1) + 1 + draw(0, 4) for d, k in zip(dilations, kernel, strict=True)]
    rng = np.random.default_rng(draw(0, 1000))
    x = rng.integers(-4, 5, (draw(1, 2), groups * per_group, *sizes)).astype(np.float32)
    w = rng.integers(-4, 5, (groups * multiple, per_group, *kernel)).astype(np.float32)
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
    assert np.array_equal(
        OPERATORS["Conv"](attributes, [x, w]), slow_conv(x, w, strides, pads, dilations, groups)
    )


IMAGE, TOKENS = (2, 3, 7, 6), (2, 4, 5)
CASES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Abs", {}, [IMAGE]),
    ("Add", {}, [IMAGE, (3, 1, 1)]),
    ("AveragePool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}, [IMAGE]),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, [IMAGE]),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, [IMAGE]),
    ("AveragePool", {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, [IMAGE]),
    ("BatchNormalization", {"epsilon": 1e-3}, [IMAGE, (3,), (3,), (3,), "positive"]),
    ("Clip", {}, [IMAGE, np.float32(-0.5), np.float32(0.5)]),
    ("Concat", {"axis": 1}, [IMAGE, IMAGE]),
    ("Conv", {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, [IMAGE, (4, 3, 3, 3), (4,)]),
    ("Conv", {"pads": [1, 2], "strides": [2]}, [(2, 3, 9), (4, 3, 3)]),
    ("Conv", {"pads": [1, 0, 1, 1, 0, 1], "group": 2}, [(2, 4, 4, 3, 5), (6, 2, 3, 2, 3)]),
    ("Div", {}, [TOKENS, "positive"]),
    ("Erf", {}, [TOKENS]),
    ("Exp", {}, [TOKENS]),
    ("Flatten", {"axis": 2}, [IMAGE]),
    ("Flatten", {"axis": -1}, [IMAGE]),
    ("Gelu", {}, [TOKENS]),
    ("Gelu", {"approximate": "tanh"}, [TOKENS]),
    ("Gemm", {"transB": 1, "alpha": 0.5, "beta": 2.0}, [(2, 5), (4, 5), (4,)]),
    ("Gemm", {"transA": 1}, [(5, 2), (5, 4)]),
    ("GlobalAveragePool", {}, [IMAGE]),
    ("GlobalMaxPool", {}, [IMAGE]),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, [TOKENS]),
    ("HardSwish", {}, [TOKENS]),
    ("Identity", {}, [TOKENS]),
    ("LayerNormalization", {"axis": -2, "epsilon": 1e-3}, [TOKENS, (4, 5), (4, 5)]),
    ("LayerNormalization", {}, [TOKENS, (5,)]),
    ("LeakyRelu", {"alpha": 0.2}, [TOKENS]),
    ("Log", {}, ["positive"]),
    ("MatMul", {}, [TOKENS, (2, 5, 3)]),
    ("MatMul", {}, [TOKENS, (5, 3)]),
    ("Max", {}, [TOKENS, TOKENS, TOKENS]),
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, [IMAGE]),
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, [IMAGE]),
    ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 3]}, [IMAGE]),
    ("Min", {}, [TOKENS, TOKENS]),
    ("Mul", {}, [TOKENS, (5,)]),
    ("Neg", {}, [TOKENS]),
    ("Pow", {}, ["positive", np.float32(1.5)]),
    ("Reciprocal", {}, ["positive"]),
    ("ReduceMean", {"keepdims": 0}, [IMAGE, np.array([2, 3])]),
    ("Relu", {}, [TOKENS]),
    ("Sigmoid", {}, [TOKENS]),
    ("Softmax", {"axis": 1}, [TOKENS]),
    ("Sqrt", {}, ["positive"]),
    ("Squeeze", {}, [(2, 1, 3, 1), np.array([1])]),
    ("Sub", {}, [TOKENS, TOKENS]),
    ("Sum", {}, [TOKENS, TOKENS, TOKENS]),
    ("Tanh", {}, [TOKENS]),
    ("Transpose", {"perm": [0, 2, 1]}, [TOKENS]),
    ("Unsqueeze", {}, [TOKENS, np.array([1, 3])]),
]


def arrays_of(shapes: list[Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    made = []
    for shape in shapes:
        if isinstance(shape, str):
            made.append(rng.uniform(0.5, 2, (3,) if len(shapes) == 5 else (2, 4, 5)).astype(np.float32))
        elif isinstance(shape, tuple):
            made.append(rng.normal(size=shape).astype(np.float32))
        else:
            made.append(np.asarray(shape))
    return made


@pytest.mark.parametrize(("kind", "attributes", "shapes"), CASES, ids=[case[0] for case in CASES])
def test_operators_agree_with_the_reference_of_onnx(
    kind: str, attributes: dict[str, Any], shapes: list[Any]
) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    arrays = arrays_of(shapes)
    names = [f"x{i}" for i in range(len(arrays))]
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], **attributes)],
        "one",
        [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, arrays[0].shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, n) for a, n in zip(arrays[1:], names[1:], strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    expected = ReferenceEvaluator(model).run(None, {"x0": arrays[0]})[0]
    got = OPERATORS[kind](attributes, arrays)
    assert got.shape == expected.shape
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_local_response_normalisation_agrees_with_its_definition(size: int) -> None:
    # The reference of onnx 1.23 normalises only the first channels, as many as there are items.
    x = np.random.default_rng(1).normal(size=(2, 7, 2, 3)).astype(np.float32)
    expected = np.zeros_like(x)
    for c in range(7):
        near = range(max(0, c - (size - 1) // 2), min(6, c + size // 2) + 1)
        sums = sum(x[:, i].astype(np.float64) ** 2 for i in near)
        expected[:, c] = x[:, c] / (2 + 0.3 / size * sums) ** 0.6
    got = OPERATORS["LRN"]({"size": size, "alpha": 0.3, "beta": 0.6, "bias": 2.0}, [x])
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_every_operator_has_a_case() -> None:
    by_hand = {"Dropout", "Reshape", "LRN"}
    assert {case[0] for case in CASES} | by_hand == set(OPERATORS)


def tiny_network(**changes: Any) -> Network:
    """Two fully connected layers with a reshape in between, written for a batch of 1."""
    rng = np.random.default_rng(5)
    weights = {
        "w1": rng.normal(size=(6, 4)).astype(np.float32),
        "w2": rng.normal(size=(6, 3)).astype(np.float32),
        "shape": np.array([1, 6]),
    }
    tensors = {name: Tensor(name, array.shape, True) for name, array in weights.items()}
    for name, shape in (("x", (1, 4)), ("h", (1, 6)), ("r", (1, 6)), ("f", (1, 6)), ("y", (1, 3))):
        tensors[name] = Tensor(name, shape)
    nodes = (
        Node(
            "fc1",
            "Gemm",
            ("x", "w1"),
            ("h",),
            (matmul("fc1", M=6, N=1, K=4),),
            "w1",
            "x",
            None,
            {"transB": 1},
        ),
        Node("relu", "Relu", ("h",), ("r",), work=VectorWork(6)),
        Node("flat", "Reshape", ("r", "shape"), ("f",), work=VectorWork(zero_cost="view")),
        Node("fc2", "MatMul", ("f", "w2"), ("y",), (matmul("fc2", M=3, N=1, K=6),), "w2", "f"),
    )
    fields = {"nodes": nodes, "tensors": tensors, "weights": weights, **changes}
    return Network("tiny", inputs=("x",), outputs=("y",), source="tiny.yaml", **fields)


def tiny_data(items: int = 9, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    labels = np.arange(items) % 3
    return Data({"x": rng.normal(size=(items, 4)).astype(np.float32)}, labels)


def by_hand(x: np.ndarray, weights: Any, first: Any = lambda v: v, second: Any = lambda v: v) -> np.ndarray:
    hidden = np.maximum(first(x) @ first(weights["w1"]).T, 0)
    return second(hidden) @ second(weights["w2"])


def test_an_unrounded_network_is_the_product_of_its_layers() -> None:
    network, data = tiny_network(), tiny_data()
    expected = by_hand(data.inputs["x"], network.weights)
    np.testing.assert_allclose(Runtime(network).outputs(data), expected, rtol=1e-6)


def test_formats_round_exactly_the_operands_of_the_named_layer() -> None:
    network, data = tiny_network(), tiny_data()
    fmt = parse_format("int3")
    x = data.inputs["x"]

    def per_item(values: np.ndarray) -> np.ndarray:
        if values.shape in ((6, 4), (6, 3)):
            return quantise(values, fmt).values
        return quantise(values, fmt, Quantiser(granularity="channel")).values

    got = Runtime(network).outputs(data, {"fc2": both("int3")})
    np.testing.assert_allclose(got, by_hand(x, network.weights, second=per_item), rtol=1e-5)
    got = Runtime(network).outputs(data, {"fc1": both("int3"), "fc2": both("int3")})
    np.testing.assert_allclose(got, by_hand(x, network.weights, per_item, per_item), rtol=1e-5)


def test_results_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    network, data = tiny_network(), tiny_data(11)
    formats = {"fc1": both("int4"), "fc2": both("int4")}
    whole = Runtime(network).outputs(data, formats)
    fixed = Runtime(network, calibration=data).outputs(data, formats)
    for name, value in (("BATCH", 2), ("BATCH_ELEMENTS", 100)):
        monkeypatch.setattr(f"seada.precision.runtime.{name}", value)
        np.testing.assert_allclose(Runtime(network).outputs(data, formats), whole, rtol=1e-6)
        calibrated = Runtime(network, calibration=data)
        np.testing.assert_allclose(calibrated.outputs(data, formats), fixed, rtol=1e-6)
        monkeypatch.undo()


def test_calibration_fixes_the_scale_of_activations() -> None:
    network, data = tiny_network(), tiny_data()
    calibration = tiny_data(seed=7)
    largest = float(np.abs(calibration.inputs["x"]).max())
    got = Runtime(network, calibration=calibration).outputs(data, {"fc1": both("int4")})
    x = np.clip(np.rint(data.inputs["x"] / (largest / 7)), -8, 7) * (largest / 7)
    weights = quantise(network.weights["w1"], parse_format("int4")).values  # type: ignore[index]
    expected = np.maximum(x @ weights.T, 0) @ network.weights["w2"]  # type: ignore[index]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layer", ["fc1", "fc2"])
def test_rerun_equals_a_full_run(layer: str) -> None:
    network, data = tiny_network(), tiny_data()
    runtime = Runtime(network)
    parts = [runtime.rerun(trace, layer, both("int2")) for trace in runtime.traces(data)]
    assert np.array_equal(np.concatenate(parts), runtime.outputs(data, {layer: both("int2")}))


def test_granularity_per_channel_follows_the_output_channels() -> None:
    network, data = tiny_network(), tiny_data()
    runtime = Runtime(network, weight_quantiser=Quantiser(granularity="channel"))
    fmt = SimpleNamespace(weight=parse_format("int4"), input=parse_format("fp32"))
    for layer, name, axis in (("fc1", "w1", 0), ("fc2", "w2", 1)):
        rounded = quantise(
            network.weights[name],  # type: ignore[index]
            fmt.weight,
            Quantiser(granularity="channel"),
            axis=axis,
        )
        expected = by_hand(data.inputs["x"], {**network.weights, name: rounded.values})  # type: ignore[dict-item]
        np.testing.assert_allclose(runtime.outputs(data, {layer: fmt}), expected, rtol=1e-5)


def test_cross_entropy_is_the_mean_of_minus_log_probability() -> None:
    logits = np.log(np.array([[0.2, 0.8], [0.5, 0.5]])) + 3
    assert cross_entropy(logits, np.array([1, 0])) == pytest.approx(-(math.log(0.8) + math.log(0.5)) / 2)


def test_accuracy_counts_the_largest_output() -> None:
    network, data = tiny_network(), tiny_data()
    outputs = by_hand(data.inputs["x"], network.weights)
    assert accuracy(Runtime(network), data) == np.mean(outputs.argmax(1) == data.labels)
    assert loss(Runtime(network), data) == pytest.approx(
        cross_entropy(outputs, data.labels),  # type: ignore[arg-type]
        rel=1e-5,
    )


def test_what_cannot_be_executed_is_named() -> None:
    network = tiny_network()
    unknown = (*network.nodes[:-1], Node("rnn", "LSTM", ("f",), ("y",)))
    with pytest.raises(UserError, match="operator LSTM"):
        Runtime(tiny_network(nodes=unknown)).outputs(tiny_data())
    with pytest.raises(UserError, match=r"tiny\.yaml has no weights"):
        Runtime(tiny_network(weights=None))
    with pytest.raises(UserError, match="did you mean 'fc2'"):
        Runtime(network).outputs(tiny_data(), {"fc3": both("int4")})
    with pytest.raises(UserError, match="no labels"):
        accuracy(Runtime(network), Data(tiny_data().inputs))
    with pytest.raises(UserError, match="label 5 is out of range"):
        accuracy(Runtime(network), Data({"x": np.ones((1, 4))}, np.array([5])))
    with pytest.raises(UserError, match=r"layer fc1, tensor w1: .*negative"):
        Runtime(network).outputs(tiny_data(), {"fc1": both("uint4")})


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_data_is_checked_against_the_network(tmp_path: Path) -> None:
    network, x = tiny_network(), np.zeros((5, 4))
    good = load_data(save(tmp_path / "a.npz", x=x, labels=np.arange(5)), network, labels=True)
    assert good.items == 5
    assert good.take(2).labels is not None
    bad = {
        "array 'z' is no input": {"x": x, "z": x},
        "array 'x' is missing": {"labels": np.arange(5)},
        r"has shape \(5, 3\)": {"x": np.zeros((5, 3))},
        "holds <U1": {"x": np.full((5, 4), "a")},
        "no items": {"x": np.zeros((0, 4))},
        "infinite": {"x": np.full((5, 4), np.nan)},
        "labels are float64": {"x": x, "labels": np.ones(5)},
        r"of shape \(4,\)": {"x": x, "labels": np.arange(4)},
        "not a readable": {"x": np.array([{}], dtype=object)},
    }
    for number, (message, arrays) in enumerate(bad.items()):
        with pytest.raises(UserError, match=message):
            load_data(save(tmp_path / f"bad{number}.npz", **arrays), network)
    with pytest.raises(UserError, match="'labels' is missing"):
        load_data(save(tmp_path / "b.npz", x=x), network, labels=True)


def test_files_that_hold_no_data_are_refused(tmp_path: Path) -> None:
    network = tiny_network()
    (tmp_path / "text.npz").write_text("hello")
    np.save(tmp_path / "single.npy", np.zeros(3))
    whole = save(tmp_path / "whole.npz", x=np.zeros((50, 4))).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    for name, message in (
        ("text.npz", "not a readable"),
        ("single.npy", "single npy"),
        ("cut.npz", "not a readable"),
        ("missing.npz", "no such file"),
        (".", "directory"),
    ):
        with pytest.raises(UserError, match=message):
            load_data(tmp_path / name, network)
