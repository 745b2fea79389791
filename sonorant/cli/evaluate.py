"""`sonorant evaluate`: serve an exported model and measure it."""

import os
from pathlib import Path

import click

from sonorant.cli.newer_checkpoint import tell_newer_checkpoint
from sonorant.cli.settings import data_folder_or_here, data_option, find_run, read_overrides
from sonorant.recipe.document import Override

__all__ = ["command"]


@click.command("evaluate")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@data_option
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="evaluation.KEY=VALUE",
    help="Override the run's recipe, e.g. --set evaluation.paced=false, or its sets. Repeatable.",
)
def command(run: Path, data: Path | None, assignments: tuple[str, ...]) -> None:
    """Stream test sets to a recognizer of the exported model, and keep their outcomes for `sonorant report`.

    Sets that were measured with this model and these settings are not measured again; other sets of `--set` come
    beside them, but one of the same name replaces it, which is told.

    Exit codes: 65 no exported model, or a run, noise folder or test set that cannot be used; 69 the recognizer does not
    start, or goes; 78 a value of --set is wrong; 130 interrupted, the same command goes on behind the last whole set.
    """
    from rich.console import Console

    from services.evaluation.main import evaluate
    from sonorant.recipe.loading import load_recipe

    folder = find_run(run)
    tell_newer_checkpoint(folder)
    evaluate(load_recipe(folder.recipe, _overrides(assignments)), folder, data_folder_or_here(data), Console())


def _overrides(assignments: tuple[str, ...]) -> list[Override]:
    """Return the overrides of `evaluation`; the rest of the recipe is that of the model."""
    for assignment in assignments:
        if not assignment.strip().startswith("evaluation."):
            raise click.BadParameter(f"--set {assignment}: expected evaluation.KEY=VALUE; the model has all other keys")
    return [one for one in read_overrides(os.environ, assignments) if one.key.startswith("evaluation.")]
