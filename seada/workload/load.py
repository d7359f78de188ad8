"""Reading a network from a file of any supported form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seada.config.problems import did_you_mean
from seada.errors import WorkloadError
from seada.workload.network import Network

SUFFIXES = (".yaml", ".yml", ".onnx")


def load_workload(path: str | Path, dims: Mapping[str, int] | None = None) -> Network:
    """Read a network, by the suffix of its file.

    Parameters
    ----------
    path : path
        ``.yaml`` or ``.yml`` (our own form) or ``.onnx``.
    dims : mapping, optional
        Sizes of symbolic dimensions of an ONNX file by name.

    Raises
    ------
    WorkloadError
        If the file is missing, of no known form, or holds no readable network.
    ConfigError
        With the place of every problem of a YAML file.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES and not file.is_dir():
        raise WorkloadError(
            f"{path}: a workload has one of the suffixes {', '.join(SUFFIXES)}; found {suffix!r}"
        )
    _check_exists(file, path)
    if suffix == ".onnx":
        from seada.workload.onnx_import import load_onnx

        return load_onnx(file, dims or {})
    if dims:
        raise WorkloadError(f"{path}: dimensions ({', '.join(dims)}) can be bound in ONNX files only")
    from seada.workload.yaml_network import load_yaml_network

    return load_yaml_network(file)


def _check_exists(file: Path, path: str | Path) -> None:
    try:
        if file.is_dir():
            raise WorkloadError(f"{path}: is a directory; a file ({', '.join(SUFFIXES)}) is needed")
        if file.exists():
            return
        siblings = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}") from None
    raise WorkloadError(f"{path}: no such file{did_you_mean(file.name, siblings)}")
