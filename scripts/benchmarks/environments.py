"""Environments of other tools, made from the package index under `.bench/`, and their drivers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.own import ROOT

CACHE = ROOT / ".bench"
DRIVERS = ROOT / "scripts" / "peers"
INSTALL_TIMEOUT_S = 900
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


class NotAvailable(Exception):  # noqa: N818
    """Why a tool cannot be compared."""


@dataclass(frozen=True)
class Peer:
    """A tool from the package index: what to install, and the oldest Python (major, minor) that runs it."""

    name: str
    packages: tuple[str, ...]
    python: tuple[int, int]


ACCELFORGE = Peer("accelforge", ("accelforge==1.0.467",), (3, 12))
ZIGZAG = Peer("zigzag", ("zigzag-dse==3.9.1", "six"), (3, 11))  # it imports six without declaring it


def install(peer: Peer) -> Path:
    """The interpreter of the tool's environment, which is made if it is missing.

    Raises
    ------
    NotAvailable
        If there is no Python for it, or the installation fails or takes too long.
    """
    folder = CACHE / peer.name
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(peer.packages)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and python.exists():
        return python
    base = _find_python(peer.python)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {' '.join(peer.packages)} into {folder} ...", file=sys.stderr, flush=True)
    _run([base, "-m", "venv", str(folder)], INSTALL_TIMEOUT_S)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *peer.packages], INSTALL_TIMEOUT_S)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def ask(peer: Peer, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """What the tool's driver answers.

    Raises
    ------
    NotAvailable
        If the tool cannot be installed, fails, or takes longer than `timeout_s`.
    """
    python = install(peer)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / "request.json", Path(name) / "answer.json"]
        paths[0].write_text(json.dumps(request), encoding="utf-8")
        _run([str(python), str(DRIVERS / f"{peer.name}_driver.py"), *map(str, paths)], timeout_s)
        answer: dict[str, Any] = json.loads(paths[1].read_text(encoding="utf-8"))
    return answer


def _find_python(oldest: tuple[int, int]) -> str:
    """This interpreter if it is new enough, else one on the path or of pyenv."""
    names = [f"python3.{minor}" for minor in range(oldest[1], oldest[1] + 2)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, *filter(None, map(shutil.which, names))]
    found += [str(path) for name in names for path in sorted(pyenv.glob(f"*/bin/{name}"))]
    for python in found:
        show = [python, "-c", "import sys; print(*sys.version_info[:2])"]
        shown = subprocess.run(show, capture_output=True, text=True, check=False, timeout=60)
        if shown.returncode == 0 and tuple(map(int, shown.stdout.split())) >= oldest:
            return python
    raise NotAvailable(f"needs Python {oldest[0]}.{oldest[1]} or newer, none found")


def _run(command: list[str], timeout_s: float) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | ONE_THREAD
    step = Path(command[0]).name + " " + " ".join(command[1:4])
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"`{step} ...` took longer than {timeout_s:g} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotAvailable(f"`{step} ...` failed: {last[:300]}")
