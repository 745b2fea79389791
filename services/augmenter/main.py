"""Augmenter: the service of every stage that has none of its own."""

import click

from services.stage.command import run_replica

__all__ = ["main"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("stage")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(stage: str, arguments: tuple[str, ...]) -> None:
    """Run STAGE, a name in the recipe, until the run is complete or a signal; `STAGE --help` lists the ARGUMENTS."""
    run_replica(stage, arguments)
