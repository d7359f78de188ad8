"""The PE mode that a layer runs with, and the hardware as that layer sees it."""

from __future__ import annotations

from dataclasses import replace

from seada.arch.dims import is_class, resolve_dims
from seada.arch.hardware import Arch, Fanout, Mode, Node, Setup
from seada.errors import InfeasibleError
from seada.formats import Format, Precision, PrecisionRequest
from seada.workload.layer import Layer


def make_setup(arch: Arch, layer: Layer, request: PrecisionRequest) -> Setup:
    """The architecture with the mode and formats that `layer` runs with.

    Classes of dimensions (``reduction``, ``output_channel`` ...) of lanes and fanouts become dimensions of
    the layer. The accumulator defaults to the mode's; the output defaults to the input's format.

    Raises
    ------
    InfeasibleError
        If no mode represents both formats exactly; the floating-point unit is the caller's to try.
    """
    mode, note = select_mode(arch, request.weight, request.input)
    precision = Precision(
        weight=request.weight,
        input=request.input,
        accumulator=request.accumulator or mode.accumulator,
        output=request.output or request.input,
    )
    mode = replace(mode, lane_dims=resolve_dims(mode.lane_dims, layer))
    return Setup(_for_layer(arch, layer), precision, mode, note)


def select_mode(arch: Arch, weight: Format, activation: Format) -> tuple[Mode, str]:
    """The mode of a pair of formats: its own, else the cheapest that represents both, with a note.

    Cheapest is fewest cycles per MAC, then least energy per MAC, then the order of the architecture.

    Raises
    ------
    InfeasibleError
        If there is none; the message names the modes.
    """
    modes = arch.compute.modes
    for mode in modes:
        if (mode.weight, mode.input) == (weight.in_pe, activation):
            return mode, ""
    wider = [mode for mode in modes if mode.weight.represents(weight) and mode.input.represents(activation)]
    if not wider:
        known = ", ".join(f"{mode.weight} x {mode.input}" for mode in modes)
        raise InfeasibleError(
            f"{arch.name} has no mode that represents weight {weight} and input {activation} exactly; "
            f"modes (weight x input): {known}"
        )
    best = min(
        wider, key=lambda mode: (mode.cycles_per_step / mode.lanes, mode.energy_pj_per_step / mode.lanes)
    )
    return (
        best,
        f"{weight} x {activation} runs in the mode {best.weight} x {best.input}, which represents both",
    )


def float_unit_runs(arch: Arch, weight: Format, activation: Format) -> Format | None:
    """The format in which the floating-point unit would compute this pair, or None.

    The cheapest of its formats that represent both: highest rate, then least energy, then its own order.
    """
    unit = arch.float_unit
    if unit is None:
        return None
    rows = zip(unit.formats, unit.macs_per_cycle, unit.energy_pj_per_mac, strict=True)
    able = [row for row in rows if row[0].represents(weight) and row[0].represents(activation)]
    return min(able, key=lambda row: (-row[1], row[2]))[0] if able else None


def _for_layer(arch: Arch, layer: Layer) -> Arch:
    """The architecture with classes of dimensions on fanouts resolved; itself if there are none."""
    nodes = tuple(_resolve_node(node, layer) for node in arch.nodes)
    return arch if nodes == arch.nodes else replace(arch, nodes=nodes)


def _resolve_node(node: Node, layer: Layer) -> Node:
    if not isinstance(node, Fanout) or not any(is_class(dim) for dims in node.dims for dim in dims or ()):
        return node
    return replace(
        node, dims=tuple(None if dims is None else resolve_dims(dims, layer) for dims in node.dims)
    )
