"""The books of the walk: accesses and hops over the layer, and what each transfer loads on each port."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

from seada.arch.hardware import Fanout, Memory, Setup
from seada.formats import Format
from seada.model.counts import Access, LinkCount
from seada.oracle.space import Coords

Port = tuple[str, int]
"""``read``, ``write`` or ``shared`` and the memory, or ``link`` and the fanout."""
Loads = Counter[Port]
"""Words (of a link: bits) by port."""


@dataclass(frozen=True)
class Width:
    """How elements are stored: bits of each, and of a scale that every `group` of an access share."""

    bits: int
    scale_bits: int = 0
    group: int = 1

    @classmethod
    def of(cls, fmt: Format, channel_elements: int) -> Width:
        """Elements of a format with their scales."""
        return cls(fmt.bits, fmt.scale_bits, fmt.group or channel_elements)

    def bare(self) -> Width:
        """The same without scales."""
        return replace(self, scale_bits=0, group=1)

    def scales(self, count: int) -> int:
        """Scales of an access of that many elements."""
        return -(-count // self.group) if self.scale_bits else 0


Widths = Counter[Width]
"""Elements by width."""


class Ledger:
    """Totals of one layer, and per transfer the loads of its ports.

    Attributes
    ----------
    accesses, links : by memory or fanout, and role
    transfers : by (role, number of the keep in its chain, ``fill``, ``drain`` or ``mac``) and step
    """

    def __init__(self, setup: Setup) -> None:
        self.memories = setup.arch.memories
        self.fanouts = [node for node in setup.nodes if isinstance(node, Fanout)]
        self.accesses: defaultdict[tuple[int, int], Access] = defaultdict(Access)
        self.links: defaultdict[tuple[int, int], LinkCount] = defaultdict(LinkCount)
        self.transfers: defaultdict[tuple[int, int, str], dict[int, Loads]] = defaultdict(dict)

    def transfer(self, role: int) -> Transfer:
        """Begin to record one transfer."""
        return Transfer(self, role)


class Transfer:
    """One transfer: everything that one operand moves between one keep and its parent at one step."""

    def __init__(self, ledger: Ledger, role: int) -> None:
        self.ledger = ledger
        self.role = role
        self.loads: defaultdict[Port, Counter[Coords]] = defaultdict(Counter)
        self.hops: defaultdict[int, Widths] = defaultdict(Counter)

    def read(self, memory: int, instance: Coords, widths: Widths) -> None:
        """Read some elements at one instance of a memory in one go."""
        if words := self._words(memory, widths):
            access = Access(reads=widths.total(), read_bits=_bits(widths), read_words=words)
            self.ledger.accesses[memory, self.role] += access
            self.loads[self._port("read", memory)][instance] += words

    def write(self, memory: int, instance: Coords, widths: Widths) -> None:
        """Write some elements at one instance of a memory in one go."""
        if words := self._words(memory, widths):
            access = Access(writes=widths.total(), write_bits=_bits(widths), write_words=words)
            self.ledger.accesses[memory, self.role] += access
            self.loads[self._port("write", memory)][instance] += words

    def cross(self, fanout: int, instance: Coords, root: Widths, below: Widths) -> None:
        """Pass one instance of a fanout: through its root, and in sum through all branches below it."""
        self.hops[fanout] += root if self.ledger.fanouts[fanout].topology == "bus" else below
        self.loads["link", fanout][instance] += _bits(root)

    def add(self, fanout: int, additions: int) -> None:
        """Count additions of partial sums at a fanout."""
        before = self.ledger.links[fanout, self.role]
        self.ledger.links[fanout, self.role] = LinkCount(
            before.hops, before.hop_bits, before.additions + additions
        )

    def close(self, keep: int, kind: str, step: int) -> None:
        """End the transfer: scales on links are those of all its hops; at each port the instance with the
        largest load counts.
        """
        for fanout, hops in self.hops.items():
            before = self.ledger.links[fanout, self.role]
            self.ledger.links[fanout, self.role] = LinkCount(
                before.hops + hops.total(), before.hop_bits + _bits(hops), before.additions
            )
        if self.loads:
            busiest = Counter({port: max(loads.values()) for port, loads in self.loads.items()})
            self.ledger.transfers[self.role, keep, kind][step] = busiest

    def _port(self, direction: str, memory: int) -> Port:
        shared = self.ledger.memories[memory].shared_words_per_cycle is not None
        return ("shared" if shared else direction, memory)

    def _words(self, memory: int, widths: Widths) -> int:
        return whole_words(self.ledger.memories[memory], widths)


def whole_words(memory: Memory, widths: Widths) -> int:
    """Words that some elements take; aligned ones of different widths, and scales, share no word."""
    if memory.packing == "dense":
        return -(-_bits(widths) // memory.word_bits)
    alike: Counter[int] = Counter()
    for width, count in widths.items():
        alike[width.bits] += count
    elements = sum(_aligned(memory.word_bits, bits, count) for bits, count in alike.items())
    return elements + sum(
        _aligned(memory.word_bits, width.scale_bits, width.scales(count))
        for width, count in widths.items()
        if width.scale_bits
    )


def _aligned(word_bits: int, bits: int, count: int) -> int:
    if bits > word_bits:
        return count * -(-bits // word_bits)
    return -(-count // (word_bits // bits))


def _bits(widths: Widths) -> int:
    return sum(width.bits * count + width.scale_bits * width.scales(count) for width, count in widths.items())
