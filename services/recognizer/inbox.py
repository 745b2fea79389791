"""A client's messages, within the idle limit, until the recognizer ends its streams."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from sonorant.serving.errors import Draining, IdleStream

__all__ = ["Ending", "Inbox"]

# A flood of tiny messages is read at this rate, and the rest stays with its client, so that it delays no other's. A
# message of so many bytes has 4 ms of audio at 8 kHz.
_SMALL_BYTES, _SMALL_S = 64, 0.002

_T = TypeVar("_T")


class Ending:
    """The end of a drain: `begin` ends every wait for a message, and allows no other."""

    def __init__(self) -> None:
        self.begun = False
        self._waits: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """End the waits; called in the event loop."""
        self.begun = True
        for wait in self._waits:
            if not wait.expired():  # an idle limit may have fired in this turn of the loop
                wait.reschedule(asyncio.get_running_loop().time())

    @contextmanager
    def ends(self, wait: asyncio.Timeout) -> Iterator[None]:
        """Let the ending end `wait` while the context lasts."""
        self._waits.add(wait)
        try:
            yield
        finally:
            self._waits.discard(wait)


class Inbox(Generic[_T]):
    """Messages of one client; for one event loop. After the first, tiny ones, or such as are no bytes, come at a rate.

    idle_s: longest time without audio, from the beginning or the last `heard`, however many empty messages come.
    """

    def __init__(self, messages: AsyncIterator[_T], idle_s: float, ending: Ending) -> None:
        self._messages = messages
        self._idle_s = idle_s
        self._ending = ending
        self._opened = False
        self.heard()

    def heard(self) -> None:
        """Count idle time from now on: audio has come and is recognized."""
        self._idle_at_s = asyncio.get_running_loop().time() + self._idle_s

    async def next(self) -> _T | None:
        """Return the next message, or None after the last; raises IdleStream, and Draining when the drain ends."""
        message = await self._received()
        if self._opened and message is not None and not (isinstance(message, bytes) and len(message) >= _SMALL_BYTES):
            await asyncio.sleep(_SMALL_S)
        self._opened = True
        return message

    async def _received(self) -> _T | None:
        try:
            if not self._ending.begun:
                async with asyncio.timeout_at(self._idle_at_s) as wait:
                    with self._ending.ends(wait):
                        return await anext(self._messages, None)
        except TimeoutError:
            if not self._ending.begun:
                raise IdleStream(
                    f"no audio for {self._idle_s:g} s; send it as it is spoken, or end the stream"
                ) from None
        raise Draining("this recognizer shuts down; go on in a new stream, on another")
