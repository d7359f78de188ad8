"""How much each layer is expected to suffer from each candidate precision, by named methods.

Every method gives a **loss** per layer and candidate (0 or more, smaller is better), which selection adds
over layers:

| method | loss of a candidate | needs |
|---|---|---|
| `bit_entropy` | bit-plane entropy of the layer's weight codes x coarseness | weights |
| `hist_entropy` | histogram entropy of the weight codes x coarseness | weights |
| `quantiser_waste` | (width - histogram entropy) of the weight codes x coarseness | weights |
| `nmse` | `|Q(w) - w|^2 / |w|^2` of the weights, plus the coarseness of the input format | weights |
| `output_mse` | `|y_q - y|^2 / |y|^2` of the network's output, this layer alone rounded | inputs |
| `output_kl` | mean KL(softmax y, softmax y_q) in nats, this layer alone rounded | inputs |

Coarseness = the normalised squared error `|Q(x) - x|^2 / |x|^2` of numbers spread evenly over a range, of
the weight format plus that of the input format: about 4^-bits. With two candidates per layer the
entropies so rank layers as in EAGL (gain of keeping the higher precision = entropy). The entropy is that
of the codes in the widest integer candidate of at most 8 bits (int8 if there is none). `bit_entropy`
takes a variant and an encoding: ``bit_entropy:plane_sum:twos_complement`` (see `entropy`).

What to expect. Entropy is offered because the literature uses it (EAGL, arXiv 2301.13330: gain of keeping
the higher precision = entropy; SEADA's "bit-level entropy"), but after plain rounding of a trained
network it is a weak score: its rank correlation with the measured rise of the loss was about zero or
negative on three networks (a low entropy tells of outliers and a coarse grid, so such a layer needs more
bits, which is what `quantiser_waste` says). Scores from the output on some tens of unlabelled inputs were
far better (correlation 0.75 to 1.0 on a small convolutional network), as in Qualcomm's and InfoQ's work
(arXiv 2302.05397, 2508.04753). So `output_kl` is the default where inputs are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from seada.errors import UserError
from seada.formats import Format, parse_format
from seada.precision.data import Data
from seada.precision.entropy import (
    ENCODINGS,
    VARIANTS,
    Histogram,
    bit_entropy,
    hist_entropy,
    histogram,
    quantiser_waste,
)
from seada.precision.quantise import check_choice, quantise
from seada.precision.runtime import Array, OperandFormats, Runtime, weight_axis
from seada.workload.network import Node

ENTROPY_BITS = 8
# Inputs that output scores look at; ten already gave nearly the same ranking in the probes.
OUTPUT_ITEMS = 100
# Share of a format's bits that weights may leave unused without a warning.
WASTE_LIMIT = 0.6


@dataclass(frozen=True)
class FormatPair:
    """Formats of weight and input."""

    weight: Format
    input: Format


# What losses are compared with where they have no meaning of their own: every layer in six bits, which cost
# the shipped network one point of accuracy (94.4 to 93.4 %), while four bits cost it half of its answers.
REFERENCE = FormatPair(parse_format("int6"), parse_format("int6"))

Candidates = Mapping[str, Sequence[OperandFormats]]
"""Candidate formats by layer name."""


@dataclass(frozen=True)
class LayerScore:
    """The scores of one layer.

    Attributes
    ----------
    losses : tuple of float
        One per candidate, in their order.
    reference : float
        The loss that the layer would have in `REFERENCE`, whether or not it is a candidate.
    value : float or None
        The layer's own figure behind them, where there is one (its entropy).
    unit : str
        Of `value`, or of the losses where there is no such figure.
    note : str
        What was assumed.
    """

    losses: tuple[float, ...]
    reference: float
    value: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Method:
    """A method by name; `needs` is ``weights`` or ``inputs``."""

    name: str
    needs: str
    unit: str
    score: Callable[[_Scorer], dict[str, LayerScore]]


@dataclass(frozen=True)
class _Scorer:
    """What methods compute from."""

    method: str
    runtime: Runtime
    candidates: Candidates
    data: Data | None

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The node of every scored layer."""
        found = {node.layers[0].name: node for node in self.runtime.network.nodes if node.layers}
        for name in self.candidates:
            if name not in found:
                self.runtime.network[name]
                raise UserError(f"{name} is one of several layers of a node and cannot be scored alone")
        return {name: found[name] for name in self.candidates}

    def rated(self, layer: str) -> list[OperandFormats]:
        """The candidates of a layer, and `REFERENCE`."""
        return [*self.candidates[layer], REFERENCE]

    def weight(self, layer: str) -> tuple[Array, int] | None:
        """The stored weight of a layer and its channel axis; None if it is computed by other nodes."""
        node = self.nodes[layer]
        stored = self.runtime.constants.get(node.weight)
        return None if stored is None else (stored, weight_axis(node, stored.ndim))

    def counted(self, layer: str, fmt: Format) -> Histogram | None:
        """Histogram of the codes of a layer's weight."""
        weight = self.weight(layer)
        if weight is None:
            return None
        array, axis = weight
        return histogram(quantise(array, fmt, self.runtime.weight_quantiser, axis=axis).codes, fmt)


def entropy_format(candidates: Sequence[OperandFormats]) -> Format:
    """The format whose codes stand for a layer: its widest integer candidate of at most 8 bits, else int8."""
    integers = [c.weight for c in candidates if not c.weight.is_float and 1 < c.weight.bits <= ENTROPY_BITS]
    return max(integers, default=parse_format(f"int{ENTROPY_BITS}"), key=lambda f: (f.bits, f.signed))


@lru_cache(maxsize=256)
def coarseness(fmt: Format) -> float:
    """Normalised squared error of numbers spread evenly over the range 0..1 in a format.

    >>> coarseness(parse_format("int2"))
    0.24987...
    """
    spread = np.linspace(0, 1, 4097)
    return normalised_error(quantise(spread, fmt).values, spread)


def _times_coarseness(
    scorer: _Scorer, figure: Callable[[Histogram, Format], float], unit: str
) -> dict[str, LayerScore]:
    """Loss = figure of the layer's codes x coarseness; layers without stored weights take the mean figure."""
    figures: dict[str, float | None] = {}
    for layer, candidates in scorer.candidates.items():
        fmt = entropy_format(candidates)
        counted = scorer.counted(layer, fmt)
        figures[layer] = None if counted is None else figure(counted, fmt)
    known = [value for value in figures.values() if value is not None]
    if not known:
        raise UserError(f"{scorer.method} needs stored weights, and no layer has any")
    scores = {}
    for layer, value in figures.items():
        used = float(np.mean(known)) if value is None else value
        note = (
            "both operands are computed: takes the mean of the layers with weights" if value is None else ""
        )
        losses = [used * (coarseness(c.weight) + coarseness(c.input)) for c in scorer.rated(layer)]
        scores[layer] = LayerScore(tuple(losses[:-1]), losses[-1], value, unit, note)
    return scores


def _bit_entropy(scorer: _Scorer) -> dict[str, LayerScore]:
    variant, encoding = _options(scorer.method)
    unit = {"plane_mean": "bit/plane", "plane_sum": "bit", "plane_msb": "planes"}[variant]
    return _times_coarseness(scorer, lambda c, fmt: bit_entropy(c, fmt, variant, encoding), unit)


def _hist_entropy(scorer: _Scorer) -> dict[str, LayerScore]:
    return _times_coarseness(scorer, lambda counted, fmt: hist_entropy(counted), "bit")


def _quantiser_waste(scorer: _Scorer) -> dict[str, LayerScore]:
    return _times_coarseness(scorer, quantiser_waste, "bit")


def normalised_error(rounded: Array, exact: Array) -> float:
    """Squared error over squared values; 0 for an all-zero tensor."""
    power = float(np.vdot(exact, exact))
    difference = rounded.astype(np.float64, copy=False) - exact
    return float(np.vdot(difference, difference)) / power if power > 0 else 0.0


def _nmse(scorer: _Scorer) -> dict[str, LayerScore]:
    scores = {}
    for layer in scorer.candidates:
        weight = scorer.weight(layer)
        errors: dict[Format, float] = {}
        for fmt in {candidate.weight for candidate in scorer.rated(layer)}:
            if weight is None:
                errors[fmt] = coarseness(fmt)
            else:
                rounded = quantise(weight[0], fmt, scorer.runtime.weight_quantiser, axis=weight[1])
                errors[fmt] = normalised_error(rounded.values, weight[0])
        losses = [errors[c.weight] + coarseness(c.input) for c in scorer.rated(layer)]
        note = "" if weight else "both operands are computed: taken as evenly spread"
        scores[layer] = LayerScore(tuple(losses[:-1]), losses[-1], None, "|error|^2/|x|^2", note)
    return scores


def output_divergence(exact: Array, rounded: Array, *, probabilities: bool) -> float:
    """Mean KL divergence in nats of the classes along the last axis.

    Parameters
    ----------
    probabilities : bool
        Whether the outputs are probabilities already; else they are logits.
    """
    p, q = (_log_probabilities(array, probabilities) for array in (exact, rounded))
    return max(0.0, float((np.exp(p) * (p - q)).sum(axis=-1).mean()))


def _log_probabilities(array: Array, probabilities: bool) -> NDArray[np.float64]:
    wide = array.astype(np.float64)
    if probabilities:
        result: NDArray[np.float64] = np.log(np.maximum(wide, np.finfo(np.float32).tiny))
        return result
    shifted = wide - wide.max(axis=-1, keepdims=True)
    result = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def _one_layer_at_a_time(
    scorer: _Scorer, distance: Callable[[Array, Array], float], unit: str
) -> dict[str, LayerScore]:
    """Run the network with one layer rounded, for every layer and candidate, on some inputs."""
    assert scorer.data is not None
    exact: list[Array] = []
    rounded: dict[tuple[str, int], list[Array]] = {}
    for trace in scorer.runtime.traces(scorer.data.take(OUTPUT_ITEMS)):
        exact.append(trace[scorer.runtime.network.outputs[0]])
        for layer in scorer.nodes:
            for index, formats in enumerate(scorer.rated(layer)):
                output = scorer.runtime.rerun(trace, layer, formats)
                rounded.setdefault((layer, index), []).append(output)
    reference = np.concatenate(exact)
    scores = {}
    for layer in scorer.nodes:
        indices = range(len(scorer.rated(layer)))
        losses = [distance(reference, np.concatenate(rounded[layer, index])) for index in indices]
        scores[layer] = LayerScore(tuple(losses[:-1]), losses[-1], None, unit)
    return scores


def _output_mse(scorer: _Scorer) -> dict[str, LayerScore]:
    return _one_layer_at_a_time(scorer, lambda exact, got: normalised_error(got, exact), "|error|^2/|y|^2")


def _output_kl(scorer: _Scorer) -> dict[str, LayerScore]:
    network = scorer.runtime.network
    producer = next((node.type for node in network.nodes if network.outputs[0] in node.outputs), "")
    return _one_layer_at_a_time(
        scorer,
        lambda exact, got: output_divergence(exact, got, probabilities=producer == "Softmax"),
        "nat",
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("bit_entropy", "weights", "bit", _bit_entropy),
        Method("hist_entropy", "weights", "bit", _hist_entropy),
        Method("quantiser_waste", "weights", "bit", _quantiser_waste),
        Method("nmse", "weights", "|error|^2/|x|^2", _nmse),
        Method("output_mse", "inputs", "|error|^2/|y|^2", _output_mse),
        Method("output_kl", "inputs", "nat", _output_kl),
    )
}


def _options(text: str) -> tuple[str, str]:
    """Variant and encoding of ``bit_entropy:VARIANT:ENCODING``."""
    given = text.split(":")[1:]
    variant, encoding = [*given, *(VARIANTS[0], ENCODINGS[0])[len(given) :]]
    return variant, encoding


def parse_method(text: str) -> Method:
    """The method of that name.

    Raises
    ------
    UserError
        If there is none; the message names the nearest.
    """
    name, *options = text.strip().split(":")
    check_choice("method", name, METHODS)
    if options and name != "bit_entropy":
        raise UserError(f"method {name} takes no options, found {text!r}")
    if len(options) > 2:
        raise UserError(f"{text!r}: expected bit_entropy:VARIANT:ENCODING")
    if name == "bit_entropy":
        variant, encoding = _options(text.strip())
        check_choice("variant of bit_entropy", variant, VARIANTS)
        check_choice("encoding", encoding, ENCODINGS)
    return METHODS[name]


def default_method(data: Data | None) -> str:
    """`output_kl` where there are inputs to run, else `bit_entropy`."""
    return "bit_entropy" if data is None else "output_kl"


def score_layers(
    runtime: Runtime, candidates: Candidates, *, method: str | None = None, data: Data | None = None
) -> tuple[str, dict[str, LayerScore]]:
    """Score every candidate of every layer.

    Parameters
    ----------
    runtime : Runtime
        The network with its quantisers.
    candidates : mapping
        Formats to choose from, by layer name.
    method : str or None
        By name; by default `default_method`.
    data : Data or None
        Unlabelled inputs; the first 100 are used. Labels are not looked at.

    Returns
    -------
    str
        The method's name with its options.
    dict
        `LayerScore` by layer, in the order of `candidates`.

    Raises
    ------
    UserError
        If the method is unknown, or needs inputs and has none.
    """
    name = (method or default_method(data)).strip()
    chosen = parse_method(name)
    if chosen.needs == "inputs" and data is None:
        weights_only = ", ".join(m.name for m in METHODS.values() if m.needs == "weights")
        raise UserError(
            f"method {chosen.name} needs inputs to run the network on; without them: {weights_only}"
        )
    scorer = _Scorer(name, runtime, candidates, data)
    return name, chosen.score(scorer)


def waste_warning(runtime: Runtime, layer: str, fmt: Format) -> str:
    """What to say of a layer whose stored weights leave most of a format's bits unused; empty if they do not.

    Warns where `quantiser_waste` is more than 60 % of the width: then a few outliers set the scale, and
    most weights share a handful of codes. The threshold is a judgement, not a published figure.
    """
    counted = _Scorer("", runtime, {layer: ()}, None).counted(layer, fmt)
    if counted is None:
        return ""
    wasted = quantiser_waste(counted, fmt) / fmt.bits
    if wasted <= WASTE_LIMIT:
        return ""
    remedies = []
    if runtime.weight_quantiser.granularity == "tensor":
        remedies.append("one scale per channel")
    if runtime.weight_quantiser.scale == "max":
        remedies.append("a clipped scale (mse)")
    remedies.append("more bits")
    used = fmt.bits - quantiser_waste(counted, fmt)
    return (
        f"the weights of {layer} carry {used:.2f} of the {fmt.bits} bits of {fmt} "
        f"({100 * wasted:.0f} % unused): outliers set the scale; what helps: {', '.join(remedies)}"
    )
