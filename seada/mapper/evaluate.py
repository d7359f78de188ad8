"""The cost of a layer under a mapping that the user gives."""

from __future__ import annotations

from seada.arch.hardware import Arch
from seada.arch.setup import make_setup
from seada.formats import PrecisionRequest, parse_precision
from seada.mapper.result import MapResult
from seada.mapping.nest import Mapping
from seada.model.evaluate import evaluate_mapping
from seada.workload.layer import Layer


def evaluate(arch: Arch, layer: Layer, mapping: Mapping, precision: PrecisionRequest | str) -> MapResult:
    """Check a mapping and cost it; nothing is claimed about better ones.

    Parameters
    ----------
    precision : PrecisionRequest or str
        Formats, such as ``int8`` or ``w:int4,a:int8,acc:int32,out:int8``.

    Raises
    ------
    MappingError
        With every rule that the mapping breaks.
    InfeasibleError
        If the array has no mode for these formats.
    """
    request = parse_precision(precision) if isinstance(precision, str) else precision
    setup = make_setup(arch, layer, request)
    cost = evaluate_mapping(layer, setup, mapping)
    return MapResult(
        layer=layer,
        setup=setup,
        mapping=mapping,
        cost=cost,
        objective="",
        optimal=False,
        bound=None,
        gap=None,
        search=None,
        space="",
    )
