"""A program's edge: a SonorantError becomes one line and its exit code."""

import sys
from collections.abc import Sequence

import click

from sonorant.errors import SonorantError

__all__ = ["run_program"]


def run_program(command: click.Command, name: str, arguments: Sequence[str] | None = None, obj: object = None) -> None:
    """Run a command as this process, and exit. arguments: of the command line; None: those of this process."""
    try:
        command.main(arguments, prog_name=f"sonorant-{name}", obj=obj)
    except SonorantError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
