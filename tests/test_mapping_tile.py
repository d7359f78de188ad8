"""Element counts of tiles against explicit sets of coordinates."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from seada.formats import Format
from seada.mapping.tile import interval_elements, largest_tile, tile_elements, words
from seada.workload.build import conv, matmul
from seada.workload.layer import Axis, Layer, Operand


@st.composite
def axes(draw: st.DrawFn) -> tuple[Axis, tuple[int, ...]]:
    """An axis with one or two terms, and the extents of its dimensions."""
    count = draw(st.integers(1, 2))
    coefficients = draw(st.lists(st.integers(1, 7), min_size=count, max_size=count))
    extents = draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
    terms = tuple(zip("PR", coefficients, strict=False))
    axis = Axis(terms[:count], draw(st.integers(0, 9)), draw(st.integers(1, 60)))
    return axis, tuple(extents)


def touched(axis: Axis, intervals: list[tuple[int, int]]) -> set[int]:
    """Data coordinates of an axis, position by position."""
    found = set()
    for point in product(*(range(start, start + length) for start, length in intervals)):
        x = sum(c * i for (_, c), i in zip(axis.terms, point, strict=True)) - axis.offset
        if 0 <= x < axis.size:
            found.add(x)
    return found


def tiles(extent: int, steps: list[int]) -> list[tuple[int, int]]:
    """Intervals of one dimension below the loops."""
    found = [(0, extent)]
    for step in steps:
        found = [
            (start + done, min(step, length - done))
            for start, length in found
            for done in range(0, length, step)
        ]
    return found


@given(axes(), st.data())
def test_interval_elements_equal_an_explicit_set(
    case: tuple[Axis, tuple[int, ...]], data: st.DataObject
) -> None:
    axis, extents = case
    intervals = []
    for extent in extents:
        start = data.draw(st.integers(0, extent - 1))
        intervals.append((start, data.draw(st.integers(1, extent - start))))
    assert interval_elements(axis, intervals) == len(touched(axis, intervals))


@given(axes(), st.data())
def test_largest_tile_is_the_maximum_over_all_positions(
    case: tuple[Axis, tuple[int, ...]], data: st.DataObject
) -> None:
    axis, extents = case
    names = [name for name, _ in axis.terms]
    operand = Operand("input", (axis,))
    empty = Operand("weight", ())
    layer = Layer("l", "einsum", tuple(zip(names, extents, strict=True)), empty, operand, empty)
    steps: dict[str, list[int]] = {}
    for name, extent in layer.dims:
        first = data.draw(st.integers(1, extent))
        steps[name] = [first, data.draw(st.integers(1, first))][: data.draw(st.integers(0, 2))]
    positions = product(*(tiles(layer.extents[name], steps[name]) for name in names))
    expected = max(len(touched(axis, list(position))) for position in positions)
    assert largest_tile(layer, "input", steps) == expected


@given(axes())
def test_tile_elements_bound_every_position_and_are_reached_inside_the_data(
    case: tuple[Axis, tuple[int, ...]],
) -> None:
    axis, extents = case
    inside = Axis(axis.terms, 0, 10_000)
    operand = Operand("input", (inside,))
    by_name = {name: extent for (name, _), extent in zip(axis.terms, extents, strict=True)}
    intervals = [(0, extent) for extent in extents]
    assert tile_elements(operand, by_name) == len(touched(inside, intervals))
    assert len(touched(axis, intervals)) <= tile_elements(Operand("input", (axis,)), by_name)


def test_padding_is_not_in_a_tile() -> None:
    layer = conv("c", outputs=(7, 7), kernel=(3, 3), K=1, C=2, pad=(1, 1))
    assert largest_tile(layer, "input", {}) == 2 * 7 * 7
    assert largest_tile(layer, "input", {"P": [1], "R": [1]}) == 2 * 7


def test_stride_above_the_kernel_leaves_elements_out() -> None:
    layer = conv("c", outputs=(5,), kernel=(1,), K=1, C=1, stride=(3,))
    assert largest_tile(layer, "input", {}) == 5


def test_tiles_of_huge_layers_are_found_without_walking_them() -> None:
    layer = matmul("m", M=2**40, N=2**40, K=3)
    assert largest_tile(layer, "weight", {"M": [2**39], "K": [1]}) == 2**39
    wide = conv("c", outputs=(2**30,), kernel=(3,), K=1, C=1, pad=(1,))
    assert largest_tile(wide, "input", {"Q": [1], "S": [1]}) == 1
    assert largest_tile(wide, "input", {"Q": [2**29]}) == 2**29 + 1


@given(st.integers(0, 200), st.integers(1, 40), st.integers(1, 40))
def test_words_by_packing(elements: int, bits: int, word_bits: int) -> None:
    fmt = Format(f"{bits} bit", bits)
    dense = words(elements, fmt, 1, word_bits, "dense")
    aligned = words(elements, fmt, 1, word_bits, "aligned")
    assert (dense - 1) * word_bits < elements * bits <= dense * word_bits or elements == dense == 0
    assert dense <= aligned
    if word_bits % bits == 0:
        assert dense == aligned
