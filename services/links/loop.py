"""The event loop of a process's data sockets. A ZeroMQ socket has one owner: other threads post tasks to its thread."""

import socket
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import Protocol

import zmq

from services.links.socket_poll import SocketPoll

__all__ = ["LinkLoop", "Links"]

_LONGEST_SLEEP_S = 1.0  # a signal that arrives just before the loop sleeps does not wake it


class Links(Protocol):
    """A set of sockets and their handlers; only the loop's thread calls it. Times are monotonic seconds."""

    @property
    def faults(self) -> int:
        """Messages that were dropped, and connections that ended without BYE; any thread may read it."""
        ...

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to now: the same object as before, if they are the same."""
        ...

    def written(self) -> Collection[zmq.Socket[bytes]]:
        """Return those of the sockets that were written to since the last call, perhaps among others."""
        ...

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        ...

    def on_time(self, now_s: float) -> float:
        """Do what is due, at every iteration of the loop; return the time of the next (infinity: none)."""
        ...

    def close(self) -> None:
        """Send BYE, and close all sockets."""
        ...

    def abort(self) -> None:
        """Close all sockets without BYE, as a crash would: for the other ends the links are broken."""
        ...


class LinkLoop:
    """Polls the sockets of all links, and sleeps until a message, a task or a deadline comes.

    It has a thread of its own (`start`), or the caller's, which computes between iterations (`run`): what is computed
    in the thread that sends needs no waking of another, nor the interpreter's lock to be handed over, for every
    example. Tasks that are posted before it runs are done in its first iteration.
    """

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._rung = False
        self._stopping = self._aborting = False
        self._owner: int | None = None
        self._thread: threading.Thread | None = None

    def start(self, links: Sequence[Links], on_crash: Callable[[Exception], None]) -> None:
        """Start a thread that serves the links. An exception ends it and goes to `on_crash`."""
        self._thread = threading.Thread(target=self._run_thread, args=(links, on_crash), name="links", daemon=True)
        self._thread.start()

    def run(
        self,
        links: Sequence[Links],
        work: Callable[[], bool] = lambda: False,
        on_awake: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """Serve the links in this thread until `stop`, and close them; after `abort` or an exception, abort them.

        work: called at every iteration, after messages were received and before the loop sleeps; it sleeps if `work`
        did nothing, and returned False. A call beyond dead_after_s makes this end count as dead.
        on_awake: called at every iteration with the seconds that the loop did not sleep.
        """
        self._owner = threading.get_ident()
        try:
            self._iterate(links, work, on_awake)
        except BaseException:
            self._aborting = True
            raise
        finally:
            for one in links:
                if self._aborting:
                    one.abort()
                else:
                    one.close()
            self._bell.close()
            self._ringer.close()

    def post(self, task: Callable[[], None]) -> None:
        """Run `task` in the loop's thread: at once when called there, soon otherwise."""
        if threading.get_ident() == self._owner:
            task()
            return
        self._tasks.put(task)
        self.wake()

    def wake(self) -> None:
        """Make the loop iterate soon; any thread may call it."""
        if self._rung:  # and the tasks are not looked at before it is taken back
            return
        self._rung = True
        try:
            self._ringer.send(b"!")
        except OSError:  # full: it rings already; closed: the loop has ended
            return

    def stop(self) -> None:
        """Let the loop end, and wait until it has, unless it runs in this thread."""
        self.post(self._stop)
        if self._thread is not None:
            self._thread.join()

    def abort(self) -> None:
        """Let the loop end soon, and abort the links."""
        self.post(self._abort)

    def _stop(self) -> None:
        self._stopping = True

    def _abort(self) -> None:
        self._stopping = self._aborting = True

    def _run_thread(self, links: Sequence[Links], on_crash: Callable[[Exception], None]) -> None:
        try:
            self.run(links)
        except Exception as error:  # the thread's edge
            on_crash(error)

    def _iterate(self, every: Sequence[Links], work: Callable[[], bool], on_awake: Callable[[float], None]) -> None:
        """Iterate until stopped: receive, so that no peer with a message here counts as silent; then act; then work."""
        owners: dict[zmq.Socket[bytes], Links] = {}
        listed: list[Sequence[zmq.Socket[bytes]]] | None = None
        timeout_ms = 0
        woke_s = time.perf_counter()
        with closing(SocketPoll(self._bell)) as poll:
            while not self._stopping:
                current = [links.sockets() for links in every]
                if current != listed:
                    listed, timeout_ms = current, 0
                    owners = {s: links for sockets, links in zip(current, every, strict=True) for s in sockets}
                    poll.watch(owners.keys())
                for links in every:
                    poll.touch(links.written())
                polled_s = time.perf_counter()
                on_awake(polled_s - woke_s)
                rung, readable = poll.wait(timeout_ms)
                woke_s = time.perf_counter() if timeout_ms != 0 else polled_s
                if rung:
                    self._run_tasks()
                for one in readable:
                    if not one.closed:  # by what was read from another
                        owners[one].on_readable(one, time.monotonic())
                now_s = time.monotonic()
                due_s = min([links.on_time(now_s) for links in every], default=float("inf"))
                busy = self._stopping or work()
                timeout_ms = 0 if busy else max(0, int(min(due_s - now_s, _LONGEST_SLEEP_S) * 1000) + 1)

    def _run_tasks(self) -> None:
        self._bell.recv(4096)
        self._rung = False
        while True:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            task()
