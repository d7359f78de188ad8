"""``seada warmup`` leaves no kernel to be compiled later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from numba.core.dispatcher import Dispatcher
import seada.model.batch, seada.mapper.api
from seada.cli.warm import compile_kernels

compile_kernels()
for name, module in sorted(sys.modules.items()):
    if name.startswith("seada.") and "kernel" not in name.split(".")[-1]:
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher):
                print(kernel.__name__, len(kernel.signatures))
"""


def test_every_kernel_that_python_calls_is_compiled_once() -> None:
    """Kernels that other kernels call are compiled with them."""
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=550,
    )
    compiled = dict(line.split() for line in result.stdout.splitlines())
    assert {"run", "count_regular", "cost_batch", "search", "estimate", "window_tables"} <= set(compiled)
    assert set(compiled.values()) == {"1"}, compiled
