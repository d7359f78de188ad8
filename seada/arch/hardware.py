"""A chip as the code reasons with it: frozen objects, one unit per quantity (bits, cycles, pJ, um2)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod

from seada.formats import Format, Precision


@dataclass(frozen=True)
class Memory:
    """A memory level; numbers are for one instance.

    Attributes
    ----------
    size_bits : int or None
        Capacity; None is unlimited. In words: ``size_bits // word_bits``.
    word_bits : int
        Bits that one access moves.
    read_words_per_cycle, write_words_per_cycle, shared_words_per_cycle : float or None
        Port bandwidth; None has no limit. With `shared` both directions use one port.
    read_energy_pj, write_energy_pj : float
        Per word.
    leakage_w, area_um2 : float
    buffers : (weight, input, output)
        Tiles held per operand: 1 single, 2 double buffered.
    keep : (weight, input, output)
        ``must``, ``may`` or ``never`` keep that operand.
    accumulates : bool
        Whether it can add arriving partial sums in place.
    packing : str
        ``dense`` or ``aligned``.
    """

    name: str
    size_bits: int | None
    word_bits: int
    read_energy_pj: float
    write_energy_pj: float
    read_words_per_cycle: float | None = None
    write_words_per_cycle: float | None = None
    shared_words_per_cycle: float | None = None
    leakage_w: float = 0.0
    area_um2: float = 0.0
    buffers: tuple[int, int, int] = (2, 2, 2)
    keep: tuple[str, str, str] = ("may", "may", "may")
    accumulates: bool = True
    packing: str = "dense"

    @property
    def size_words(self) -> int | None:
        """Capacity in whole words."""
        return None if self.size_bits is None else self.size_bits // self.word_bits


@dataclass(frozen=True)
class Ramp:
    """Fill and drain of a systolic array: `cycles` whenever the tile of `stationary` in the PEs changes."""

    stationary: str
    cycles: int


@dataclass(frozen=True)
class Fanout:
    """Instances of everything inside, along named axes.

    Attributes
    ----------
    axes : tuple of (axis name, instances)
    dims : tuple of (frozenset of dimension names or None)
        Per axis: which dimensions may be unrolled on it; None allows all.
    multicast : (weight, input)
        Whether one read serves all instances that need the same element at the same step.
    reduces : bool
        Whether partial sums are added on their way out.
    reduction_energy_pj_per_bit : float
        Per addition and bit of the accumulator.
    topology : ``bus`` (one hop per element served), ``mesh`` (one hop per element received) or ``tree`` (one
        hop per branch used; each axis in turn branches into its instances)
    hop_energy_pj_per_bit : float
    link_bits_per_cycle : float or None
        Bandwidth of the link into (and out of) this fanout, per instance of what is outside it.
    """

    name: str
    axes: tuple[tuple[str, int], ...]
    dims: tuple[frozenset[str] | None, ...]
    multicast: tuple[bool, bool] = (True, True)
    reduces: bool = True
    reduction_energy_pj_per_bit: float = 0.0
    topology: str = "bus"
    hop_energy_pj_per_bit: float = 0.0
    link_bits_per_cycle: float | None = None
    link_area_um2: float = 0.0
    ramp: Ramp | None = None

    @property
    def instances(self) -> int:
        """Number of instances over all axes."""
        return prod(size for _, size in self.axes)


@dataclass(frozen=True)
class Mode:
    """One row of a PE: a pair of formats, and what the PE does with it in one step.

    Attributes
    ----------
    lanes : int
        MACs per step and PE.
    lane_dims : frozenset of str
        Dimensions that the lanes may extend; reduction dimensions sum together, output ones apart.
    cycles_per_step, energy_pj_per_step : float
        Energy is for a step with all lanes busy; it is charged in full per step.
    accumulator : Format
        Default format of partial sums.
    block : str
        Name of the hardware block that this mode uses.
    """

    weight: Format
    input: Format
    accumulator: Format
    lanes: int
    lane_dims: frozenset[str]
    cycles_per_step: int
    energy_pj_per_step: float
    block: str

    @property
    def weight_bits_per_cycle(self) -> float:
        """Weight bits that a full step takes in, over its cycles: the width of the PE's weight port.

        Lanes that share an element read it once, so output lanes may take in less.
        """
        return self.lanes * self.weight.bits / self.cycles_per_step

    @property
    def input_bits_per_cycle(self) -> float:
        """Input bits that a full step takes in, over its cycles (see `weight_bits_per_cycle`)."""
        return self.lanes * self.input.bits / self.cycles_per_step


@dataclass(frozen=True)
class Block:
    """A piece of PE hardware that one or more modes use; area and leakage count once per PE."""

    name: str
    area_um2: float
    leakage_w: float
    gating: str = "none"
    idle_fraction: float = 0.0


@dataclass(frozen=True)
class Compute:
    """The PE inside all fanouts; its lanes are the fanout named `lanes`."""

    name: str
    modes: tuple[Mode, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class VectorUnit:
    """Runs vector operators: lanes at one operation per cycle of its clock, fed from the memory `memory`.

    `clock_ratio` is its clock over that of the chip.
    """

    name: str
    lanes: int
    energy_pj_per_op: float
    memory: str
    area_um2: float = 0.0
    leakage_w: float = 0.0
    clock_ratio: float = 1.0

    @property
    def operations_per_cycle(self) -> float:
        """Operations per cycle of the chip's clock."""
        return self.lanes * self.clock_ratio


@dataclass(frozen=True)
class FloatUnit:
    """Separate floating-point unit with a closed-form cost.

    Attributes
    ----------
    formats : tuple of Format
        What it computes in; any operand pair that one of these represents may run.
    macs_per_cycle, energy_pj_per_mac : dict-like tuples aligned with `formats`
    path : tuple of memory names, outermost first, that operands pass through
    """

    name: str
    formats: tuple[Format, ...]
    macs_per_cycle: tuple[float, ...]
    energy_pj_per_mac: tuple[float, ...]
    path: tuple[str, ...]
    area_um2: float = 0.0
    leakage_w: float = 0.0


Node = Memory | Fanout


@dataclass(frozen=True)
class Source:
    """Where a number comes from: `path` names the coefficient, `status` how far it can be trusted.

    `status` is ``published``, ``derived``, ``unverified`` or ``placeholder``.
    """

    path: str
    value: str
    status: str
    source: str
    node_nm: int | None = None
    boundary: str | None = None


@dataclass(frozen=True)
class Constraints:
    """Declared limits of the map-space, by dimension name; factors as trips, checked on every answer.

    Attributes
    ----------
    dataflow : str or None
        ``weight``, ``output``, ``input`` or ``row`` stationary.
    spatial : tuple of (axis ``fanout.axis``, dimension, trips)
        Fixed unrolling.
    """

    dataflow: str | None = None
    spatial: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True)
class Calibration:
    """Parameters of one chip; the defaults change nothing.

    Attributes
    ----------
    layer_cycles : float
        Fixed cost of starting and ending a layer, in cycles.
    tile_cycles : float
        Cost of issuing one tile of the outermost memory, not overlapped with anything, in cycles.
    word_cycles : float
        Cycles per word of the outermost memory's port, over those of its declared bandwidth.
    first_word_cycles : float
        Further cycles per word that is touched for the first time (cold caches, DRAM rows).
    reload_cycles : float
        Cycles whenever the innermost tile of the stationary operand changes, added to the compute time.
    overlap : float
        0: the shorter of compute and memory time is hidden; 1: nothing is.
    """

    layer_cycles: float = 0.0
    tile_cycles: float = 0.0
    word_cycles: float = 1.0
    first_word_cycles: float = 0.0
    reload_cycles: float = 0.0
    overlap: float = 0.0


CALIBRATED = tuple(f.name for f in fields(Calibration))


@dataclass(frozen=True)
class Arch:
    """A chip: nodes outermost first, one compute node, optional vector and floating-point units.

    Attributes
    ----------
    clock_hz : float
    nodes : tuple of Memory and Fanout, outermost first
    compute : Compute
    sources : tuple of Source
        Provenance of every coefficient.
    content_hash : str
        Of the resolved configuration.
    """

    name: str
    clock_hz: float
    nodes: tuple[Node, ...]
    compute: Compute
    vector_unit: VectorUnit | None = None
    float_unit: FloatUnit | None = None
    constraints: Constraints = field(default_factory=Constraints)
    prefetch_weights: bool = False
    resident: str | None = None
    calibration: Calibration | None = None
    sources: tuple[Source, ...] = ()
    warnings: tuple[str, ...] = ()
    content_hash: str = ""

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """Memories, outermost first."""
        return tuple(node for node in self.nodes if isinstance(node, Memory))

    @cached_property
    def fanouts(self) -> tuple[Fanout, ...]:
        """Fanouts, outermost first, without the lanes of the compute node."""
        return tuple(node for node in self.nodes if isinstance(node, Fanout))

    def node_index(self, name: str) -> int:
        """Position of a node by name."""
        return next(i for i, node in enumerate(self.nodes) if node.name == name)

    def instances(self, name: str) -> int:
        """Physical instances of a node (or of the PE, by its name): the product of the fanouts outside it."""
        end = len(self.nodes) if name == self.compute.name else self.node_index(name)
        return prod(node.instances for node in self.nodes[:end] if isinstance(node, Fanout))


LANES = "lanes"


@dataclass(frozen=True)
class Setup:
    """An architecture together with the precision and PE mode that one layer runs with.

    The nodes are the architecture's, followed by the mode's lanes as an innermost fanout
    (named ``lanes`` with the one axis ``x``) if there is more than one.
    """

    arch: Arch
    precision: Precision
    mode: Mode
    note: str = ""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Nodes outermost first, lanes included."""
        if self.mode.lanes == 1:
            return self.arch.nodes
        lanes = Fanout(LANES, (("x", self.mode.lanes),), (self.mode.lane_dims,))
        return (*self.arch.nodes, lanes)
