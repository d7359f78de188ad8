"""Inputs (and labels) of a network from an npz file: one array per graph input, plus `labels`."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seada.errors import UserError
from seada.workload.network import Network


@dataclass(frozen=True)
class Data:
    """Items to run a network on.

    Attributes
    ----------
    inputs : mapping
        Arrays by graph input, items first. Integers (pixels, say) are taken as the numbers they are.
    labels : int array of shape (items,) or None
        The right class of each item.
    source : str
        The file.
    """

    inputs: Mapping[str, NDArray[Any]]
    labels: NDArray[np.int64] | None = None
    source: str = ""

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(next(iter(self.inputs.values())))

    def take(self, count: int) -> Data:
        """The first `count` items."""
        labels = None if self.labels is None else self.labels[:count]
        return Data({name: array[:count] for name, array in self.inputs.items()}, labels, self.source)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise UserError(f"{path}: a single npy array; expected an npz with one array per graph input")
        with archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a directory; expected an npz file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: not a readable npz file of plain arrays ({error})") from None


def _check_input(network: Network, name: str, array: NDArray[Any], path: Path) -> None:
    declared = network.tensors[name].shape
    if array.ndim != len(declared) or array.shape[1:] != declared[1:]:
        wanted = ", ".join(str(n) for n in declared[1:])
        raise UserError(f"{path}: {name} has shape {array.shape}; {network.name} takes (items, {wanted})")
    if array.dtype.kind not in "fiub":
        raise UserError(f"{path}: {name} holds {array.dtype}; expected numbers")
    if not len(array):
        raise UserError(f"{path}: {name} has no items")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise UserError(f"{path}: {name} holds infinite numbers or NaN")


def _labels(array: NDArray[Any], items: int, path: Path) -> NDArray[np.int64]:
    if array.shape != (items,) or array.dtype.kind not in "iu" or (items and array.min() < 0):
        raise UserError(
            f"{path}: labels are {array.dtype} of shape {array.shape}; "
            f"expected classes 0, 1 .. of shape ({items},)"
        )
    return array.astype(np.int64)


def load_data(path: str | Path, network: Network, *, labels: bool = False) -> Data:
    """Read an npz file for a network.

    Parameters
    ----------
    path : path of an npz file
    labels : bool
        Whether labels must be there.

    Raises
    ------
    UserError
        If the file is no npz, an input is missing, unknown or of another shape, or labels are missing or
        malformed.
    """
    path = Path(path)
    arrays = _read_arrays(path)
    known = {*network.inputs, "labels"}
    if unknown := sorted(set(arrays) - known):
        raise UserError(
            f"{path}: array {unknown[0]!r} is no input of {network.name}; allowed: {', '.join(known)}"
        )
    if missing := [name for name in network.inputs if name not in arrays]:
        raise UserError(
            f"{path}: array {missing[0]!r} is missing; {network.name} takes {', '.join(network.inputs)}"
        )
    inputs = {name: arrays[name] for name in network.inputs}
    for name, array in inputs.items():
        _check_input(network, name, array, path)
    if len({len(array) for array in inputs.values()}) > 1:
        raise UserError(f"{path}: the inputs differ in their number of items")
    if labels and "labels" not in arrays:
        raise UserError(f"{path}: array 'labels' is missing, which measuring accuracy needs")
    data = Data(inputs, None, str(path))
    if "labels" not in arrays:
        return data
    return Data(inputs, _labels(arrays["labels"], data.items, path), str(path))
