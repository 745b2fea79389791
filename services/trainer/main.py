"""Trainer: one rank of a gang, whose size comes from `mpirun` or Horovod's variables; without them, 1.

SIGTERM, SIGINT and SIGUSR1 at any rank end the gang with a checkpoint. SIGUSR1 is for `mpirun`, which forwards it to
its ranks, whereas it follows SIGTERM with SIGKILL one second later.
Exit codes: 0 training is complete, and recorded by the coordinator; 69 Redis, coordinator or free disk space is
missing; 75 a signal, fenced by another gang, or the ledger has lost writes: restart to resume.
"""

import os
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from services.process.options import (
    metrics_port_option,
    patience_option,
    recipe_option,
    redis_option,
    run_option,
    store_option,
)
from services.process.program import run_program

if TYPE_CHECKING:
    from services.storage.run import SharedRun

__all__ = ["command", "main"]

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE")
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK")
_LOCAL_SIZE_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "HOROVOD_LOCAL_SIZE")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@run_option
@store_option
@recipe_option
@click.option("--coordinator", required=True, metavar="HOST:PORT", help="The run's coordinator.")
@redis_option
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Threads of an operation; 0: cores / ranks.")
@click.option("--replica", default="trainer", show_default=True, help="Name, to which the rank's number is added.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of the metrics' port.")
@metrics_port_option
@patience_option
@click.option(
    "--max-iteration-s", type=click.FloatRange(1), default=600.0, show_default=True,
    help="Start again if a step takes longer, with dev set and checkpoint: a rank that hangs blocks the gang.",
)  # fmt: skip
@click.option("--export", is_flag=True, help="Export the best checkpoint when training is complete, as rank 0.")
@click.option("--launched", is_flag=True, help="Read rank and gang from services.launcher, on standard input.")
def command(
    run_path: Path,
    store_url: str,
    recipe_path: Path | None,
    coordinator: str,
    redis_url: str,
    threads: int,
    replica: str,
    host: str,
    metrics_port: int | None,
    patience_s: float,
    max_iteration_s: float,
    export: bool,
    launched: bool,
) -> None:
    """Train one rank's share of a run."""
    from services.launcher.rank_process import report_waiting
    from services.process.logging import configure_logging
    from services.process.metrics import metrics_at
    from services.process.signals import heed_signals
    from services.storage.prepared import await_shards
    from services.storage.run import open_run
    from services.trainer.coordination import end_training
    from services.trainer.generation import report_end
    from sonorant.training.completion import complete_totals

    heed_signals()
    configure_logging("trainer", replica)
    run = open_run(run_path, store_url)
    recipe = run.recipe(recipe_path)
    await_shards(run, recipe, patience_s, *((report_waiting,) if launched else ()))
    run.pull_totals()
    complete = complete_totals(run.folder, recipe) is not None
    if not complete:  # else it was restarted after the end, and needs no gang
        from services.process.signals import Shutdown
        from services.process.watchdog import Watchdog
        from services.trainer.rank import Rank
        from sonorant.training.collective import Collective, HorovodCollective, SingleProcess

        if launched:
            _await_gang()
        _limit_threads(threads or max(1, (os.cpu_count() or 1) // _first_of(_LOCAL_SIZE_VARIABLES)))
        collective: Collective = HorovodCollective() if _first_of(_SIZE_VARIABLES) > 1 else SingleProcess()
        # Horovod's stall check does not work with Gloo: the controller leaves the list of ranks empty (0.28.1).
        with Shutdown() as shutdown, Watchdog(max_iteration_s) as watchdog:
            signal.signal(signal.SIGUSR1, lambda *_: Thread(target=shutdown.request).start())
            name = f"{replica}-{collective.rank}"
            with metrics_at(host, metrics_port) as metrics:
                given = (recipe, run, coordinator, redis_url, name, collective, shutdown, patience_s, metrics)
                code = Rank(*given, on_iteration=watchdog.iterated).run()
        if code:
            sys.exit(code)
    if _first_of(_RANK_VARIABLES, 0) == 0:
        if export:
            _export(run)
        # Last, as it may end this pod. A trainer restarted after the end checks whether it was recorded.
        if complete:
            report_end(run, recipe, coordinator, redis_url)
        else:
            end_training(coordinator, run.generation())


def main() -> None:
    """Run until training is complete or a signal ends it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else TensorFlow logs its build flags
    # By default ranks negotiate every millisecond, and MPI polls for that, on the stages' cores.
    # Two ranks and a pipeline on two cores took 81 CPU seconds and 43 s so; with these 51 and 29.
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    os.environ.setdefault("HOROVOD_CYCLE_TIME", "5")  # ms; a step takes a hundred
    run_program(command, "trainer")


def _await_gang() -> None:
    """Import TensorFlow, then join the gang, so that ranks meet within a second."""
    import horovod.tensorflow  # noqa: F401 # takes seconds

    from services.launcher.rank_process import await_gang

    await_gang()


def _export(run: "SharedRun") -> None:
    """Export the best checkpoint, unless the newest version is it."""
    import structlog

    from sonorant.export.run_model import export_run

    run.pull_checkpoints()
    run.pull_exports()
    done = export_run(run.folder)
    run.push_exports()
    structlog.get_logger().info("model_exported", version=done.version, path=str(done.path), new=done.is_new)


def _limit_threads(count: int) -> None:
    """Limit TensorFlow's threads: by default each rank would start one per core."""
    from sonorant.tensorflow import tf

    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def _first_of(variables: tuple[str, ...], otherwise: int = 1) -> int:
    return next((int(os.environ[name]) for name in variables if name in os.environ), otherwise)
