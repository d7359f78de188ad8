"""``warmup`` and ``doctor``: this machine."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from seada.cli.options import Json
from seada.cli.output import Progress, print_json, print_text, provenance

_CORE = ("numpy", "numba", "scipy", "pyyaml", "matplotlib", "pydantic", "typer", "rich")
_OPTIONAL = ("onnx", "onnxruntime", "safetensors")


def warmup(json: Json = False) -> None:
    """Compile all kernels once.

    The next command then starts at full speed.
    """
    from seada.cli.warm import compile_kernels

    started = perf_counter()
    with Progress("compiling"):
        compile_kernels()
    seconds = perf_counter() - started
    if json:
        print_json("warmup", {"seconds": seconds, "provenance": provenance({})})
    else:
        print_text(f"kernels are compiled and cached ({seconds:.1f} s)")


def doctor(json: Json = False) -> None:
    """Say what seada finds on this machine.

    Versions, cores, and the cache of compiled kernels.
    """
    found = _findings()
    problems = [finding for finding in found if not finding["ok"]]
    if json:
        print_json("doctor", {"findings": found, "ok": not problems, "provenance": provenance({})})
    else:
        for finding in found:
            mark = "ok     " if finding["ok"] else "PROBLEM"
            print_text(f"{mark}  {finding['name']}: {finding['value']}")
    if problems:
        raise typer.Exit(1)


def _findings() -> list[dict[str, Any]]:
    import seada

    found = [
        _finding("seada", f"{seada.__version__} in {Path(seada.__file__).parent}"),
        _finding("python", f"{platform.python_version()} ({sys.executable})", sys.version_info >= (3, 11)),
        _finding("platform", platform.platform()),
        _finding("cores", str(_cores())),
    ]
    found += [_package(name, required=True) for name in _CORE]
    found += [_package(name, required=False) for name in _OPTIONAL]
    return [*found, *_kernels()]


def _finding(name: str, value: str, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": value, "ok": ok}


def _cores() -> int:
    from seada.cli.inputs import process_count

    return process_count(0)


def _package(name: str, required: bool) -> dict[str, Any]:
    try:
        return _finding(name, version(name))
    except PackageNotFoundError:
        missing = "missing" if required else "not installed (optional; pip install 'seada[onnx]')"
        return _finding(name, missing, ok=not required)


def _kernels() -> list[dict[str, Any]]:
    if find_spec("numba") is None:
        return []
    from seada.model.jit import cache_directory

    disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    jit = "off (NUMBA_DISABLE_JIT is set): everything is slow" if disabled else "on"
    return [_finding("compilation", jit), _cache(cache_directory())]


def _cache(path: Path) -> dict[str, Any]:
    """Whether compiled kernels can be kept."""
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    ok = os.access(existing, os.W_OK)
    return _finding("kernel cache", f"{path}" + ("" if ok else " cannot be written"), ok)
