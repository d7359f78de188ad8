"""The entry point: runs a command and turns every failure into an exit code.

0 success, 2 a mistake in the input, 3 no feasible answer, 130 after Ctrl-C, 143 after SIGTERM, 141 if the
reader of the output went away, 1 a fault of seada itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import typer

from seada.cli.app import app
from seada.cli.output import report_failure
from seada.errors import SeadaError

REPORT_AT = (
    "please report it with the command, its input files and 'seada doctor' on the project's issue tracker"
)
# Typer has its own copy of click from 0.20 on: take the base of all usage errors from what it exports.
_UsageError = typer.BadParameter.__mro__[1]
INTERRUPTED = 130


class Terminated(BaseException):
    """SIGTERM arrived."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = run_command(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_gone()
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run one command and return its exit code; all output is written."""
    as_json = "--json" in arguments
    try:
        result = typer.main.get_command(app).main(arguments, prog_name="seada", standalone_mode=False)
    except SeadaError as error:
        report_failure(as_json, error.kind, error.message, error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Terminated:
        report_failure(as_json, "terminated", "terminated")
        return 143
    except (BrokenPipeError, SystemExit):
        # Typer and rich exit by themselves when a pipe is closed; no command of ours does.
        return _reader_gone()
    except Exception as error:
        if isinstance(error, _UsageError):
            return _usage_failure(as_json, error)
        return _own_fault(as_json, error)
    if result == INTERRUPTED:
        # Depending on its version, Typer turns Ctrl-C into this code by itself.
        report_failure(as_json, "interrupted", "interrupted")
    return result if isinstance(result, int) else 0


def _usage_failure(as_json: bool, error: Exception) -> int:
    message = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    if context is not None and not as_json:
        message += f"\n{context.get_usage()}\nsee '{context.command_path} --help'"
    report_failure(as_json, "usage", message)
    return 2


def _own_fault(as_json: bool, error: Exception) -> int:
    if os.environ.get("SEADA_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    kind = type(error).__name__
    message = f"internal error ({kind}: {error}); {REPORT_AT}; SEADA_DEBUG=1 shows where"
    report_failure(as_json, "internal", message)
    return 1


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def _reader_gone() -> int:
    """Let nothing be written any more, not even when Python flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


if __name__ == "__main__":
    main()
