"""Rows of known styles of multi-precision PEs; each preset expands to explicit modes."""

from __future__ import annotations

from collections.abc import Iterator

from seada.arch.config import PresetConfig
from seada.arch.dims import INPUT_CHANNEL, OUTPUT
from seada.arch.hardware import Mode
from seada.errors import UserError
from seada.formats import parse_format


def expand_preset(preset: PresetConfig, energy_pj: float) -> list[Mode]:
    """All rows of a preset; `energy_pj` is that of one cycle of the PE.

    Bit Fusion (Sharma et al., ISCA 2018): a unit of `native` bits splits into (native/a)(native/w) units that
    sum over input channels. Sub-word parallel (DVAFS, Envision, ISSCC 2017): native/b pairs of equal width
    whose sums stay apart. Bit-serial (Stripes, MICRO 2016): one input bit per cycle, any input width.

    Raises
    ------
    UserError
        If the widths are no powers of two or the narrowest is wider than the widest.
    """
    if preset.minimum > preset.native:
        raise UserError(f"minimum {preset.minimum} is above native {preset.native}")
    if preset.preset != "bit_serial" and any(bits & (bits - 1) for bits in (preset.native, preset.minimum)):
        raise UserError("native and minimum must be powers of two")
    signs = ("int", "uint") if preset.unsigned_inputs else ("int",)
    return [_mode(preset, sign, *row, energy_pj) for sign in signs for row in _rows(preset)]


def _rows(preset: PresetConfig) -> Iterator[tuple[int, int, int, int]]:
    """(weight bits, input bits, lanes, cycles) of each pair of widths."""
    native, minimum = preset.native, preset.minimum
    if preset.preset == "bit_serial":
        yield from ((native, bits, 1, bits) for bits in range(minimum, native + 1))
        return
    widths = [minimum << shift for shift in range((native // minimum).bit_length())]
    for weight in widths:
        for activation in widths:
            if preset.preset == "bitfusion":
                yield weight, activation, (native // weight) * (native // activation), 1
            elif weight == activation:
                yield weight, activation, native // weight, 1


def _mode(
    preset: PresetConfig, sign: str, weight: int, activation: int, lanes: int, cycles: int, energy_pj: float
) -> Mode:
    """A row; `sign` is ``int`` or ``uint``, the kind of the input."""
    return Mode(
        weight=parse_format(f"int{weight}"),
        input=parse_format(f"{sign}{activation}"),
        accumulator=parse_format(preset.accumulator),
        lanes=lanes,
        lane_dims=frozenset({OUTPUT if preset.preset == "subword" else INPUT_CHANNEL}),
        cycles_per_step=cycles,
        energy_pj_per_step=energy_pj * cycles,
        block=preset.block,
    )
