"""A process's rank in its gang: the variables that `mpirun` or the launcher set, and how the process joins.

Imports TensorFlow and Horovod only when it joins.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from services.process.signals import Shutdown

if TYPE_CHECKING:
    from sonorant.training.collective import Collective

__all__ = ["gang_shutdown", "is_in_gang", "is_rank_0", "join_gang", "yield_while_waiting"]

_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE")
_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK")
_LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "HOROVOD_LOCAL_RANK")
_LOCAL_SIZE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "HOROVOD_LOCAL_SIZE")


def yield_while_waiting() -> None:
    """Leave the cores to the stages while this rank waits for others, unless the environment has other settings.

    By default ranks negotiate every millisecond, and MPI polls for that. Two ranks and a pipeline on two cores took
    81 CPU seconds and 43 s so; with these 51 and 29.
    """
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    os.environ.setdefault("HOROVOD_CYCLE_TIME", "5")  # ms; a step takes a hundred


def is_rank_0() -> bool:
    """Whether this process is rank 0 of its gang, or alone."""
    return _first_of(_RANK, 0) == 0


def is_in_gang() -> bool:
    """Whether this process is one of several ranks."""
    return _first_of(_SIZE, 1) > 1


def join_gang(launched: bool, threads: int) -> "Collective":
    """Join the gang, with one GPU of this machine if it has any; return the gang's collective operations.

    Raises Unavailable if the launcher ends.

    launched: the launcher sends rank and gang. threads: of an operation; 0: cores / ranks of this machine.
    """
    if launched:
        _await_gang()
    _limit_threads(threads or max(1, len(os.sched_getaffinity(0)) // _first_of(_LOCAL_SIZE, 1)))
    from sonorant.models.devices import take_gpu
    from sonorant.training.collective import HorovodCollective, SingleProcess

    take_gpu(_first_of(_LOCAL_RANK, 0))
    # Horovod's stall check does not work with Gloo: the controller leaves the list of ranks empty (0.28.1).
    return HorovodCollective() if is_in_gang() else SingleProcess()


@contextmanager
def gang_shutdown() -> Iterator[Shutdown]:
    """Yield a `Shutdown` that SIGUSR1 requests too: `mpirun` forwards it to its ranks, and kills none of them."""
    with Shutdown() as shutdown:
        signal.signal(signal.SIGUSR1, lambda *_: Thread(target=shutdown.request).start())
        yield shutdown


def _await_gang() -> None:
    """Import TensorFlow, then join the gang, so that ranks meet within a second."""
    import horovod.tensorflow  # noqa: F401 # takes seconds

    from services.launcher.rank_process import await_gang

    await_gang()


def _limit_threads(count: int) -> None:
    """Limit TensorFlow's threads: by default each rank would start one per core.

    Two operations run at a time where neither needs the other: the two directions of a layer, or the gradients of one
    layer's weights and the recurrence of the layer below. The sums are the same: no bit depends on it.
    """
    from sonorant.tensorflow import tf

    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(2)


def _first_of(variables: tuple[str, ...], otherwise: int) -> int:
    return next((int(os.environ[name]) for name in variables if name in os.environ), otherwise)
