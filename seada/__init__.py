"""Explore multi-precision spatial accelerators: analytical cost, best mappings, a precision for each layer.

Everything that is listed in ``__all__`` loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from seada.arch.load import load_arch
    from seada.formats import parse_precision
    from seada.mapper.api import map_layer, map_layers
    from seada.mapper.evaluate import evaluate
    from seada.mapping.text import format_mapping, parse_mapping
    from seada.mapping.yaml_form import load_mapping
    from seada.model.batch import Batch
    from seada.report.write import write_report
    from seada.system.run import run
    from seada.system.select import select_precisions
    from seada.workload.line import parse_layer
    from seada.workload.load import load_workload

__all__ = [
    "Batch",
    "__version__",
    "evaluate",
    "format_mapping",
    "load_arch",
    "load_mapping",
    "load_workload",
    "map_layer",
    "map_layers",
    "parse_layer",
    "parse_mapping",
    "parse_precision",
    "run",
    "select_precisions",
    "write_report",
]

_HOMES = {
    "Batch": "seada.model.batch",
    "evaluate": "seada.mapper.evaluate",
    "format_mapping": "seada.mapping.text",
    "load_arch": "seada.arch.load",
    "load_mapping": "seada.mapping.yaml_form",
    "load_workload": "seada.workload.load",
    "map_layer": "seada.mapper.api",
    "map_layers": "seada.mapper.api",
    "parse_layer": "seada.workload.line",
    "parse_mapping": "seada.mapping.text",
    "parse_precision": "seada.formats",
    "run": "seada.system.run",
    "select_precisions": "seada.system.select",
    "write_report": "seada.report.write",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
