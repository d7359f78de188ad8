"""Hypothesis strategies of random small problems: layers, hardware, precisions and legal mappings."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from seada.arch.hardware import LANES, Arch, Compute, Fanout, Memory, Mode, Node, Ramp, Setup
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.build import conv, matmul
from seada.workload.layer import ROLES, Layer

MAX_MACS = 1500
MAX_LEAVES = 24
BANDWIDTHS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0)
FORMATS = ("int1", "int2", "int4", "int5", "int8", "uint4", "int12", "int16", "fp8_e4m3", "bf16", "fp32")
SCALES = ("", "_g2_s8", "_g3_s5", "_g7", "_g32_s8")
ACCUMULATORS = ("int12", "int16", "int24", "int32", "fp16", "fp32")


@st.composite
def _window(draw: st.DrawFn) -> dict[str, int]:
    """One spatial axis of a convolution, its last outputs perhaps partly or wholly in padding."""
    outputs, kernel = draw(st.sampled_from([1, 2, 3, 4, 5, 7])), draw(st.integers(1, 4))
    stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    span = dilation * (kernel - 1) + 1
    pad = draw(st.integers(0, span - 1))
    reach = stride * (outputs - 1) + span - pad
    inputs = draw(st.integers(max(1, reach - 2 * span), reach + 2))
    return {
        "outputs": outputs,
        "kernel": kernel,
        "stride": stride,
        "dilation": dilation,
        "pad": pad,
        "inputs": max(1, inputs),
    }


@st.composite
def convolutions(draw: st.DrawFn) -> Layer:
    """1-D and 2-D, grouped and depthwise convolutions."""
    windows = draw(st.lists(_window(), min_size=1, max_size=2))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    small = st.sampled_from([1, 2, 3, 5])
    layer = conv(
        "random",
        N=draw(st.sampled_from([1, 1, 2])),
        K=groups * draw(small),
        C=groups * draw(small),
        groups=groups,
        **{key: [window[key] for window in windows] for key in windows[0]},
    )
    assume(layer.macs <= MAX_MACS)
    return layer


@st.composite
def products(draw: st.DrawFn) -> Layer:
    """GEMM and batched matrix products."""
    size = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 11, 13])
    batch = draw(st.sampled_from([None, 1, 2, 3]))
    layer = matmul("random", M=draw(size), N=draw(size), K=draw(size), B=batch)
    assume(layer.macs <= MAX_MACS)
    return layer


def layers() -> st.SearchStrategy[Layer]:
    """Layers of at most `MAX_MACS` MACs."""
    return st.one_of(convolutions(), products())


@st.composite
def precisions(draw: st.DrawFn) -> Precision:
    """Mixed formats; widths matter here, not whether a real PE would pair them."""
    narrow, wide = st.sampled_from(FORMATS), st.sampled_from(ACCUMULATORS)
    names = [draw(narrow), draw(narrow), draw(wide), draw(narrow)]
    if draw(st.sampled_from([False, False, True])):
        scales = st.sampled_from(SCALES)
        names = [
            names[0] + draw(st.sampled_from(["_channel_s5", *SCALES])),
            names[1] + draw(scales),
            names[2],
        ]
        names.append(draw(narrow) + draw(scales))
    return Precision(*(parse_format(name) for name in names))


@st.composite
def memories(draw: st.DrawFn, name: str) -> Memory:
    """A memory without a limit of capacity."""
    ports: dict[str, float | None] = {}
    limit = st.sampled_from((None, *BANDWIDTHS))
    if draw(st.booleans()):
        ports["shared_words_per_cycle"] = draw(st.sampled_from(BANDWIDTHS))
    else:
        ports = {"read_words_per_cycle": draw(limit), "write_words_per_cycle": draw(limit)}
    buffers = st.sampled_from([1, 2])
    return Memory(
        name,
        size_bits=None,
        word_bits=draw(st.sampled_from([8, 10, 16, 24, 32, 64])),
        read_energy_pj=1.0,
        write_energy_pj=1.0,
        buffers=(draw(buffers), draw(buffers), draw(buffers)),
        packing=draw(st.sampled_from(["dense", "aligned"])),
        **ports,
    )


@st.composite
def fanouts(draw: st.DrawFn, name: str) -> Fanout:
    """A fanout of one or two axes."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=1, max_size=2))
    ramp = None
    if draw(st.sampled_from([False, False, True])):
        ramp = Ramp(draw(st.sampled_from(ROLES)), draw(st.integers(1, 9)))
    return Fanout(
        name,
        tuple(zip("xy", sizes, strict=False)),
        (None,) * len(sizes),
        multicast=(draw(st.booleans()), draw(st.booleans())),
        reduces=draw(st.booleans()),
        topology=draw(st.sampled_from(["bus", "mesh", "tree"])),
        link_bits_per_cycle=draw(st.sampled_from([None, None, 1.0, 4.0, 12.5, 64.0])),
        ramp=ramp,
    )


@st.composite
def setups(draw: st.DrawFn, layer: Layer) -> Setup:
    """One to four memories, none to two fanouts inside the outermost memory, a PE of 1, 2 or 4 lanes."""
    inner: list[Node] = [draw(memories(f"m{i}")) for i in range(1, draw(st.sampled_from([1, 2, 3, 3, 4])))]
    for i in range(draw(st.sampled_from([0, 1, 1, 2, 2]))):
        inner.insert(draw(st.integers(0, len(inner))), draw(fanouts(f"f{i}")))
    lanes = draw(st.sampled_from([1, 1, 2, 4]))
    names = [name for name, _ in layer.dims]
    lane_dims = frozenset(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)))
    precision = draw(precisions())
    cycles = draw(st.integers(1, 3))
    mode = Mode(
        precision.weight, precision.input, precision.accumulator, lanes, lane_dims, cycles, 1.0, "mac"
    )
    nodes = (draw(memories("m0")), *inner)
    return Setup(Arch("random", 1e9, nodes, Compute("pe", (mode,), ())), precision, mode)


class _Builder:
    """Draws a nest from outside in; `rest` is the extent that is left of each dimension."""

    def __init__(self, draw: st.DrawFn, layer: Layer) -> None:
        self.draw = draw
        self.rest = dict(layer.dims)
        self.nodes: list[Loop | Keep] = [Keep("m0", role) for role in draw(st.permutations(ROLES))]
        self.leaves = 1

    def temporal(self, most: int) -> None:
        """Up to `most` temporal loops; some have one trip."""
        for _ in range(self.draw(st.integers(0, most))):
            dims = [dim for dim, extent in self.rest.items() if extent > 1] or list(self.rest)
            dim = self.draw(st.sampled_from(dims))
            self._loop(dim, self.draw(st.integers(min(2, self.rest[dim]), self.rest[dim])), None)

    def keeps(self, memory: Memory) -> None:
        """Keeps of some operands, with loops between them."""
        for role in self.draw(st.permutations(ROLES)):
            if self.draw(st.integers(0, 2)) == 0:
                continue
            self.nodes.append(Keep(memory.name, role))
            self.temporal(1)

    def spatial(self, fanout: Fanout) -> None:
        """Loops on the axes of a fanout, with loops of time between them."""
        for axis, size in fanout.axes:
            allowed = fanout.dims[0] if fanout.name == LANES else None
            room = min(size, MAX_LEAVES // self.leaves)
            for _ in range(self.draw(st.sampled_from([0, 1, 1, 2]))):
                room //= self._unroll(f"{fanout.name}.{axis}", room, allowed)
                self.temporal(1)

    def _unroll(self, axis: str, room: int, allowed: frozenset[str] | None) -> int:
        """One spatial loop of at most `room` trips; its trips."""
        dims = [d for d, extent in self.rest.items() if extent > 1 and (allowed is None or d in allowed)]
        if room < 2 or not dims:
            return 1
        dim = self.draw(st.sampled_from(dims))
        extent = self.rest[dim]
        step = self.draw(st.integers(-(-extent // room), extent - 1))
        self._loop(dim, step, axis)
        trips = -(-extent // step)
        self.leaves *= trips
        return trips

    def finish(self) -> None:
        """Split what is left into single MACs."""
        left = [dim for dim, extent in self.rest.items() if extent > 1]
        for dim in self.draw(st.permutations(left)):
            self._loop(dim, 1, None)

    def _loop(self, dim: str, step: int, axis: str | None) -> None:
        self.nodes.append(Loop(dim, step, axis))
        self.rest[dim] = step


@st.composite
def mappings(draw: st.DrawFn, layer: Layer, setup: Setup) -> Mapping:
    """A legal mapping: ragged, uneven and bypassed, loops in any order between the keeps."""
    builder = _Builder(draw, layer)
    for node in setup.nodes[1:]:
        builder.temporal(2)
        if isinstance(node, Memory):
            builder.keeps(node)
        else:
            builder.spatial(node)
    builder.temporal(3)
    builder.finish()
    return Mapping(tuple(builder.nodes))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Layer, Setup, Mapping]:
    """A layer, the hardware and precision that it runs with, and a legal mapping."""
    layer = draw(layers())
    setup = draw(setups(layer))
    return layer, setup, draw(mappings(layer, setup))


@st.composite
def split_sums(draw: st.DrawFn) -> tuple[Layer, Setup, Mapping]:
    """Matrix products with long ragged reductions over up to three fanouts, which may not reduce."""
    size = st.sampled_from([1, 2, 3, 4, 5, 7, 9, 11, 13])
    depth = st.sampled_from([3, 5, 7, 9, 11, 13, 14, 17])
    layer = matmul("random", M=draw(st.sampled_from([1, 1, 2, 3, 5])), N=draw(size), K=draw(depth))
    assume(layer.macs <= MAX_MACS)
    nodes: list[Node] = [draw(memories(f"m{i}")) for i in range(1, draw(st.sampled_from([2, 3, 4])))]
    for i in range(draw(st.sampled_from([1, 2, 2, 3]))):
        nodes.insert(draw(st.integers(0, len(nodes))), draw(fanouts(f"f{i}")))
    precision = draw(precisions())
    mode = Mode(precision.weight, precision.input, precision.accumulator, 1, frozenset(), 1, 1.0, "mac")
    arch = Arch("random", 1e9, (draw(memories("m0")), *nodes), Compute("pe", (mode,), ()))
    setup = Setup(arch, precision, mode)
    return layer, setup, draw(mappings(layer, setup))
