"""Everything about one result in one directory."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from seada.errors import UserError
from seada.report.csv_table import layers_csv
from seada.system.result import RunResult


def write_report(result: RunResult, out_dir: str | Path) -> list[Path]:
    """Write ``result.json``, ``layers.csv``, ``report.html`` and ``figures/*.png``; returns their paths.

    Each file appears whole or not at all: it is written beside its place and renamed. Figures of an
    earlier report that this one does not have are removed.

    Raises
    ------
    UserError
        If the directory cannot be made or written.
    """
    from seada.report.figures import draw_all
    from seada.report.page import page
    from seada.report.render import png_bytes

    out = Path(out_dir)
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(out, error) from error
    figures = draw_all(result)
    files = {
        out / "result.json": (json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n").encode(),
        out / "layers.csv": layers_csv(result).encode(),
        **{out / "figures" / f"{name}.png": png_bytes(figure) for name, figure in figures.items()},
        out / "report.html": page(result, figures).encode(),
    }
    try:
        for path, content in files.items():
            _replace(path, content)
        _remove_stale(out / "figures", set(files))
    except OSError as error:
        raise _unwritable(out, error) from error
    return list(files)


def _unwritable(out: Path, error: OSError) -> UserError:
    return UserError(f"cannot write the report to {out}: {error.strerror or error}")


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _remove_stale(directory: Path, written: set[Path]) -> None:
    from seada.report.figures import FIGURES

    for item in FIGURES:
        path = directory / f"{item.name}.png"
        if path not in written:
            path.unlink(missing_ok=True)
