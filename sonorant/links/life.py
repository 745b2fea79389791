"""The life of a consumer's link to one endpoint: a state machine. Events in, actions out; no sockets, no clock.

    CLOSED      listed: CONNECTING
    CONNECTING  welcomed: OPEN (DRAINING after drain); BYE, lost, unlisted, or 5 s without an answer: BACKOFF
    OPEN        unlisted, drain: DRAINING; BYE, lost, or silence for dead_after_s: BACKOFF
    DRAINING    as OPEN, but listed: OPEN (not after drain)
    BACKOFF     after 0.25 s: CONNECTING if it is listed, else CLOSED; drain: CLOSED

After drain a link that ends is CLOSED for good. A link that lives keeps its state when its endpoint is unlisted: a
draining producer leaves the list before its last example is out.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

__all__ = [
    "CONNECT_TIMEOUT_S",
    "PAUSE_S",
    "Action",
    "Bye",
    "Close",
    "Connect",
    "LinkLife",
    "Ping",
    "State",
    "stood_still_s",
]

CONNECT_TIMEOUT_S = 5.0
PAUSE_S = 0.25  # back-off between the end of a link and the next attempt
_PINGS = 4  # signs of life that fit in the time after which silence means death
_LOOKS = 4  # ticks in the time-out of a state, so that a standstill of this process shows
_NEVER_S = float("inf")


class State(Enum):
    """State of a link."""

    CONNECTING = auto()
    OPEN = auto()
    DRAINING = auto()
    BACKOFF = auto()
    CLOSED = auto()


class Connect(NamedTuple):
    """Open a connection and send HELLO."""


class Ping(NamedTuple):
    """Send PING: nothing else was sent for a quarter of dead_after_s."""


class Bye(NamedTuple):
    """Send BYE."""


class Close(NamedTuple):
    """Close the connection. was_open: it had credit. broken: it ended without BYE, examples may be lost on it."""

    reason: str
    was_open: bool
    broken: bool


Action = Connect | Ping | Bye | Close


def stood_still_s(looked_s: float, timeout_s: float, now_s: float) -> float:
    """Return the time since `looked_s` if it is so long that this process itself stood still in it, else 0.

    Peers that may be silent for `timeout_s` are looked at several times in it. After a long call that keeps Python's
    lock, or a suspension of the machine, their messages of that time lie unread: it does not count as silence.
    """
    passed_s = now_s - looked_s
    return passed_s if passed_s > timeout_s / 2 else 0.0


class LinkLife:
    """One endpoint's link. Each event returns the actions to carry out, in order; times are monotonic seconds.

    due_s: when to call `tick` next; later events may put it off or move it closer, and an early call does nothing.
    """

    __slots__ = ("_dead_after_s", "_deadline_s", "_drained", "_listed", "_looked_s", "_ping_s", "due_s", "state")

    def __init__(self, dead_after_s: float) -> None:
        self.state = State.CLOSED
        self.due_s = _NEVER_S
        self._dead_after_s = dead_after_s
        self._listed = self._drained = False
        self._deadline_s = self._ping_s = _NEVER_S
        self._looked_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the producer has answered, so that credit may be granted and examples may come."""
        return self.state is State.OPEN or self.state is State.DRAINING

    def listed(self, now_s: float) -> Sequence[Action]:
        """Note that the coordinator lists the endpoint."""
        if self._drained:
            return ()
        self._listed = True
        if self.state is State.CLOSED:
            return self._connect(now_s)
        if self.state is State.DRAINING:
            self.state = State.OPEN
        return ()

    def unlisted(self, now_s: float) -> Sequence[Action]:
        """Note that the endpoint is no longer listed."""
        if self._drained:
            return ()
        self._listed = False
        if self.state is State.CONNECTING:
            return self._end("unlisted", now_s)
        if self.state is State.OPEN:
            self.state = State.DRAINING
        return ()

    def drain(self) -> None:
        """Take nothing new for good: what is under way still comes, and no connection follows on this one."""
        self._listed, self._drained = False, True
        if self.state is State.OPEN:
            self.state = State.DRAINING
        elif self.state is State.BACKOFF:
            self._enter(State.CLOSED, _NEVER_S, 0.0)

    def refused(self) -> None:
        """Note that the endpoint is no address to connect to; the next `listed` is another attempt."""
        self._enter(State.CLOSED, _NEVER_S, 0.0)

    def welcomed(self, now_s: float) -> None:
        """Note the producer's WELCOME."""
        if self.state is State.CONNECTING:
            self._enter(State.OPEN if self._listed else State.DRAINING, self._dead_after_s, now_s)

    def received(self, now_s: float) -> None:
        """Note a message on an open link: a sign of life."""
        if self.is_open:
            self._deadline_s = now_s + self._dead_after_s

    def sent(self, now_s: float) -> None:
        """Note that something was sent, a sign of life for the producer, like PING."""
        self._ping_s = now_s + self._dead_after_s / _PINGS

    def bye_received(self, now_s: float) -> Sequence[Action]:
        """Note the producer's BYE: all that it sent is here, or it has no such lane.

        BYE is the answer, after which the producer closes the connection. Closing earlier would make TCP reset the
        connection when something is sent to it, and discard what had not been read yet.
        """
        if self.state is State.CONNECTING:
            return self._end("unwanted", now_s)
        return (Bye(), *self._end("bye", now_s, broken=False)) if self.is_open else ()

    def lost(self, now_s: float) -> Sequence[Action]:
        """Note that the connection has ended."""
        return self._end("disconnected", now_s) if self._is_connected else ()

    def tick(self, now_s: float) -> Sequence[Action]:
        """Return what is due: time-outs, the next attempt, a PING."""
        if now_s < self.due_s:
            return ()
        if self.state is State.BACKOFF:
            if self._listed:
                return self._connect(now_s)
            self._enter(State.CLOSED, _NEVER_S, now_s)
            return ()
        timeout_s = self._timeout_s
        still_s = stood_still_s(self._looked_s, timeout_s, now_s)
        if still_s:
            self._deadline_s = min(now_s + timeout_s, self._deadline_s + still_s)
        self._looked_s = now_s
        if now_s >= self._deadline_s:
            return self._end("silent", now_s)
        pings = now_s >= self._ping_s
        if pings:
            self.sent(now_s)
        self._schedule()
        return (Ping(),) if pings else ()

    @property
    def _is_connected(self) -> bool:
        return self.state is State.CONNECTING or self.is_open

    @property
    def _timeout_s(self) -> float:
        return CONNECT_TIMEOUT_S if self.state is State.CONNECTING else self._dead_after_s

    def _connect(self, now_s: float) -> Sequence[Action]:
        self.sent(now_s)
        self._enter(State.CONNECTING, CONNECT_TIMEOUT_S, now_s)
        return (Connect(),)

    def _end(self, reason: str, now_s: float, broken: bool = True) -> Sequence[Action]:
        was_open = self.is_open
        if self._drained:
            self._enter(State.CLOSED, _NEVER_S, now_s)
        else:
            self._enter(State.BACKOFF, PAUSE_S, now_s)
        return (Close(reason, was_open, was_open and broken),)

    def _enter(self, state: State, timeout_s: float, now_s: float) -> None:
        self.state, self._deadline_s, self._looked_s = state, now_s + timeout_s, now_s
        self._schedule()

    def _schedule(self) -> None:
        self.due_s = self._deadline_s
        if self._is_connected:
            self.due_s = min(self.due_s, self._ping_s, self._looked_s + self._timeout_s / _LOOKS)
