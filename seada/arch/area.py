"""Area and leakage of a chip, in total and by part."""

from __future__ import annotations

from seada.arch.hardware import Arch


def _parts(arch: Arch, attribute: str) -> dict[str, float]:
    """One attribute of every part times its instances, keyed by part."""
    parts = {m.name: getattr(m, attribute) * arch.instances(m.name) for m in arch.memories}
    pes = arch.instances(arch.compute.name)
    for piece in arch.compute.blocks:
        parts[f"{arch.compute.name}.{piece.name}"] = getattr(piece, attribute) * pes
    for beside in (arch.vector_unit, arch.float_unit):
        if beside is not None:
            parts[beside.name] = getattr(beside, attribute)
    return parts


def area(arch: Arch) -> dict[str, float]:
    """Area in um2 by part, and their sum as ``total``.

    Parts: memories, ``<compute>.<block>`` (once per PE, however many modes use a block), ``link.<fanout>``,
    vector and floating-point unit; each over all instances.
    """
    parts = _parts(arch, "area_um2")
    for fanout in arch.fanouts:
        parts[f"link.{fanout.name}"] = fanout.link_area_um2 * arch.instances(fanout.name)
    return {**parts, "total": sum(parts.values())}


def leakage(arch: Arch) -> dict[str, float]:
    """Leakage power in W by part while nothing is gated, and their sum as ``total``."""
    parts = _parts(arch, "leakage_w")
    return {**parts, "total": sum(parts.values())}
