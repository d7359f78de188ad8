"""Rows of known styles of multi-precision PEs; each preset expands to explicit modes.

``dedicated``
    A multiplier per format, one MAC per cycle; nothing is shared, and a narrower operand is padded.
``bitfusion`` (Sharma et al., ISCA 2018)
    A unit of `native` bits splits into (native/a)(native/w) units that sum over input channels.
``bit_serial`` (Stripes, MICRO 2016)
    One input bit per cycle, any input width, weights of `native` bits; one lane.
``subword`` (DVAFS in Envision, ISSCC 2017)
    native/b pairs of equal width whose sums stay apart: lanes extend output dimensions.
``tensorcore`` (NVIDIA A100 and H100)
    A dot product along the reduction; MACs per cycle by format as published, in proportion to the bytes.
``vector_fp`` (FPnew, TVLSI 2021)
    Floating-point lanes side by side, in proportion to the width; their sums stay apart.

What they cost stands in `seada.arch.pe_technology`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from seada.arch.config import PresetConfig, PresetName
from seada.arch.dims import INPUT_CHANNEL, OUTPUT, REDUCTION
from seada.arch.hardware import Mode
from seada.config.problems import did_you_mean
from seada.errors import UserError
from seada.formats import parse_format
from seada.technology.styles import rates

LANE_DIMS: dict[PresetName, frozenset[str]] = {
    "dedicated": frozenset(),
    "bitfusion": frozenset({INPUT_CHANNEL}),
    "bit_serial": frozenset(),
    "subword": frozenset({OUTPUT}),
    "tensorcore": frozenset({REDUCTION}),
    "vector_fp": frozenset({OUTPUT}),
}
"""Dimensions that the lanes of each style extend; none where there is one lane."""


class Row(NamedTuple):
    """One pair of formats by name, and what a step does with it."""

    weight: str
    input: str
    lanes: int
    cycles: int


def expand_preset(preset: PresetConfig, cycle_energy_pj: float | Mapping[str, float]) -> list[Mode]:
    """All modes of a preset.

    Parameters
    ----------
    cycle_energy_pj : float or mapping
        Energy of one cycle of the PE in pJ, for all modes or by format of the weight.

    Raises
    ------
    UserError
        If widths or formats are not what the style can have.
    """
    return [_mode(preset, row, cycle_energy_pj) for row in preset_rows(preset)]


def preset_rows(preset: PresetConfig) -> list[Row]:
    """Pairs of formats with their lanes and cycles, signed inputs first (raises as `expand_preset`)."""
    signed = list(_width_rows(preset) if preset.formats is None else _format_rows(preset, preset.formats))
    if not preset.unsigned_inputs:
        return signed
    return signed + [
        row._replace(input=f"u{row.input}") for row in signed if not parse_format(row.input).is_float
    ]


def block_name(preset: PresetConfig, weight: str) -> str:
    """The block that the mode of a format of the weight uses."""
    return f"{preset.block}_{weight}" if preset.preset == "dedicated" else preset.block


def _width_rows(preset: PresetConfig) -> Iterator[Row]:
    """Rows of styles that are described by their widest and narrowest operand."""
    native, minimum = preset.native, preset.minimum
    assert native is not None
    assert minimum is not None
    if minimum > native:
        raise UserError(f"minimum {minimum} is above native {native}")
    if preset.preset == "bit_serial":
        yield from (Row(f"int{native}", f"int{bits}", 1, bits) for bits in range(minimum, native + 1))
        return
    if any(bits & (bits - 1) for bits in (native, minimum)):
        raise UserError("native and minimum must be powers of two")
    widths = [minimum << shift for shift in range((native // minimum).bit_length())]
    for weight in widths:
        for activation in widths:
            lanes = (native // weight) * (native // activation)
            if preset.preset == "bitfusion":
                yield Row(f"int{weight}", f"int{activation}", lanes, 1)
            elif weight == activation:
                yield Row(f"int{weight}", f"int{activation}", native // weight, 1)


def _format_rows(preset: PresetConfig, names: list[str]) -> Iterator[Row]:
    """Rows of styles that are described by their formats."""
    formats = [parse_format(name).name for name in names]
    if preset.preset == "dedicated":
        yield from (Row(name, name, 1, 1) for name in formats)
        return
    known = rates(preset.preset)
    unknown = next((name for name in formats if name not in known), None)
    if unknown is not None:
        raise UserError(
            f"no published rate of {preset.preset} in {unknown}; allowed: {', '.join(known)}"
            f"{did_you_mean(unknown, known)}"
        )
    for name in formats:
        macs = known[name].relative * (preset.lanes or 1)
        yield Row(name, name, macs.numerator, macs.denominator)


def _mode(preset: PresetConfig, row: Row, cycle_energy_pj: float | Mapping[str, float]) -> Mode:
    energy = cycle_energy_pj if isinstance(cycle_energy_pj, int | float) else cycle_energy_pj[row.weight]
    return Mode(
        weight=parse_format(row.weight),
        input=parse_format(row.input),
        accumulator=parse_format(preset.accumulator),
        lanes=row.lanes,
        lane_dims=LANE_DIMS[preset.preset],
        cycles_per_step=row.cycles,
        energy_pj_per_step=energy * row.cycles,
        block=block_name(preset, row.weight),
    )
