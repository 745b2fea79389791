"""`sonorant prepare`: writes recordings as shards."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from services.process.options import store_option
from sonorant.cli.prepare_espeak import command as espeak
from sonorant.cli.progress import progress_bar
from sonorant.cli.settings import data_option, find_data_folder, resolve_recipe, set_option
from sonorant.corpus.preparing import Prepared, prepare
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.text.visible import visible

if TYPE_CHECKING:
    from services.storage.run import SharedRun

__all__ = ["SOME_SKIPPED", "command"]

SOME_SKIPPED = 3

_SHOWN = 10


@click.group("prepare", invoke_without_command=True, subcommand_metavar="[espeak …]")
@click.option("--recipe", "recipe_path", type=click.Path(path_type=Path), help="Recipe to prepare for.  [required]")
@data_option
@click.option(
    "--run", "run_path", type=click.Path(path_type=Path), help="Run folder; default: runs/<name of the recipe>."
)
@store_option
@click.option("--jobs", type=click.IntRange(min=1), help="Parallel processes; default: one per processor.")
@click.option("--strict", is_flag=True, help="Fail with exit code 65 if any recording cannot be used.")
@click.option(
    "--lenient", is_flag=True, help="Leave out what cannot be used, even lines of a manifest, and exit with 0."
)
@set_option
@click.pass_context
def command(
    context: click.Context,
    recipe_path: Path | None,
    data: Path | None,
    run_path: Path | None,
    store_url: str,
    jobs: int | None,
    strict: bool,
    lenient: bool,
    assignments: tuple[str, ...],
) -> None:
    """Write a corpus as TFRecord shards, units and a dataset card, in RUN/shards.

    Resumes after an interruption; finished and unchanged shards are kept. `prepare espeak` makes a corpus.

    Exit codes: 0 all recordings are in the shards; 3 some were skipped, as card.md lists (--lenient: 0); 65 the corpus
    or a line of its manifest cannot be used (--lenient leaves such lines out), --strict and some recordings cannot, or
    the run has checkpoints of another recipe or other recordings; 69 disk or store refuse, or a training runs there; 78
    the recipe is wrong.
    """
    if context.invoked_subcommand is not None:
        return
    if recipe_path is None:
        raise click.MissingParameter(ctx=context, param_hint="--recipe", param_type="option")
    from services.process.run_lock import locked
    from services.storage.run import open_run

    recipe = resolve_recipe(recipe_path, assignments)
    shared = open_run(run_path if run_path is not None else Path("runs") / recipe.name, store_url)
    jobs = jobs if jobs is not None else len(os.sched_getaffinity(0))
    with locked(shared.folder.path):
        shared.check_recipe(recipe, warn=partial(click.echo, err=True))
        prepared = _prepare(shared, recipe, find_data_folder(data), jobs=jobs, strict=strict, lenient=lenient)
    _report(prepared, shared.folder)
    if not recipe.of_text and recipe.corpus.splits.by != "corpus":
        _warn_of_empty_splits(prepared, recipe)
    if prepared.skipped and not lenient:
        sys.exit(SOME_SKIPPED)


command.add_command(espeak)


def _prepare(shared: "SharedRun", recipe: Recipe, data: Path, **options: Any) -> Prepared:
    """Prepare the run and push its shards, with a progress bar. options: those of `prepare`."""
    with progress_bar() as bar:
        task = bar.add_task("listing recordings", total=None)

        def progress(doing: str, done: int, total: int) -> None:
            bar.update(task, description=doing, completed=done, total=total)

        stored = shared.stored()
        prepared = prepare(recipe, data, shared.folder, progress=progress, stored=stored, **options)
        bar.update(task, description="pushing shards", total=None)
        shared.push_shards()
    return prepared


def _report(prepared: Prepared, run: RunFolder) -> None:
    for name, split in prepared.card["splits"].items():
        click.echo(
            f"{name}: {split['utterances']} utterances, {split['hours']:.3f} h, "
            f"{len(split['speakers'])} speaker(s), {split['shards']} shard(s)"
        )
    click.echo(f"{prepared.made} shard(s) made in {run.shards}" if prepared.made else f"nothing to do in {run.shards}")
    for warning in prepared.warnings:
        click.echo(f"warning: {warning}", err=True)
    for loud in prepared.scaled[:_SHOWN]:
        click.echo(f"warning: {visible(str(loud))}", err=True)
    if prepared.scaled:
        click.echo(f"{len(prepared.scaled)} recording(s) scaled; all are in {run.shards / 'card.md'}", err=True)
    for entry in prepared.skipped[:_SHOWN]:
        click.echo(f"skipped {visible(f'{entry.recording}: {entry.reason}')}", err=True)
    if prepared.skipped:
        click.echo(f"{len(prepared.skipped)} recording(s) skipped; all are in {run.shards / 'card.md'}", err=True)


def _warn_of_empty_splits(prepared: Prepared, recipe: Recipe) -> None:
    """Tell of splits that the recipe wants a share in, and whose recordings were all skipped."""
    splits = recipe.corpus.splits
    for split, fraction in (("dev", splits.dev_fraction), ("test", splits.test_fraction)):
        if fraction and not prepared.card["splits"].get(split, {}).get("utterances"):
            click.echo(
                f"warning: {split} has no utterance, though corpus.splits.{split}_fraction is {fraction:g}: all that "
                "it would have were skipped",
                err=True,
            )
