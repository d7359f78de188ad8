"""How long a memory is busy with a stream of words, for what is costed without a loop nest."""

from __future__ import annotations

from seada.arch.hardware import Arch, Memory


def port_cycles(arch: Arch, memory: Memory, reads: int, writes: int) -> dict[str, float]:
    """Cycles that each port with a bandwidth is busy with these words; the instances share them."""
    instances = arch.instances(memory.name)
    loads = {
        "read": (reads, memory.read_words_per_cycle),
        "write": (writes, memory.write_words_per_cycle),
        "shared": (reads + writes, memory.shared_words_per_cycle),
    }
    return {
        f"port.{memory.name}.{port}": words / (rate * instances)
        for port, (words, rate) in loads.items()
        if rate is not None
    }
