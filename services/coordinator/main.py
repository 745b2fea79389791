"""The coordinator's process: command line in, server up, drained at SIGTERM."""

import asyncio
import signal
import time
from pathlib import Path

import click
import structlog

from services.coordination.redis_ledger import RedisLedger
from services.coordinator.control import ControlPlane
from services.coordinator.metrics import coordinator_metrics
from services.coordinator.server import CoordinatorServer
from services.process.health import HealthServer, health_at
from services.process.logging import configure_logging
from services.process.metrics import metrics_at, on_scrape
from services.process.options import (
    health_port_option,
    metrics_port_option,
    patience_option,
    recipe_option,
    redis_option,
    run_option,
    store_option,
)
from services.process.program import run_program
from services.process.signals import heed_signals
from services.storage.prepared import await_shards
from services.storage.run import open_run
from sonorant.atomic import atomic_write
from sonorant.training.completion import complete_totals

__all__ = ["command", "main", "serve"]

log = structlog.get_logger()

_START_PATIENCE_S = 10.0
_PATIENCE_S = 5.0  # clients retry, so no call needs to wait long for Redis


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@run_option
@store_option
@recipe_option
@redis_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port to listen on; 0 takes a free one."
)
@click.option("--port-file", type=click.Path(path_type=Path), help="File to write HOST:PORT to, once it listens.")
@health_port_option
@metrics_port_option
@patience_option
def command(
    run_path: Path,
    store_url: str,
    recipe_path: Path | None,
    redis_url: str,
    host: str,
    port: int,
    port_file: Path | None,
    health_port: int | None,
    metrics_port: int | None,
    patience_s: float,
) -> None:
    """Run the coordinator of one training."""
    heed_signals()
    configure_logging("coordinator")
    run = open_run(run_path, store_url)
    recipe = run.recipe(recipe_path)
    with health_at(host, health_port) as health, metrics_at(host, metrics_port) as metrics:
        await_shards(run, recipe, patience_s, *((health.ready,) if health is not None else ()))
        shards = run.open_shards("train")
        start_patience_s = max(patience_s, _START_PATIENCE_S)
        ledger = RedisLedger(redis_url, shards.total, start_patience_s=start_patience_s, patience_s=_PATIENCE_S)
        run.pull_totals()
        complete = complete_totals(run.folder, recipe) is not None if run.folder.totals.exists() else None
        control = ControlPlane(recipe, shards.counts, ledger, complete)
        on_scrape(metrics, lambda: coordinator_metrics(control, time.monotonic()))
        asyncio.run(serve(CoordinatorServer(control, recipe.pipeline), f"{host}:{port}", port_file, health))
        ledger.close()


async def serve(server: CoordinatorServer, address: str, port_file: Path | None, health: HealthServer | None) -> None:
    """Serve at `address` until SIGTERM or SIGINT; raise errors of background tasks. port_file: gets HOST:PORT."""
    terminated = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, terminated.set)
    port = await server.start(address)
    where = f"{address.rpartition(':')[0]}:{port}"
    if port_file is not None:
        atomic_write(port_file, where + "\n")
    log.info("listening", address=where)
    if health is not None:
        health.follow(asyncio.get_running_loop())
        health.ready(True)
    ends = [asyncio.ensure_future(terminated.wait()), asyncio.ensure_future(server.wait_failed())]
    ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if health is not None:
        health.ready(False)
    await server.stop(grace_s=1.0)
    for end in ended:
        end.result()
    log.info("left")


def main() -> None:
    """Run until a termination signal; an error becomes one line and its exit code."""
    run_program(command, "coordinator")
