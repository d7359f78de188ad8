"""The one-line form of a layer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seada.errors import WorkloadError
from seada.workload.build import conv, matmul
from seada.workload.line import parse_layer


def test_full_convolution_line() -> None:
    layer = parse_layer("conv K=64 C=32 P=28 Q=56 R=3 S=5 stride=2,1 dilation=1,2 pad=1,4 groups=4 N=2", "x")
    expected = conv(
        "x",
        outputs=(28, 56),
        kernel=(3, 5),
        K=64,
        C=32,
        N=2,
        groups=4,
        stride=(2, 1),
        dilation=(1, 2),
        pad=(1, 4),
    )
    assert layer == expected
    assert layer.macs == 2 * 64 * 8 * 28 * 56 * 3 * 5


@pytest.mark.parametrize(
    ("text", "macs", "data"),
    [
        ("conv K=8 C=4 Q=10 S=3 stride=2", 8 * 4 * 10 * 3, (21,)),
        ("conv K=8 C=4 P=5 Q=10 R=1 S=3 pad=0,1", 8 * 4 * 50 * 3, (5, 10)),
        ("conv K=8 C=4 O=2 P=5 Q=10 T=2 R=1 S=3 dilation=3", 8 * 4 * 100 * 6, (5, 5, 16)),
    ],
)
def test_spatial_axes(text: str, macs: int, data: tuple[int, ...]) -> None:
    layer = parse_layer(text)
    assert layer.macs == macs
    assert tuple(axis.size for axis in layer.input.axes[3:]) == data


@given(*[st.integers(1, 2**40)] * 4)
def test_products_of_matrices(batch: int, rows: int, columns: int, inner: int) -> None:
    gemm = parse_layer(f"gemm K={inner} M={rows} N={columns}", "g")
    assert gemm == matmul("g", M=rows, N=columns, K=inner)
    product = parse_layer(f"  matmul  B={batch} M={rows} N={columns} K={inner} ", "m")
    assert product == matmul("m", B=batch, M=rows, N=columns, K=inner)
    assert product.macs == batch * gemm.macs


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("cnv K=1", "did you mean 'conv'"),
        ("conv K=1 C=1 Q=1 S=1 strid=2", "did you mean 'stride'"),
        ("conv K=1 C=1 Q=1 S=1 M=2", "conv has no key 'M'; allowed: K, C, Q, S"),
        ("gemm M=1 N=1", "needs K"),
        ("matmul M=1 N=1 K=1", "needs B"),
        ("gemm M=1 N=1 K", "'K' is no key=value"),
        ("gemm M=1 N=1 K=", "must be a whole number"),
        ("gemm M=1 N=1 K=1.5", "K=1.5 must be a whole number"),
        ("gemm M=1 N=1 K=nan", "must be a whole number"),
        ("gemm M=1 N=1 K=0", "K=0 is out of range"),
        ("gemm M=1 N=-4 K=1", "N=-4 is out of range"),
        ("gemm M=1 N=1 K=9999999999999", "is out of range"),
        ("gemm M=1 N=1 K=1 K=1", "K is given twice"),
        ("gemm M=1,2 N=1 K=1", "M takes one number"),
        ("conv K=1 C=1 P=1 Q=1 S=1", "P and no R"),
        ("conv K=1 C=1 Q=1 R=1 S=1", "R and no P"),
        ("conv K=1 C=1 O=1 Q=1 T=1 S=1", "needs O P Q and T R S"),
        ("conv K=1 C=1 Q=1 S=1 stride=0", "stride=0 is out of range"),
        ("conv K=1 C=1 Q=1 S=1 stride=1,1", "stride has 2 values"),
        ("conv K=1 C=1 Q=1 S=1 pad=-1", "pad=-1 is out of range"),
        ("conv K=1 C=1 Q=1 S=1 pad=2", "inputs and padding 2"),
        ("conv K=6 C=4 Q=1 S=1 groups=4", "must divide"),
        ("gemm M=1 N=1 K=1 " + "x" * 2000, "too long"),
    ],
)
def test_mistakes_are_named(text: str, part: str) -> None:
    with pytest.raises(WorkloadError, match="layer") as caught:
        parse_layer(text)
    assert part in caught.value.message
