"""One layer as one line: ``conv K=64 C=64 P=56 Q=56 R=3 S=3 stride=1 pad=1``."""

from __future__ import annotations

import re

from seada.errors import WorkloadError
from seada.workload.fields import LAYER_TYPES, PER_AXIS, check_fields, make_layer
from seada.workload.layer import Layer

MAX_LENGTH = 1000
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def parse_layer(text: str, name: str = "layer") -> Layer:
    """Read a layer from its one-line form.

    Parameters
    ----------
    text : str
        A type (``conv``, ``gemm`` or ``matmul``) and ``key=value`` fields, separated by blanks. K and C of a
        convolution are totals; P and Q are output sizes; ``stride``, ``dilation`` and ``pad`` (before the
        first element) take one value or one per axis, as ``stride=2,1``. N, groups, stride and dilation are 1
        by default, pad 0. The data reach as far as the windows do without padding at the end beyond `pad`.
    name : str
        Name of the layer in results.

    Raises
    ------
    WorkloadError
        If the line is no layer; the message names the allowed keys and the nearest.

    Examples
    --------
    >>> parse_layer("gemm M=512 N=512 K=64").macs
    16777216
    >>> parse_layer("conv K=8 C=4 Q=10 S=3 stride=2").input.axes[-1].size
    21
    """
    words = text[: MAX_LENGTH + 1].split()
    if len(text) > MAX_LENGTH:
        raise WorkloadError(f"a layer of {len(text)} characters is too long; the limit is {MAX_LENGTH}")
    if not words:
        raise WorkloadError(
            f"the layer is empty; write a type ({', '.join(LAYER_TYPES)}) and key=value fields"
        )
    try:
        fields = _read_fields(words[0], words[1:])
        return make_layer(name, words[0], fields)
    except WorkloadError as error:
        raise WorkloadError(
            f"layer {text.strip()!r}: {error.message.removeprefix(f'layer {name}: ')}"
        ) from None


def _read_fields(kind: str, words: list[str]) -> dict[str, int | tuple[int, ...]]:
    _check_words(kind, words)
    fields: dict[str, int | tuple[int, ...]] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in LAYER_TYPES[kind].allowed:
            check_fields(kind, {key: 1})
        if key in fields:
            raise WorkloadError(f"{key} is given twice")
        fields[key] = _read_value(key, value)
    return fields


def _check_words(kind: str, words: list[str]) -> None:
    """Raise `WorkloadError` for a word that is no ``key=value``, or an unknown type."""
    if kind not in LAYER_TYPES:
        check_fields(kind, {})
    for word in words:
        if "=" not in word:
            allowed = ", ".join(LAYER_TYPES[kind].allowed)
            raise WorkloadError(f"{word!r} is no key=value field; allowed keys: {allowed}")


def _read_value(key: str, text: str) -> int | tuple[int, ...]:
    parts = text.split(",")
    for part in parts:
        if not _NUMBER.fullmatch(part):
            form = "whole numbers separated by commas" if key in PER_AXIS else "a whole number"
            raise WorkloadError(f"{key}={text} must be {form}")
    values = tuple(int(part) for part in parts)
    return values if len(values) > 1 or key in PER_AXIS else values[0]
