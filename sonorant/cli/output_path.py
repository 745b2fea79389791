"""Outputs that are mistakes: what the same command reads, as an unquoted `-o *.txt` has it, or `-`."""

from collections.abc import Iterable
from pathlib import Path

import click

__all__ = ["check_output"]


def check_output(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Raise click.UsageError, naming the file, if the output is one of the files to read, or `-`."""
    if output == Path("-"):
        raise click.UsageError("-: expected a file to write; /dev/stdout is the standard output")
    if output is None or not output.exists():
        return
    for given in inputs:
        if given is not None and given.exists() and given.samefile(output):
            raise click.UsageError(f"{output} is to be read, and would be replaced by the output; name another file")
