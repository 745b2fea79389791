"""`sonorant pull`: copies a run from object storage to a folder."""

from pathlib import Path

import click

from services.process.options import store_option

__all__ = ["command"]


@click.command("pull")
@click.option(
    "--run", type=click.Path(path_type=Path), required=True, help="Target folder; not that of a running training."
)
@store_option
def command(run: Path, store_url: str) -> None:
    """Pull a run from a store: what `sonorant audit`, `evaluate` and `report` read.

    Of the shards of train that is the first. The same command again pulls what is new.

    Exit codes: 65 the store has no prepared run; 69 it does not answer; 78 the URL cannot be used.
    """
    from services.storage.run import StoredRun
    from sonorant.run_folder import RunFolder

    if not store_url:
        raise click.UsageError("give --store, or SONORANT_STORE: where the run is")
    StoredRun(RunFolder(run), store_url).pull_results()
    click.echo(f"{run}: brought from {store_url}")
