"""What a result says about its architecture."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from seada.arch.hardware import Arch, Memory
from seada.system.result import Chip


def chip_of(arch: Arch) -> Chip:
    """The summary of an architecture that tables, rooflines and source lists are made from."""
    pes = arch.instances(arch.compute.name)
    peak: dict[str, float] = {}
    for mode in arch.compute.modes:
        peak[f"{mode.weight} x {mode.input}"] = pes * mode.lanes / mode.cycles_per_step
    return Chip(
        name=arch.name,
        clock_hz=arch.clock_hz,
        pes=pes,
        memories=tuple(_memory(arch, memory) for memory in arch.memories),
        modes=tuple(
            {
                "weight": mode.weight.name,
                "input": mode.input.name,
                "accumulator": mode.accumulator.name,
                "lanes": mode.lanes,
                "lane_dims": sorted(mode.lane_dims),
                "cycles_per_step": mode.cycles_per_step,
                "weight_bits_per_cycle": mode.weight_bits_per_cycle,
                "input_bits_per_cycle": mode.input_bits_per_cycle,
                "energy_pj_per_step": mode.energy_pj_per_step,
                "energy_pj_per_mac": mode.energy_pj_per_step / mode.lanes,
                "block": mode.block,
            }
            for mode in arch.compute.modes
        ),
        peak_macs_per_cycle=peak,
        outer_bits_per_cycle=_bits_per_cycle(arch.memories[0]),
        sources=tuple(asdict(source) for source in arch.sources),
        warnings=arch.warnings,
    )


def _memory(arch: Arch, memory: Memory) -> dict[str, Any]:
    return {
        "name": memory.name,
        "instances": arch.instances(memory.name),
        "size_bits": memory.size_bits,
        "word_bits": memory.word_bits,
        "read_energy_pj_per_word": memory.read_energy_pj,
        "write_energy_pj_per_word": memory.write_energy_pj,
        "read_words_per_cycle": memory.read_words_per_cycle,
        "write_words_per_cycle": memory.write_words_per_cycle,
        "shared_words_per_cycle": memory.shared_words_per_cycle,
    }


def _bits_per_cycle(memory: Memory) -> float | None:
    """The most that a memory moves per cycle, both directions; None is unlimited."""
    if memory.shared_words_per_cycle is not None:
        return memory.shared_words_per_cycle * memory.word_bits
    if memory.read_words_per_cycle is None or memory.write_words_per_cycle is None:
        return None
    return (memory.read_words_per_cycle + memory.write_words_per_cycle) * memory.word_bits
