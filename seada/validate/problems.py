"""Random small problems from a seed: a layer, hardware and precision, and a legal mapping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Node, Ramp, Setup
from seada.formats import Precision, parse_format
from seada.mapping.check import check
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer

Problem = tuple[Layer, Setup, Mapping]
FORMATS = ("int2", "int4", "int8", "int5", "int16", "fp8_e4m3", "bf16", "mxint8", "int4_g3_s8")
TOPOLOGIES = ("bus", "mesh", "tree")
ACCUMULATORS = ("int16", "int24", "int32", "fp32")
BANDWIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 8.0)


@dataclass(frozen=True)
class Kind:
    """What the random problems are like.

    Attributes
    ----------
    memories : numbers of memories to choose from
    most_macs : largest layer
    limited : whether every port has a limit and words hold single values (for the latency alone)
    """

    memories: tuple[int, ...] = (2, 3, 3, 4)
    most_macs: int = 600
    limited: bool = False


@dataclass
class _Nest:
    """Draws loops and keeps from outside in; `left` is the extent that remains of each dimension."""

    random: Random
    left: dict[str, int]
    nodes: list[Keep | Loop] = field(default_factory=list)

    def loops(self, most: int) -> None:
        """Up to `most` temporal loops."""
        for _ in range(self.random.randint(0, most)):
            wide = [dim for dim, extent in self.left.items() if extent > 1]
            if wide:
                dim = self.random.choice(wide)
                self.loop(dim, self.random.randint(1, self.left[dim] - 1), None)

    def loop(self, dim: str, step: int, on: str | None) -> None:
        """One loop."""
        self.nodes.append(Loop(dim, step, on))
        self.left[dim] = step

    def unroll(self, fanout: Fanout) -> None:
        """Perhaps one spatial loop on each axis."""
        for axis, size in fanout.axes:
            wide = [dim for dim, extent in self.left.items() if extent > 1]
            if wide and self.random.random() < 0.7:
                dim = self.random.choice(wide)
                self.loop(dim, -(-self.left[dim] // size), f"{fanout.name}.{axis}")

    def finish(self) -> None:
        """Split what is left into single MACs."""
        dims = [dim for dim, extent in self.left.items() if extent > 1]
        self.random.shuffle(dims)
        for dim in dims:
            self.loop(dim, 1, None)


def problems(seed: int, count: int, kind: Kind) -> Iterator[Problem]:
    """`count` legal problems; the same ones for the same seed."""
    random = Random(seed)
    found = 0
    while found < count:
        layer = _layer(random)
        if layer.macs > kind.most_macs:
            continue
        setup = _setup(random, kind)
        mapping = _mapping(random, layer, setup)
        if not check(layer, setup, mapping):
            found += 1
            yield layer, setup, mapping


def _layer(random: Random) -> Layer:
    small = (1, 2, 3, 4, 5, 7)
    if random.random() < 0.5:
        return matmul(
            "random", M=random.choice(small), N=random.choice(small), K=random.choice((2, 3, 5, 8, 11))
        )
    kernel, stride = random.choice((1, 2, 3)), random.choice((1, 1, 2))
    return conv(
        "random",
        K=random.choice(small[:5]),
        C=random.choice(small[:5]),
        outputs=[random.choice(small)],
        kernel=[kernel],
        stride=[stride],
        pad=[random.choice((0, kernel // 2))],
        inputs=[max(1, stride * 6 + kernel)],
    )


def _setup(random: Random, kind: Kind) -> Setup:
    nodes: list[Node] = [_memory(random, f"m{i}", kind) for i in range(random.choice(kind.memories))]
    if random.random() < 0.7:
        ramp = Ramp(random.choice(ROLES), random.randint(1, 5)) if random.random() < 0.3 else None
        fanout = Fanout("f", (("x", random.choice((2, 3, 4))),), (None,), ramp=ramp)
        nodes.insert(random.randint(1, len(nodes)), fanout if kind.limited else _varied(random, fanout))
    names = ["int8"] * 4 if kind.limited else [random.choice(FORMATS), random.choice(FORMATS)]
    if not kind.limited:
        names += [random.choice(ACCUMULATORS), random.choice(FORMATS)]
    weight, activation, accumulator, output = map(parse_format, names)
    mode = Mode(weight, activation, accumulator, 1, frozenset(), 1, 1.0, "mac")
    arch = Arch("random", 1e9, tuple(nodes), Compute("pe", (mode,), (Block("mac", 0.0, 0.0),)))
    return Setup(arch, Precision(weight, activation, accumulator, output), mode)


def _varied(random: Random, fanout: Fanout) -> Fanout:
    """With a second axis, links of any topology, and multicast and reduction perhaps switched off."""
    return replace(
        fanout,
        axes=(*fanout.axes, ("y", random.choice((1, 2, 3)))),
        dims=(None, None),
        topology=random.choice(TOPOLOGIES),
        multicast=(random.random() < 0.7, random.random() < 0.7),
        reduces=random.random() < 0.7,
    )


def _memory(random: Random, name: str, kind: Kind) -> Memory:
    ports: dict[str, Any] = {}
    if random.random() < 0.5:
        ports["shared_words_per_cycle"] = random.choice(BANDWIDTHS)
    else:
        limits = BANDWIDTHS if kind.limited else (None, *BANDWIDTHS)
        ports = {
            "read_words_per_cycle": random.choice(limits),
            "write_words_per_cycle": random.choice(limits),
        }
    buffers = (random.choice((1, 2)), random.choice((1, 2)), random.choice((1, 2)))
    width = 8 if kind.limited else random.choice((8, 10, 16, 32, 64))
    packing = "dense" if kind.limited else random.choice(("dense", "aligned"))
    return Memory(name, None, width, 1.0, 1.0, buffers=buffers, packing=packing, **ports)


def _mapping(random: Random, layer: Layer, setup: Setup) -> Mapping:
    nest = _Nest(random, dict(layer.dims))
    for number, node in enumerate(setup.nodes):
        if isinstance(node, Fanout):
            nest.unroll(node)
            continue
        for role in ROLES:
            if number == 0 or random.random() < 0.7:
                nest.nodes.append(Keep(node.name, role))
        nest.loops(2)
    nest.finish()
    return Mapping(tuple(nest.nodes))
