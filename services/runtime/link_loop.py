"""The thread that owns a process's data sockets; all others hand it work, because a ZeroMQ socket has one owner."""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

import zmq

__all__ = ["LinkLoop", "Links"]


class Links(Protocol):
    """A set of sockets and what to do about them; only the loop's thread calls it. Times are monotonic seconds."""

    @property
    def faults(self) -> int:
        """Messages that were dropped, and connections that ended without a goodbye; any thread may ask."""
        ...

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to now: the same object as before, if they are the same."""
        ...

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        ...

    def on_time(self, now_s: float) -> float:
        """Do what is due, at every turn of the loop; return when the next thing will be (infinity: nothing)."""
        ...

    def close(self) -> None:
        """Close all sockets."""
        ...


class LinkLoop:
    """Polls the sockets of all `links`, and sleeps until a message, a task or a deadline comes.

    An exception in the thread ends the loop and goes to `on_crash`.
    """

    def __init__(self, links: Sequence[Links], on_crash: Callable[[Exception], None]) -> None:
        self._links = links
        self._on_crash = on_crash
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._rung = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="links", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, task: Callable[[], None]) -> None:
        """Run `task` in the loop's thread: at once when called there, soon otherwise."""
        if threading.get_ident() == self._thread.ident:
            task()
            return
        self._tasks.put(task)
        if self._rung:  # and the tasks are not looked at before it is taken back
            return
        self._rung = True
        try:
            self._ringer.send(b"!")
        except (BlockingIOError, OSError):  # full: it rings already; closed: nobody is left to do the task
            return

    def stop(self) -> None:
        """Close all sockets and wait for the thread's end."""
        self.post(self._stop)
        self._thread.join()
        self._bell.close()
        self._ringer.close()

    def _stop(self) -> None:
        self._stopping = True

    def _run(self) -> None:
        try:
            self._poll()
        except Exception as error:  # the thread's edge
            self._on_crash(error)
        finally:
            for links in self._links:
                links.close()

    def _poll(self) -> None:
        poller, owners = zmq.Poller(), dict[zmq.Socket[bytes], Links]()
        listed: list[Sequence[zmq.Socket[bytes]]] = []
        while not self._stopping:
            now_s = time.monotonic()
            due_s = min((links.on_time(now_s) for links in self._links), default=float("inf"))
            current = [links.sockets() for links in self._links]
            if not listed or any(now is not then for now, then in zip(current, listed, strict=True)):
                listed, poller = current, zmq.Poller()
                owners = {s: links for sockets, links in zip(current, self._links, strict=True) for s in sockets}
                for pollable in (self._bell, *owners):
                    poller.register(pollable, zmq.POLLIN)
            timeout_ms = None if due_s == float("inf") else max(0, int((due_s - now_s) * 1000) + 1)
            for readable, _ in poller.poll(timeout_ms):
                if isinstance(readable, zmq.Socket):
                    if not readable.closed:
                        owners[readable].on_readable(readable, time.monotonic())
                else:
                    self._run_tasks()

    def _run_tasks(self) -> None:
        self._bell.recv(4096)
        self._rung = False
        while True:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            task()
