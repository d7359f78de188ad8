"""Weights in an ``.npz`` file: shapes at once, values when asked for."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seada.errors import WorkloadError
from seada.workload.graph import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class NpzWeights(Mapping[str, "NDArray[np.generic]"]):
    """The arrays of an ``.npz`` file by name; only their headers are read at first.

    Raises
    ------
    WorkloadError
        If the file is missing or is no ``.npz`` of plain arrays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shapes = _read_shapes(path)

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        import numpy as np

        if name not in self.shapes:
            raise KeyError(name)
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                array: NDArray[np.generic] = archive[name]
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise WorkloadError(f"{self.path}: array {name!r} cannot be read: {error}") from None
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def sha256(self) -> str:
        """Hash of the file's bytes."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_shapes(path: Path) -> dict[str, Shape]:
    if path.is_dir():
        raise WorkloadError(f"{path}: is a directory; a file of weights (.npz) is needed")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            return {name.removesuffix(".npy"): _read_header(archive.open(name)) for name in names}
    except FileNotFoundError:
        raise WorkloadError(f"{path}: no such file of weights") from None
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise WorkloadError(f"{path}: is no .npz file of arrays: {error}") from None


def _read_header(stream: Any) -> Shape:
    from numpy.lib import format as npy

    with stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("arrays of Python objects are not allowed")
    return tuple(int(size) for size in shape)


def resolve_beside(file: Path, relative: str) -> Path:
    """The path of a file that `file` refers to.

    Raises
    ------
    WorkloadError
        If it is absolute or leaves the directory of `file`, also by a link.
    """
    directory = file.resolve().parent
    try:
        target = (directory / relative).resolve()
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{file}: {relative!r} is no path: {error}") from None
    if Path(relative).is_absolute() or not target.is_relative_to(directory):
        raise WorkloadError(f"{file}: {relative!r} must stay inside the directory of this file")
    return target
