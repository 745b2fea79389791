"""Polling of many sockets: one system call, not one query of each socket at every iteration."""

import selectors
import socket
from collections.abc import Collection, Iterable

import zmq

__all__ = ["SocketPoll"]

_EVENTS, _READABLE = int(zmq.EVENTS), int(zmq.POLLIN)  # numbers: an enumeration's take as long as the query itself


class SocketPoll:
    """Waits for a bell and for ZeroMQ sockets, at a cost that grows with those in use, not with all.

    ZeroMQ's own poll queries every socket at every iteration. A socket also has a file descriptor (ZMQ_FD in its
    manual), which is edge-triggered: a write to the socket, or an incomplete read, may consume the notification. So
    sockets that were readable are queried again at the next `wait`, and sockets that were written to are named by
    `touch`. Only one thread may use it.
    """

    def __init__(self, bell: socket.socket) -> None:
        self._bell = bell
        self._selector = selectors.DefaultSelector()
        self._doubtful: set[zmq.Socket[bytes]] = set()
        self.watch(())

    def watch(self, sockets: Collection["zmq.Socket[bytes]"]) -> None:
        """Wait for these ZeroMQ sockets from now on, and for no others."""
        self._selector.close()  # what was closed meanwhile may have left its file's number to another
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._bell, selectors.EVENT_READ)
        for watched in sockets:
            self._selector.register(int(watched.fd), selectors.EVENT_READ, watched)
        self._doubtful = set(sockets)

    def touch(self, sockets: Iterable["zmq.Socket[bytes]"]) -> None:
        """Note that sockets were written to."""
        self._doubtful.update(sockets)

    def wait(self, timeout_ms: int) -> tuple[bool, set["zmq.Socket[bytes]"]]:
        """Return whether the bell has something to read, and which sockets have; sleep until one has.

        It may also return earlier, with nothing.
        """
        readable = {watched for watched in self._doubtful if _is_readable(watched)}
        rung = False
        for key, _ in self._selector.select(0 if readable else timeout_ms / 1000):
            if key.data is None:
                rung = True
            elif key.data not in readable and _is_readable(key.data):
                readable.add(key.data)
        self._doubtful = readable
        return rung, set(readable)

    def close(self) -> None:
        """Release the sockets, which stay open."""
        self._selector.close()


def _is_readable(zmq_socket: "zmq.Socket[bytes]") -> bool:
    return not zmq_socket.closed and bool(zmq_socket.get(_EVENTS) & _READABLE)  # type: ignore[operator]
