"""Tells of a best checkpoint that no exported version has, so that no error rate is of it."""

import click

from sonorant.run_folder import RunFolder

__all__ = ["tell_newer_checkpoint"]


def tell_newer_checkpoint(run: RunFolder) -> None:
    """Print a line on standard error if the best checkpoint is newer than all exported versions."""
    from sonorant.export.run_model import best_is_newer

    if best_is_newer(run):
        newer = "the best checkpoint is newer than all exported versions, and is not measured"
        click.echo(f"{newer}; `sonorant export --run {run.path}` exports it", err=True)
