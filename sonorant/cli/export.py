"""`sonorant export`: a checkpoint becomes a model that the recognizer serves."""

import os
from pathlib import Path

import click

from services.process.options import store_option
from services.process.parameters import GivenPath
from sonorant.cli.settings import find_run

__all__ = ["command"]


@click.command("export")
@click.option("--run", "run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@store_option
@click.option(
    "--checkpoint", default="best", show_default=True, help="Which checkpoint: best (on dev), latest, or its step."
)
@click.option(
    "--average", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="Export the mean of N checkpoints: the best ones, or the last ones up to that of --checkpoint.",
)  # fmt: skip
@click.option(
    "--with", "others", type=GivenPath(path_type=Path), multiple=True, metavar="EXPORT",
    help="Make an ensemble with this exported version, `exports/<model>/<version>` of any run; may be repeated.",
)  # fmt: skip
def command(run: Path, store_url: str, checkpoint: str, average: int, others: tuple[Path, ...]) -> None:
    """Write a checkpoint as a SavedModel, `exports/<model>/<version>/` in the folder of the run.

    Nothing is written if the newest version is that model, as exported or as `sonorant tune --export` tuned it.

    Exit codes: 65 no such run or checkpoint, an export differs from the trained model, or one of --with joins no
    ensemble; 69 disk or store refuse; 78 the run's recipe is wrong; 130 interrupted.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from services.storage.run import open_run
    from sonorant.export.member_splits import other_splits
    from sonorant.export.run_model import export_run
    from sonorant.recipe.loading import load_recipe

    shared = open_run(run, store_url)
    shared.pull_shards()
    shared.pull_checkpoints()
    shared.pull_exports()
    found = find_run(run)
    done = export_run(found, checkpoint, average, others)
    shared.push_exports()
    for warning in other_splits(load_recipe(found.recipe), others):
        click.echo(f"warning: {warning}", err=True)
    if done.is_new:
        click.echo(f"exported version {done.version}: {done.path}")
    else:
        click.echo(f"version {done.version} is the same model; nothing to do: {done.path}")
