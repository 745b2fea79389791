"""The thread that owns the sockets: what others hand it is done, in order, or its end is told."""

import threading

import pytest

from services.runtime.link_loop import LinkLoop

PATIENCE_S = 20.0


@pytest.fixture
def crashes():
    return []


@pytest.fixture
def loop(crashes):
    loop = LinkLoop([], crashes.append)
    loop.start()
    yield loop
    loop.stop()


def test_what_one_thread_posts_is_done_in_its_order_even_while_the_loop_is_busy(loop, crashes):
    done, leave, last = [], threading.Event(), threading.Event()
    loop.post(leave.wait)
    for number in range(100):
        loop.post(lambda number=number: done.append(number))
    leave.set()
    loop.post(last.set)
    assert last.wait(PATIENCE_S)
    assert done == list(range(100))
    assert crashes == []


def test_what_a_task_posts_is_done_at_once(loop):
    done = threading.Event()
    loop.post(lambda: loop.post(done.set))
    assert done.wait(PATIENCE_S)


def test_a_crash_ends_the_loop_and_is_told(loop, crashes):
    loop.post(lambda: 1 / 0)
    loop._thread.join(PATIENCE_S)
    assert not loop._thread.is_alive()
    assert [type(crash) for crash in crashes] == [ZeroDivisionError]
