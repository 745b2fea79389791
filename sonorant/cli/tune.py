"""`sonorant tune`: weights of the search, tuned on dev."""

import io
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from services.process.options import store_option
from sonorant.cli.progress import progress_bar
from sonorant.cli.settings import data_folder_or_here, data_option, find_run, read_overrides
from sonorant.recipe.document import Document, Override, apply_override

if TYPE_CHECKING:
    from sonorant.recipe import Recipe
    from sonorant.recipe.training import TestSetRecipe
    from sonorant.run_folder import RunFolder
    from sonorant.tuning import Range, Subject, Tuned
    from sonorant.tuning.weights import Weights

__all__ = ["command"]

_DECODING = "decoding."
_CHANGEABLE = (_DECODING, "evaluation.sets")


@click.command("tune")
@click.option("--run", "run_path", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@store_option
@data_option
@click.option(
    "--set-name", default="dev", show_default=True, metavar="NAME",
    help="Set to tune on: dev, or one of the recipe's evaluation.sets.",
)  # fmt: skip
@click.option(
    "--vary", "spans", multiple=True, metavar="KEY=LOW:HIGH",
    help="Vary this key of decoding, e.g. --vary lm.alpha=0:3. Repeatable; default: all keys that the search uses.",
)  # fmt: skip
@click.option("--characters", is_flag=True, help="Make the fewest errors of characters (CER) instead of words.")
@click.option("--trials", type=click.IntRange(1), default=60, show_default=True, help="Weights to try.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the weights to try.")
@click.option("--jobs", type=click.IntRange(1), help="Parallel processes; default: one per processor.")
@click.option(
    "--set", "assignments", multiple=True, metavar="decoding.KEY=VALUE",
    help="Override the export's recipe, e.g. --set 'decoding.lm={path: lm.arpa}', or its evaluation.sets. Repeatable.",
)  # fmt: skip
@click.option("--export", "exports", is_flag=True, help="Write the next version of the model, with the best weights.")
def command(
    run_path: Path,
    store_url: str,
    data: Path | None,
    set_name: str,
    spans: tuple[str, ...],
    characters: bool,
    trials: int,
    seed: int,
    jobs: int | None,
    assignments: tuple[str, ...],
    exports: bool,
) -> None:
    """Tune the weights of the search of a run's newest export on dev: language model, prior, bonuses, joint CTC.

    The model's outputs are computed once, below RUN/tuning; RUN/tuning.json has every trial, and the same command goes
    on where it was interrupted.

    Exit codes: 65 no export, no such set, nothing to vary, a range that is not possible, a language model or a
    RUN/tuning.json that cannot be used; 69 disk or store refuse; 78 a value of --set is wrong; 130 interrupted, the
    same command goes on.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from services.storage.run import open_run
    from sonorant.tuning import Subject, ranges_of, read_range

    shared = open_run(run_path, store_url)
    shared.pull_results()
    run = find_run(run_path)
    export = _newest(run)
    recipe = _recipe(export, given := _given(assignments))
    ranges = ranges_of(recipe, dict(read_range(span) for span in spans))
    jobs = jobs if jobs is not None else len(os.sched_getaffinity(0))
    outputs = _outputs(run, export, recipe, _chosen(recipe, set_name), data, jobs)
    subject = Subject(export, outputs, recipe.model_dump_json(), "character" if characters else "word")
    tuned = _tune(run, subject, recipe, ranges, trials, seed, jobs)
    _show(tuned, ranges, set_name)
    click.echo(_as_yaml({key: tuned.best[key] for key in ranges}, given, recipe), nl=False)
    if exports:
        _export(run, export, recipe, tuned)
        shared.push_exports()
    else:
        click.echo("--export writes a version with these weights; the recipe's section keeps them", err=True)


def _newest(run: "RunFolder") -> Path:
    """Return the folder of the newest version of the run's model; raises BadRun without one, BadExport for damage."""
    from sonorant.errors import BadRun
    from sonorant.export.versions import newest_version
    from sonorant.recipe.loading import load_recipe

    folder = run.exports / load_recipe(run.recipe).name
    version, _ = newest_version(folder)
    if not version:
        raise BadRun(f"{folder}: no exported model; run `sonorant export --run {run.path}` first")
    return folder / str(version)


def _given(assignments: tuple[str, ...]) -> list[Override]:
    """Return the overrides of what tuning may change; the rest of the recipe is that of the model."""
    for assignment in assignments:
        if not assignment.strip().startswith(_CHANGEABLE):
            raise click.BadParameter(
                f"--set {assignment}: expected decoding.KEY=VALUE or evaluation.sets=…; the model has all other keys"
            )
    return [one for one in read_overrides(os.environ, assignments) if one.key.startswith(_CHANGEABLE)]


def _recipe(export: Path, given: list[Override]) -> "Recipe":
    """Return the export's recipe with overrides, and paths of language models as seen from here."""
    from sonorant.export.language_model import language_model_paths
    from sonorant.recipe.loading import load_recipe

    path = export / "recipe.yaml"
    copies = language_model_paths(load_recipe(path), export)
    located = [Override(f"decoding.{name}.path", json.dumps(str(copy)), str(path)) for name, copy in copies.items()]
    return load_recipe(path, [*located, *given])


def _chosen(recipe: "Recipe", name: str) -> "TestSetRecipe":
    from sonorant.recipe.training import TestSetRecipe
    from sonorant.tuning import BadTuning

    sets = {"dev": TestSetRecipe(name="dev", split="dev")} | {one.name: one for one in recipe.evaluation.sets}
    if name not in sets:
        raise BadTuning(f"--set-name {name}: no such set; expected one of {', '.join(sets)}")
    if sets[name].split != "dev":
        click.echo(
            f"{name} is of the split {sets[name].split}: its error rates are no test of weights tuned on it", err=True
        )
    return sets[name]


def _outputs(
    run: "RunFolder", export: Path, recipe: "Recipe", chosen: "TestSetRecipe", data: Path | None, jobs: int
) -> Path:
    """Return the folder of the model's outputs for the set, computed unless they are there."""
    from services.evaluation.test_sets import read_references, write_test_set
    from services.recognizer_client.recordings import read_recording
    from sonorant.tuning import BadTuning, Spoken, outputs_origin, write_outputs
    from sonorant.tuning.outputs import is_of

    recordings = write_test_set(run, data_folder_or_here(data), chosen)
    references = read_references(recordings)
    if not any(reference.text for reference in references):
        raise BadTuning(
            f"{chosen.name}: no word is spoken in {len(references)} utterances; expected a set with transcripts"
        )
    folder, origin = run.tuning_outputs / chosen.name, outputs_origin(export, recipe, recordings)
    if not is_of(folder, origin):
        from sonorant.export.loading import load_exported

        model = load_exported(export)
        spoken = [
            Spoken(one.text, one.speaker, partial(read_recording, one.recording, model.sample_rate_hz))
            for one in references
        ]
        with progress_bar() as progress:
            task = progress.add_task(f"outputs for {chosen.name}", total=len(spoken))
            jitter_ms = recipe.decoding.jitter_ms
            write_outputs(folder, origin, model, spoken, jitter_ms, jobs, lambda: progress.advance(task))
    return folder


def _tune(
    run: "RunFolder",
    subject: "Subject",
    recipe: "Recipe",
    ranges: "dict[str, Range]",
    trials: int,
    seed: int,
    jobs: int,
) -> "Tuned":
    from sonorant.corpus.workers import open_workers
    from sonorant.tuning import TrialLog, TrialRunner, tune
    from sonorant.tuning.weights import weights_of

    log = TrialLog(run.tuning, subject.fingerprint)
    with open_workers(jobs) as workers, progress_bar() as progress:
        task = progress.add_task("trials", total=trials)

        def done(fewest: int) -> None:
            progress.update(task, advance=1, description=f"trials: {fewest} {subject.unit} errors at best")

        tuned = tune(TrialRunner(subject, workers), log, ranges, weights_of(recipe), trials, seed, done)
    log.conclude(tuned.document() | {"set": subject.outputs.name, "seed": seed, "ranges": ranges})
    return tuned


def _show(tuned: "Tuned", ranges: "dict[str, Range]", name: str) -> None:
    from rich.console import Console
    from rich.table import Table

    before, after = tuned.before, tuned.after
    table = Table(title=f"{name}: {len(before.per_utterance)} utterances, {before.reference_words} {tuned.unit}s")
    for column in ("", "before", "tuned"):
        table.add_column(column, justify="right" if column else "left")
    rates = (before, after)
    table.add_row(f"{tuned.unit} error rate", *(f"{rate.rate:.2%}" for rate in rates))
    table.add_row("95 % interval", *("{:.2%} to {:.2%}".format(*rate.interval_95) for rate in rates), end_section=True)
    for key in ranges:
        table.add_row(key, f"{tuned.start[key]:g}", f"{tuned.best[key]:g}")
    Console().print(table)
    low, high = tuned.gain_95
    click.echo(f"{before.errors} {tuned.unit} errors became {after.errors}; decrease {low:.2%} to {high:.2%} (95 %)")
    for key, (least, most) in ranges.items():
        if not least <= tuned.best[key] <= most:
            click.echo(
                f"{key}={tuned.best[key]:g}, as it was, is better than all that were tried in its range", err=True
            )
    if tuned.best != tuned.start and low <= 0:
        click.echo("the decrease is within the noise of this set: confirm it on another one", err=True)


def _as_yaml(weights: "Weights", given: list[Override], recipe: "Recipe") -> str:
    """Return what was given of `decoding`, and weights, as the recipe's section has them; a list is whole."""
    from ruamel.yaml import YAML

    yaml, document = YAML(typ="safe", pure=True), Document({}, {}, [], {})
    yaml.default_flow_style, yaml.width = False, 4096
    tuned = [Override(_DECODING + key, f"{weight:g}", "tuned") for key, weight in weights.items()]
    for one in (*given, *tuned):
        if one.key.startswith(_DECODING):
            apply_override(document, one)
    whole, section = recipe.decoding.model_dump(mode="json"), document.values.get("decoding", {})
    section |= {key: whole[key] for key in section if isinstance(whole.get(key), list)}
    text = io.StringIO()
    yaml.dump({"decoding": section}, text)
    return text.getvalue()


def _export(run: "RunFolder", export: Path, recipe: "Recipe", tuned: "Tuned") -> None:
    from sonorant.export.other_decoding import export_with_decoding
    from sonorant.export.warm_up import dev_recordings
    from sonorant.tuning import with_weights

    done = export_with_decoding(export, with_weights(recipe, tuned.best), dev_recordings(run.shards))
    if done.is_new:
        click.echo(f"exported version {done.version}: {done.path}")
    else:
        click.echo(f"version {done.version} has these weights; nothing to do: {done.path}")
