"""Quantisation against slow references: every number of a format enumerated, or one element at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seada.errors import UserError
from seada.formats import Format, parse_format
from seada.precision.floating import float_codes, max_finite, round_to_float
from seada.precision.quantise import Quantiser, code_range, fit_grid, quantise

SMALL_FLOATS = ["e2m1", "e2m3", "e3m2", "e1m2", "e3m0", "fp8_e4m3", "fp8_e5m2", "e3m4", "e4m3", "e2m5"]
numbers = st.floats(-1e4, 1e4, allow_nan=False, width=32)


def all_numbers(fmt: Format) -> list[tuple[float, int]]:
    """Every finite non-negative number of a format with its bit pattern, by the definition of the fields."""
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    out = []
    for field, mantissa in itertools.product(range(2**fmt.exponent_bits), range(2**fmt.mantissa_bits)):
        if fmt.bits > 6:
            top = field == 2**fmt.exponent_bits - 1
            is_e4m3 = (fmt.exponent_bits, fmt.mantissa_bits) == (4, 3)
            if top and (not is_e4m3 or mantissa == 2**fmt.mantissa_bits - 1):
                continue
        hidden = 1 if field else 0
        value = (hidden + mantissa / 2**fmt.mantissa_bits) * 2.0 ** (max(field, 1) - bias)
        out.append((value, (field << fmt.mantissa_bits) | mantissa))
    return sorted(out)


def nearest(x: float, fmt: Format) -> float:
    """The nearest number; of two as near the even one, the larger if both are odd (IEEE 754-2019, 4.3.1)."""

    def rank(entry: tuple[float, int]) -> tuple[float, bool, float]:
        value, pattern = entry
        odd = pattern % 2 == 1 if fmt.mantissa_bits else value > 0
        return abs(value - abs(x)), odd, -value

    return math.copysign(min(all_numbers(fmt), key=rank)[0], x)


@pytest.mark.parametrize("name", SMALL_FLOATS)
@given(x=st.floats(-1e3, 1e3, allow_nan=False))
@settings(max_examples=60, deadline=None)
def test_small_floats_round_to_the_nearest_of_all_their_numbers(name: str, x: float) -> None:
    fmt = parse_format(name)
    assert round_to_float(np.array([x]), fmt)[0] == nearest(x, fmt)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_ties_go_to_the_even_neighbour(name: str) -> None:
    fmt = parse_format(name)
    values = [v for v, _ in all_numbers(fmt)]
    middles = np.array([(a + b) / 2 for a, b in itertools.pairwise(values)])
    assert round_to_float(middles, fmt).tolist() == [nearest(x, fmt) for x in middles]


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_codes_of_floats_are_their_bit_patterns(name: str) -> None:
    fmt = parse_format(name)
    values, patterns = zip(*all_numbers(fmt), strict=True)
    signed = np.array([*values, *(-v for v in values)])
    sign = 1 << (fmt.bits - 1)
    assert float_codes(signed, fmt).tolist() == [*patterns, *(p | sign for p in patterns)]


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("fp8_e4m3", 448.0),
        ("fp8_e5m2", 57344.0),
        ("e2m1", 6.0),
        ("e3m2", 28.0),
        ("e2m3", 7.5),
        ("fp16", 65504.0),
        ("fp32", float(np.finfo(np.float32).max)),
    ],
)
def test_largest_numbers_are_the_published_ones(name: str, largest: float) -> None:
    assert max_finite(parse_format(name)) == largest


@given(x=hnp.arrays(np.float64, 20, elements=st.floats(-6e4, 6e4)))
def test_fp16_agrees_with_the_hardware_type(x: np.ndarray) -> None:
    assert np.array_equal(round_to_float(x, parse_format("fp16")), x.astype(np.float16).astype(np.float64))


@given(x=hnp.arrays(np.float32, 20, elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_bf16_agrees_with_rounding_the_upper_half_of_the_bits(x: np.ndarray) -> None:
    bits = x.view(np.uint32).astype(np.uint64)
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    expected = (upper.astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(round_to_float(x, parse_format("bf16")).astype(np.float32), expected)


def test_wide_floats_are_not_scaled_and_saturate() -> None:
    fp16 = quantise(np.array([1e9, -1e9, 1.0]), parse_format("fp16"))
    assert fp16.values.tolist() == [65504.0, -65504.0, 1.0]
    fp8 = quantise(np.array([1e9, -1e9, 0.0]), parse_format("fp8_e4m3"))
    assert fp8.values.tolist() == [1e9, -1e9, 0.0]


def reference(row: list[float], fmt: Format, symmetric: bool) -> tuple[list[int], list[float]]:
    """One row, one element at a time."""
    least, largest = code_range(fmt)
    low, high = min(0.0, *row), max(0.0, *row)
    scale = max(-low, high) / largest if symmetric else (high - low) / (largest - least)
    scale = scale if scale > np.finfo(np.float32).tiny else 1.0
    zero = 0 if symmetric else min(max(round(least - low / scale), least), largest)
    codes = [min(max(round(x / scale) + zero, least), largest) for x in row]
    return codes, [(code - zero) * scale for code in codes]


matrices = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=numbers)


@given(
    x=matrices,
    bits=st.integers(2, 16),
    symmetric=st.booleans(),
    granularity=st.sampled_from(["tensor", "channel", "group"]),
    axis=st.integers(0, 1),
)
@settings(deadline=None)
def test_integers_agree_with_one_element_at_a_time(
    x: np.ndarray, bits: int, symmetric: bool, granularity: str, axis: int
) -> None:
    fmt = parse_format(f"int{bits}")
    size = 4
    got = quantise(
        x, fmt, Quantiser(symmetric=symmetric, granularity=granularity, group_size=size), axis=axis
    )
    channels = np.moveaxis(x, axis, 0)
    codes, values = np.zeros(channels.shape, np.int64), np.zeros(channels.shape)
    if granularity == "tensor":
        flat = reference(channels.ravel().tolist(), fmt, symmetric)
        codes, values = (np.array(part).reshape(channels.shape) for part in flat)
    else:
        step = channels.shape[1] if granularity == "channel" else size
        for row, start in itertools.product(range(len(channels)), range(0, channels.shape[1], step)):
            part = slice(start, start + step)
            codes[row, part], values[row, part] = reference(channels[row, part].tolist(), fmt, symmetric)
    assert np.array_equal(got.codes, np.moveaxis(codes, 0, axis))
    assert np.array_equal(got.values, np.moveaxis(values, 0, axis))


@given(x=matrices, bits=st.integers(2, 8), symmetric=st.booleans())
@settings(deadline=None, max_examples=50)
def test_mse_scale_is_never_worse_than_max_and_keeps_zero(x: np.ndarray, bits: int, symmetric: bool) -> None:
    fmt = parse_format(f"int{bits}")

    def error(scale: str) -> float:
        return float(((quantise(x, fmt, Quantiser(scale=scale, symmetric=symmetric)).values - x) ** 2).sum())

    assert error("mse") <= error("max") * (1 + 1e-12)
    assert (quantise(x, fmt, Quantiser(scale="mse", symmetric=symmetric)).values[x == 0] == 0).all()


def test_mse_scale_comes_close_to_the_best_of_a_fine_search() -> None:
    x = np.random.default_rng(3).standard_t(3, 2000)
    fmt = parse_format("int4")
    limits = np.linspace(0.02, 1, 2000) * np.abs(x).max()
    errors = [float(((np.clip(np.rint(x / (m / 7)), -8, 7) * (m / 7) - x) ** 2).mean()) for m in limits]
    got = float(((quantise(x, fmt, Quantiser(scale="mse")).values - x) ** 2).mean())
    assert got <= 1.005 * min(errors)
    assert got < 0.6 * errors[-1]


def test_percentile_clips_what_lies_beyond() -> None:
    x = np.concatenate([np.linspace(-1, 1, 999), [1000.0]])
    values = quantise(x, parse_format("int8"), Quantiser(scale="percentile", percentile=99.0)).values
    assert values.max() < 1.01
    assert np.abs(values[:999] - x[:999]).max() < 0.02


def test_single_precision_input_gives_single_precision_values() -> None:
    x = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    result = quantise(x, parse_format("int8"))
    assert result.values.dtype == np.float32
    assert np.abs(result.codes).max() == 127
    assert np.abs(result.values - x).max() <= np.abs(x).max() / 127 / 2 * 1.0001


def test_all_zero_and_empty_tensors_stay_as_they_are() -> None:
    assert not quantise(np.zeros((3, 4)), parse_format("int4")).values.any()
    assert quantise(np.zeros((0, 4)), parse_format("int4")).values.shape == (0, 4)


def test_unsigned_formats_refuse_negative_numbers_unless_asymmetric() -> None:
    x = np.array([-1.0, 2.0])
    with pytest.raises(UserError, match="int4 or an asymmetric"):
        quantise(x, parse_format("uint4"))
    assert quantise(x, parse_format("uint4"), Quantiser(symmetric=False)).values.tolist() == [-1.0, 2.0]
    assert quantise(np.array([0.0, 3.0]), parse_format("uint2")).codes.tolist() == [0, 3]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_must_be_finite(bad: float) -> None:
    with pytest.raises(UserError, match="1 of 2"):
        quantise(np.array([1.0, bad]), parse_format("int8"))


def test_int1_has_no_symmetric_scale() -> None:
    with pytest.raises(UserError, match="int1"):
        fit_grid(np.ones((1, 2)), parse_format("int1"))


def test_unknown_choices_name_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'percentile'"):
        Quantiser(scale="percentil")
    with pytest.raises(UserError, match="did you mean 'channel'"):
        Quantiser(granularity="chanel")
