"""Trainer: one rank of a gang, whose size comes from `mpirun` or Horovod's variables; without them, 1.

SIGTERM, SIGINT and SIGUSR1 at any rank end the gang with a checkpoint. SIGUSR1 is for `mpirun`, which forwards it to
its ranks, whereas it follows SIGTERM with SIGKILL one second later.
What loads TensorFlow is imported where it is called: a rank that waits for shards stays small.
Exit codes: 0 training is complete, and recorded by the coordinator; 69 Redis, coordinator or free disk space is
missing; 75 a signal, fenced by another gang, or the ledger has lost writes: restart to resume.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from services.process.logging import configure_logging
from services.process.memory import keep_freed_memory
from services.process.metrics import metrics_at
from services.process.options import (
    metrics_port_option,
    patience_option,
    recipe_option,
    redis_option,
    run_option,
    store_option,
)
from services.process.parameters import NumberRange
from services.process.program import run_program
from services.process.signals import heed_signals
from services.process.watchdog import Watchdog
from services.trainer.gang import gang_shutdown, is_in_gang, is_rank_0, join_gang, yield_while_waiting

if TYPE_CHECKING:
    from services.storage.run import SharedRun
    from sonorant.recipe import Recipe

__all__ = ["command", "main"]

T = TypeVar("T")


class _RankOptions(NamedTuple):
    """The options of a rank; see `command`."""

    coordinator: str
    redis_url: str
    threads: int
    replica: str
    host: str
    metrics_port: int | None
    patience_s: float
    max_iteration_s: float
    launched: bool


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
    "--max-iteration-s", type=NumberRange(1), default=600.0, show_default=True,
    help="Start again if a step takes longer, with dev set and checkpoint: a rank that hangs blocks the gang.",
)  # fmt: skip
@click.option("--export", is_flag=True, help="Export the best checkpoint when training is complete, as rank 0.")
@click.option("--launched", is_flag=True, help="Read rank and gang from services.launcher, on standard input.")
def command(run_path: Path, store_url: str, recipe_path: Path | None, export: bool, **options: Any) -> None:
    """Train one rank's share of a run."""
    from services.launcher.rank_process import report_waiting
    from services.storage.prepared import await_shards
    from services.storage.run import open_run

    rank = _RankOptions(**options)
    heed_signals()
    configure_logging("trainer", rank.replica)
    run = open_run(run_path, store_url)
    recipe = run.recipe(recipe_path)
    await_shards(run, recipe, rank.patience_s, *((report_waiting,) if rank.launched else ()))
    # Other launchers join no gang any more once their ranks have ended; and a launched rank 0 is started only when the
    # one that may have written the totals is gone. With `mpirun` all ranks look together, below.
    complete = (rank.launched or not is_in_gang()) and _is_complete(run, recipe)
    if not complete:
        code, complete = _train(run, recipe, rank)
        if code:
            sys.exit(code)
    if is_rank_0():
        if export:
            _export(run)
        _report_end(run, recipe, rank, again=complete)


def main() -> None:
    """Run until training is complete or a signal ends it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else TensorFlow logs its build flags
    yield_while_waiting()
    keep_freed_memory()
    run_program(command, "trainer")


def _is_complete(run: "SharedRun", recipe: "Recipe") -> bool:
    from sonorant.training.completion import complete_totals

    run.pull_totals()
    return complete_totals(run.folder, recipe) is not None


def _train(run: "SharedRun", recipe: "Recipe", options: _RankOptions) -> tuple[int, bool]:
    """Join the gang and train; return the exit code, and whether training was complete before."""
    from services.trainer.rank import Rank

    collective = join_gang(options.launched, options.threads)
    replica = f"{options.replica}-{collective.rank}"
    with (
        gang_shutdown() as shutdown,
        Watchdog(options.max_iteration_s) as watchdog,
        metrics_at(options.host, options.metrics_port) as metrics,
    ):
        # Rank 0 decides for all: killed predecessors may write the totals between the looks of two ranks, and a rank
        # that leaves before the others have joined holds them up for ever.
        if collective.broadcast(_is_complete(run, recipe)):
            return 0, True
        servers = (options.coordinator, options.redis_url)
        given = (recipe, run, *servers, replica, collective, shutdown, options.patience_s, metrics)
        return Rank(*given, on_iteration=watchdog.iterated).run(), False


def _export(run: "SharedRun") -> None:
    """Export the best checkpoint, unless the newest version is it."""
    import structlog

    from sonorant.export.run_model import export_run
    from sonorant.models.devices import has_gpu

    run.pull_checkpoints()
    run.pull_exports()
    # A version is tried out on a CPU before it is there, and a process that has taken a GPU leaves it no more.
    done = _in_process_of_its_own(export_run, run.folder) if has_gpu() else export_run(run.folder)
    run.push_exports()
    structlog.get_logger().info("model_exported", version=done.version, path=str(done.path), new=done.is_new)


def _in_process_of_its_own(call: Callable[..., T], *arguments: object) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def _report_end(run: "SharedRun", recipe: "Recipe", options: _RankOptions, again: bool) -> None:
    """Report the end of training, last, as it may end this pod. again: a restarted trainer checks if it is recorded."""
    from services.trainer.coordination import end_training
    from services.trainer.generation import report_end

    if again:
        report_end(run, recipe, options.coordinator, options.redis_url)
    else:
        end_training(options.coordinator, run.generation())
