"""Lag: the time from the arrival of audio at the socket to its recognition; all times are passed in, in seconds.

A transport takes a message when the one before has been recognized; until then it has been read ahead, or lies in the
connection's buffers, and nobody notes its arrival. `Arrivals` infers it: who sends as fast as is spoken sent it the
duration of its audio after the one before. The time in which messages are gathered (`services/recognizer/gathering.py`)
does not count.
"""

import math
from collections.abc import Hashable
from typing import NamedTuple

__all__ = ["AHEAD_S", "Arrivals", "LagWatch", "Turns"]

AHEAD_S = 1.0
"""Who is further ahead does not send as fast as is spoken; clients that do are late and early by turns."""

_WINDOW_S = 5.0  # of the worst lag
_TOLERANCE = 0.95  # clients' clocks differ, and no stream shall be ahead for that


class Turns:
    """When a stream's next piece is due, in start-time fair queueing (Goyal 1996) with a second of audio a second.

    Audio that is sent as it is spoken is due at once, audio that is sent faster when it would have been spoken. So
    recordings take what live streams leave, and at least what one of them gets.
    """

    def __init__(self) -> None:
        self._next_s = -math.inf

    def due_s(self, now_s: float) -> float:
        """Return when the next piece is due."""
        return max(now_s, self._next_s)

    def took(self, due_s: float, audio_s: float) -> None:
        """Note that a piece that was due at `due_s` had so much audio."""
        self._next_s = due_s + _TOLERANCE * audio_s

    def ahead(self, now_s: float) -> bool:
        """Return whether the client sends faster than is spoken, so that it waits for nothing."""
        return self._next_s - now_s > AHEAD_S


class Arrivals:
    """The lag of each message of one stream, from when it was read and when it was recognized."""

    def __init__(self) -> None:
        self._arrived_s = self._done_s = -math.inf
        self._waited_s = 0.0  # since the last message with audio

    def arrived_s(self, read_s: float, audio_s: float) -> float:
        """Return when a message that was read at `read_s` arrived: then, unless it was there when it was asked for.

        audio_s: what came of it; 0: a part of a container, whose audio comes of a later one.
        """
        self._waited_s += read_s - self._done_s
        if not audio_s:
            return read_s
        waited, self._waited_s = self._waited_s >= audio_s / 4, 0.0
        self._arrived_s = read_s if waited else min(read_s, self._arrived_s + audio_s)
        return self._arrived_s

    def recognized(self, done_s: float) -> None:
        """Note when it was recognized; the next is asked for then."""
        self._done_s = done_s


class _Window(NamedTuple):
    began_s: float = -math.inf
    worst_s: float = 0.0


class LagWatch:
    """The recent lag of all streams: the worst, and whether audio waits longer than a limit.

    Other threads may call `overdue` and `worst_s`, which change nothing.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._waiting: dict[Hashable, float] = {}  # since when, oldest first
        self._windows: tuple[_Window, _Window] = (_Window(), _Window())  # the latest, and the one before

    def waits(self, stream: Hashable, since_s: float) -> None:
        """Note that a stream's audio waits to be recognized."""
        self._waiting[stream] = since_s

    def ended(self, stream: Hashable) -> None:
        """Note that a stream's audio waits no more."""
        self._waiting.pop(stream, None)

    def heard(self, now_s: float, lag_s: float) -> None:
        """Note the lag of audio that is recognized now."""
        latest, before = self._windows
        if now_s - latest.began_s >= _WINDOW_S:
            latest, before = _Window(now_s), latest
        self._windows = _Window(latest.began_s, max(latest.worst_s, lag_s)), before

    def overdue(self, now_s: float) -> bool:
        """Return whether some audio has waited longer than the limit."""
        return self._oldest_s(now_s) > self._limit_s

    def worst_s(self, now_s: float) -> float:
        """Return the worst lag of the last 5 to 10 s, of audio that still waits, too."""
        recent = (window.worst_s for window in self._windows if now_s - window.began_s < 2 * _WINDOW_S)
        return max(0.0, self._oldest_s(now_s), *recent)

    def _oldest_s(self, now_s: float) -> float:
        return max((now_s - since_s for since_s in list(self._waiting.values())[:1]), default=0.0)
