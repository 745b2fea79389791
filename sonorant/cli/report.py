"""`sonorant report`: writes a run's figures, and a page with plots."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonorant.cli.newer_checkpoint import tell_newer_checkpoint
from sonorant.cli.settings import data_folder_or_here, data_option, find_run, read_overrides
from sonorant.recipe.document import Override
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.recipe import Recipe

__all__ = ["command"]

_OWN = ("evaluation.sets", "tracking.")


@click.command("report")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--compare", type=click.Path(path_type=Path), help="Another run to compare with, set by set.")
@data_option
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override the run's recipe: evaluation.sets, to report no others, or the tracker, e.g. "
    "--set tracking.mlflow=runs/mlflow. Repeatable.",
)
def command(run: Path, compare: Path | None, data: Path | None, assignments: tuple[str, ...]) -> None:
    """Write report.json (every figure) and report.html (plots) of a trained and evaluated run.

    Without --set it has all test sets that were measured with the model. If the recipe names a tracker, both go there
    too, with the error rates of the test sets.

    Exit codes: 65 the run is not trained, not evaluated, or evaluated with other sets; 69 the disk refuses; 78 a value
    of --set is wrong; 130 interrupted.
    """
    from sonorant.corpus.source import corpus_source
    from sonorant.recipe.loading import load_recipe
    from sonorant.report.outcomes import read_evaluation
    from sonorant.report.writing import write_report

    folder = find_run(run)
    recipe = load_recipe(folder.recipe, _overrides(assignments))
    recipe.require_speech("report")
    chosen = any(one.strip().startswith("evaluation.sets") for one in assignments)
    sections = {one.name: one.model_dump(mode="json") for one in recipe.evaluation.sets}
    other = find_run(compare) if compare else None
    found = data_folder_or_here(data)
    if not write_report(folder, found, corpus_source(recipe.corpus, found), other, sections if chosen else None):
        click.echo("nothing to do: the report is of this run")
    figures = json.loads(folder.summary.read_text(encoding="utf-8"))
    evaluation = read_evaluation(folder)
    models = {name: evaluation.get("models", {}).get(name, figures["model"]) for name in figures["wer"]}
    _tell(figures, models)
    if other:
        _tell_changes(figures)
    _tell_newer(folder, set(models.values()))
    tell_newer_checkpoint(folder)
    if not chosen:
        _tell_missing(folder, sections.keys() - figures["wer"].keys())
    measured = evaluation.get("definitions", {})
    for name in measured.keys() & figures["wer"].keys() & sections.keys():
        if measured[name] != sections[name]:
            click.echo(f"{name} was measured as {measured[name]}; the recipe has {sections[name]}", err=True)
    click.echo(f"{folder.report}\n{folder.summary}")
    _track(folder, recipe, figures)


def _overrides(assignments: tuple[str, ...]) -> list[Override]:
    """Return the overrides of test sets and tracker; the rest of the recipe is that of the model."""
    for assignment in assignments:
        if not assignment.strip().startswith(_OWN):
            raise click.BadParameter(f"--set {assignment}: expected evaluation.sets or tracking.KEY=VALUE")
    return [one for one in read_overrides(os.environ, assignments) if one.key.startswith(_OWN)]


def _tell(figures: dict[str, Any], models: Mapping[str, str]) -> None:
    """Print error rates; models: the version that each set was measured with."""
    for name, rate in figures["wer"].items():
        errors = figures["errors"][name]
        if rate is None:
            heard = f"{errors['insertions']} words were heard"
            click.echo(f"{name}: no word in the references of {errors['utterances']} utterances; {heard}")
            continue
        low, high = errors["interval_95"]
        interval = f"95 % interval {low:.2%} to {high:.2%}"
        click.echo(f"{name}: word error rate {rate:.2%} ({interval}) of {errors['words']} words by {models[name]}")


def _tell_changes(figures: dict[str, Any]) -> None:
    """Print how far error rates are from those of the run that this one is compared with."""
    compared = figures["compared"]
    if alone := [name for name in figures["wer"] if name not in compared["changes"]]:
        names = ", ".join(alone)
        click.echo(f"{names}: not compared, as {compared['run']} has no such set, or no word is in it", err=True)
    for name, change in compared["changes"].items():
        rates = ", ".join(
            f"{rate} error rate {100 * change[key]:+.2f} points ({_interval(change[f'{key}_95'])})"
            for key, rate in (("wer", "word"), ("cer", "character"))
        )
        click.echo(f"{name} beside {compared['run']}: {rates}")


def _interval(ends: Sequence[float] | None) -> str:
    if ends is None:
        return "no interval: of other utterances"
    return "95 % interval {:+.2f} to {:+.2f}".format(*(100 * end for end in ends))


def _tell_newer(run: RunFolder, measured: Iterable[str]) -> None:
    """Tell of versions that are newer than those that sets were measured with."""
    from sonorant.export.versions import newest_versions

    newest = newest_versions(run.exports)
    command = f"sonorant evaluate --run {run.path}"
    for model in sorted(measured):
        name, _, version = model.partition("/")
        newer = newest.get(name, model)
        if int(newer.partition("/")[2]) > int(version):
            click.echo(f"{newer} is newer than {model} and not measured; `{command}` measures it", err=True)


def _tell_missing(run: RunFolder, names: Iterable[str]) -> None:
    for name in sorted(names):
        click.echo(
            f"{name}, a set of the recipe, is not measured with this model; `sonorant evaluate --run {run.path}` "
            "measures it",
            err=True,
        )


def _track(run: RunFolder, recipe: "Recipe", figures: dict[str, Any]) -> None:
    """Send the report to the tracker of the recipe, if it names one; a failure is told, no more."""
    from services.tracking.reporting import track_report

    if recipe.tracking.mlflow:
        click.echo(track_report(run, recipe, figures), err=True)
