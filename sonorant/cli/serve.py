"""`sonorant serve`: the recognizer in the foreground."""

from pathlib import Path

import click

from services.process.options import store_option
from sonorant.cli.settings import find_run

__all__ = ["command"]


@click.command("serve")
@click.option("--run", "run", type=click.Path(path_type=Path), help="Folder of a run: serve its exports.")
@click.option("--exports", type=click.Path(path_type=Path), help="Folder with <model>/<version>/.")
@store_option
@click.option("--host", help="Address to listen on; absent: the recipe's.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for a free one; absent: the recipe's."
)
@click.option("--port-file", type=click.Path(path_type=Path), help="File to write the port to when ready.")
def command(
    run: Path | None,
    exports: Path | None,
    store_url: str,
    host: str | None,
    port: int | None,
    port_file: Path | None,
) -> None:
    """Serve exported models to streaming clients, until Ctrl-C or SIGTERM; new versions are loaded as they appear."""
    from services.recognizer.main import serve
    from sonorant.run_folder import RunFolder

    if (run is None) == (exports is None):
        raise click.UsageError("give either --run or --exports")
    if run is not None:
        exports = (RunFolder(run) if store_url else find_run(run)).exports
    assert exports is not None
    serve(exports, None, port_file, grace_s=30.0, store_url=store_url, host=host, port=port)
