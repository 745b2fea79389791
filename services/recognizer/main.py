"""`python -m services.recognizer`: load the models, serve, drain on SIGTERM."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import structlog
import uvloop
from prometheus_client import CollectorRegistry

from services.process.health import HealthServer, health_at
from services.process.logging import configure_logging
from services.process.metrics import metrics_at
from services.process.options import health_port_option, metrics_port_option, patience_option, store_option
from services.process.parameters import NumberRange
from services.process.program import run_program
from services.process.signals import TOGETHER_S, heed_signals
from services.recognizer.loading import collect_rarely, load_served
from services.recognizer.server import RecognizerServer
from services.recognizer.version_events import log_changes
from services.recognizer.waiting import Waiting
from services.storage.exports import pull_exports
from services.storage.objects import ObjectStore
from sonorant.atomic import atomic_write
from sonorant.errors import SonorantError, Unavailable
from sonorant.export.c_library import c_library
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe, override_recipe
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.model import ServedModel
from sonorant.serving.model_store import ModelStore
from sonorant.serving.no_model import why_no_model

__all__ = ["command", "main", "run_server", "serve"]

log = structlog.get_logger()

_LOOK_EVERY_S = 2.0
_STORE_PATIENCE_S = 1.0  # polled often
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(
    exports: Path,
    serving: ServingRecipe | None,
    port_file: Path | None,
    grace_s: float,
    *,
    store_url: str = "",
    patience_s: float = 0.0,
    threads: int = 0,
    health_port: int | None = None,
    metrics_port: int | None = None,
    service: str = "",
    overrides: Sequence[Override] = (),
    **listen: object,
) -> None:
    """Serve the models below `exports` until SIGTERM or SIGINT, then drain for up to `grace_s` seconds.

    store_url: the run's store, from which exports are pulled as they appear; empty: others write to the folder.
    serving: limits and address; absent: those of the first model's recipe, over which `overrides` win. `listen` (host,
    port, http_port, api_keys) wins over both where it is not None. port_file: gets gRPC's port when the server is
    ready. patience_s: how long to wait for a first model. service: HOST:PORT of the Service of all replicas: while none
    serves, a replica without a model is ready. threads: workers; 0: one a processor. Raises Unavailable.
    """
    heed_signals()
    configure_logging("recognizer")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else TensorFlow has notes on each version that is loaded
    c_library()  # without it every version would be refused
    host = str(listen.get("host") or "127.0.0.1")
    with health_at(host, health_port) as health, metrics_at(host, metrics_port) as metrics:
        waiting = Waiting(health, service)

        def load(folder: Path) -> ServedModel:
            waiting.model_found()
            return load_served(folder, streams=bool(store.models))

        store = ModelStore(exports, load, _puller(store_url, exports, waiting))
        _await_model(store, exports, patience_s, waiting)
        collect_rarely()
        chosen = serving or override_recipe(next(iter(store.models.values())).recipe, overrides).serving
        chosen = chosen.model_copy(update={key: value for key, value in listen.items() if value is not None})
        uvloop.run(run_server(store, chosen, port_file, grace_s, threads, health, metrics))


def _await_model(store: ModelStore, exports: Path, patience_s: float, waiting: Waiting) -> None:
    deadline_s = time.monotonic() + patience_s
    log.info("looking_for_models", exports=str(exports), patience_s=patience_s)
    refusals: dict[Path, str] = {}
    while True:
        try:
            changes = store.refresh()
            log_changes(changes)
            refusals |= {one.path: one.refusal for one in changes if one.refusal and one.path.name.isdecimal()}
            if store.models:
                return
            why = why_no_model(exports, refusals)
        except OSError as error:
            why = f"{exports}: cannot be read: {error.strerror}; give a folder that you may read, or look at its mount"
        if time.monotonic() >= deadline_s:
            raise Unavailable(why)
        waiting.model_missing()
        time.sleep(_LOOK_EVERY_S)


def _puller(store_url: str, exports: Path, waiting: Waiting) -> Callable[[], None]:
    """Return the call that pulls new versions from a store; a failed pull is retried in the next call."""
    if not store_url:
        return lambda: None
    store = ObjectStore(store_url, _STORE_PATIENCE_S)

    def pull() -> None:
        try:
            pull_exports(store, exports)
            waiting.exports_known = True
        except SonorantError as error:
            waiting.exports_known = False
            log.warning("exports_not_pulled", reason=str(error))

    return pull


async def run_server(
    store: ModelStore,
    serving: ServingRecipe,
    port_file: Path | None,
    grace_s: float,
    threads: int,
    health: HealthServer | None,
    metrics: CollectorRegistry,
) -> None:
    """Serve the models of `store` until SIGTERM or SIGINT, then drain; raises the errors of background tasks."""
    server = RecognizerServer(store, serving, threads=threads, metrics=metrics)
    await server.calibrate()
    port = await server.start()
    try:
        signalled = _signalled()
        if port_file is not None:
            atomic_write(port_file, f"{port}\n")
        log.info(
            "recognizer_ready",
            host=serving.host,
            port=port,
            http_port=serving.http_port,
            models=sorted(store.models),
            fitting=server.engine.admission.fitting,
        )
        await _until_ended(server, signalled, health)
    finally:
        log.info("recognizer_draining", streams=server.engine.admission.active, grace_s=grace_s)
        await server.stop(grace_s)


def _signalled() -> asyncio.Event:
    """Return what SIGTERM and SIGINT set from now on; a later one ends the process at once."""
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()

    def drain() -> None:
        if not signalled.is_set():
            signalled.set()
            loop.call_later(TOGETHER_S, restore_defaults)

    def restore_defaults() -> None:
        for signum in _SIGNALS:
            loop.remove_signal_handler(signum)
            signal.signal(signum, signal.SIG_DFL)  # SIGINT's own would raise KeyboardInterrupt in the drain

    for signum in _SIGNALS:
        loop.add_signal_handler(signum, drain)
    return signalled


async def _until_ended(server: RecognizerServer, signalled: asyncio.Event, health: HealthServer | None) -> None:
    """Be ready until a signal; raises the errors of background tasks."""
    if health is not None:
        health.follow(asyncio.get_running_loop())
        health.ready(True)
    ends = [asyncio.ensure_future(signalled.wait()), asyncio.ensure_future(server.wait_failed())]
    ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if health is not None:
        health.ready(False)
    for end in ended:
        end.result()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--exports", type=click.Path(path_type=Path), required=True, help="Folder with <model>/<version>/.")
@store_option
@click.option("--recipe", type=click.Path(path_type=Path), help="Recipe with limits; absent: the exported model's.")
@click.option("--host", help="Address to listen on; absent: the recipe's.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for a free one; absent: the recipe's."
)
@click.option(
    "--http-port", type=click.IntRange(0, 65535), help="Port of HTTP and WebSocket, 0 for none; absent: the recipe's."
)
@click.option("--api-keys", help="File of clients' API keys, empty for none; absent: the recipe's.")
@click.option("--port-file", type=click.Path(path_type=Path), help="File to write the port to when ready.")
@click.option(
    "--grace-s",
    type=NumberRange(0),
    default=30.0,
    show_default=True,
    help="Time for open streams to end after SIGTERM.",
)
@click.option(
    "--threads",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Workers, each of which batches due streams; 0: one a core.",
)
@health_port_option
@metrics_port_option
@patience_option
@click.option(
    "--service", default="", metavar="HOST:PORT",
    help="Service of all replicas: while none serves, a replica without a model is ready.",
)  # fmt: skip
def command(
    exports: Path,
    store_url: str,
    recipe: Path | None,
    host: str | None,
    port: int | None,
    http_port: int | None,
    api_keys: str | None,
    port_file: Path | None,
    grace_s: float,
    threads: int,
    health_port: int | None,
    metrics_port: int | None,
    patience_s: float,
    service: str,
) -> None:
    """Serve exported models to streaming clients."""
    serving = load_recipe(recipe).serving if recipe else None
    serve(
        exports,
        serving,
        port_file,
        grace_s,
        store_url=store_url,
        patience_s=patience_s,
        threads=threads,
        health_port=health_port,
        metrics_port=metrics_port,
        service=service,
        host=host,
        port=port,
        http_port=http_port,
        api_keys=api_keys,
    )


def main() -> None:
    """Serve until SIGTERM."""
    run_program(command, "recognizer")
