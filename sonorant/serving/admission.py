"""Admission control: the stream that would delay the others is refused at once, and none is admitted after `close`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonorant.errors import Unavailable
from sonorant.serving.errors import TooManyStreams
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
        self._closed = False

    @property
    def active(self) -> int:
        """Open streams."""
        return self._active

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
    def slot(self) -> Iterator[None]:
        """Hold a slot while the context lasts; raises TooManyStreams, and Unavailable after `close`."""
        with self.open():
            if self.fitting < 1:
                raise self._refusal()
            self._active += 1
            began_s = self._clock()
            try:
                yield
            finally:
                self._active -= 1
                self._stream_s += (1 - _KEPT) * (self._clock() - began_s - self._stream_s)

    def close(self) -> None:
        """Admit no more streams; open ones keep their slots."""
        self._closed = True

    def retry_s(self, streams: int) -> float:
        """Return the seconds in which one of so many streams ends, if they last as long as others did."""
        shortest_s, longest_s = _RETRY_S
        return min(longest_s, max(shortest_s, self._stream_s / max(1, streams)))

    def _refusal(self) -> TooManyStreams:
        """Return the error, with the time in which one of the open streams is expected to end."""
        retry_s = self.retry_s(self._active)
        if self._active >= self._max_streams:
            why = f"no more than {self._max_streams} at once"
        else:
            why = "one more would delay the others"
        return TooManyStreams(f"{self._active} streams, {why}; try again in {retry_s:.1f} s", retry_s)
