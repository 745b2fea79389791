"""`python -m services.recognizer`: load the models, serve, drain on SIGTERM."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import click
import structlog

from services.runtime.logging import configure_logging
from sonorant.atomic import atomic_write
from sonorant.errors import SonorantError, Unavailable
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.model import StreamingModel
from sonorant.serving.model_store import ModelStore

__all__ = ["main", "serve"]

log = structlog.get_logger()


def serve(
    exports: Path, serving: ServingRecipe | None, port_file: Path | None, grace_s: float, **listen: object
) -> None:
    """Serve the models below `exports` until SIGTERM or SIGINT, then drain for up to `grace_s` seconds.

    serving: limits and address; absent: those of the first model's recipe. `listen` (host, port) wins over both
    where it is not None. port_file: gets the port when the server is ready. Raises Unavailable.
    """
    configure_logging("recognizer")
    store = ModelStore(exports, _load)
    for change in store.refresh():
        log.info("model_version", path=str(change.path), refusal=change.refusal)
    if not store.models:
        raise Unavailable(f"{exports}: no model that can be served; make one with `sonorant export`")
    chosen = serving or next(iter(store.models.values())).recipe.serving
    chosen = chosen.model_copy(update={key: value for key, value in listen.items() if value is not None})
    asyncio.run(_run(store, chosen, port_file, grace_s))


def _load(folder: Path) -> StreamingModel:
    """Load a model, and TensorFlow with the first one: without any, its seconds of start-up are spared."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from sonorant.export.loading import load_exported, use_few_threads

    use_few_threads()
    return load_exported(folder)


async def _run(store: ModelStore, serving: ServingRecipe, port_file: Path | None, grace_s: float) -> None:
    from services.recognizer.server import RecognizerServer

    server = RecognizerServer(store, serving)
    port = await server.start()
    stopping = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopping.set)
    if port_file is not None:
        atomic_write(port_file, f"{port}\n")
    log.info("recognizer_ready", host=serving.host, port=port, models=sorted(store.models))
    await stopping.wait()
    log.info("recognizer_draining", streams=server.servicer.admission.active, grace_s=grace_s)
    await server.stop(grace_s)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--exports", type=click.Path(path_type=Path), required=True, help="Folder with <model>/<version>/.")
@click.option("--recipe", type=click.Path(path_type=Path), help="Recipe with limits; absent: the exported model's.")
@click.option("--host", help="Address to listen on; absent: the recipe's.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for a free one; absent: the recipe's."
)
@click.option("--port-file", type=click.Path(path_type=Path), help="File to write the port to when ready.")
@click.option("--grace-s", type=float, default=30.0, show_default=True, help="Time for streams to end after SIGTERM.")
def main(
    exports: Path, recipe: Path | None, host: str | None, port: int | None, port_file: Path | None, grace_s: float
) -> None:
    """Serve exported models to streaming clients."""
    from sonorant.recipe.loading import load_recipe

    try:
        serving = load_recipe(recipe).serving if recipe else None
        serve(exports, serving, port_file, grace_s, host=host, port=port)
    except SonorantError as error:
        click.echo(f"recognizer: {error}", err=True)
        sys.exit(error.exit_code)
