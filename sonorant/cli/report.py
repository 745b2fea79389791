"""`sonorant report`: writes a run's figures, and a page with plots."""

import json
from pathlib import Path
from typing import Any

import click

from sonorant.cli.settings import data_option, find_data_folder, find_run

__all__ = ["command"]


@click.command("report")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--compare", type=click.Path(path_type=Path), help="Another run to compare with.")
@data_option
def command(run: Path, compare: Path | None, data: Path | None) -> None:
    """Write report.json (every figure) and report.html (plots) of a trained and evaluated run."""
    from sonorant.cli.digits_corpus import corpus_source
    from sonorant.report.writing import write_report

    folder = find_run(run)
    other = find_run(compare) if compare else None
    found = find_data_folder(data)
    if not write_report(folder, found, corpus_source(found), other):
        click.echo("nothing to do: the report is of this run")
    _tell(json.loads(folder.summary.read_text(encoding="utf-8")))
    click.echo(f"{folder.report}\n{folder.summary}")


def _tell(figures: dict[str, Any]) -> None:
    for name, rate in figures["wer"].items():
        low, high = figures["errors"][name]["interval_95"]
        words = figures["errors"][name]["words"]
        click.echo(f"{name}: word error rate {rate:.2%} (95 % interval {low:.2%} to {high:.2%}) of {words} words")
