"""The process around one replica of a stage: its command line, its recipe, its chain."""

import os
import socket
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import click
import structlog

from services.process.options import (
    health_port_option,
    max_iteration_option,
    metrics_port_option,
    patience_option,
    recipe_option,
    run_option,
    stay_option,
    store_option,
)
from services.process.program import run_program

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from services.process.health import HealthServer
    from services.process.watchdog import Watchdog
    from services.stage.runtime import Replica, Runtime
    from services.stage.source import Source
    from services.storage.run import SharedRun
    from sonorant.augment.resources import StageResources
    from sonorant.augment.stage import Stage
    from sonorant.corpus.shards import ShardSet
    from sonorant.recipe.schema import Recipe

__all__ = ["OpenSource", "command", "run_replica"]

log = structlog.get_logger()

_SHOWN_FAULTS = 20

OpenSource: TypeAlias = "Callable[[Runtime, ShardSet, int], Source]"
"""Makes the source of a first stage, from runtime, train shards and the number of examples that it may hold."""


class _Program(NamedTuple):
    stage: str
    open_source: "OpenSource | None"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@run_option
@store_option
@recipe_option
@click.option("--coordinator", required=True, metavar="HOST:PORT", help="The run's coordinator.")
@click.option("--replica", default="", help="Name, unique in the run; absent: stage, host and a random suffix.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve at; consumers connect to it.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="SONORANT_DATA",
    default=Path("."),
    help="Folder of recordings of noise, if the recipe names one.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port to serve at; 0 takes a free one."
)
@health_port_option
@metrics_port_option
@patience_option
@stay_option
@max_iteration_option
@click.pass_obj
def command(
    program: _Program,
    run_path: Path,
    store_url: str,
    recipe_path: Path | None,
    coordinator: str,
    replica: str,
    host: str,
    data: Path,
    port: int,
    health_port: int | None,
    metrics_port: int | None,
    patience_s: float,
    stay: bool,
    max_iteration_s: float | None,
) -> None:
    """Run one replica of a stage."""
    from services.process.health import health_at
    from services.process.logging import configure_logging
    from services.process.metrics import metrics_at
    from services.process.signals import heed_signals
    from services.process.watchdog import Watchdog
    from services.stage.runtime import Replica
    from services.storage.prepared import await_shards
    from services.storage.run import open_run
    from sonorant.recipe.layout import lane_names

    heed_signals()
    stage = program.stage
    # A restarted pod keeps its name, but must not count as the one that died.
    name = replica or f"{stage}-{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
    configure_logging(stage, name)
    run = open_run(run_path, store_url)
    recipe = run.recipe(recipe_path)
    with health_at(host, health_port) as health, metrics_at(host, metrics_port) as metrics:
        await_shards(run, recipe, patience_s, *((health.ready,) if health is not None else ()))
        whose = Replica(stage, name, coordinator, host, port, lane_names(recipe, stage), stay)
        with Watchdog(max_iteration_s) as watchdog:
            _run(whose, program.open_source, recipe, run, data, health, watchdog, metrics)


def run_replica(stage: str, arguments: Sequence[str] | None = None, open_source: "OpenSource | None" = None) -> None:
    """Run one replica of `stage` as this process: parse the command line, work, drain, exit.

    arguments: of the command line; None: those of this process. open_source: of a first stage; None: the examples come
    from the stage before.

    A replica computes in one thread; parallel BLAS threads would only take the cores from the replicas beside it. BLAS
    reads the environment when numpy is first imported, so that import has to wait until here.
    """
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from services.process.memory import keep_freed_memory

    keep_freed_memory()
    run_program(command, stage, arguments, obj=_Program(stage, open_source))


def _run(
    replica: "Replica",
    open_source: "OpenSource | None",
    recipe: "Recipe",
    run: "SharedRun",
    data: Path,
    health: "HealthServer | None",
    watchdog: "Watchdog",
    metrics: "CollectorRegistry",
) -> None:
    from services.process.metrics import on_scrape
    from services.process.signals import Shutdown
    from services.stage.build import build_replica
    from services.stage.metrics import stage_metrics
    from sonorant.augment.probe import arithmetic
    from sonorant.augment.resources import StageResources

    shards = run.open_shards("train")
    resources = StageResources(shards, data)
    chain = _chain(replica.stage, recipe, resources)
    make_source = partial(_source, recipe, shards, open_source)
    replica = replace(replica, arithmetic=arithmetic(chain, recipe, resources))
    if faults := resources.faults:
        log.warning("recordings_left_out", count=len(faults), first=faults[:_SHOWN_FAULTS])
    with Shutdown() as shutdown:
        running = build_replica(
            replica, make_source, chain, recipe.seed, recipe.pipeline, shutdown, health, watchdog.iterated
        )
        on_scrape(metrics, lambda: stage_metrics(replica.stage, running.meter, resources.counts.copy()))
        running.run()
    if resources.counts:
        log.info("stage_counts", **resources.counts)


def _source(recipe: "Recipe", shards: "ShardSet", open_source: "OpenSource | None", runtime: "Runtime") -> "Source":
    """Return the source of a first stage, or links to the stage before."""
    from services.stage.link_source import LinkSource
    from sonorant.recipe.layout import lane_names, stage_before

    if open_source is not None:
        return open_source(runtime, shards, recipe.pipeline.credits)
    before = stage_before(recipe, runtime.replica.stage)
    (lane_name,) = lane_names(recipe, before)
    return LinkSource(runtime, before, recipe.pipeline, lane_name)


def _chain(stage: str, recipe: "Recipe", resources: "StageResources") -> "dict[str, Stage]":
    """Return what is applied to each example: the stage; all stages in an example server, none in a shard reader."""
    from sonorant.augment.chain import build_chain, build_stage

    if stage == "shard_reader":
        return {}
    if stage == "example_server":
        return build_chain(recipe, resources)
    return {stage: build_stage(stage, recipe, resources)}
