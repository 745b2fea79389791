"""`sonorant report`: writes a run's figures, and a page with plots."""

import json
from pathlib import Path
from typing import Any

import click

from sonorant.cli.settings import data_option, find_data_folder, find_run
from sonorant.run_folder import RunFolder

__all__ = ["command"]


@click.command("report")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--compare", type=click.Path(path_type=Path), help="Another run to compare with.")
@data_option
def command(run: Path, compare: Path | None, data: Path | None) -> None:
    """Write report.json (every figure) and report.html (plots) of a trained and evaluated run.

    If its recipe names a tracker, both go there too, with the error rates of the test sets.
    """
    from sonorant.corpus.source import corpus_source
    from sonorant.recipe.loading import load_recipe
    from sonorant.report.writing import write_report

    folder = find_run(run)
    other = find_run(compare) if compare else None
    found = find_data_folder(data)
    if not write_report(folder, found, corpus_source(load_recipe(folder.recipe).corpus, found), other):
        click.echo("nothing to do: the report is of this run")
    figures = json.loads(folder.summary.read_text(encoding="utf-8"))
    _tell(figures)
    click.echo(f"{folder.report}\n{folder.summary}")
    _track(folder, figures)


def _tell(figures: dict[str, Any]) -> None:
    for name, rate in figures["wer"].items():
        low, high = figures["errors"][name]["interval_95"]
        words = figures["errors"][name]["words"]
        click.echo(f"{name}: word error rate {rate:.2%} (95 % interval {low:.2%} to {high:.2%}) of {words} words")


def _track(run: RunFolder, figures: dict[str, Any]) -> None:
    """Send the report to the tracker of the run's recipe, if it names one; a failure is told, no more."""
    from services.tracking.reporting import track_report
    from sonorant.recipe.loading import load_recipe

    recipe = load_recipe(run.recipe)
    if recipe.tracking.mlflow:
        click.echo(track_report(run, recipe, figures), err=True)
