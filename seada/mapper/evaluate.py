"""The cost of a layer under a mapping that the user gives."""

from __future__ import annotations

from seada.arch.hardware import Arch
from seada.arch.setup import make_setup
from seada.formats import PrecisionRequest, parse_precision
from seada.mapper.result import MapResult
from seada.mapping.nest import Mapping
from seada.peers.convention import DEFAULT, Convention, parse_convention
from seada.peers.cost import cost_under
from seada.workload.layer import Layer


def evaluate(
    arch: Arch,
    layer: Layer,
    mapping: Mapping,
    precision: PrecisionRequest | str,
    convention: Convention | str = DEFAULT,
) -> MapResult:
    """Check a mapping and cost it; nothing is claimed about better ones.

    Parameters
    ----------
    precision : PrecisionRequest or str
        Formats, such as ``int8`` or ``w:int4,a:int8,acc:int32,out:int8``.
    convention : Convention or str
        Whose rules count: ``default``, ``timeloop``, ``accelforge``, ``factorflow`` or switches such as
        ``words=fractional,cycles=overlap`` (see `seada.peers.convention`).

    Raises
    ------
    MappingError
        With every rule that the mapping breaks.
    InfeasibleError
        If the array has no mode for these formats.
    """
    request = parse_precision(precision) if isinstance(precision, str) else precision
    setup = make_setup(arch, layer, request)
    rules = parse_convention(convention) if isinstance(convention, str) else convention
    cost = cost_under(rules, layer, setup, mapping)
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
        convention=str(rules),
    )
