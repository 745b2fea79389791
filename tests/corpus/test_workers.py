import os
import signal
import subprocess
import sys

import pytest

from sonorant.corpus.workers import open_workers
from sonorant.errors import Unavailable


def test_an_error_is_the_one_raised_even_if_a_worker_is_gone_already():
    with pytest.raises(KeyboardInterrupt):
        _interrupt_beside_a_dead_worker()


def test_a_worker_that_dies_is_named_as_the_reason():
    with pytest.raises(Unavailable, match="a worker process died"), open_workers(2) as workers:
        list(workers(_die, [0]))


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with open_workers(2):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


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


HALF_A_RESULT = """
import os, signal, struct, sys, threading, time
from pathlib import Path
from services.process.signals import leaving_in_order
from sonorant.corpus.workers import open_workers

SENDING = Path(sys.argv[1])

def work(task):
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        frame = frame.f_back
    os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1000))  # a size, and nothing of it yet
    SENDING.touch()
    time.sleep(3600)

def interrupt():
    while not SENDING.exists():
        time.sleep(0.01)
    time.sleep(0.3)  # until the pool has begun to read
    os.kill(os.getpid(), int(sys.argv[2]))

if __name__ == "__main__":
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with leaving_in_order(), open_workers(2) as workers:
            list(workers(work, [1]))
    except KeyboardInterrupt:
        sys.exit(7)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 7), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_while_a_worker_sends_its_result_ends_at_once_and_leaves_nothing(tmp_path, number, code):
    program = tmp_path / "program.py"
    program.write_text(HALF_A_RESULT)
    command = [sys.executable, program, tmp_path / "sending", str(int(number))]
    done = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
