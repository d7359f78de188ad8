"""What a chip spends beside its work: leakage of all parts, and PE blocks that are clocked but not used."""

from __future__ import annotations

from seada.arch.area import leakage
from seada.arch.hardware import Arch, Block

PJ_PER_J = 1e12


def leakage_w(arch: Arch, used_block: str | None) -> float:
    """Leakage power of the whole chip while the PEs use that block; power-gated blocks leak only in use."""
    power_w = leakage(arch)["total"]
    pes = arch.instances(arch.compute.name)
    for block in arch.compute.blocks:
        if block.gating == "power" and block.name != used_block:
            power_w -= block.leakage_w * pes
    return power_w


def leakage_pj(arch: Arch, cycles: float, used_block: str | None) -> float:
    """Energy of `leakage_w` over a number of cycles."""
    return leakage_w(arch, used_block) * cycles / arch.clock_hz * PJ_PER_J


def idle_pj_per_cycle(arch: Arch, used_block: str | None) -> float:
    """Energy per cycle of the ungated blocks of all PEs other than the one in use (None: no block is).

    Each spends its `idle_fraction` of what it spends per cycle in use, in the dearest of its modes: all of
    the block is clocked, whatever it last ran.
    """
    pes = arch.instances(arch.compute.name)
    idle = (block for block in arch.compute.blocks if block.gating == "none" and block.name != used_block)
    return sum(block.idle_fraction * _busy_pj_per_cycle(arch, block) for block in idle) * pes


def _busy_pj_per_cycle(arch: Arch, block: Block) -> float:
    modes = [mode for mode in arch.compute.modes if mode.block == block.name]
    return max((mode.energy_pj_per_step / mode.cycles_per_step for mode in modes), default=0.0)


def standby_pj(arch: Arch, cycles: int) -> dict[str, float]:
    """Energy by part, in pJ, of a number of cycles in which no PE works: ``leakage``, and ``idle`` if any."""
    idle = idle_pj_per_cycle(arch, None) * cycles
    return {"leakage": leakage_pj(arch, cycles, None)} | ({"idle": idle} if idle else {})
