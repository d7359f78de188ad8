"""What a costed mapping consists of: counts, cycles and energies as frozen results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """Accesses to one memory by one operand, over all its instances and the whole layer.

    `reads` and `writes` are elements, `*_bits` elements times the format they are moved in, `*_words`
    whole-word accesses. Reads are what children, MACs and drains take out; writes what fills, children and
    MACs put in.
    """

    reads: int = 0
    writes: int = 0
    read_bits: int = 0
    write_bits: int = 0
    read_words: int = 0
    write_words: int = 0

    def __add__(self, other: Access) -> Access:
        return Access(
            self.reads + other.reads,
            self.writes + other.writes,
            self.read_bits + other.read_bits,
            self.write_bits + other.write_bits,
            self.read_words + other.read_words,
            self.write_words + other.write_words,
        )


@dataclass(frozen=True)
class LinkCount:
    """Traffic of one operand through one fanout: element-hops, bit-hops, and additions of partial sums."""

    hops: int = 0
    hop_bits: int = 0
    additions: int = 0


@dataclass(frozen=True)
class Counts:
    """Everything that is counted, as exact integers.

    Attributes
    ----------
    memories : per memory (outermost first), per role (weight, input, output)
    links : per fanout of the setup (outermost first, lanes included), per role
    compute_steps : int
        Temporal steps of the slowest PE.
    mode_steps : int
        Steps that PEs with work perform, summed over all PEs.
    """

    memories: tuple[tuple[Access, Access, Access], ...]
    links: tuple[tuple[LinkCount, LinkCount, LinkCount], ...]
    compute_steps: int
    mode_steps: int


@dataclass(frozen=True)
class Timing:
    """Latency of the layer in (rational) cycles; `latency_cycles` is the sum rounded up.

    Attributes
    ----------
    first_fill, last_drain, ramp : float
        Added once per layer.
    body : float
        The recurrence of the nest, at least `compute`.
    compute : float
        ``compute_steps`` times the mode's cycles per step.
    port_words : per port, words moved at the busiest instance over the layer.
    """

    latency_cycles: int
    first_fill: float
    body: float
    last_drain: float
    ramp: float
    compute: float
