"""Checks across the levels of an architecture: contradictions are errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import prod

from seada.arch import config as cfg
from seada.arch.dims import check_dim, is_class
from seada.arch.hardware import LANES
from seada.arch.presets import expand_preset
from seada.config.problems import YamlPath, did_you_mean
from seada.errors import UserError
from seada.formats import parse_format
from seada.units import parse_quantity
from seada.workload.layer import ROLES

MAX_INSTANCES = 2**31
Problem = tuple[YamlPath, str]


def find_problems(config: cfg.ArchConfig) -> list[Problem]:
    """Contradictions in a configuration, each with the path of the value that is wrong."""
    problems = [*_names(config), *_references(config), *_dims(config)]
    problems += [*_memory_sizes(config), *_modes(config), *_spatial(config)]
    return problems or list(_elements(config))


def _unknown(kind: str, name: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    return f"no {kind} is named {name!r}; known: {', '.join(names) or 'none'}{did_you_mean(name, names)}"


def _names(config: cfg.ArchConfig) -> Iterator[Problem]:
    """The hierarchy holds each memory and fanout once, a memory first; no name means two things."""
    nodes = {*config.memories, *config.fanouts}
    for index, name in enumerate(config.hierarchy):
        if name not in nodes:
            yield ("hierarchy", index), _unknown("memory or fanout", name, nodes)
        elif name in config.hierarchy[:index]:
            yield ("hierarchy", index), f"{name!r} stands twice in the hierarchy"
    for group in ("memories", "fanouts"):
        for name in getattr(config, group):
            if name not in config.hierarchy:
                yield (group, name), f"{name!r} is described but does not stand in 'hierarchy'"
    if config.hierarchy[0] in config.fanouts:
        yield ("hierarchy", 0), "the outermost node must be a memory"
    units = [unit.name for unit in (config.compute, config.vector_unit, config.float_unit) if unit]
    for name, times in Counter([*config.memories, *config.fanouts, *units, LANES]).items():
        if times > 1:
            yield _place_of(config, name), f"the name {name!r} is used more than once or reserved"


def _place_of(config: cfg.ArchConfig, name: str) -> YamlPath:
    for group in ("fanouts", "memories"):
        if name in getattr(config, group):
            return group, name
    for unit in ("vector_unit", "float_unit"):
        described = getattr(config, unit)
        if described and described.name == name:
            return unit, "name"
    return "compute", "name"


def _references(config: cfg.ArchConfig) -> Iterator[Problem]:
    """Names of memories and blocks that other parts refer to."""
    memories = config.memories
    if config.vector_unit and config.vector_unit.memory not in memories:
        yield ("vector_unit", "memory"), _unknown("memory", config.vector_unit.memory, memories)
    if config.policy.resident is not None and config.policy.resident not in memories:
        yield ("policy", "resident"), _unknown("memory", config.policy.resident, memories)
    rows: list[tuple[YamlPath, str]] = [
        *((("compute", "modes", i, "block"), row.block) for i, row in enumerate(config.compute.modes)),
        *(
            (("compute", "presets", i, "block"), row.block)
            for i, row in enumerate(config.compute.presets)
            if row.technology is None
        ),
    ]
    for path, block in rows:
        if block not in config.compute.blocks:
            yield path, _unknown("block", block, config.compute.blocks)
    if config.float_unit:
        yield from _float_path(config.float_unit.path, config)


def _float_path(path: list[str], config: cfg.ArchConfig) -> Iterator[Problem]:
    unknown = [(index, name) for index, name in enumerate(path) if name not in config.memories]
    for index, name in unknown:
        yield ("float_unit", "path", index), _unknown("memory", name, config.memories)
    order = [config.hierarchy.index(name) for name in path if name in config.hierarchy]
    if not unknown and order != sorted(set(order)):
        yield ("float_unit", "path"), "memories must be named once each, outermost first"


def _dims(config: cfg.ArchConfig) -> Iterator[Problem]:
    """Names of dimensions."""
    named: list[tuple[YamlPath, str]] = [
        (("fanouts", fanout, "axes", axis, "dims", index), dim)
        for fanout, described in config.fanouts.items()
        for axis, limits in described.axes.items()
        for index, dim in enumerate(limits.dims or [])
    ]
    named += [
        (("compute", "modes", row, "lane_dims", index), dim)
        for row, mode in enumerate(config.compute.modes)
        for index, dim in enumerate(mode.lane_dims or [])
    ]
    for path, dim in named:
        try:
            check_dim(dim)
        except UserError as error:
            yield path, error.message


def _bits(number: cfg.Number) -> Fraction:
    return parse_quantity(number.value, {"bit"}).value


def _memory_sizes(config: cfg.ArchConfig) -> Iterator[Problem]:
    """Whole bits, at least a word, and sensible rules of what is kept."""
    for name, memory in config.memories.items():
        path = ("memories", name)
        word = _bits(memory.word)
        if word.denominator != 1 or word > 2**20:
            yield (*path, "word"), f"a word must be a whole number of bits up to {2**20}"
        if memory.size.value != cfg.UNLIMITED:
            size = parse_quantity(memory.size.value, {"bit", "word"})
            bits = size.value * (word if size.unit == "word" else 1)
            if bits.denominator != 1:
                yield (*path, "size"), "the size must be a whole number of bits"
            elif bits < word:
                yield (*path, "size"), f"the size of {bits} bit holds no word of {word} bit"
        if {memory.keep.weight, memory.keep.input, memory.keep.output} == {"never"}:
            yield (*path, "keep"), "a memory that never keeps anything has no use; remove it"
    outermost = config.memories.get(config.hierarchy[0])
    for role in ROLES:
        if outermost is not None and getattr(outermost.keep, role) == "never":
            where = ("memories", config.hierarchy[0], "keep", role)
            yield where, "the outermost memory holds every tensor; allowed: must, may"
    instances = prod(axis.size for fanout in config.fanouts.values() for axis in fanout.axes.values())
    if instances > MAX_INSTANCES:
        yield ("fanouts",), f"{instances} PEs are more than the limit of {MAX_INSTANCES}"


def _mode_rows(config: cfg.ArchConfig) -> Iterator[tuple[YamlPath, str, str]]:
    """(path, weight format, input format) of every row, presets expanded."""
    for index, row in enumerate(config.compute.modes):
        for weight in row.weight:
            for activation in row.input:
                yield ("compute", "modes", index), weight, activation
    for index, preset in enumerate(config.compute.presets):
        for mode in expand_preset(preset, 0.0):
            yield ("compute", "presets", index), mode.weight.name, mode.input.name


def _modes(config: cfg.ArchConfig) -> Iterator[Problem]:
    """At least one mode, and no pair of formats twice."""
    if not config.compute.modes and not config.compute.presets:
        yield ("compute",), "at least one row in 'modes' or 'presets' is needed"
    for index, preset in enumerate(config.compute.presets):
        try:
            expand_preset(preset, 0.0)
        except UserError as error:
            yield ("compute", "presets", index), error.message
            return
    seen: dict[tuple[str, str], YamlPath] = {}
    for path, weight, activation in _mode_rows(config):
        if (weight, activation) in seen:
            yield path, f"the pair of weight {weight} and input {activation} has a mode already"
        seen.setdefault((weight, activation), path)


def _spatial(config: cfg.ArchConfig) -> Iterator[Problem]:
    """Fixed unrollings name an axis, fit on it, and are allowed there."""
    axes = {
        f"{name}.{axis}": described
        for name, fanout in config.fanouts.items()
        for axis, described in fanout.axes.items()
    }
    used: Counter[str] = Counter()
    for index, fixed in enumerate(config.constraints.spatial):
        path = ("constraints", "spatial", index)
        axis = axes.get(fixed.axis)
        if axis is None:
            yield (*path, "axis"), _unknown("axis", fixed.axis, axes)
            continue
        used[fixed.axis] = max(used[fixed.axis], 1) * fixed.trips
        if used[fixed.axis] > axis.size:
            yield (
                (*path, "trips"),
                f"{used[fixed.axis]} trips in all exceed the {axis.size} instances of {fixed.axis}",
            )
        classes = [dim for dim in axis.dims or [] if is_class(dim)]
        if axis.dims is not None and not classes and fixed.dim not in axis.dims:
            yield (
                (*path, "dim"),
                f"{fixed.dim!r} is not among the dimensions of {fixed.axis}: {', '.join(axis.dims)}",
            )


def _elements(config: cfg.ArchConfig) -> Iterator[Problem]:
    """Every limited memory must be able to hold one element of what it may keep, in at least one mode."""
    narrowest = {
        "weight": min(parse_format(weight).bits for _, weight, _ in _mode_rows(config)),
        "input": min(parse_format(activation).bits for _, _, activation in _mode_rows(config)),
        "output": 1,
    }
    for name, memory in config.memories.items():
        if memory.size.value == cfg.UNLIMITED:
            continue
        size = parse_quantity(memory.size.value, {"bit", "word"})
        bits = size.value * (_bits(memory.word) if size.unit == "word" else 1)
        for role, needed in narrowest.items():
            if getattr(memory.keep, role) != "never" and needed > bits:
                yield (
                    ("memories", name, "size"),
                    f"{bits} bit hold no {role} of any mode ({needed} bit or more)",
                )
