"""`sonorant serve`: the recognizer in the foreground."""

import os
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from services.process.options import health_port_option, metrics_port_option, store_option
from sonorant.cli.settings import find_run, read_overrides
from sonorant.recipe.document import Override
from sonorant.recipe.serving import ServingRecipe

__all__ = ["command"]

_LIMITS = [key for key in ServingRecipe.model_fields if key not in ("host", "port")]


def _limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each limit of the recipe's section `serving`."""

    def with_option(function: Callable[..., Any], key: str) -> Callable[..., Any]:
        field = ServingRecipe.model_fields[key]
        help_ = f"{field.description} Absent: the recipe's."
        return click.option(f"--{key.replace('_', '-')}", key, type=field.annotation, help=help_)(function)

    return reduce(with_option, reversed(_LIMITS), function)


@click.command("serve")
@click.option("--run", "run", type=click.Path(path_type=Path), help="Folder of a run: serve its exports.")
@click.option("--exports", type=click.Path(path_type=Path), help="Folder with <model>/<version>/.")
@store_option
@click.option("--host", help="Address to listen on; absent: the recipe's.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for a free one; absent: the recipe's."
)
@click.option("--port-file", type=click.Path(path_type=Path), help="File to write the port to when ready.")
@health_port_option
@metrics_port_option
@_limit_options
@click.option(
    "--set", "assignments", multiple=True, metavar="serving.KEY=VALUE",
    help="Override the recipe's section `serving`, e.g. --set serving.max_streams=8 (also: "
    "SONORANT_SERVING__MAX_STREAMS=8). Repeatable.",
)  # fmt: skip
def command(
    run: Path | None,
    exports: Path | None,
    store_url: str,
    host: str | None,
    port: int | None,
    port_file: Path | None,
    health_port: int | None,
    metrics_port: int | None,
    assignments: tuple[str, ...],
    **limits: float | None,
) -> None:
    """Serve exported models to streaming clients, until Ctrl-C or SIGTERM; new versions are loaded as they appear.

    The section `serving` is that of the first model's recipe; environment, --set and the options win over it.

    Exit codes: 0 stopped; 65 there is no such run; 69 no model that can be served, or a port is in use; 78 a limit, a
    file of keys or the URL of the store is wrong.
    """
    from services.recognizer.main import serve
    from sonorant.run_folder import RunFolder

    if (run is None) == (exports is None):
        raise click.UsageError("give either --run or --exports")
    overrides = _overrides(assignments, limits)
    if run is not None:
        exports = (RunFolder(run) if store_url else find_run(run)).exports
    assert exports is not None
    serve(
        exports,
        None,
        port_file,
        grace_s=30.0,
        store_url=store_url,
        health_port=health_port,
        metrics_port=metrics_port,
        overrides=overrides,
        host=host,
        port=port,
    )


def _overrides(assignments: Iterable[str], limits: dict[str, float | None]) -> list[Override]:
    """Return the overrides of environment, --set and options, weakest first; raises click.BadParameter."""
    given = read_overrides(os.environ, assignments)
    for override in given:
        if override.origin.startswith("--set") and not override.key.startswith("serving."):
            raise click.BadParameter(
                f"{override.origin}: expected a key of `serving`, such as serving.max_streams=8; all else is as the "
                "model was exported"
            )
    flags = [
        Override(f"serving.{key}", str(value), f"--{key.replace('_', '-')}")
        for key, value in limits.items()
        if value is not None
    ]
    return [override for override in given if override.key.startswith("serving.")] + flags
