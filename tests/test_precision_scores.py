"""Entropies and sensitivity scores against their definitions, one element at a time."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seada.errors import UserError
from seada.formats import Format, Precision, parse_format
from seada.precision.data import Data
from seada.precision.entropy import (
    PLANE_MSB_SHARE,
    bit_entropy,
    hist_entropy,
    histogram,
    plane_entropies,
    plane_shares,
    quantiser_waste,
)
from seada.precision.quantise import DEFAULT_QUANTISER, Quantiser, quantise
from seada.precision.runtime import Runtime
from seada.precision.scores import (
    METHODS,
    REFERENCE,
    FormatPair,
    coarseness,
    output_divergence,
    parse_method,
    score_layers,
    waste_warning,
)
from seada.workload.build import matmul
from seada.workload.network import Network, Node, Tensor, VectorWork

INT8 = parse_format("int8")


def binary_entropy(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def slow_planes(codes: list[int], bits: int, encoding: str) -> list[float]:
    """Share of ones per plane from the written-out bits of every code."""
    texts = []
    for code in codes:
        if encoding == "twos_complement":
            texts.append(format(code % 2**bits, f"0{bits}b"))
        else:
            magnitude = min(abs(code), 2 ** (bits - 1) - 1)
            texts.append(("1" if code < 0 else "0") + format(magnitude, f"0{bits - 1}b"))
    return [sum(text[bits - 1 - k] == "1" for text in texts) / len(texts) for k in range(bits)]


@st.composite
def coded(draw: st.DrawFn) -> tuple[list[int], Format]:
    bits = draw(st.integers(2, 9))
    values = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return draw(st.lists(values, min_size=1, max_size=60)), parse_format(f"int{bits}")


@given(coded(), st.sampled_from(["sign_magnitude", "twos_complement"]))
@settings(deadline=None)
def test_plane_entropies_agree_with_the_written_out_bits(
    case: tuple[list[int], Format], encoding: str
) -> None:
    codes, fmt = case
    counted = histogram(np.array(codes), fmt)
    shares = slow_planes(codes, fmt.bits, encoding)
    entropies = [binary_entropy(p) for p in shares]
    assert plane_shares(counted, fmt, encoding).tolist() == pytest.approx(shares)
    assert plane_entropies(counted, fmt, encoding).tolist() == pytest.approx(entropies)
    assert bit_entropy(counted, fmt, "plane_mean", encoding) == pytest.approx(sum(entropies) / fmt.bits)
    assert bit_entropy(counted, fmt, "plane_sum", encoding) == pytest.approx(sum(entropies))
    kept = next(
        (n for n in range(1, fmt.bits + 1) if sum(entropies[-n:]) >= PLANE_MSB_SHARE * sum(entropies) - 1e-9),
        0,
    )
    assert bit_entropy(counted, fmt, "plane_msb", encoding) == (kept if sum(entropies) > 0 else 0)


@given(coded())
@settings(deadline=None)
def test_histogram_entropy_is_that_of_the_counted_codes(case: tuple[list[int], Format]) -> None:
    codes, fmt = case
    shares = [n / len(codes) for n in Counter(codes).values()]
    expected = -sum(p * math.log2(p) for p in shares)
    counted = histogram(np.array(codes), fmt)
    assert hist_entropy(counted) == pytest.approx(expected, abs=1e-12)
    assert quantiser_waste(counted, fmt) == pytest.approx(fmt.bits - expected)
    # Codes are a function of their planes.
    assert hist_entropy(counted) <= bit_entropy(counted, fmt, "plane_sum", "twos_complement") + 1e-9


def test_known_entropies() -> None:
    every = histogram(np.arange(-128, 128), INT8)
    assert hist_entropy(every) == 8
    assert bit_entropy(every, INT8, "plane_sum", "twos_complement") == 8
    single = histogram(np.full(7, 3), INT8)
    assert hist_entropy(single) == 0
    assert bit_entropy(single, INT8) == 0
    assert bit_entropy(single, INT8, "plane_msb") == 0


def test_wide_formats_and_floats_have_histograms_too() -> None:
    x = np.array([0.5, -0.5, 0.5, 1.0])
    for name in ("int24", "fp8_e4m3", "fp16", "bf16"):
        fmt = parse_format(name)
        assert hist_entropy(histogram(quantise(x, fmt).codes, fmt)) == pytest.approx(1.5)


def network_of(weights: dict[str, np.ndarray]) -> Network:
    """Fully connected layers in a row with ReLU between them."""
    tensors = {"t0": Tensor("t0", (1, next(iter(weights.values())).shape[1]))}
    nodes: list[Node] = []
    current = "t0"
    for position, (name, weight) in enumerate(weights.items(), 1):
        out, inner = weight.shape
        tensors |= {
            f"{name}.w": Tensor(f"{name}.w", weight.shape, True),
            f"t{position}": Tensor(f"t{position}", (1, out)),
        }
        layer = matmul(name, M=out, N=1, K=inner)
        nodes.append(
            Node(
                name,
                "Gemm",
                (current, f"{name}.w"),
                (f"s{position}",),
                (layer,),
                f"{name}.w",
                current,
                None,
                {"transB": 1},
            )
        )
        nodes.append(Node(f"r{position}", "Relu", (f"s{position}",), (f"t{position}",), work=VectorWork(out)))
        current = f"t{position}"
    constants = {f"{name}.w": weight for name, weight in weights.items()}
    return Network("row", tuple(nodes), tensors, ("t0",), (f"s{len(weights)}",), weights=constants)


def example(seed: int = 0) -> tuple[Network, Data]:
    rng = np.random.default_rng(seed)
    heavy = rng.standard_t(2, (12, 16)).astype(np.float32)
    network = network_of(
        {
            "even": rng.uniform(-1, 1, (16, 8)).astype(np.float32),
            "heavy": heavy,
            "last": rng.normal(size=(5, 12)).astype(np.float32),
        }
    )
    return network, Data({"t0": rng.normal(size=(40, 8)).astype(np.float32)})


def pair(weight: str, activation: str) -> FormatPair:
    return FormatPair(parse_format(weight), parse_format(activation))


CHOICES = [pair("int8", "int8"), pair("int4", "int8"), pair("int4", "int4"), pair("int2", "int2")]


@pytest.mark.parametrize("method", METHODS)
def test_losses_grow_as_formats_narrow_and_come_with_their_reference(method: str) -> None:
    network, data = example()
    runtime = Runtime(network, calibration=data)
    name, scores = score_layers(runtime, dict.fromkeys(network.layers, CHOICES), method=method, data=data)
    assert name == method
    assert list(scores) == ["even", "heavy", "last"]
    for score in scores.values():
        assert min(score.losses) >= 0
        assert score.losses[0] < score.losses[1] <= score.losses[2] * 1.5
        assert score.losses[0] < score.losses[3]
        assert score.losses[0] < score.reference < score.losses[2]
    alone = {layer: [REFERENCE] for layer in network.layers}
    if METHODS[method].needs == "inputs" or method == "nmse":
        again = score_layers(runtime, alone, method=method, data=data)[1]
        assert [s.losses[0] for s in again.values()] == [s.reference for s in scores.values()]


def test_entropy_scores_are_those_of_the_codes_times_the_coarseness() -> None:
    network, _ = example()
    runtime = Runtime(network)
    codes = quantise(network.weights["heavy.w"], INT8).codes  # type: ignore[index]
    counted = histogram(codes, INT8)
    noise = coarseness(parse_format("int4")) + coarseness(INT8)
    expected = {
        "bit_entropy": bit_entropy(counted, INT8),
        "bit_entropy:plane_sum:twos_complement": bit_entropy(counted, INT8, "plane_sum", "twos_complement"),
        "hist_entropy": hist_entropy(counted),
        "quantiser_waste": 8 - hist_entropy(counted),
    }
    for method, value in expected.items():
        score = score_layers(runtime, {"heavy": CHOICES}, method=method)[1]["heavy"]
        assert score.value == pytest.approx(value)
        assert score.losses[1] == pytest.approx(value * noise)


def test_a_heavy_tail_wastes_the_grid_and_is_warned_of() -> None:
    rng = np.random.default_rng(1)
    heavy = rng.normal(size=(32, 32)).astype(np.float32)
    heavy[0, 0] = 60
    network = network_of({"even": rng.uniform(-1, 1, (32, 8)).astype(np.float32), "heavy": heavy})
    runtime = Runtime(network)
    fmt = parse_format("int4")
    warning = waste_warning(runtime, "heavy", fmt)
    assert "heavy carry 0." in warning
    assert "one scale per channel, a clipped scale (mse), more bits" in warning
    assert waste_warning(runtime, "even", fmt) == ""
    clipped = Runtime(network, weight_quantiser=Quantiser(scale="mse", granularity="channel"))
    assert waste_warning(clipped, "heavy", fmt) == ""
    scores = score_layers(runtime, dict.fromkeys(network.layers, CHOICES), method="quantiser_waste")[1]
    assert scores["heavy"].value > 2 * scores["even"].value  # type: ignore[operator]


def test_nmse_is_the_error_of_the_weights_and_of_spread_inputs() -> None:
    network, _ = example()
    weight = network.weights["last.w"].astype(np.float64)  # type: ignore[index]
    rounded = quantise(network.weights["last.w"], parse_format("int4"), DEFAULT_QUANTISER).values  # type: ignore[index]
    expected = ((rounded - weight) ** 2).sum() / (weight**2).sum() + coarseness(INT8)
    score = score_layers(Runtime(network), {"last": CHOICES}, method="nmse")[1]["last"]
    assert score.losses[1] == pytest.approx(expected, rel=1e-6)


def test_coarseness_falls_by_four_per_bit() -> None:
    for bits in range(3, 9):
        ratio = coarseness(parse_format(f"int{bits}")) / coarseness(parse_format(f"int{bits + 1}"))
        assert ratio == pytest.approx(((2**bits - 1) / (2 ** (bits - 1) - 1)) ** 2, rel=0.01)


def test_output_scores_compare_the_outputs_of_the_network() -> None:
    network, data = example()
    runtime = Runtime(network, calibration=data)
    exact = runtime.outputs(data).astype(np.float64)
    got = runtime.outputs(data, {"heavy": CHOICES[2]}).astype(np.float64)
    p, q = (np.exp(y) / np.exp(y).sum(1, keepdims=True) for y in (exact, got))
    expected = {
        "output_mse": ((got - exact) ** 2).sum() / (exact**2).sum(),
        "output_kl": (p * np.log(p / q)).sum(1).mean(),
    }
    for method, value in expected.items():
        score = score_layers(runtime, {"heavy": CHOICES}, method=method, data=data)[1]["heavy"]
        assert score.losses[2] == pytest.approx(value, rel=1e-4)
    assert output_divergence(p, q, probabilities=True) == pytest.approx(expected["output_kl"])
    assert output_divergence(p, p, probabilities=True) == 0


def test_labels_play_no_part() -> None:
    network, data = example()
    runtime = Runtime(network)
    labelled = Data(data.inputs, np.zeros(data.items, np.int64))
    options: Any = dict.fromkeys(network.layers, CHOICES)
    assert score_layers(runtime, options, data=labelled) == score_layers(runtime, options, data=data)


def test_the_default_method_follows_what_is_known() -> None:
    network, data = example()
    runtime = Runtime(network)
    assert score_layers(runtime, {"even": CHOICES})[0] == "bit_entropy"
    assert score_layers(runtime, {"even": CHOICES}, data=data)[0] == "output_kl"


def test_products_of_activations_take_the_mean_and_say_so() -> None:
    rng = np.random.default_rng(2)
    base = network_of({"a": rng.normal(size=(6, 6)).astype(np.float32)})
    score = Node("score", "MatMul", ("t1", "t1"), ("y",), (matmul("score", M=6, N=1, K=6),), "t1", "t1")
    network = Network(
        "attention",
        (*base.nodes, score),
        {**base.tensors, "y": Tensor("y", (1, 6))},
        ("t0",),
        ("y",),
        weights=base.weights,
    )
    both = dict.fromkeys(network.layers, CHOICES)
    scores = score_layers(Runtime(network), both, method="bit_entropy")[1]
    assert scores["score"].losses == scores["a"].losses
    assert scores["score"].value is None
    assert "both operands are computed" in scores["score"].note
    with pytest.raises(UserError, match="no layer has any"):
        score_layers(Runtime(network), {"score": CHOICES}, method="hist_entropy")


def test_methods_are_refused_with_what_is_allowed() -> None:
    network, _ = example()
    for text, message in {
        "bit_entrpy": "did you mean 'bit_entropy'",
        "bit_entropy:plane_maen": "did you mean 'plane_mean'",
        "bit_entropy:plane_sum:twos": "allowed: sign_magnitude, twos_complement",
        "bit_entropy:a:b:c": "expected bit_entropy:VARIANT:ENCODING",
        "nmse:plane_sum": "takes no options",
    }.items():
        with pytest.raises(UserError, match=message):
            parse_method(text)
    with pytest.raises(UserError, match="needs inputs"):
        score_layers(Runtime(network), {"even": CHOICES}, method="output_kl")
    with pytest.raises(UserError, match="did you mean 'even'"):
        score_layers(Runtime(network), {"evne": CHOICES}, method="nmse")


def test_precisions_of_results_serve_as_formats() -> None:
    network, data = example()
    fmt = parse_format("int4")
    precision = Precision(fmt, fmt, parse_format("int32"), fmt)
    runtime = Runtime(network)
    assert np.array_equal(
        runtime.outputs(data, {"even": precision}), runtime.outputs(data, {"even": pair("int4", "int4")})
    )
