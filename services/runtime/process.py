"""The process around one replica of a stage: its command line, its recipe, its chain."""

import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import structlog

if TYPE_CHECKING:
    from services.runtime.stage import Replica

__all__ = ["run_replica"]

log = structlog.get_logger()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder of the run: recipe.yaml and shards.",
)
@click.option("--coordinator", required=True, metavar="HOST:PORT", help="The run's coordinator.")
@click.option("--replica", default="", help="Name, unique in the run; absent: the stage's and a random one.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to serve at; downstream replicas connect to it."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="SONORANT_DATA",
    default=Path("."),
    help="Folder of recordings of noise, if the recipe names one.",
)
@click.option("--health-port", type=click.IntRange(0, 65535), help="Port of the gRPC health service; absent: none.")
@click.pass_obj
def _command(
    stage: str, run_path: Path, coordinator: str, replica: str, host: str, data: Path, health_port: int | None
) -> None:
    """Run one replica of a stage."""
    from services.runtime.logging import configure_logging
    from services.runtime.stage import Replica

    name = replica or f"{stage}-{uuid.uuid4().hex[:8]}"
    configure_logging(stage, name)
    _run(Replica(stage, name, coordinator, host, health_port), run_path, data)


def run_replica(stage: str, arguments: Sequence[str] | None = None) -> None:
    """Run one replica of `stage` as this process: parse the command line, work, drain, exit.

    arguments: of the command line; None: those of this process.

    A replica computes in one thread; parallel BLAS threads would only take the cores from the replicas beside it. BLAS
    reads the environment when numpy is first imported, so that import has to wait until here.
    """
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from services.runtime.memory import keep_freed_memory
    from sonorant.errors import SonorantError

    keep_freed_memory()
    try:
        _command.main(arguments, prog_name=f"sonorant-{stage}", obj=stage)
    except SonorantError as error:
        click.echo(f"{stage}: {error}", err=True)
        sys.exit(error.exit_code)


def _run(replica: "Replica", run_path: Path, data: Path) -> None:
    from services.runtime.lease_source import LeaseSource
    from services.runtime.lifecycle import Shutdown
    from services.runtime.link_source import LinkSource
    from services.runtime.stage import Source, StageReplica
    from services.runtime.wiring import stage_before
    from sonorant.corpus.shards import ShardSet
    from sonorant.dsp.stage import Stage
    from sonorant.dsp.stages import StageResources, build_chain, build_stage
    from sonorant.recipe.loading import load_recipe
    from sonorant.run_folder import RunFolder

    folder = RunFolder(run_path)
    recipe = load_recipe(folder.recipe)
    shards = ShardSet.open(folder.shards, "train")
    resources = StageResources(shards, data)
    chain: dict[str, Stage] = {}
    source: Source
    if replica.stage in ("shard_reader", "example_server"):
        source = LeaseSource(shards, recipe.pipeline.credits)
        if replica.stage == "example_server":
            chain = build_chain(recipe, resources)
    else:
        chain = {replica.stage: build_stage(replica.stage, recipe, resources)}
        source = LinkSource(stage_before(recipe, replica.stage), recipe.pipeline)
    with Shutdown() as shutdown:
        StageReplica(replica, source, chain, recipe.seed, recipe.pipeline, shutdown).run()
    if resources.counts:
        log.info("stage_counts", **resources.counts)
