"""Named physical parameters that bring a model closer to a measured chip, and how they change a latency.

The recurrence of docs/model.md knows bandwidths and buffers, not what a chip's software and memory
controller cost. A calibration adds at most six named parameters to it; `fit` finds them from measured rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from seada.arch.hardware import CALIBRATED, Calibration, Setup
from seada.errors import UserError
from seada.mapping.nest import Keep, Mapping
from seada.model.cost import Cost
from seada.workload.layer import ROLES, Layer

Floats = NDArray[np.float64]


NAMES = CALIBRATED
LIMITS: dict[str, tuple[float, float]] = {
    "layer_cycles": (0.0, 1e6),
    "tile_cycles": (0.0, 1e5),
    "word_cycles": (0.05, 100.0),
    "first_word_cycles": (0.0, 100.0),
    "reload_cycles": (0.0, 1e3),
    "overlap": (0.0, 1.0),
}


@dataclass(frozen=True)
class Features:
    """What a calibration needs to know of a costed mapping.

    Attributes
    ----------
    latency_cycles, compute_cycles, port_cycles : float
        Of the model: the layer, its compute, and the outermost memory's busiest port.
    first_cycles : float
        Of that port for everything that is touched once.
    tiles : int
        Steps of the loops outside the first inner memory.
    reloads : int
        Changes of the innermost tile of the weight.
    """

    latency_cycles: float
    compute_cycles: float
    port_cycles: float
    first_cycles: float
    tiles: int
    reloads: int


def features_of(layer: Layer, setup: Setup, mapping: Mapping, cost: Cost) -> Features:
    """The features of a mapping whose cost is known."""
    assert cost.timing is not None
    home = setup.arch.memories[0]
    ports = [v for name, v in cost.latency_breakdown_cycles.items() if name.startswith(f"port.{home.name}.")]
    rate = home.shared_words_per_cycle or home.read_words_per_cycle
    bits = (setup.precision.weight.bits, setup.precision.input.bits, setup.precision.output.bits)
    words = sum(layer.elements(role) * b for role, b in zip(ROLES, bits, strict=True)) / home.word_bits
    return Features(
        latency_cycles=cost.latency_cycles,
        compute_cycles=cost.timing.compute,
        port_cycles=max(ports, default=0.0),
        first_cycles=words / rate if rate else 0.0,
        tiles=_steps_outside(layer, mapping, home.name, None),
        reloads=_steps_outside(layer, mapping, home.name, "weight"),
    )


def _steps_outside(layer: Layer, mapping: Mapping, home: str, role: str | None) -> int:
    """Steps of the temporal loops outside the first keep inside `home`; with a role, outside its innermost
    keep down to the innermost loop that changes its tile.
    """
    left = dict(layer.dims)
    trips: list[tuple[str, int]] = []
    cut = 0
    for node in mapping.nodes:
        if isinstance(node, Keep):
            if node.memory == home:
                continue
            if role is None:
                break
            if node.operand == role:
                cut = len(trips)
            continue
        count = -(-left[node.dim] // node.step)
        left[node.dim] = min(node.step, left[node.dim])
        if node.on is None and count > 1:
            trips.append((node.dim, count))
    if role is None:
        return prod(count for _, count in trips)
    above = trips[:cut]
    dims = layer.operand(role).dims
    last = max((n for n, (dim, _) in enumerate(above, start=1) if dim in dims), default=0)
    return prod(count for _, count in above[:last])


def calibrated_cycles(calibration: Calibration, features: Features) -> float:
    """Latency in cycles with the chip's parameters."""
    return float(_cycles(_vector(calibration), _matrix([features]))[0])


def _vector(calibration: Calibration) -> Floats:
    return np.array([getattr(calibration, name) for name in NAMES], dtype=np.float64)


def _matrix(rows: Sequence[Features]) -> Floats:
    return np.array(
        [
            [r.latency_cycles, r.compute_cycles, r.port_cycles, r.first_cycles, r.tiles, r.reloads]
            for r in rows
        ],
        dtype=np.float64,
    )


def _cycles(values: Floats, rows: Floats) -> Floats:
    layer, tile, word, first, reload, overlap = values
    latency, compute, port, once, tiles, reloads = rows.T
    # What the recurrence adds to the larger of compute and port: fills, drains, stalls of inner memories.
    rest = np.maximum(0.0, latency - np.maximum(compute, port))
    busy = compute + reload * reloads
    memory = word * port + first * once
    body = np.maximum(busy, memory) + overlap * np.minimum(busy, memory)
    return np.asarray(layer + tile * tiles + body + rest, dtype=np.float64)


@dataclass(frozen=True)
class Fit:
    """A fitted calibration and how well it holds.

    Attributes
    ----------
    errors : dict
        Standard error of each fitted parameter, None where the rows do not determine it.
    mape, cross_validated_mape : float
        Mean absolute relative error on the rows, and on rows left out in five parts.
    warnings : tuple of str
    """

    calibration: Calibration
    fitted: tuple[str, ...]
    errors: dict[str, float | None]
    mape: float
    cross_validated_mape: float | None
    warnings: tuple[str, ...]


def fit(rows: Sequence[Features], measured: Sequence[float], names: Sequence[str] = NAMES) -> Fit:
    """Parameters that make the relative errors small, by least squares with a loss that forgives outliers.

    Raises
    ------
    UserError
        If a name is no parameter, or there are fewer rows than parameters.
    """
    for name in names:
        if name not in NAMES:
            raise UserError(f"{name!r} is no parameter of a calibration; allowed: {', '.join(NAMES)}")
    if len(rows) < len(names):
        raise UserError(f"{len(rows)} measured rows cannot determine {len(names)} parameters")
    table, cycles = _matrix(rows), np.array(measured, dtype=np.float64)
    values, jacobian, residual = _solve(table, cycles, names)
    errors = _standard_errors(jacobian, residual, names)
    warnings = [f"the rows do not determine {name}" for name, error in errors.items() if error is None]
    if len(rows) < 5 * len(names):
        warnings.append(f"{len(rows)} rows for {len(names)} parameters: fewer than five each")
    return Fit(
        calibration=replace(Calibration(), **dict(zip(names, map(float, values), strict=True))),
        fitted=tuple(names),
        errors=errors,
        mape=float(np.mean(np.abs(_errors(values, table, cycles, names)))),
        cross_validated_mape=_left_out(table, cycles, names),
        warnings=tuple(warnings),
    )


def _all_values(values: Floats, names: Sequence[str]) -> Floats:
    whole = _vector(Calibration())
    for name, value in zip(names, values, strict=True):
        whole[NAMES.index(name)] = value
    return whole


def _errors(values: Floats, table: Floats, cycles: Floats, names: Sequence[str]) -> Floats:
    return np.asarray(_cycles(_all_values(values, names), table) / cycles - 1.0)


def _solve(table: Floats, cycles: Floats, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Least squares on the logarithm of the ratio, from a few fixed starts; deterministic."""
    from scipy.optimize import least_squares

    low = np.array([LIMITS[name][0] for name in names])
    high = np.array([LIMITS[name][1] for name in names])

    def residuals(values: Floats) -> Floats:
        return np.asarray(np.log(_cycles(_all_values(values, names), table) / cycles))

    best = None
    for share in (1e-4, 1e-3, 1e-2):
        start = low + (high - low) * share
        scale = np.maximum(1e-3, (high - low) * 1e-3)
        found = least_squares(
            residuals, start, bounds=(low, high), loss="soft_l1", f_scale=0.2, x_scale=scale
        )
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    return np.asarray(best.x), np.asarray(best.jac), residuals(best.x)


def _standard_errors(jacobian: Floats, residual: Floats, names: Sequence[str]) -> dict[str, float | None]:
    """From the curvature at the solution; None where a direction has none."""
    freedom = max(1, len(residual) - len(names))
    variance = float(residual @ residual) / freedom
    scale = np.linalg.norm(jacobian, axis=0)
    errors: dict[str, float | None] = dict.fromkeys(names)
    known = [k for k in range(len(names)) if scale[k] > 1e-12]
    if not known:
        return errors
    scaled = jacobian[:, known] / scale[known]
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
    covariance = (directions.T / np.maximum(sizes, 1e-12) ** 2) @ directions
    for position, k in enumerate(known):
        spread = float(np.sqrt(max(0.0, covariance[position, position]) * variance) / scale[k])
        errors[names[k]] = spread if sizes[-1] > 1e-6 else None
    return errors


def _left_out(table: Floats, cycles: Floats, names: Sequence[str], parts: int = 5) -> float | None:
    """Mean absolute relative error of every fifth row, fitted on the others."""
    if len(cycles) < parts * 2 or len(cycles) - len(cycles) // parts < len(names):
        return None
    errors = np.empty(len(cycles))
    for part in range(parts):
        out = np.arange(len(cycles)) % parts == part
        values, _, _ = _solve(table[~out], cycles[~out], names)
        errors[out] = np.abs(_errors(values, table[out], cycles[out], names))
    return float(errors.mean())
