"""Who calls: the API key of the call that is being served, and its own limit of streams."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sonorant.serving.admission import Admission
from sonorant.serving.api_keys import ApiKey
from sonorant.serving.errors import BadRequest, TooManyStreams
from sonorant.serving.headroom import Headroom

__all__ = ["CALLER", "KeyedAdmission"]

CALLER: ContextVar[ApiKey | None] = ContextVar("caller", default=None)
"""The API key of the call that this task serves; None: there is none. Transports set it when they have authenticated
the call; tasks that the call begins, such as a batch, inherit it."""


class KeyedAdmission(Admission):
    """Admission in which a stream also counts against the limit of its caller's key."""

    def __init__(
        self, max_streams: int, headroom: Headroom | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        super().__init__(max_streams, headroom, clock)
        self.streams: Counter[str] = Counter()
        """Open streams by the name of their key."""
        self.refused: Counter[str] = Counter()
        """Streams refused for the limit of their key, by its name."""

    @property
    def fitting(self) -> int:
        """Streams that would be admitted now, of the caller if there is one."""
        caller = CALLER.get()
        if caller is None or caller.streams is None:
            return super().fitting
        return min(super().fitting, caller.streams - self.streams[caller.name])

    @contextmanager
    def slot(self, count: int = 1, held: int = 0) -> Iterator[None]:
        """Hold slots, and as many of the caller's; see `Admission.slot`."""
        caller = CALLER.get()
        if caller is None:
            with super().slot(count, held):
                yield
            return
        self._check(caller, count, held)
        with super().slot(count, held):
            self.streams[caller.name] += count
            try:
                yield
            finally:
                self.streams[caller.name] -= count

    def _check(self, caller: ApiKey, count: int, held: int) -> None:
        active = self.streams[caller.name]
        if caller.streams is None or active + count <= caller.streams:
            return
        if held + count > caller.streams:
            raise BadRequest(f"API key {caller.name!r}: {held + count} streams in one: it has {caller.streams} at most")
        self.refused[caller.name] += 1
        retry_s = self.retry_s(active)
        raise TooManyStreams(
            f"API key {caller.name!r}: {active} streams, no more than {caller.streams} at once; "
            f"try again in {retry_s:.1f} s",
            retry_s,
        )
