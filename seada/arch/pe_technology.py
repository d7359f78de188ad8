"""Cost of presets that name a table of arithmetic: energy of a cycle by format, and the blocks behind it.

``dedicated``: each format's own MAC, energy and block. ``bitfusion``: the fused PE of the table.
``subword``: the MAC of `native` bits, shared by all widths. ``tensorcore`` and ``vector_fp``: as many MACs of
each format as run per cycle; one block, as large as the dearest format's MACs, shared by all formats.
``bit_serial``: the MAC of `native` bits, shared out over the `native` serial units that replace it.
Sharing costs a share of area and energy per further format (`seada.technology.styles`). Leakage follows the
area. A figure that the table does not have stays unmodelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from seada.arch import config as cfg
from seada.arch.presets import Row, block_name, preset_rows
from seada.config.problems import YamlPath, did_you_mean
from seada.errors import UserError
from seada.technology.styles import Overhead, bit_serial, extra_mode
from seada.technology.tables import Figure, pe_table

Problem = tuple[YamlPath, str]
_RANK = ("published", "derived", "unverified", "placeholder")


@dataclass(frozen=True)
class PresetCost:
    """Figures of one cycle by format of the weight, and those of the blocks by name."""

    cycles: dict[str, Figure]
    blocks: dict[str, Figure]


def preset_cost(preset: cfg.PresetConfig) -> PresetCost:
    """What the table of a preset says about it.

    Raises
    ------
    UserError
        If the preset's rows cannot be, or the table lacks a unit that it needs.
    """
    assert preset.technology is not None
    table = pe_table(preset.technology)
    rows = {row.weight: row for row in preset_rows(preset)}
    if preset.preset == "dedicated":
        figures = {name: _mac(preset.technology, table, name) for name in rows}
        return PresetCost(figures, {block_name(preset, name): figure for name, figure in figures.items()})
    if preset.formats is not None:
        units = {name: _several(_mac(preset.technology, table, name), row) for name, row in rows.items()}
        shared = {name: _shared(figure, len(units) - 1) for name, figure in units.items()}
        return PresetCost(shared, {preset.block: _largest(shared.values())})
    unit = _width_unit(preset, preset.technology, table, len(rows))
    return PresetCost(dict.fromkeys(rows, unit), {preset.block: unit})


def energy_numbers(preset: cfg.PresetConfig) -> dict[str, cfg.Number]:
    """Energy of a cycle by format of the weight, with provenance (raises as `preset_cost`)."""
    return {
        name: _number(figure, f"{figure.energy_pj:.6g} pJ")
        for name, figure in preset_cost(preset).cycles.items()
    }


def with_preset_blocks(config: cfg.ArchConfig) -> tuple[cfg.ArchConfig, list[Problem]]:
    """The configuration with the blocks that presets make from tables, and what is wrong with those."""
    problems: list[Problem] = []
    blocks = dict(config.compute.blocks)
    for index, preset in enumerate(config.compute.presets):
        path = ("compute", "presets", index)
        if preset.technology is None:
            continue
        try:
            made = preset_cost(preset).blocks
        except UserError as error:
            problems.append((path, error.message))
            made = {}
        taken = sorted(blocks.keys() & made.keys())
        if taken:
            message = f"the technology of the preset makes the block {taken[0]!r}, which exists already"
            problems.append(((*path, "block"), message))
        blocks |= {name: _block(preset, figure) for name, figure in made.items() if name not in blocks}
    compute = config.compute.model_copy(update={"blocks": blocks})
    return config.model_copy(update={"compute": compute}), problems


def _width_unit(preset: cfg.PresetConfig, name: str, table: dict[str, Figure], modes: int) -> Figure:
    """The one unit of a style that is described by its widths."""
    if preset.preset == "bitfusion":
        entry = f"fusion{preset.native}"
        if entry not in table or preset.minimum != 2:
            fused = [key.removeprefix("fusion") for key in table if key.startswith("fusion")]
            have = f"PEs of native {', '.join(fused)} and minimum 2" if fused else "none"
            raise UserError(
                f"{name} has no fused PE of native {preset.native} and minimum {preset.minimum}; "
                f"it has {have}"
            )
        return table[entry]
    mac = _mac(name, table, f"int{preset.native}")
    if preset.preset == "subword":
        return _shared(mac, modes - 1)
    assert preset.native is not None
    serial = bit_serial()
    share = Overhead(serial.area / preset.native, serial.energy / preset.native, serial.status, serial.source)
    return _times(mac, share, f"one of {preset.native} serial units")


def _mac(name: str, table: dict[str, Figure], format_name: str) -> Figure:
    """The MAC of a format, named after it in the table."""
    macs = {key.removesuffix("_mac"): figure for key, figure in table.items() if _is_mac(key)}
    if format_name not in macs:
        hint = did_you_mean(format_name, macs)
        known = ", ".join(macs) or "no MAC"
        raise UserError(f"{name} has no MAC of {format_name}; it has {known}{hint}")
    return macs[format_name]


def _is_mac(entry: str) -> bool:
    return entry.endswith("_mac") or entry.removeprefix("int").isdigit()


def _several(mac: Figure, row: Row) -> Figure:
    """As many MACs as run per cycle."""
    macs = row.lanes / row.cycles
    return _times(mac, Overhead(macs, macs, "derived", ""), f"{macs:g} MACs of {row.weight}")


def _shared(unit: Figure, further: int) -> Figure:
    """A unit that serves some further formats."""
    if further == 0:
        return unit
    extra = extra_mode()
    factors = Overhead(1 + extra.area * further, 1 + extra.energy * further, extra.status, extra.source)
    return _times(unit, factors, f"{further} further modes")


def _times(figure: Figure, by: Overhead, what: str) -> Figure:
    """A figure with its area, leakage and energy multiplied, and the reason in its source."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * by.area

    return replace(
        figure,
        energy_pj=figure.energy_pj * by.energy,
        area_um2=scaled(figure.area_um2),
        leakage_uw=scaled(figure.leakage_uw),
        status=max(figure.status, by.status, key=_RANK.index),
        source="; ".join(part for part in (figure.source, what, by.source) if part),
    )


def _largest(units: Iterable[Figure]) -> Figure:
    """The unit of largest known area; the first one if none is known."""
    return max(units, key=lambda unit: unit.area_um2 or 0.0)


def _block(preset: cfg.PresetConfig, figure: Figure) -> cfg.BlockConfig:
    area, leakage = figure.area_um2, figure.leakage_uw
    return cfg.BlockConfig(
        source=preset.source,
        status=preset.status,
        node=preset.node,
        boundary=preset.boundary,
        area=None if area is None else _number(figure, f"{area:.6g} um2"),
        leakage=None if leakage is None else _number(figure, f"{leakage:.6g} uW"),
        gating=preset.gating or "none",
        idle_fraction=preset.idle_fraction or 0.0,
    )


def _number(figure: Figure, value: str) -> cfg.Number:
    return cfg.Number.model_validate(
        {"value": value, "source": figure.source, "status": figure.status, "node": f"{figure.node_nm:g} nm"}
    )
