"""Closed-form cost of the floating-point unit beside the array: an estimate, labelled as such.

``cycles = max(MACs / rate, for each memory on the path: bits / bandwidth)``, energy from the same words.

Traffic into a memory of the path, in bits, between it and the next outer one:

- *Working set fits* (one of the operands whole, beside one slice of the others along the reduction):
  every operand moves once.
- Else *blocked GEMM*: the layer is taken as ``B`` products of ``M x K`` and ``K x N``, where B are the
  extents that weight, input and output share, M those of weight and output, N those of input and output,
  K the reduction. Blocks of ``m x n`` accumulators stay, the reduction streams by; weights move ``ceil(N
  / n)`` times, inputs ``ceil(M / m)`` times, outputs once. m and n are those with least traffic for which
  ``m n acc + m w + n i`` bits fit (acc, w, i: bits of the formats).

What arrives in the innermost memory of the path is read by the unit once: it is assumed to reuse operands
inside. Windows that overlap are distinct elements, as in the exact model; padding is not data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from seada.arch.hardware import Arch, FloatUnit, Memory, Mode
from seada.formats import Format, Precision
from seada.model.cost import Cost
from seada.model.standby import standby_pj
from seada.model.streams import port_cycles
from seada.workload.layer import ROLES, Layer


@dataclass(frozen=True)
class Traffic:
    """Bits that enter (weight, input) and leave (output) a memory of the path during the layer."""

    weight: int
    input: int
    output: int


@dataclass(frozen=True)
class _Gemm:
    """A layer as B products of M x K and K x N; extents."""

    B: int
    M: int
    N: int


def float_unit_cost(arch: Arch, layer: Layer, precision: Precision, compute: Format) -> Cost:
    """Latency and energy of a layer on the floating-point unit.

    Parameters
    ----------
    compute : Format
        One of the unit's own formats, in which it computes.
    """
    unit = arch.float_unit
    if unit is None:
        raise ValueError(f"{arch.name} has no floating-point unit")
    row = unit.formats.index(compute)
    compute_cycles = layer.macs / unit.macs_per_cycle[row]
    path = [next(memory for memory in arch.memories if memory.name == name) for name in unit.path]
    energy: dict[str, float] = {}
    busy: dict[str, float] = {}
    for memory, (reads, writes) in zip(path, _words(layer, precision, path), strict=True):
        for index, role in enumerate(ROLES):
            energy[f"{memory.name}.{role}"] = (
                reads[index] * memory.read_energy_pj + writes[index] * memory.write_energy_pj
            )
        busy |= port_cycles(arch, memory, sum(reads), sum(writes))
    body = max([compute_cycles, *busy.values()])
    latency = ceil(body)
    energy["mac"] = layer.macs * unit.energy_pj_per_mac[row]
    energy |= standby_pj(arch, latency)
    slowest = max(busy, key=lambda name: busy[name], default="compute")
    return Cost(
        macs=layer.macs,
        latency_cycles=latency,
        energy_pj=sum(energy.values()),
        utilization=compute_cycles / latency,
        energy_breakdown_pj=energy,
        latency_breakdown_cycles={
            "first_fill": 0.0,
            "compute": compute_cycles,
            "stall": body - compute_cycles,
            "last_drain": 0.0,
            "ramp": 0.0,
            **busy,
        },
        bound_by=slowest if busy and busy[slowest] > compute_cycles else "compute",
        counts=None,
        timing=None,
        estimate=True,
    )


def float_mode(arch: Arch, compute: Format) -> Mode:
    """The unit as a PE mode of one lane, for results that name the mode of a layer."""
    unit = arch.float_unit
    if unit is None:
        raise ValueError(f"{arch.name} has no floating-point unit")
    energy = unit.energy_pj_per_mac[unit.formats.index(compute)]
    return Mode(compute, compute, compute, 1, frozenset(), 1, energy, unit.name)


def outer_bits(arch: Arch, layer: Layer, precision: Precision) -> int:
    """Bits that the outermost memory of the unit's path moves."""
    unit: FloatUnit | None = arch.float_unit
    if unit is None:
        return 0
    path = [next(memory for memory in arch.memories if memory.name == name) for name in unit.path]
    inner = traffic(layer, precision, path[1].size_bits if len(path) > 1 else None)
    return inner.weight + inner.input + inner.output


def traffic(layer: Layer, precision: Precision, size_bits: int | None) -> Traffic:
    """Bits between a memory of `size_bits` and the next outer one, scales included; None is unlimited."""
    weight, activation, output = (
        fmt.stored_bits(layer.elements(role), layer.channel_elements)
        for role, fmt in zip(ROLES, (precision.weight, precision.input, precision.output), strict=True)
    )
    if size_bits is None or _fits(layer, precision, size_bits):
        return Traffic(weight, activation, output)
    gemm = _as_gemm(layer)
    m, n = _block(gemm, precision, size_bits, weight, activation)
    return Traffic(weight * ceil(gemm.N / n), activation * ceil(gemm.M / m), output)


def _as_gemm(layer: Layer) -> _Gemm:
    weight, activation, output = (layer.operand(role).dims for role in ROLES)
    extents = layer.extents

    def volume(dims: frozenset[str]) -> int:
        return prod(extents[dim] for dim in dims)

    return _Gemm(
        B=volume(weight & activation & output),
        M=volume((weight & output) - activation),
        N=volume((activation & output) - weight),
    )


def _fits(layer: Layer, precision: Precision, size_bits: int) -> bool:
    """Whether one operand of one product of the batch fits whole, beside slices of the others."""
    gemm = _as_gemm(layer)
    w, i, acc = precision.weight.bits, precision.input.bits, precision.accumulator.bits
    weight = layer.elements("weight") * w // gemm.B
    activation = layer.elements("input") * i // gemm.B
    reduction = prod(layer.extents[dim] for dim in layer.reduction_dims)
    weight_stays = weight + reduction * i + gemm.M * acc
    input_stays = activation + reduction * w + gemm.N * acc
    output_stays = gemm.M * gemm.N * acc + gemm.M * w + gemm.N * i
    return min(weight_stays, input_stays, output_stays) <= size_bits


def _block(
    gemm: _Gemm, precision: Precision, size_bits: int, weight_bits: int, input_bits: int
) -> tuple[int, int]:
    """The block (m, n) with least traffic; (1, 1) if not even one accumulator fits."""
    w, i, acc = precision.weight.bits, precision.input.bits, precision.accumulator.bits
    best, chosen = None, (1, 1)
    for n in _block_sizes(gemm.N):
        m = min(gemm.M, (size_bits - n * i) // (n * acc + w))
        if m < 1:
            continue
        moved = weight_bits * ceil(gemm.N / n) + input_bits * ceil(gemm.M / m)
        if best is None or moved < best:
            best, chosen = moved, (m, n)
    return chosen


def _block_sizes(extent: int) -> list[int]:
    """The smallest block for each possible number of blocks: only these matter."""
    sizes = []
    size = extent
    while size >= 1:
        blocks = ceil(extent / size)
        size = ceil(extent / blocks)
        sizes.append(size)
        size -= 1
    return sizes


_Words = tuple[int, int, int]


def _words(layer: Layer, precision: Precision, path: list[Memory]) -> list[tuple[_Words, _Words]]:
    """Words read and written per memory of the path (outermost first) and role."""
    flows = [traffic(layer, precision, memory.size_bits) for memory in path[1:]]
    # What the unit takes from the innermost memory is what arrived there.
    inward = [*flows, flows[-1] if flows else traffic(layer, precision, None)]
    outward = [None, *flows]
    words: list[tuple[_Words, _Words]] = []
    for memory, below, above in zip(path, inward, outward, strict=True):

        def count(bits: int, word: int = memory.word_bits) -> int:
            return ceil(bits / word)

        outputs = count(below.output)
        drained = outputs if above else 0
        filled = (count(above.weight), count(above.input)) if above else (0, 0)
        words.append(((count(below.weight), count(below.input), drained), (*filled, outputs)))
    return words
