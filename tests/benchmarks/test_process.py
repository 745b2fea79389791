"""Children of a benchmark, which have threads that an ordinary end would wait for."""

import multiprocessing
import threading
import time

import pytest

from benchmarks.rigs import process
from benchmarks.rigs.process import Child


def _work_beside(connection, ask):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    if ask == "fail":
        raise ValueError("as it is told")
    connection.recv()
    while True:
        connection.send("answer")


def _leave(pid_to, ask):
    """Start a child as a benchmark does, send its process number, and die while the child waits or answers."""
    child = Child(_work_beside, ask)
    pid_to.send(child.pid)
    if ask == "tell":
        child.send()
    process.os._exit(1)


@pytest.mark.parametrize("ask", ["wait", "tell", "fail"])
def test_a_child_ends_with_its_parent_and_with_its_own_errors(ask):
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    parent = context.Process(target=_leave, args=(there, ask))
    parent.start()
    assert here.poll(60)
    pid = here.recv()
    parent.join(60)
    deadline_s = time.monotonic() + 60
    while _alive(pid):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
