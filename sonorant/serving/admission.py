"""Admission control: a limit on open streams, and none new after `close`."""

from collections.abc import Iterator
from contextlib import contextmanager

from sonorant.errors import Unavailable
from sonorant.serving.errors import TooManyStreams

__all__ = ["Admission"]


class Admission:
    """Counts streams; for one thread (an event loop's)."""

    def __init__(self, max_streams: int) -> None:
        self._max_streams = max_streams
        self._active = 0
        self._closed = False

    @property
    def active(self) -> int:
        """Open streams."""
        return self._active

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot while the context lasts; raises TooManyStreams, and Unavailable after `close`."""
        if self._closed:
            raise Unavailable("this recognizer is shutting down; open the stream again, on another")
        if self._active >= self._max_streams:
            raise TooManyStreams(f"{self._active} streams, no more than {self._max_streams} at once; try again later")
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1

    def close(self) -> None:
        """Admit no more streams; open ones keep their slots."""
        self._closed = True
