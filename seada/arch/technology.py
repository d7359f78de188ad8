"""Memories that name a technology: their energies, leakage and area are filled in from the tables.

A figure that the technology has must not be written beside it, unless `override` names it; a figure that
it has not (leakage and area of a DRAM, leakage of a scaled SRAM) may be written, and is unmodelled otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from seada.arch import config as cfg
from seada.arch.provenance import node_nm
from seada.config.problems import YamlPath
from seada.errors import UserError
from seada.technology.memory import MemoryFigures, SramChoice, base_node, sram_memory
from seada.technology.sram import DEFAULT_CELL, PORTS, Kind, known_kind
from seada.technology.tables import dram, scaling_method
from seada.units import parse_quantity

KEYS = ("read_energy", "write_energy", "leakage", "area")
Problem = tuple[YamlPath, str]
Figures = dict[str, cfg.Number]


def with_technology(config: cfg.ArchConfig) -> tuple[cfg.ArchConfig, list[Problem]]:
    """The configuration with all figures of its memories written out, and what is wrong with technologies."""
    problems: list[Problem] = []
    memories = dict(config.memories)
    for name, memory in config.memories.items():
        if memory.technology is None:
            continue
        path = ("memories", name)
        figures = _figures(path, memory, memory.technology, problems)
        problems += _contradictions(path, memory, memory.technology, figures)
        written = {key: number for key, number in figures.items() if getattr(memory, key) is None}
        memories[name] = memory.model_copy(update=written)
    return config.model_copy(update={"memories": memories}), problems


def _figures(
    path: YamlPath, memory: cfg.MemoryConfig, chosen: cfg.TechnologyConfig, problems: list[Problem]
) -> Figures:
    """Figures by key of the memory; none where the technology is unknown or the size out of its reach."""
    if chosen.dram is not None:
        return _dram(chosen.dram)
    if memory.size.value == cfg.UNLIMITED:
        problems.append(((*path, "size"), "an SRAM needs a size: its energies depend on it"))
        return {}
    choice = _choice(chosen)
    wrong = list(_unknown((*path, "technology"), choice))
    if wrong:
        problems += wrong
        return {}
    word = parse_quantity(memory.word.value, {"bit"}).value
    size = parse_quantity(memory.size.value, {"bit", "word"})
    bits = size.value * (word if size.unit == "word" else 1)
    try:
        figures = sram_memory(choice, float(bits / 8), float(word))
    except UserError as error:
        problems.append(((*path, "size"), error.message))
        return {}
    return _numbers(figures, f"{choice.kind.node_nm} nm")


def _choice(chosen: cfg.TechnologyConfig) -> SramChoice:
    kind = Kind(node_nm(chosen.sram) or 0, chosen.cell or DEFAULT_CELL, PORTS[chosen.ports or "1RW"])
    return SramChoice(kind, chosen.banks or 1, chosen.scaling)


def _unknown(path: YamlPath, choice: SramChoice) -> Iterator[Problem]:
    """Names that the tables do not have, each at its key."""
    try:
        if choice.scaling is not None:
            scaling_method(choice.scaling, "sram")
    except UserError as error:
        yield (*path, "scaling"), error.message
        return
    try:
        base = base_node(choice)
    except UserError as error:
        yield (*path, "sram"), error.message
        return
    try:
        known_kind(Kind(base, choice.kind.cell, choice.kind.ports))
    except UserError as error:
        yield (*path, "cell"), error.message


def _numbers(figures: MemoryFigures, node: str) -> Figures:
    """Figures of an SRAM as numbers with their provenance."""
    texts = {
        "read_energy": f"{figures.read_pj:.6g} pJ/word",
        "write_energy": f"{figures.write_pj:.6g} pJ/word",
        "leakage": None if figures.leakage_w is None else f"{1e3 * figures.leakage_w:.6g} mW",
        "area": None if figures.area_um2 is None else f"{figures.area_um2:.6g} um2",
    }
    return {
        key: cfg.Number(value=text, source=figures.source, status="derived", node=node, boundary="macro")
        for key, text in texts.items()
        if text is not None
    }


def _dram(kind: str) -> Figures:
    """Energy per bit of a kind of DRAM, the same for reads and writes."""
    figure = dram(kind)
    number = cfg.Number.model_validate(
        {
            "value": f"{figure.energy_pj:g} pJ/bit",
            "source": figure.source,
            "status": figure.status,
            "boundary": figure.boundary,
        }
    )
    return {"read_energy": number, "write_energy": number}


def _contradictions(
    path: YamlPath, memory: cfg.MemoryConfig, chosen: cfg.TechnologyConfig, figures: Figures
) -> Iterator[Problem]:
    """Figures that stand twice, and overrides of nothing."""
    for key in KEYS:
        written = getattr(memory, key)
        if key in figures and written is not None and key not in chosen.override:
            yield (
                (*path, key),
                f"{written.value} is written here, and 'technology' gives {figures[key].value}; remove one, "
                f"or let this one win with technology: {{override: [{key}]}}",
            )
    for index, key in enumerate(chosen.override):
        if getattr(memory, key) is None:
            where = (*path, "technology", "override", index)
            yield where, f"'override' names {key}, but the memory does not state it"
