"""Trainer: one rank of the gang. Under `mpirun` (or Horovod's own variables) as many as it starts, otherwise one.

SIGTERM, SIGINT and SIGUSR1 ask it to leave with a checkpoint; one rank that hears it tells the others. SIGUSR1 is for
`mpirun`, which hands it on to its ranks, whereas of SIGTERM it makes a SIGKILL one second later.
Exit codes: 0 training is complete; 75 stopped by a signal or fenced by another gang, start it again to go on.
"""

import os
import signal
import sys
from pathlib import Path
from threading import Thread

import click

__all__ = ["main"]

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE")
_LOCAL_SIZE_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "HOROVOD_LOCAL_SIZE")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder of the run: recipe.yaml and shards; all ranks must see it.",
)
@click.option("--coordinator", required=True, metavar="HOST:PORT", help="The run's coordinator.")
@click.option("--redis", "redis_url", required=True, metavar="URL", help="The ledger's Redis, redis:// or unix://.")
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Threads of an operation; 0: cores / ranks.")
@click.option("--replica", default="trainer", show_default=True, help="Name, to which the rank's number is added.")
def _command(run_path: Path, coordinator: str, redis_url: str, threads: int, replica: str) -> None:
    """Train one rank's share of a run."""
    from services.runtime.logging import configure_logging

    configure_logging("trainer", replica)
    _limit_threads(threads or max(1, (os.cpu_count() or 1) // _first_of(_LOCAL_SIZE_VARIABLES)))
    from services.runtime.lifecycle import Shutdown
    from services.trainer.rank import Rank
    from sonorant.training.collective import Collective, HorovodCollective, SingleProcess

    collective: Collective = HorovodCollective() if _first_of(_SIZE_VARIABLES) > 1 else SingleProcess()
    with Shutdown() as shutdown:
        signal.signal(signal.SIGUSR1, lambda *_: Thread(target=shutdown.request).start())
        sys.exit(Rank(run_path, coordinator, redis_url, f"{replica}-{collective.rank}", collective, shutdown).run())


def main() -> None:
    """Run until training is complete or asked to leave."""
    from sonorant.errors import SonorantError

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # or TensorFlow tells how it was built
    try:
        _command.main(prog_name="sonorant-trainer")
    except SonorantError as error:
        click.echo(f"trainer: {error}", err=True)
        sys.exit(error.exit_code)


def _limit_threads(count: int) -> None:
    """Keep ranks out of each other's way: TensorFlow would take all cores for each of them."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def _first_of(variables: tuple[str, ...]) -> int:
    return next((int(os.environ[name]) for name in variables if name in os.environ), 1)
