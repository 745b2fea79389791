"""`sonorant report`: a run's figures, and a page to look at."""

from pathlib import Path

import click

from sonorant.cli.settings import data_option, find_data_folder

__all__ = ["command"]


@click.command("report")
@click.option("--run", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of the run.")
@click.option("--compare", type=click.Path(path_type=Path, exists=True), help="Another run to set beside it.")
@data_option
def command(run: Path, compare: Path | None, data: Path | None) -> None:
    """Write report.json (every figure) and report.html (plots) of a trained and evaluated run."""
    from services.local.digits_corpus import corpus_source
    from sonorant.report.writing import write_report
    from sonorant.run_folder import RunFolder

    found = find_data_folder(data)
    folder = RunFolder(run)
    if not write_report(folder, found, corpus_source(found), RunFolder(compare) if compare else None):
        click.echo("nothing to do: the report is of this run")
    click.echo(f"{folder.report}\n{folder.summary}")
