"""The autoscaler's process: command line in, an iteration every few seconds, the lease given back at SIGTERM."""

import socket
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click
import structlog

from services.autoscaler.cluster import Cluster, Workload
from services.autoscaler.metrics import autoscaler_metrics
from services.autoscaler.planner_options import planner_options
from services.autoscaler.resting import Resting
from services.autoscaler.scaler import Autoscaler, deployments_of
from services.coordination.status_client import query_status
from services.process.health import health_at
from services.process.logging import configure_logging
from services.process.metrics import metrics_at, on_scrape
from services.process.options import health_port_option, metrics_port_option
from services.process.parameters import NumberRange
from services.process.program import run_program
from services.process.signals import Shutdown
from sonorant.capacity.planner import PlannerSettings
from sonorant.capacity.rest import Rest
from sonorant.capacity.sizing import Bounds
from sonorant.recipe.layout import TRAINER, stage_order
from sonorant.recipe.loading import load_recipe

__all__ = ["command", "main"]

log = structlog.get_logger()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--recipe", "recipe_path", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The run's recipe."
)
@click.option("--coordinator", required=True, metavar="HOST:PORT", help="The run's coordinator.")
@click.option("--deployments", "prefix", required=True, metavar="PREFIX", help="Of the names: PREFIX + stage.")
@click.option("--namespace", default="", help="Of the Deployments; absent: this pod's, or the context's.")
@click.option("--lease", default="", help="Name of the leader's lease; absent: PREFIX + autoscaler.")
@click.option("--lease-s", type=click.IntRange(3), default=15, show_default=True, help="How long a lease lasts.")
@click.option("--every-s", type=NumberRange(0.1), default=5.0, show_default=True, help="Between two iterations.")
@planner_options
@click.option("--plan/--no-plan", default=True, show_default=True, help="Scale stages to the trainer's demand.")
@click.option(
    "--rest/--no-rest", default=False, show_default=True,
    help="Scale stages to 0 when training is complete, and to their minimum when it resumes.",
)  # fmt: skip
@click.option(
    "--ranks", type=click.IntRange(1), help="Of the StatefulSet PREFIX + trainer, then scaled to 0 too; absent: none."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of health and metrics ports.")
@health_port_option
@metrics_port_option
def command(
    recipe_path: Path,
    coordinator: str,
    prefix: str,
    namespace: str,
    lease: str,
    lease_s: int,
    every_s: float,
    settings: PlannerSettings,
    plan: bool,
    rest: bool,
    ranks: int | None,
    host: str,
    health_port: int | None,
    metrics_port: int | None,
) -> None:
    """Scale the Deployments of a training's stages to its trainer's demand."""
    identity = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"  # unique to this process
    configure_logging("autoscaler", identity)
    stages = stage_order(load_recipe(recipe_path))
    if unknown := [stage for stage in settings.bounds if stage not in stages]:
        raise click.UsageError(f"--bounds {unknown[0]}: the recipe has no such stage; it has {', '.join(stages)}")
    if lease_s <= 2 * every_s:
        raise click.UsageError(f"--lease-s {lease_s}: must be more than twice --every-s, {every_s:g}, or it runs out")
    with health_at(host, health_port) as health, metrics_at(host, metrics_port) as metrics, Shutdown() as shutdown:
        cluster = Cluster(namespace, identity)
        deployments, lease = deployments_of(stages, prefix), lease or f"{prefix}autoscaler"
        planner, ask = settings if plan else None, partial(query_status, coordinator)
        resting = _resting(cluster, lease, deployments, settings.bounds, prefix, ranks) if rest else None
        autoscaler = Autoscaler(cluster, deployments, (lease, lease_s), identity, planner, ask, resting)
        on_scrape(metrics, lambda: autoscaler_metrics(autoscaler.shown))
        if health is not None:
            health.ready(True)
        log.info("watching", namespace=cluster.namespace, stages=stages, lease=lease)
        while not shutdown.requested:
            autoscaler.iterate()
            shutdown.wait(every_s)
        autoscaler.resign()


def _resting(
    cluster: Cluster,
    lease: str,
    deployments: dict[str, Workload],
    bounds: Mapping[str, Bounds],
    prefix: str,
    ranks: int | None,
) -> Resting:
    """Return the machine that scales the stages to 0 at the end, and the trainer if its `ranks` are given."""
    wanted = {stage: bounds.get(stage, Bounds()).least for stage in deployments}
    if ranks is None:
        return Resting(cluster, lease, deployments, Rest(wanted))
    trainer = {TRAINER: Workload(prefix + TRAINER, "StatefulSet")}
    return Resting(cluster, lease, deployments | trainer, Rest(wanted | {TRAINER: ranks}, frozenset({TRAINER})))


def main() -> None:
    """Run until SIGTERM; an error becomes one line and its exit code."""
    run_program(command, "autoscaler")
