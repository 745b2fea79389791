"""`sonorant train`: the whole training on this machine."""

import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from services.process.options import store_option
from sonorant.atomic import atomic_write
from sonorant.augment.noise_folder import check_noise_folders
from sonorant.cli.initial_note import InitialNote, source_of
from sonorant.cli.settings import data_folder_or_here, data_option, resolve_recipe, set_option
from sonorant.corpus.prepared import check_prepared, check_splits
from sonorant.errors import SonorantError
from sonorant.recipe.differences import first_differences
from sonorant.recipe.loading import dump_recipe, load_recipe
from sonorant.run_folder import RunFolder
from sonorant.training.completion import complete_totals
from sonorant.training.weight_source import check_source, source_kind

if TYPE_CHECKING:
    from services.storage.run import SharedRun
    from sonorant.decoding.neural_fusion import NeuralModel
    from sonorant.recipe import Recipe
    from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["SOME_REJECTED", "command"]

SOME_REJECTED = 3  # as `sonorant prepare` for recordings
_INTERRUPTED = 130
_LINE_EVERY_S = 10.0
_BEST = {"best_wer": ", best dev WER {:.2%}", "best_perplexity": ", best dev perplexity {:.2f}"}  # by total


@click.command("train")
@click.option("--recipe", "recipe_path", required=True, type=click.Path(path_type=Path), help="Recipe to train by.")
@data_option
@click.option(
    "--run", "run_path", type=click.Path(path_type=Path), help="Run folder; default: runs/<name of the recipe>."
)
@store_option
@click.option("--lenient", is_flag=True, help="Exit with 0 even if examples were rejected.")
@click.option("--verbose", is_flag=True, help="Show the supervisor's events too; RUN/logs has them.")
@set_option
def command(
    recipe_path: Path,
    data: Path | None,
    run_path: Path | None,
    store_url: str,
    lenient: bool,
    verbose: bool,
    assignments: tuple[str, ...],
) -> None:
    """Train on data augmented on the fly, with all services as processes of this machine.

    Resumes where it stopped; exits at once when training is complete. Settings that may change, as decoding's, go into
    RUN's recipe in both cases, and are told. Logs are in RUN/logs.

    Exit codes: 0 training is complete; 3 it is, with rejected examples, which the last line counts (--lenient: 0);
    65 the corpus is not prepared, a noise folder or the aligner is not there, or the checkpoints are another recipe's;
    69 something is missing (is the run in use?); 70 a process keeps ending; 75 a standstill that restarts did not end,
    the same command goes on; 78 the recipe is wrong, or its init_from has no weights; 130 interrupted, the same
    command goes on.
    """
    from services.process.run_lock import locked
    from services.storage.run import open_run
    from services.tracking.mlflow_run import require_mlflow

    recipe = resolve_recipe(recipe_path, assignments)
    require_mlflow(recipe.tracking)
    shared = open_run(run_path if run_path is not None else Path("runs") / recipe.name, store_url)
    run = shared.folder
    settings = {"--recipe": recipe_path, "--run": run.path, "--data": data, "--store": store_url}
    first = f"run `{_prepare_command(settings, assignments)}` first"
    if not (run.path.exists() or store_url):
        check_prepared(recipe, run, first)  # and no folder is made for a lock
    with locked(run.path):  # before the first write that processes of another training would read
        # Complete or not; before the shards, which `sonorant prepare` would not make anew for checkpoints of another.
        shared.check_recipe(recipe, warn=partial(click.echo, err=True))
        shared.pull_shards()
        check_prepared(recipe, run, first)
        shared.pull_totals()
        _check_search(recipe, run)
        _check_models(recipe, shared)
        _take_over(recipe, shared)
        if not _finished(run, recipe, lenient):
            check_splits(run, shared.open_shards)
            data_folder = data_folder_or_here(data)
            check_noise_folders(chain.from_iterable(stage.folders for stage in recipe.stages), data_folder)
            _train(recipe, shared, data_folder, store_url, lenient, verbose)


def _take_over(recipe: "Recipe", shared: "SharedRun") -> None:
    """Write the recipe into its run, and tell which settings it changes there, of those that it may change."""
    run = shared.folder
    then = load_recipe(run.recipe) if run.recipe.is_file() else recipe
    atomic_write(run.recipe, dump_recipe(recipe))
    with suppress(OSError):  # a full disk behind standard error stops no training
        if found := first_differences(then.model_dump(mode="json"), recipe.model_dump(mode="json")):
            click.echo(f"{run.recipe}: {found}", err=True)
        source = recipe.training.init_from
        if source and run.metrics.is_file() and shared.is_trained and not _began_with(source, run, then):
            click.echo(
                f"training.init_from={source}: has no effect on a training that has begun; to begin with it, train "
                "into another run folder, and another --store if there is one",
                err=True,
            )


def _began_with(source: str, run: RunFolder, then: "Recipe") -> bool:
    """Return whether the run's training did, by its journal, or by its recipe if that is of before."""
    return Path(source).resolve() == Path(source_of(run) or then.training.init_from).resolve()


def _check_search(recipe: "Recipe", run: RunFolder) -> None:
    """Raise what exporting would, after a training, of a language model or phrases that the search cannot use."""
    decoding = recipe.decoding
    if recipe.of_text or not (decoding.lm or decoding.prior or decoding.phrases):
        return
    from sonorant.decoding import load_scorer
    from sonorant.text.units import read_units

    def load_neural(path: Path) -> "NeuralModel":
        from sonorant.export.neural_language_model import load_language_model

        return load_language_model(path)

    load_scorer(read_units(run.shards / "units.json"), decoding, recipe.text, Path(), load_neural)


def _check_models(recipe: "Recipe", shared: "SharedRun") -> None:
    """Raise what the trainer would, some seconds later, of a model that the recipe takes or needs, and that is none."""
    from sonorant.export.manifest import read_manifest

    if not shared.is_trained:
        check_source(recipe.training)
        if recipe.training.init_from:
            source_kind(Path(recipe.training.init_from))
    if recipe.training.aligner and complete_totals(shared.folder, recipe) is None:
        read_manifest(Path(recipe.training.aligner))


def _train(
    recipe: "Recipe", shared: "SharedRun", data_folder: Path, store_url: str, lenient: bool, verbose: bool
) -> None:
    """Train in a run's folder, its lock held."""
    from services.supervisor.cluster import Interrupted, LocalCluster

    run, begins = shared.folder, bool(recipe.training.init_from) and not shared.is_trained
    _log_to(run.logs / "supervisor.log", verbose)
    try:
        with _display(f"{recipe.name} in {run.path}") as (show, say):
            note = InitialNote(run, begins, say)

            def observe(status: "pb.GetStatusResponse") -> None:
                note.look()
                show(status)

            LocalCluster(recipe, run, data_folder, observe, say, store_url).run()
    except Interrupted:
        click.echo("stopped; the same command goes on from the last checkpoint", err=True)
        sys.exit(_INTERRUPTED)
    if not _finished(run, recipe, lenient):
        raise SonorantError(
            f"the trainer left, but {run.totals} is not of this training; see {run.logs / 'trainer.log'}"
        )


def _prepare_command(settings: Mapping[str, object], assignments: Iterable[str]) -> str:
    """Return the command that prepares the shards for a training with these settings."""
    given = [str(word) for setting in settings.items() if setting[1] for word in setting]
    return shlex.join(["sonorant", "prepare", *given, *(f"--set={assignment}" for assignment in assignments)])


def _finished(run: RunFolder, recipe: "Recipe", lenient: bool) -> bool:
    """Print the totals of a complete training, and exit if examples were rejected.

    False if it is not complete by the recipe.
    """
    totals = complete_totals(run, recipe)
    if totals is None:
        return False
    click.echo(
        f"training of {run.path} is complete ({totals.get('reason')}): {totals.get('steps')} steps in "
        f"{totals.get('train_seconds', 0):.0f} s, t_session {totals.get('t_session', 0):.3f}"
        + "".join(form.format(totals[name]) for name, form in _BEST.items() if totals.get(name) is not None)
    )
    if skipped := totals.get("skipped_steps", 0) - totals.get("overflowed_steps", 0):
        click.echo(
            f"{skipped} of its steps were not finite, and changed no weights: lower training.learning_rate, or look at "
            f"their utterances (skipped in {run.metrics})",
            err=True,
        )
    layers = totals.get("layers") if recipe.training.pretrain_layers else None
    if layers is not None and layers < recipe.model.encoder_layers:
        click.echo(
            f"its encoder has {layers} of {recipe.model.encoder_layers} layers: training.pretrain_layers add the "
            f"others in later epochs; raise training.{totals.get('reason')} and run this again",
            err=True,
        )
    ledger = totals.get("ledger", {})
    if rejected := ledger.get("rejected", 0):
        click.echo(
            f"{rejected} of {rejected + ledger.get('committed', 0)} examples, over all epochs, were rejected and not "
            f"trained on; `sonorant audit {shlex.quote(str(run.path))}` says which and why"
        )
        if not lenient:
            sys.exit(SOME_REJECTED)
    return True


def _log_to(path: Path, verbose: bool) -> None:
    """Log there, or to standard error; a failure of either does not stop the training."""
    from services.process.logging import log_to_file, log_to_stderr
    from services.process.sturdy_file import sturdy_stderr

    if verbose:
        log_to_stderr("supervisor")
    else:
        sturdy_stderr(lambda lost: f"({lost} lines could not be written here)")
        log_to_file(path, "supervisor")


@contextmanager
def _display(title: str) -> Iterator[tuple[Callable[["pb.GetStatusResponse"], None], Callable[[str], None]]]:
    """Yield callbacks that show a status, live on a terminal or as a line every few seconds elsewhere, and a line."""
    from rich.console import Console
    from rich.live import Live

    from sonorant.cli.status_view import render_line, render_status

    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, refresh_per_second=2, transient=True) as live:
            yield (
                lambda status: live.update(render_status(status, title)),
                partial(console.print, style="yellow", markup=False),
            )
        return
    told_s = -_LINE_EVERY_S

    def tell(status: "pb.GetStatusResponse") -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= _LINE_EVERY_S:
            told_s = time.monotonic()
            click.echo(render_line(status), err=True)

    yield tell, lambda line: click.echo(line, err=True)
