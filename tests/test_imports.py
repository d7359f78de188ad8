"""Imports point downward only, and the command line starts without the heavy libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import seada

ROOT = Path(seada.__file__).parent
LAYERS = (
    {"errors"},
    {"formats", "units"},
    {"config"},
    {"technology"},
    {"workload"},
    {"arch"},
    {"mapping"},
    {"model"},
    {"oracle", "peers"},
    {"mapper"},
    {"precision"},
    {"system"},
    {"dse"},
    {"validate"},
    {"report"},
    {"cli"},
    {"__init__", "__main__"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
HEAVY = ("numba", "scipy", "matplotlib", "numpy", "onnx", "rich")


def package_of(module: str) -> str:
    """The part of seada that a dotted name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def dotted(path: Path) -> str:
    parts = ["seada", *path.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, *, at_import_only: bool) -> Iterator[str]:
    """Modules of seada that a file imports; with `at_import_only` not those in functions and type checks."""
    nodes: list[ast.AST] = [ast.parse((ROOT / path).read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if at_import_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if at_import_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "seada")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module and node.module.split(".")[0] == "seada":
                yield from (_target(node.module, alias.name) for alias in node.names)
        nodes.extend(ast.iter_child_nodes(node))


def _target(module: str, name: str) -> str:
    """``from a.b import c`` imports the module a.b.c if there is one."""
    path = ROOT.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if path.with_suffix(".py").exists() or path.is_dir() else module


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_downward(path: Path) -> None:
    own = path.parts[0].removesuffix(".py")
    assert own in RANK, f"{own} has no place in the order of packages"
    for module in imported(path, at_import_only=False):
        other = package_of(module)
        if other not in (own, "__init__"):
            assert RANK[other] < RANK[own], f"{path} imports {module}: upward"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {dotted(path): set(imported(path, at_import_only=True)) for path in MODULES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"circle: {' -> '.join([*trail, module])}"
        if module in done:
            return
        for other in sorted(graph.get(module, set()) - {"seada", module}):
            visit(other, (*trail, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def test_the_order_of_packages_is_complete() -> None:
    found = {path.parts[0].removesuffix(".py") for path in MODULES}
    assert found <= set(RANK)
    assert {"workload", "arch", "mapping", "model", "mapper", "system", "report", "cli"} <= found


def test_the_oracle_shares_no_code_with_the_fast_model() -> None:
    for path in MODULES:
        if path.parts[0] == "oracle":
            shared = {m for m in imported(path, at_import_only=False) if package_of(m) == "model"}
            assert shared <= {"seada.model.counts"}, f"{path} imports {shared}"


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["run", "--nonsense"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom seada.cli.main import run_command\n"
        f"run_command({arguments!r})\n"
        f"sys.stderr.write('LOADED ' + ' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "LOADED "


def test_importing_seada_loads_nothing_else() -> None:
    program = "import sys, seada\nprint(sorted(m for m in sys.modules if m.startswith('seada.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names() -> None:
    assert sorted(seada.__all__) == [
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
    assert dir(seada) == sorted(seada.__all__)
    for name in seada.__all__:
        assert getattr(seada, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'sweeep'"):
        seada.sweeep  # noqa: B018
