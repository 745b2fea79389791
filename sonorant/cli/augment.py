"""`sonorant augment`: writes training's view of a recording."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonorant.cli.settings import data_folder_or_here, data_option, find_run, resolve_recipe, set_option
from sonorant.corpus.shards import ShardSet
from sonorant.errors import BadShard
from sonorant.file_names import as_text, shown
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.delivery.example import Example

__all__ = ["command"]


@click.command("augment")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--recipe", "recipe_path", type=click.Path(path_type=Path), help="Recipe; default: that of the run.")
@click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path),
    help="Prepared run: source of utterances and babble; default: runs/<name of the recipe>, if it exists.",
)
@click.option("--utterance", help="Name of the utterance; of a FILE, default: its name without suffix.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="Pass over the corpus.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of all random numbers; default: the recipe's.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder for the results.")
@data_option
@set_option
def command(
    file: Path | None,
    recipe_path: Path | None,
    run_path: Path | None,
    utterance: str | None,
    epoch: int,
    seed: int | None,
    output: Path,
    data: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Write FILE, or an utterance of a prepared run, as training gets it: after each stage, with a plot.

    The bits are those of the services in that epoch. Exit codes: 65 a stage rejects the utterance, or the
    recording cannot be used; 69 the folder for the results cannot be written; 78 the recipe is wrong.
    """
    if recipe_path is None and run_path is None:
        raise click.UsageError("give --recipe, or --run with a prepared run")
    if file is None and utterance is None:
        raise click.UsageError("give a FILE, or --utterance with the name of one in the run")
    from sonorant.augment.chain import StageResources
    from sonorant.report.augmented import stored_example, write_augmented

    recipe = resolve_recipe(recipe_path or find_run(run_path or Path()).recipe, assignments)
    recipe.require_speech("augment")
    run = RunFolder(run_path or Path("runs") / recipe.name)
    shards = _train_split(run, needed=run_path is not None or file is None)
    if file is not None:
        example = _recorded(file, utterance or file.stem, epoch, recipe)
    else:
        assert shards is not None
        assert utterance is not None
        example = stored_example(shards, utterance, epoch)
    resources = StageResources(shards, data_folder_or_here(data))
    for view in write_augmented(recipe, resources, example, recipe.seed if seed is None else seed, output):
        click.echo(f"{view.stage:14s} {view.figures if view.changed else 'as before'}")
    for fault in resources.faults:
        click.echo(f"left out: {fault}", err=True)
    click.echo(shown(output))


def _train_split(run: RunFolder, needed: bool) -> ShardSet | None:
    try:
        return ShardSet.open(run.shards, "train")
    except BadShard:
        if needed:
            raise
        return None


def _recorded(file: Path, utterance: str, epoch: int, recipe: Recipe) -> "Example":
    """Return the example of a file; warn if its recording was scaled."""
    from sonorant.report.augmented import recorded_example

    example, scaled = recorded_example(file, as_text(utterance), epoch, recipe)
    if scaled:
        click.echo(f"warning: {scaled}", err=True)
    return example
