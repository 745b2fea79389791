"""Admission control: the stream that would delay the others is refused at once, and none is admitted after `close`."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonorant.errors import Unavailable
from sonorant.serving.errors import BadRequest, TooManyStreams
from sonorant.serving.headroom import Headroom

__all__ = ["Admission"]

_RETRY_S = (0.5, 10.0)  # shortest and longest advice
_UNKNOWN_STREAM_S = 10.0
_KEPT = 0.9  # of the mean duration, when a stream ends


class Admission:
    """Counts streams, each at the cost of live speech from its first moment on; for one thread (an event loop's).

    max_streams: hard limit. headroom: what is measured, with `clock`, in seconds; None: the limit alone counts.
    """

    def __init__(
        self, max_streams: int, headroom: Headroom | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._max_streams = max_streams
        self._headroom = headroom
        self._clock = clock
        self._active = 0
        self._stream_s = _UNKNOWN_STREAM_S
        self._free_s = -math.inf  # when the streams that were told to come again have all found a slot
        self._closed = False

    @property
    def active(self) -> int:
        """Open streams."""
        return self._active

    @property
    def closed(self) -> bool:
        """Whether no stream is admitted any more."""
        return self._closed

    @property
    def fitting(self) -> int:
        """Streams that would be admitted now."""
        most = self._max_streams - self._active
        return most if self._headroom is None else min(most, self._headroom.fitting(self._clock(), self._active))

    @property
    def load(self) -> float:
        """Share of the capacity in use, from 0 to 1: no further stream fits."""
        return self._active / max(1, self._active + self.fitting)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let what computes nothing in, without a slot; raises Unavailable after `close`."""
        if self._closed:
            raise Unavailable("this recognizer is shutting down; open the stream again, on another")
        yield

    @contextmanager
    def slot(self, count: int = 1, held: int = 0) -> Iterator[None]:
        """Hold a slot while the context lasts; raises TooManyStreams, and Unavailable after `close`.

        count: slots to hold, all or none; held: slots that the same stream has already, which fits whatever the
        headroom where there is no other. Raises BadRequest if it never fits.
        """
        with self.open():
            if held and held + count > self._max_streams:
                raise BadRequest(f"{held + count} streams in one: this recognizer has {self._max_streams} at most")
            if self.fitting < count and not self._active == held > 0:
                raise self._refusal(count)
            self._active += count
            began_s = self._clock()
            try:
                yield
            finally:
                self._active -= count
                self._stream_s += (1 - _KEPT) * (self._clock() - began_s - self._stream_s)

    def close(self) -> None:
        """Admit no more streams; open ones keep their slots."""
        self._closed = True

    def retry_s(self, streams: int) -> float:
        """Return the seconds in which one of so many streams ends, if they last as long as others did."""
        shortest_s, longest_s = _RETRY_S
        return min(longest_s, max(shortest_s, self._stream_s / max(1, streams)))

    def _refusal(self, count: int) -> TooManyStreams:
        """Return the error, with the time in which a stream ends for this client, after those that came before it."""
        now_s, (shortest_s, longest_s) = self._clock(), _RETRY_S
        self._free_s = max(now_s, self._free_s) + self._stream_s / max(1, self._active)
        self._free_s = min(self._free_s, now_s + longest_s)
        retry_s = max(shortest_s, self._free_s - now_s)
        if self._active + count > self._max_streams:
            why = f"no more than {self._max_streams} at once"
        else:
            why = f"{'one' if count == 1 else count} more would delay the others"
        return TooManyStreams(f"{self._active} streams, {why}; try again in {retry_s:.1f} s", retry_s)
