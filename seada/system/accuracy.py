"""Measured accuracy of a network with its layers rounded to formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from seada.formats import Format, PrecisionRequest
from seada.precision.data import Data
from seada.precision.runtime import OperandFormats, Runtime, accuracy
from seada.workload.network import Network


def measure(
    network: Network,
    requests: Mapping[str, PrecisionRequest],
    evaluation: Data,
    calibration: Data | None,
) -> dict[str, Any]:
    """Accuracy in these formats and unrounded, as results carry it (shares of 1).

    Raises
    ------
    UserError
        If the network cannot be executed, or the data has no labels.
    """
    runtime = Runtime(network, calibration=calibration)
    return described(
        runtime,
        evaluation,
        accuracy(runtime, evaluation, operand_formats(requests)),
        accuracy(runtime, evaluation),
    )


def operand_formats(requests: Mapping[str, PrecisionRequest]) -> Mapping[str, OperandFormats]:
    """What the runtime rounds to, by layer."""
    return dict(requests)


def described(runtime: Runtime, evaluation: Data, measured: float, reference: float) -> dict[str, Any]:
    """An accuracy with everything that it depends on."""
    return {
        "measured": measured,
        "reference": reference,
        "items": evaluation.items,
        "weight_quantiser": asdict(runtime.weight_quantiser),
        "input_quantiser": asdict(runtime.input_quantiser),
    }


def label(weight: Format, activation: Format) -> str:
    """Formats of a layer in short: ``int8``, or ``int4 x int8`` (weight x input)."""
    return weight.name if weight == activation else f"{weight} x {activation}"
