"""The thread that owns the sockets: posted tasks are done, in order, or its crash is reported."""

import threading
import time

import pytest
import zmq
from rigs.waiting import PATIENCE_S, eventually

from services.links.loop import LinkLoop


@pytest.fixture
def crashes():
    return []


@pytest.fixture
def loop(crashes):
    loop = LinkLoop()
    loop.start([], crashes.append)
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


def test_a_crash_ends_the_loop_and_is_reported(loop, crashes):
    loop.post(lambda: 1 / 0)
    eventually(lambda: crashes)  # the last thing that its thread does
    assert [type(crash) for crash in crashes] == [ZeroDivisionError]


def test_the_time_awake_is_reported():
    awake, took = [], []

    def work():
        began_s = time.perf_counter()
        threading.Event().wait(0.05)
        took.append(time.perf_counter() - began_s)

    loop = LinkLoop()
    thread = threading.Thread(target=lambda: loop.run([], on_awake=awake.append))
    thread.start()
    loop.post(work)
    threading.Event().wait(0.3)
    loop.stop()
    thread.join(PATIENCE_S)
    assert took[0] <= sum(awake) < took[0] + 0.2


class _Recorder:
    """Links of one socket, which record the loop's calls."""

    faults = 0

    def __init__(self, context, due_s=float("inf")):
        self.socket = context.socket(zmq.PULL)
        self.address = f"inproc://{id(self)}"
        self.socket.bind(self.address)
        self.listed = (self.socket,)
        self.due_s = due_s
        self.calls = []

    def sockets(self):
        return self.listed

    def written(self):
        return ()

    def on_readable(self, readable, now_s):
        self.calls.append(readable.recv())

    def on_time(self, now_s):
        self.calls.append("time")
        return self.due_s

    def close(self):
        self.calls.append("close")
        self.socket.close()

    def abort(self):
        self.calls.append("abort")
        self.socket.close()


@pytest.fixture
def context():
    with zmq.Context() as context:
        yield context


def test_what_came_during_work_is_read_before_anybody_is_judged(context):
    links = _Recorder(context)
    loop = LinkLoop()
    with context.socket(zmq.PUSH) as writer:
        writer.connect(links.address)

        def work():
            if b"news" in links.calls:
                loop.stop()
                return False
            links.calls.append("work")
            writer.send(b"news")
            return True

        loop.run([links], work)
    assert links.calls == ["time", "work", b"news", "time", "close"]


class _Distracted(_Recorder):
    """Writes to its socket while a message comes in, and takes the notice of that away, as writing may."""

    def __init__(self, context):
        super().__init__(context)
        self.peer = context.socket(zmq.PUSH)
        self.peer.connect(self.address)

    def on_time(self, now_s):
        if "time" not in self.calls:
            self.peer.send(b"news")
            assert self.socket.get(zmq.EVENTS) & zmq.POLLIN
        return super().on_time(now_s)

    def written(self):
        return (self.socket,)

    def close(self):
        super().close()
        self.peer.close()


def test_a_message_whose_notice_was_lost_in_writing_is_read(context):
    links, began_s = _Distracted(context), time.monotonic()
    loop = LinkLoop()

    def work():
        if b"news" in links.calls or time.monotonic() - began_s > 5:
            loop.stop()
        return False

    loop.run([links], work)
    assert links.calls == ["time", b"news", "time", "close"]


def test_work_is_called_until_it_finds_nothing_and_then_when_the_loop_is_woken():
    loop, left, calls = LinkLoop(), [3], []
    asleep, done = threading.Event(), threading.Event()

    def work():
        calls.append(left[0])
        if not left[0]:
            (done if len(calls) > 4 else asleep).set()
            return False
        left[0] -= 1
        return True

    thread = threading.Thread(target=loop.run, args=([], work), daemon=True)
    thread.start()
    assert asleep.wait(PATIENCE_S)
    assert calls == [3, 2, 1, 0]
    loop.wake()
    assert done.wait(PATIENCE_S)
    loop.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_crash_of_work_aborts_the_links_and_is_raised(context):
    links = _Recorder(context)
    with pytest.raises(ZeroDivisionError):
        LinkLoop().run([links], lambda: bool(1 / 0))
    assert links.calls == ["time", "abort"]


def test_abort_aborts_the_links(context):
    links = _Recorder(context)
    loop = LinkLoop()
    loop.post(loop.abort)
    loop.run([links])
    assert links.calls[-1] == "abort"
