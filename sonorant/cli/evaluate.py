"""`sonorant evaluate`: serve an exported model and measure it."""

from pathlib import Path

import click

from sonorant.cli.settings import data_option, find_data_folder, find_run

__all__ = ["command"]


@click.command("evaluate")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@data_option
def command(run: Path, data: Path | None) -> None:
    """Stream every test set of the run's recipe, paced, to a recognizer of the exported model."""
    from rich.console import Console

    from services.evaluation.main import evaluate
    from sonorant.recipe.loading import load_recipe

    folder = find_run(run)
    evaluate(load_recipe(folder.recipe), folder, find_data_folder(data), Console())
