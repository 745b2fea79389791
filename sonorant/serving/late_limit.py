"""The limit of streams that late audio sets: fewer than those that were late, then gradually more.

Additive increase and multiplicative decrease, as networks do at congestion (Chiu & Jain 1989), so that a disturbance
costs some of the load and not all of it.
"""

import math

__all__ = ["LateLimit"]

_WINDOW_S = 0.5
_LATE_SHARE = 0.05  # an SLO is on the 95th percentile
_DECREASE = 0.85
_INCREASE = 0.05  # of the streams that were late, each second
_FORGOTTEN_S = 10.0


class LateLimit:
    """Judges windows of time by the lag of their audio, in seconds; late is what exceeds `limit_s`.

    Other threads may call `streams`, which changes nothing.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._began_s = self._at_s = -math.inf
        self._all = self._late = 0
        self._audio_s = self._first_lag_s = 0.0
        self._before = math.inf  # streams of the window before
        self._lowered: tuple[float, float] = (-math.inf, math.inf)  # when, and streams that were late

    def heard(self, now_s: float, audio_s: float, lag_s: float) -> None:
        """Note that live audio is recognized, and its lag."""
        if now_s - self._began_s >= _WINDOW_S:
            took_s = max(self._at_s - self._began_s, _WINDOW_S)
            streams = self._audio_s / took_s
            if self._late > 1 + _LATE_SHARE * self._all:  # one late message is no sign
                # Behind a stall comes the audio of the stall, too, in which the first message has waited.
                least = self._audio_s / (took_s + self._first_lag_s)
                self._lowered = self._at_s, max(least, min(streams, self._before))
            self._before = streams
            self._began_s, self._all, self._late, self._audio_s = now_s, 0, 0, 0.0
            self._first_lag_s = lag_s
        self._at_s = now_s
        self._all += 1
        self._late += lag_s > self._limit_s
        self._audio_s += audio_s

    def streams(self, now_s: float) -> float:
        """Return how many streams, a second of audio a second each, may be open now; inf: any number."""
        at_s, streams = self._lowered
        if now_s - at_s > _FORGOTTEN_S:
            return math.inf
        return streams * (_DECREASE + _INCREASE * max(0.0, now_s - at_s))
