"""What a person writes in an architecture file; see `seada.arch.load` for how it becomes hardware.

A number is a quantity with a unit (``6 pJ/word``), the word ``free`` (truly zero, energies and areas only),
the word ``unmodelled`` (counted as zero, reported), or a mapping of the number and its provenance
(``{value: 6 pJ/word, status: published, source: "..."}``). Provenance that a number does not state is taken
from the block around it, then from the file.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator
from pydantic_core import PydanticKnownError

from seada.config.base import AccumulatorName, ConfigModel, PeFormatName, SchemaVersion
from seada.config.base import as_value_error as _user
from seada.errors import UserError
from seada.technology.tables import dram, pe_table
from seada.units import parse_quantity

Status = Literal["published", "derived", "unverified", "placeholder"]
Role = Literal["weight", "input", "output"]
InputRole = Literal["weight", "input"]
INPUT_ROLES: tuple[InputRole, ...] = ("weight", "input")
FREE, UNMODELLED, UNLIMITED = "free", "unmodelled", "unlimited"

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=64)]
Count = Annotated[int, Field(ge=1, le=2**31)]

ENERGY_PER_ACCESS = ("pJ", "pJ/word", "pJ/bit")
BANDWIDTH = ("word/cycle", "bit/cycle", "bit/s")


@_user
def _check_node(text: str) -> str:
    parse_quantity(text, {"nm"})
    return text


@_user
def _check_swept(text: str) -> str:
    if parse_quantity(text, {"nm"}).value.denominator != 1:
        raise UserError(f"{text!r} is no whole number of nm")
    return text


@_user
def _check_dram(kind: str) -> str:
    dram(kind)
    return kind


class Provenance(ConfigModel):
    """Where numbers come from; each key applies to all numbers inside that do not state their own."""

    source: str | None = None
    """Publication, file or reasoning that a reader can follow."""
    status: Status | None = None
    """How far the numbers can be trusted; without source and status they are ``unverified`` (warned of)."""
    node: Annotated[str, AfterValidator(_check_node)] | None = None
    """Technology node, such as ``45 nm``."""
    boundary: str | None = None
    """What the number includes: ``device``, ``device+IO``, ``PHY``, ``controller`` ..."""


class Number(Provenance):
    """A number with its own provenance."""

    value: Annotated[Any, WithJsonSchema({"type": "string"})]
    """The quantity, with its unit."""


def _wrap(value: Any) -> Any:
    """A bare scalar as a `Number`."""
    return value if isinstance(value, dict | Number) else {"value": value}


def _in(units: tuple[str, ...], words: tuple[str, ...] = ()) -> AfterValidator:
    """A check that the number is in one of the units, or one of the words."""

    @_user
    def check(number: Number) -> Number:
        if number.value in words:
            return number
        try:
            parse_quantity(number.value, set(units))
        except UserError as error:
            raise UserError(
                "; or the word ".join([error.message, " or ".join(words)][: 1 + bool(words)])
            ) from None
        return number

    return AfterValidator(check)


_WRAP = BeforeValidator(_wrap, json_schema_input_type=str | Number)
_ZERO = (FREE, UNMODELLED)

AccessEnergy = Annotated[Number, _WRAP, _in(ENERGY_PER_ACCESS, _ZERO)]
BitEnergy = Annotated[Number, _WRAP, _in(("pJ/bit",), _ZERO)]
StepEnergy = Annotated[Number, _WRAP, _in(("pJ/step", "pJ"), _ZERO)]
OperationEnergy = Annotated[Number, _WRAP, _in(("pJ/op", "pJ"), _ZERO)]
MacEnergy = Annotated[Number, _WRAP, _in(("pJ/MAC", "pJ"), _ZERO)]
Leakage = Annotated[Number, _WRAP, _in(("W",), _ZERO)]
Area = Annotated[Number, _WRAP, _in(("um2",), _ZERO)]
Size = Annotated[Number, _WRAP, _in(("bit", "word"), (UNLIMITED,))]
Width = Annotated[Number, _WRAP, _in(("bit",))]
Bandwidth = Annotated[Number, _WRAP, _in(BANDWIDTH)]
Frequency = Annotated[Number, _WRAP, _in(("Hz",))]


def _or_unlimited(kind: Any) -> BeforeValidator:
    """The word ``unlimited`` as None; an empty value stays an error."""

    def convert(value: Any) -> Any:
        if value is None:
            raise ValueError(f"a bandwidth is needed, or {UNLIMITED}")
        return None if value == UNLIMITED else value

    return BeforeValidator(convert, json_schema_input_type=kind | Literal["unlimited"])


class PortBandwidth(ConfigModel):
    """Bandwidth of the ports of one instance: `read` and `write` apart, or one that is `shared`."""

    read: Bandwidth | None = None
    """Of the read port; words/cycle, bit/cycle, B/cycle, or GB/s (through the clock)."""
    write: Bandwidth | None = None
    """Of the write port."""
    shared: Bandwidth | None = None
    """Of one port for both directions and all operands."""

    @model_validator(mode="after")
    def _check(self) -> PortBandwidth:
        apart = self.read is not None or self.write is not None
        if apart == (self.shared is not None):
            raise ValueError("either 'shared', or 'read' and 'write' are needed")
        if apart and (self.read is None or self.write is None):
            raise ValueError("both 'read' and 'write' are needed")
        return self


class Ports(ConfigModel):
    """Number of ports of one word each; only to check the bandwidth against."""

    read: Count | None = None
    """Read ports."""
    write: Count | None = None
    """Write ports."""
    shared: Count | None = None
    """Ports that read or write."""


class Buffers(ConfigModel):
    """Tiles held per operand: 1 single, 2 double buffered."""

    weight: Literal[1, 2] = 2
    """Of weights."""
    input: Literal[1, 2] = 2
    """Of inputs."""
    output: Literal[1, 2] = 2
    """Of outputs and partial sums."""


KeepRule = Literal["must", "may", "never"]


class KeepRules(ConfigModel):
    """Whether the memory keeps an operand."""

    weight: KeepRule = "may"
    """Weights."""
    input: KeepRule = "may"
    """Inputs."""
    output: KeepRule = "may"
    """Outputs and partial sums."""


def _same_buffers(value: Any) -> Any:
    return dict.fromkeys(("weight", "input", "output"), value) if isinstance(value, int) else value


DerivedKey = Literal["read_energy", "write_energy", "leakage", "area"]
SRAM_ONLY = ("cell", "ports", "banks", "scaling")


class TechnologyConfig(ConfigModel):
    """Where a memory's energies, leakage and area come from instead of written numbers."""

    sram: Annotated[str, AfterValidator(_check_swept)] | None = None
    """Node of an SRAM, such as ``45 nm``: figures by size and word from a sweep of CACTI."""
    dram: Annotated[str, AfterValidator(_check_dram)] | None = None
    """Kind of DRAM, such as ``lpddr4``: energy per bit."""
    cell: str | None = None
    """Transistors of the SRAM: itrs-hp (default), itrs-lop or itrs-lstp."""
    ports: Literal["1RW", "1R1W"] | None = None
    """Ports of the SRAM's cells; default 1RW."""
    banks: Count | None = None
    """SRAM macros that the memory is made of; default 1. An access is one of one bank."""
    scaling: str | None = None
    """Method that carries the figures to a node that the sweep does not have."""
    override: list[DerivedKey] = Field(default_factory=list)
    """Figures that the memory states itself although the technology has them."""

    @model_validator(mode="after")
    def _check(self) -> TechnologyConfig:
        if (self.sram is None) == (self.dram is None):
            raise ValueError("one of 'sram' and 'dram' is needed")
        extra = [key for key in SRAM_ONLY if self.dram is not None and getattr(self, key) is not None]
        if extra:
            raise ValueError(f"only an SRAM has {', '.join(map(repr, extra))}")
        return self


def _needed(value: Number | None, info: ValidationInfo) -> Number | None:
    """Energies must be written unless a technology gives them."""
    if value is None and info.data.get("technology", value) is None and "technology" in info.data:
        raise PydanticKnownError("missing")
    return value


_NEEDED = AfterValidator(_needed)


class MemoryConfig(Provenance):
    """A memory; all numbers are for one instance."""

    technology: TechnologyConfig | None = None
    """Gives the energies, leakage and area by size and word, instead of numbers written here."""
    size: Size
    """Capacity (KiB, bit, words) or ``unlimited``."""
    word: Width
    """Bits that one access moves, such as ``64 bit``."""
    bandwidth: Annotated[PortBandwidth | None, _or_unlimited(PortBandwidth)]
    """Of the ports, or ``unlimited``."""
    read_energy: Annotated[AccessEnergy | None, _NEEDED] = Field(None, validate_default=True)
    """Per word (``pJ``, ``pJ/word``) or per bit (``pJ/bit``); needed unless `technology` gives it."""
    write_energy: Annotated[AccessEnergy | None, _NEEDED] = Field(None, validate_default=True)
    """Per word (``pJ``, ``pJ/word``) or per bit (``pJ/bit``); needed unless `technology` gives it."""
    leakage: Leakage | None = None
    """Power at rest in W; default ``unmodelled``."""
    area: Area | None = None
    """In um2; default ``unmodelled``."""
    ports: Ports | None = None
    """Ports of one word each, to check the bandwidth against; default: not checked."""
    buffers: Annotated[Buffers, BeforeValidator(_same_buffers, json_schema_input_type=int | Buffers)] = (
        Buffers()
    )
    """Tiles held per operand, as one number or per operand; default 2."""
    keep: KeepRules = KeepRules()
    """Per operand ``must``, ``may`` or ``never``; default ``may``."""
    accumulates: bool = True
    """Whether arriving partial sums are added in place; default true."""
    packing: Literal["dense", "aligned"] = "dense"
    """``dense``: elements straddle words; ``aligned``: a word holds whole elements only. Default dense."""


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_ONE_OR_MORE = BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])


class AxisConfig(ConfigModel):
    """One axis of a fanout."""

    size: Count
    """Instances along the axis."""
    dims: Annotated[list[str], Field(min_length=1), _ONE_OR_MORE] | None = None
    """Dimensions (K, C, P ...) or classes of dimensions (reduction, input_channel, output, output_channel,
    position) that may be unrolled on the axis; default all."""


def _axis(value: Any) -> Any:
    return {"size": value} if isinstance(value, int) and not isinstance(value, bool) else value


class RampConfig(ConfigModel):
    """Fill and drain of a systolic array."""

    stationary: Role
    """Operand whose change of tile in the PEs starts the array anew."""
    cycles: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """Cycles each time; default rows + columns - 1, the sum of the axes less one."""


class FanoutConfig(Provenance):
    """Instances of everything inside it, along named axes."""

    axes: Annotated[
        dict[Name, Annotated[AxisConfig, BeforeValidator(_axis, json_schema_input_type=int | AxisConfig)]],
        Field(min_length=1),
    ]
    """Size by axis name, or ``{size: 16, dims: [K]}``."""
    multicast: list[InputRole] = Field(default_factory=lambda: list(INPUT_ROLES))
    """Operands of which one read serves all instances that need the same element; default both."""
    reduces: bool = True
    """Whether partial sums are added on their way out; default true."""
    reduction_energy: BitEnergy | None = None
    """Per addition and bit of the accumulator, in pJ/bit; default ``unmodelled``."""
    topology: Literal["bus", "mesh", "tree"] = "bus"
    """``bus``: one hop per element served; ``mesh``: one per element received; ``tree``: one per branch used,
    where each axis in turn branches into its instances. Default bus."""
    hop_energy: BitEnergy | None = None
    """Per bit and hop, in pJ/bit; default ``unmodelled``."""
    bandwidth: Annotated[Bandwidth | None, _or_unlimited(str | Number)] = None
    """Of the link into the fanout per instance outside it: bit/cycle, B/cycle, GB/s; default unlimited."""
    link_area: Area | None = None
    """Of all links of one instance of the fanout, in um2; default ``unmodelled``."""
    ramp: RampConfig | None = None
    """Fill and drain of a systolic array; default none."""


Formats = Annotated[list[PeFormatName], Field(min_length=1)]
Gating = Literal["none", "clock", "power"]


class ModeConfig(Provenance):
    """One row of the PE: formats of weight and input, and what a step does; lists give all pairs."""

    weight: Annotated[Formats, _ONE_OR_MORE]
    """Format of the weight, or a list."""
    input: Annotated[Formats, _ONE_OR_MORE]
    """Format of the input, or a list."""
    accumulator: AccumulatorName
    """Default format of partial sums."""
    lanes: Count = 1
    """MACs per step and PE; default 1."""
    lane_dims: Annotated[list[str], _ONE_OR_MORE] | None = None
    """Dimensions or classes that the lanes may extend (see axes), needed if there is more than one lane."""
    cycles: Count = 1
    """Cycles per step; default 1."""
    energy: StepEnergy
    """Of one step with all lanes, in pJ/step."""
    block: Name
    """Hardware block that the mode uses."""

    @model_validator(mode="after")
    def _check(self) -> ModeConfig:
        if self.lanes > 1 and not self.lane_dims:
            raise ValueError("'lane_dims' is needed where there is more than one lane")
        return self


PresetName = Literal["dedicated", "bitfusion", "bit_serial", "subword", "tensorcore", "vector_fp"]
PRESET_KEYS: dict[PresetName, tuple[str, ...]] = {
    "dedicated": ("formats",),
    "bitfusion": ("native", "minimum"),
    "bit_serial": ("native", "minimum"),
    "subword": ("native", "minimum"),
    "tensorcore": ("formats", "lanes"),
    "vector_fp": ("formats", "lanes"),
}
"""Keys that a preset needs; those of the others it does not have."""


@_user
def _check_table(name: str) -> str:
    pe_table(name)
    return name


class PresetConfig(Provenance):
    """Rows of a known style of multi-precision PE; see `seada.arch.presets` for what each style does."""

    preset: PresetName
    """``dedicated``: a multiplier per format; ``bitfusion``: (native/a)(native/w) lanes that sum together;
    ``bit_serial``: one lane, a cycle per bit of the input; ``subword``: native/b lanes at equal widths that
    stay apart; ``tensorcore``: a dot product along the reduction; ``vector_fp``: floating-point lanes that
    stay apart."""
    native: Annotated[int, Field(ge=2, le=32)] | None = None
    """Bits of the widest operand; of bitfusion, bit_serial and subword."""
    minimum: Annotated[int, Field(ge=1, le=32)] | None = None
    """Bits of the narrowest operand, of the same; widths are the powers of two between."""
    formats: Annotated[Formats | None, _ONE_OR_MORE] = None
    """Formats of weight and input alike; of dedicated, tensorcore and vector_fp."""
    lanes: Count | None = None
    """MACs per cycle in a 16 bit format; of tensorcore and vector_fp, other formats in proportion."""
    unsigned_inputs: bool = False
    """Whether unsigned inputs run as well; default false."""
    accumulator: AccumulatorName
    """Default format of partial sums."""
    technology: Annotated[str, AfterValidator(_check_table)] | None = None
    """Table of arithmetic, such as ``horowitz_45nm``, that gives the energies and makes the blocks."""
    energy: StepEnergy | None = None
    """Of one cycle of the PE in any mode, in pJ; needed unless `technology` gives it."""
    block: Name
    """Hardware block that the modes use: one of `blocks`, or with `technology` the name of the block that the
    preset makes; a ``dedicated`` preset makes one per format, ``<block>_<format>``."""
    gating: Gating | None = None
    """Of the blocks that the preset makes (see there)."""
    idle_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    """Of the blocks that the preset makes (see there)."""

    @model_validator(mode="after")
    def _check(self) -> PresetConfig:
        needed = PRESET_KEYS[self.preset]
        keys = dict.fromkeys(key for keys in PRESET_KEYS.values() for key in keys)
        wrong = [f"{self.preset} needs {key!r}" for key in needed if getattr(self, key) is None]
        wrong += [
            f"{self.preset} has no {key!r}; it has {', '.join(map(repr, needed))}"
            for key in keys
            if key not in needed and getattr(self, key) is not None
        ]
        if (self.technology is None) == (self.energy is None):
            wrong.append("one of 'technology' and 'energy' is needed")
        if self.preset == "dedicated" and self.technology is None:
            wrong.append("dedicated multipliers need 'technology'; with own energies they are 'modes'")
        for key in ("gating", "idle_fraction"):
            if self.technology is None and getattr(self, key) is not None:
                wrong.append(f"{key!r} belongs to the block among 'blocks' unless 'technology' makes it")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class BlockConfig(Provenance):
    """A piece of PE hardware; counted once per PE however many modes use it."""

    area: Area | None = None
    """In um2; default ``unmodelled``."""
    leakage: Leakage | None = None
    """In W; default ``unmodelled``."""
    gating: Gating = "none"
    """What happens while it has no work: ``none`` leaks and idles, ``clock`` leaks, ``power`` leaks only
    while the layer's mode uses the block; default none."""
    idle_fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of its energy in use that it spends without work if it is not gated; default 0."""


class ComputeConfig(Provenance):
    """The PE inside all fanouts."""

    name: Name = "pe"
    """Name in results; default pe."""
    modes: list[ModeConfig] = Field(default_factory=list)
    """Explicit rows."""
    presets: list[PresetConfig] = Field(default_factory=list)
    """Rows by style."""
    blocks: dict[Name, BlockConfig] = Field(default_factory=dict)
    """Hardware blocks by name, beside those that presets make."""


class VectorUnitConfig(Provenance):
    """Runs vector operators: pooling, additions, requantisation and the like."""

    name: Name = "vector_unit"
    """Name in results; default vector_unit."""
    lanes: Count
    """Operations per cycle of its clock."""
    clock: Frequency | None = None
    """In Hz; default the chip's clock."""
    energy: OperationEnergy
    """Per operation, in pJ/op."""
    memory: Name
    """Memory that feeds it."""
    area: Area | None = None
    """In um2; default ``unmodelled``."""
    leakage: Leakage | None = None
    """In W; default ``unmodelled``."""


class FloatFormatConfig(Provenance):
    """A format that the floating-point unit computes in."""

    format: PeFormatName
    """The format; operands that it represents exactly run in it."""
    macs_per_cycle: Annotated[float, Field(gt=0, le=2**31)]
    """Rate of the whole unit, per cycle of its clock."""
    energy: MacEnergy
    """Per MAC, in pJ/MAC."""


class FloatUnitConfig(Provenance):
    """Separate floating-point unit, costed in closed form."""

    name: Name = "float_unit"
    """Name in results; default float_unit."""
    formats: Annotated[list[FloatFormatConfig], Field(min_length=1)]
    """What it computes in."""
    path: Annotated[list[Name], Field(min_length=1)]
    """Memories that operands pass through, outermost first."""
    clock: Frequency | None = None
    """In Hz; default the chip's clock."""
    area: Area | None = None
    """In um2; default ``unmodelled``."""
    leakage: Leakage | None = None
    """In W; default ``unmodelled``."""


class SpatialConfig(ConfigModel):
    """A fixed unrolling."""

    axis: str
    """``fanout.axis``."""
    dim: str
    """Dimension."""
    trips: Count
    """Instances used; no more than the axis has."""


class ConstraintsConfig(ConfigModel):
    """Declared limits of the map-space."""

    dataflow: Literal["weight", "output", "input", "row"] | None = None
    """Stationary operand, or row stationary; default free."""
    spatial: list[SpatialConfig] = Field(default_factory=list)
    """Fixed unrollings."""


class PolicyConfig(ConfigModel):
    """How layers follow each other."""

    prefetch_weights: bool = False
    """Whether the next layer's weights load while a layer runs; default false."""
    resident: Name | None = None
    """Memory where tensors between layers rest if they fit; default the outermost."""


class CalibrationConfig(Provenance):
    """What a chip's software and memory controller cost beyond the model; found by ``seada calibrate``."""

    layer_cycles: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Fixed cost of a layer, in cycles; default 0."""
    tile_cycles: Annotated[float, Field(ge=0, le=1e5)] = 0.0
    """Cost of issuing a tile of the outermost memory, in cycles; default 0."""
    word_cycles: Annotated[float, Field(ge=0.05, le=100)] = 1.0
    """Time of the outermost memory's port over that of its declared bandwidth; default 1."""
    first_word_cycles: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Further such time for what is touched for the first time; default 0."""
    reload_cycles: Annotated[float, Field(ge=0, le=1e3)] = 0.0
    """Cycles per change of the innermost tile of the weight; default 0."""
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.0
    """0 hides the shorter of compute and memory time, 1 hides nothing; default 0."""


class ArchConfig(Provenance):
    """An accelerator: memories and fanouts in order, the PE inside, and units beside it."""

    schema_version: SchemaVersion
    name: Name
    """Name of the chip in results."""
    description: str = ""
    """What it is, for readers."""
    clock: Frequency
    """Frequency of the array, such as ``500 MHz``."""
    hierarchy: Annotated[list[Name], Field(min_length=1)]
    """Names of memories and fanouts, outermost first."""
    memories: Annotated[dict[Name, MemoryConfig], Field(min_length=1)]
    """Memories by name."""
    fanouts: dict[Name, FanoutConfig] = Field(default_factory=dict)
    """Fanouts by name; default none (a single PE)."""
    compute: ComputeConfig
    """The PE."""
    vector_unit: VectorUnitConfig | None = None
    """Default none: networks with vector operators are refused."""
    float_unit: FloatUnitConfig | None = None
    """Default none."""
    constraints: ConstraintsConfig = ConstraintsConfig()
    """Limits of the map-space; default none."""
    policy: PolicyConfig = PolicyConfig()
    """How layers follow each other."""
    calibration: CalibrationConfig | None = None
    """Parameters fitted to measured rows; results then state a calibrated latency beside the model's."""
