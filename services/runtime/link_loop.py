"""Who may touch a process's data sockets, and when: one thread at a time, whichever has work for them.

A thread of the loop's own waits for messages and deadlines. Another thread that has work does it itself if nobody else
is at the sockets, so that an example that is ready leaves at once and no thread has to be woken for it.
"""

import select
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from queue import SimpleQueue
from typing import Protocol

import zmq

__all__ = ["LinkLoop", "Links"]


class Links(Protocol):
    """Sockets and what to do about them; the loop lets in one thread at a time. Times are monotonic seconds."""

    @property
    def faults(self) -> int:
        """Messages that were dropped, and connections that ended without a goodbye; any thread may ask."""
        ...

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to now: the same object as before, if they are the same."""
        ...

    def take_written(self) -> Collection[zmq.Socket[bytes]]:
        """Return the sockets that were written to since the last call."""
        ...

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        ...

    def on_time(self, now_s: float) -> float:
        """Do what is due, whenever something happened; return when the next thing will be (infinity: nothing)."""
        ...

    def close(self) -> None:
        """Close all sockets."""
        ...


class LinkLoop:
    """Serves the sockets of all `links`.

    An exception, in whichever thread, ends the loop and goes to `on_crash`.
    """

    def __init__(self, links: Sequence[Links], on_crash: Callable[[Exception], None]) -> None:
        self._links = links
        self._on_crash = on_crash
        self._turn = threading.Lock()  # who holds it may touch the sockets
        self._holder = 0
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._rung = False
        self._stopping = False
        self._wakes_s = 0.0
        self._listed: list[Sequence[zmq.Socket[bytes]]] = []
        self._owners: dict[zmq.Socket[bytes], Links] = {}
        self._thread = threading.Thread(target=self._run, name="links", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, task: Callable[[], None]) -> None:
        """Run `task` with the sockets: at once if no other thread is at them, else in the loop's thread, soon."""
        if self._holder == threading.get_ident():
            task()
        elif self._thread.is_alive() and self._turn.acquire(blocking=False):
            try:
                self._run_here(task)
            finally:
                self._release()
        else:
            self._tasks.put(task)
            self._ring()

    def stop(self) -> None:
        """Close all sockets and wait for the thread's end."""
        self._stopping = True
        self._ring()
        self._thread.join()
        self._bell.close()
        self._ringer.close()

    def _run_here(self, task: Callable[[], None]) -> None:
        """Run a task in a thread that is not the loop's, and wake that if there is work for it."""
        self._holder = threading.get_ident()
        if self._stopping:
            return
        try:
            self._run_tasks()  # first: what one thread posts is done in its order
            task()
            due_s = self._on_time()
            if due_s < self._wakes_s or self._changed() or self._readable(self._written()):
                self._ring()
        except Exception as error:  # the edge, as in `_run`
            self._crash(error)
            self._ring()

    def _release(self) -> None:
        self._holder = 0
        self._turn.release()

    def _ring(self) -> None:
        if self._rung:  # and nothing is looked at before it is taken back
            return
        self._rung = True
        try:
            self._ringer.send(b"!")
        except (BlockingIOError, OSError):  # full: it rings already; closed: nobody is left to hear it
            return

    def _crash(self, error: Exception) -> None:
        self._stopping = True
        self._on_crash(error)

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # the thread's edge
            self._crash(error)
        finally:
            with self._turn:
                self._stopping = True
                for links in self._links:
                    links.close()

    def _serve(self) -> None:
        poller, sockets = select.poll(), dict[int, zmq.Socket[bytes]]()
        readable: Collection[zmq.Socket[bytes]] = ()
        while not self._stopping:
            self._turn.acquire()
            self._holder = threading.get_ident()
            try:
                self._hear()
                self._run_tasks()
                self._receive(readable)
                self._wakes_s = self._on_time()
                unchecked = {*readable, *self._written()}
                if self._changed():
                    self._list_sockets()
                    poller, sockets = select.poll(), {int(s.getsockopt(zmq.FD)): s for s in self._owners}
                    for number in (self._bell.fileno(), *sockets):
                        poller.register(number, select.POLLIN)
                    unchecked.update(self._owners)
                # A socket's descriptor tells of news only once, and whoever uses the socket takes the news.
                readable = self._readable(unchecked)
            finally:
                self._release()
            if not readable and not self._stopping:
                readable = self._wait(poller, sockets)

    def _wait(self, poller: select.poll, sockets: dict[int, zmq.Socket[bytes]]) -> list[zmq.Socket[bytes]]:
        """Sleep until there is news or something due; return the sockets that have news."""
        left_s = self._wakes_s - time.monotonic()
        ready = poller.poll(None if left_s == float("inf") else max(0, int(left_s * 1000) + 1))
        return [sockets[number] for number, _ in ready if number in sockets]

    def _receive(self, readable: Iterable[zmq.Socket[bytes]]) -> None:
        for one in readable:
            if not one.closed:
                self._owners[one].on_readable(one, time.monotonic())

    def _on_time(self) -> float:
        now_s = time.monotonic()
        return min((links.on_time(now_s) for links in self._links), default=float("inf"))

    def _written(self) -> list[zmq.Socket[bytes]]:
        return [written for links in self._links for written in links.take_written()]

    def _readable(self, sockets: Iterable[zmq.Socket[bytes]]) -> list[zmq.Socket[bytes]]:
        return [one for one in sockets if not one.closed and int(one.getsockopt(zmq.EVENTS)) & zmq.POLLIN]

    def _changed(self) -> bool:
        """Whether there are other sockets than those that are listened to."""
        if not self._listed:
            return True
        return any(links.sockets() is not listed for links, listed in zip(self._links, self._listed, strict=True))

    def _list_sockets(self) -> None:
        self._listed = [links.sockets() for links in self._links]
        self._owners = {s: links for sockets, links in zip(self._listed, self._links, strict=True) for s in sockets}

    def _hear(self) -> None:
        """Take the bell's ringing back; what it rang for must be looked at after that."""
        if self._rung:
            try:
                self._bell.recv(4096)
            except BlockingIOError:  # it is about to ring
                return
            self._rung = False

    def _run_tasks(self) -> None:
        while not self._tasks.empty():
            self._tasks.get_nowait()()
