"""From an architecture file to hardware: units become internal, provenance is kept, levels are checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

from seada.arch import config as cfg
from seada.arch.checks import find_problems
from seada.arch.hardware import (
    CALIBRATED,
    Arch,
    Block,
    Calibration,
    Compute,
    Constraints,
    Fanout,
    FloatUnit,
    Memory,
    Mode,
    Node,
    Ramp,
    VectorUnit,
)
from seada.arch.notices import find_warnings
from seada.arch.pe_technology import energy_numbers, with_preset_blocks
from seada.arch.presets import expand_preset
from seada.arch.provenance import Ledger
from seada.arch.technology import with_technology
from seada.config.yaml_file import Document, config_error, read_document, validate_document
from seada.formats import parse_format
from seada.technology.styles import rates
from seada.units import Quantity


def load_arch(path: str | Path) -> Arch:
    """Read an architecture file.

    Raises
    ------
    ConfigError
        With every problem of the file and its place.
    """
    return arch_from_document(read_document(path))


def arch_from_document(document: Document) -> Arch:
    """The architecture that a document describes (see `load_arch`); sweeps change the data of a document."""
    config = validate_document(document, cfg.ArchConfig)
    config, unknown = with_technology(config)
    config, lacking = with_preset_blocks(config)
    failed = {path[:3] for path, _ in lacking}
    problems = [*(found for found in find_problems(config) if found[0][:3] not in failed), *unknown, *lacking]
    if problems:
        raise config_error([document.place(path, message) for path, message in problems])
    ledger = Ledger((config,))
    arch = _build(config, ledger)
    arch = replace(arch, content_hash=content_hash(arch))
    return replace(arch, sources=tuple(ledger.sources), warnings=find_warnings(config, arch, ledger))


def content_hash(arch: Arch) -> str:
    """SHA-256 of everything that decides a result: not of names of the chip, sources or warnings."""
    described = replace(arch, name="", sources=(), warnings=(), content_hash="")
    plain = json.dumps(asdict(described), sort_keys=True, default=sorted)
    return hashlib.sha256(plain.encode()).hexdigest()


def _build(config: cfg.ArchConfig, ledger: Ledger) -> Arch:
    clock_hz = ledger.value(config.clock, "clock")
    memories = {
        name: _memory(name, memory, clock_hz, ledger.inside(memory))
        for name, memory in config.memories.items()
    }
    fanouts = {
        name: _fanout(name, fanout, clock_hz, ledger.inside(fanout))
        for name, fanout in config.fanouts.items()
    }
    nodes: dict[str, Node] = {**memories, **fanouts}
    vector, floating = config.vector_unit, config.float_unit
    spatial = tuple((fixed.axis, fixed.dim, fixed.trips) for fixed in config.constraints.spatial)
    return Arch(
        name=config.name,
        clock_hz=clock_hz,
        nodes=tuple(nodes[name] for name in config.hierarchy),
        compute=_compute(config.compute, ledger.inside(config.compute)),
        vector_unit=None if vector is None else _vector_unit(vector, clock_hz, ledger.inside(vector)),
        float_unit=None if floating is None else _float_unit(floating, clock_hz, ledger.inside(floating)),
        constraints=Constraints(config.constraints.dataflow, spatial),
        prefetch_weights=config.policy.prefetch_weights,
        resident=config.policy.resident,
        calibration=_calibration(config.calibration, ledger),
    )


def _calibration(config: cfg.CalibrationConfig | None, ledger: Ledger) -> Calibration | None:
    if config is None:
        return None
    values = {name: getattr(config, name) for name in CALIBRATED}
    inside = ledger.inside(config)
    for name, value in values.items():
        inside.record(f"calibration.{name}", f"{value:g}")
    return Calibration(**values)


def _memory(name: str, config: cfg.MemoryConfig, clock_hz: float, ledger: Ledger) -> Memory:
    path = f"memories.{name}"
    word_bits = int(ledger.value(config.word, f"{path}.word"))
    size = ledger.quantity(config.size, f"{path}.size")
    read, write, shared = (
        _bandwidth(
            getattr(config.bandwidth, port, None), f"{path}.bandwidth.{port}", clock_hz, word_bits, ledger
        )
        for port in ("read", "write", "shared")
    )
    return Memory(
        name=name,
        size_bits=None if size is None else int(size.value * (word_bits if size.unit == "word" else 1)),
        word_bits=word_bits,
        read_energy_pj=_energy_per_word(config.read_energy, f"{path}.read_energy", word_bits, ledger),
        write_energy_pj=_energy_per_word(config.write_energy, f"{path}.write_energy", word_bits, ledger),
        read_words_per_cycle=read,
        write_words_per_cycle=write,
        shared_words_per_cycle=shared,
        leakage_w=ledger.value(config.leakage, f"{path}.leakage"),
        area_um2=ledger.value(config.area, f"{path}.area"),
        buffers=(config.buffers.weight, config.buffers.input, config.buffers.output),
        keep=(config.keep.weight, config.keep.input, config.keep.output),
        accumulates=config.accumulates,
        packing=config.packing,
    )


def _energy_per_word(number: cfg.Number | None, path: str, word_bits: int, ledger: Ledger) -> float:
    quantity = ledger.quantity(number, path)
    if quantity is None:
        return 0.0
    return float(quantity.value * (word_bits if quantity.unit == "pJ/bit" else 1))


def _bandwidth(
    number: cfg.Number | None, path: str, clock_hz: float, word_bits: int, ledger: Ledger
) -> float | None:
    """Words of `word_bits` per cycle."""
    quantity = None if number is None else ledger.quantity(number, path)
    return None if quantity is None else words_per_cycle(quantity, word_bits, clock_hz)


def words_per_cycle(quantity: Quantity, word_bits: int, clock_hz: float) -> float:
    """A bandwidth in any unit as words of `word_bits` per cycle."""
    if quantity.unit == "word/cycle":
        return float(quantity)
    per_second = quantity.unit == "bit/s"
    return float(quantity) / word_bits / (clock_hz if per_second else 1.0)


def _fanout(name: str, config: cfg.FanoutConfig, clock_hz: float, ledger: Ledger) -> Fanout:
    path = f"fanouts.{name}"
    for axis, described in config.axes.items():
        ledger.record(f"{path}.axes.{axis}", str(described.size))
    axes = tuple((axis, described.size) for axis, described in config.axes.items())
    reduces = config.reduces or config.reduction_energy is not None
    return Fanout(
        name=name,
        axes=axes,
        dims=tuple(None if axis.dims is None else frozenset(axis.dims) for axis in config.axes.values()),
        multicast=("weight" in config.multicast, "input" in config.multicast),
        reduces=config.reduces,
        reduction_energy_pj_per_bit=(
            ledger.value(config.reduction_energy, f"{path}.reduction_energy") if reduces else 0.0
        ),
        topology=config.topology,
        hop_energy_pj_per_bit=ledger.value(config.hop_energy, f"{path}.hop_energy"),
        link_bits_per_cycle=_bandwidth(config.bandwidth, f"{path}.bandwidth", clock_hz, 1, ledger),
        link_area_um2=ledger.value(config.link_area, f"{path}.link_area"),
        ramp=_ramp(config),
    )


def _ramp(config: cfg.FanoutConfig) -> Ramp | None:
    if config.ramp is None:
        return None
    default = sum(axis.size for axis in config.axes.values()) - 1
    cycles = default if config.ramp.cycles is None else config.ramp.cycles
    return Ramp(config.ramp.stationary, cycles)


def _compute(config: cfg.ComputeConfig, ledger: Ledger) -> Compute:
    modes: list[Mode] = []
    for index, row in enumerate(config.modes):
        modes += _modes(row, f"compute.modes[{index}]", ledger.inside(row))
    for index, preset in enumerate(config.presets):
        modes += expand_preset(
            preset, _preset_energy(preset, f"compute.presets[{index}]", ledger.inside(preset))
        )
    blocks = [
        _block(name, block, f"compute.blocks.{name}", ledger.inside(block))
        for name, block in config.blocks.items()
    ]
    return Compute(config.name, tuple(modes), tuple(blocks))


def _preset_energy(preset: cfg.PresetConfig, path: str, ledger: Ledger) -> float | dict[str, float]:
    """Energy of a cycle in pJ: for all modes, or by format of the weight."""
    if preset.lanes is not None:
        for name, rate in rates(preset.preset).items():
            if name in (preset.formats or ()):
                origin = cfg.Provenance.model_validate({"source": rate.source, "status": rate.status})
                ledger.record(f"{path}.rate.{name}", f"{rate.relative} x {preset.lanes} MACs/cycle", origin)
    if preset.technology is None:
        return ledger.value(preset.energy, f"{path}.energy")
    return {
        name: ledger.value(number, f"{path}.energy.{name}") for name, number in energy_numbers(preset).items()
    }


def _modes(row: cfg.ModeConfig, path: str, ledger: Ledger) -> list[Mode]:
    """The pairs of formats of one row."""
    energy = ledger.value(row.energy, f"{path}.energy")
    return [
        Mode(
            weight=parse_format(weight),
            input=parse_format(activation),
            accumulator=parse_format(row.accumulator),
            lanes=row.lanes,
            lane_dims=frozenset(row.lane_dims or ()),
            cycles_per_step=row.cycles,
            energy_pj_per_step=energy,
            block=row.block,
        )
        for weight in row.weight
        for activation in row.input
    ]


def _block(name: str, config: cfg.BlockConfig, path: str, ledger: Ledger) -> Block:
    area = ledger.value(config.area, f"{path}.area")
    leakage = ledger.value(config.leakage, f"{path}.leakage")
    return Block(name, area, leakage, config.gating, config.idle_fraction)


def _ratio(clock: cfg.Number | None, path: str, clock_hz: float, ledger: Ledger) -> float:
    """Clock of a unit over that of the chip."""
    return 1.0 if clock is None else ledger.value(clock, path) / clock_hz


def _vector_unit(config: cfg.VectorUnitConfig, clock_hz: float, ledger: Ledger) -> VectorUnit:
    return VectorUnit(
        name=config.name,
        lanes=config.lanes,
        energy_pj_per_op=ledger.value(config.energy, "vector_unit.energy"),
        memory=config.memory,
        area_um2=ledger.value(config.area, "vector_unit.area"),
        leakage_w=ledger.value(config.leakage, "vector_unit.leakage"),
        clock_ratio=_ratio(config.clock, "vector_unit.clock", clock_hz, ledger),
    )


def _float_unit(config: cfg.FloatUnitConfig, clock_hz: float, ledger: Ledger) -> FloatUnit:
    energies = [
        ledger.inside(row).value(row.energy, f"float_unit.formats[{index}].energy")
        for index, row in enumerate(config.formats)
    ]
    ratio = _ratio(config.clock, "float_unit.clock", clock_hz, ledger)
    return FloatUnit(
        name=config.name,
        formats=tuple(parse_format(row.format) for row in config.formats),
        macs_per_cycle=tuple(row.macs_per_cycle * ratio for row in config.formats),
        energy_pj_per_mac=tuple(energies),
        path=tuple(config.path),
        area_um2=ledger.value(config.area, "float_unit.area"),
        leakage_w=ledger.value(config.leakage, "float_unit.leakage"),
    )
