"""All commands."""

from __future__ import annotations

from typing import Annotated

import typer

from seada.cli import (
    calibrate_commands,
    file_commands,
    layer_commands,
    machine_commands,
    network_commands,
    validate_commands,
)

app = typer.Typer(
    name="seada",
    help="Cost of trained networks on multi-precision spatial accelerators: mappings and precisions.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import seada

        typer.echo(f"seada {seada.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


for _command in (
    network_commands.run,
    layer_commands.map_layer,
    layer_commands.evaluate,
    network_commands.select,
    validate_commands.validate,
    calibrate_commands.calibrate,
    file_commands.show,
    file_commands.check,
    file_commands.schema,
    file_commands.import_network,
    machine_commands.warmup,
    machine_commands.doctor,
):
    _name = {"map_layer": "map", "import_network": "import"}.get(_command.__name__, _command.__name__)
    app.command(_name)(_command)
