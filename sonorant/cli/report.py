"""`sonorant report`: a run's figures, and a page to look at."""

from pathlib import Path

import click

from sonorant.cli.settings import data_option, find_data_folder, find_run

__all__ = ["command"]


@click.command("report")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--compare", type=click.Path(path_type=Path), help="Another run to set beside it.")
@data_option
def command(run: Path, compare: Path | None, data: Path | None) -> None:
    """Write report.json (every figure) and report.html (plots) of a trained and evaluated run."""
    from services.local.digits_corpus import corpus_source
    from sonorant.report.writing import write_report

    folder = find_run(run)
    other = find_run(compare) if compare else None
    found = find_data_folder(data)
    if not write_report(folder, found, corpus_source(found), other):
        click.echo("nothing to do: the report is of this run")
    click.echo(f"{folder.report}\n{folder.summary}")
