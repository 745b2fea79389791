import os
import signal

import pytest

from sonorant.corpus.workers import open_workers
from sonorant.errors import Unavailable


def test_an_error_is_the_one_raised_even_if_a_worker_is_gone_already():
    with pytest.raises(KeyboardInterrupt):
        _interrupt_beside_a_dead_worker()


def test_a_worker_that_dies_is_named_as_the_reason():
    with pytest.raises(Unavailable, match="a worker process died"), open_workers(2) as workers:
        list(workers(_die, [0]))


def _interrupt_beside_a_dead_worker():
    with open_workers(2) as workers:
        (worker,) = set(workers(_pid, [0]))
        os.kill(worker, signal.SIGKILL)
        _await_end(worker)
        raise KeyboardInterrupt


def _pid(_):
    return os.getpid()


def _die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def _await_end(pid):
    """Wait until the pool's own thread has reaped it."""
    while os.path.exists(f"/proc/{pid}"):
        pass
