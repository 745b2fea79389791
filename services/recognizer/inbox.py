"""A client's messages, within the idle limit, until the recognizer ends its streams."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Self, TypeVar, cast

from sonorant.serving.errors import Draining, IdleStream

__all__ = ["Ending", "Inbox"]

# A flood of tiny messages is read at this rate, and the rest stays with its client, so that it delays no other's. A
# message of so many bytes has 4 ms of audio at 8 kHz.
_SMALL_BYTES, _SMALL_S = 64, 0.002
_STALL_S = 1.0  # late by more, the process stood still, as if paused; for so long it reads what came meanwhile
_MOST_GATHERED, _MOST_GATHERED_BYTES = 16, 1 << 15  # messages that are read ahead where they are gathered, and bytes

_T = TypeVar("_T")


class Ending:
    """The end of a drain: `begin` ends every wait for a message, and allows no other."""

    def __init__(self) -> None:
        self.begun = False
        self.inboxes: set[Inbox[Any]] = set()
        """The open ones."""

    def begin(self) -> None:
        """End the waits; called in the event loop."""
        self.begun = True
        for inbox in self.inboxes:
            inbox.wake()


class Inbox(Generic[_T]):
    """Messages of one client, while a context lasts; for one event loop.

    One task reads them all, the next one while the last is recognized, and several where they are gathered: a read that
    is cancelled, as waits are, would lose its message. After the first, tiny ones, or such as are no bytes, come at a
    rate. None is kept once returned.

    idle_s: longest time without audio, from the beginning or the last `heard`, however many empty messages come.
    gather_s: returns for how long messages are gathered; 0: each is taken when it comes.
    """

    def __init__(
        self, messages: AsyncIterator[_T], idle_s: float, ending: Ending, gather_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._messages = messages
        self._idle_s = idle_s
        self._ending = ending
        self._gather_s = gather_s
        self._gathered_at_s = -math.inf
        self._gathers = False  # whether `gather` waits
        self._loop = asyncio.get_running_loop()
        self._arrived: deque[_T] = deque()
        self._over = False  # whether no more arrive
        self._error: Exception | None = None  # of the transport
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._news.set()  # but for a wait
        self._timer: asyncio.TimerHandle | None = None
        self._opened = False
        self.heard()

    async def __aenter__(self) -> Self:
        self._ending.inboxes.add(self)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._ending.inboxes.discard(self)
        self._reading.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def heard(self) -> None:
        """Count idle time from now on: audio has come and is recognized."""
        self._idle_at_s = self._loop.time() + self._idle_s
        self._stalled = False

    async def next(self) -> _T | None:
        """Return the next message, or None after the last; raises IdleStream, and Draining when the drain ends."""
        self._check()
        while not self._arrived and not self._over:
            if self._timer is None:
                self._look()
            await self._wait()
            self._check()
        message = self._taken()
        if self._opened and message is not None and not _is_audio(message):
            await asyncio.sleep(_SMALL_S)
        self._opened = True
        return message

    async def gather(self) -> bool:
        """Wait while messages are gathered, since the last time that this returned; False: they are not.

        Other messages than audio, as much audio as may be read ahead, the end of all messages and that of a drain end
        the wait.
        """
        if not (gather_s := self._gather_s()):
            return False
        until_s = self._gathered_at_s + gather_s
        if until_s > self._loop.time() and not self._over and not self._ending.begun:
            await self._wait_until(until_s)
        self._gathered_at_s = self._loop.time()
        return True

    def take_audio(self) -> bytes | None:
        """Return the next message if it has arrived, and is audio, no tiny one."""
        if self._arrived and _is_audio(self._arrived[0]):
            return cast(bytes, self._taken())
        return None

    def put_back(self, message: _T) -> None:
        """Let `next` return a message again, before those that have come since."""
        self._arrived.appendleft(message)

    async def rest(self) -> AsyncIterator[_T]:
        """Yield what else comes, without limits."""
        while self._arrived or not self._over:
            if (message := self._taken()) is not None:
                yield message
            else:
                await self._wait()

    def wake(self) -> None:
        """Let a wait for a message end: it has arrived, or a limit is to be checked."""
        self._news.set()

    async def _wait_until(self, until_s: float) -> None:
        """Wait for a time, or until no more may be read ahead."""
        self._gathers = True
        timer = self._loop.call_at(until_s, self.wake)
        try:
            if not self._arrived or not self._is_full():
                self._room.set()
                await self._wait()
        finally:
            timer.cancel()
            self._gathers = False

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()

    def _check(self) -> None:
        if self._ending.begun:
            raise Draining("this recognizer shuts down; go on in a new stream, on another")
        if self._is_idle():
            raise IdleStream(f"no audio for {self._idle_s:g} s; send it as it is spoken, or end the stream")

    def _is_idle(self) -> bool:
        """Return whether the idle limit is over, of a process that did not stand still when it was."""
        now_s = self._loop.time()
        if now_s > self._idle_at_s + _STALL_S and not self._stalled:
            self._idle_at_s, self._stalled = now_s + _STALL_S, True
        return now_s >= self._idle_at_s

    def _look(self) -> None:
        """Wake the wait at the idle limit; audio moves it, and then this looks again: no timer for each message."""
        if self._is_idle():
            self._timer = None
            self.wake()
        else:
            self._timer = self._loop.call_at(self._idle_at_s, self._look)

    def _is_full(self) -> bool:
        """Return whether no more may be read ahead: one message, or what is gathered."""
        if not self._gather_s() or not _is_audio(self._arrived[-1]):
            return True
        size = sum(len(message) for message in self._arrived if isinstance(message, bytes))
        return len(self._arrived) >= _MOST_GATHERED or size >= _MOST_GATHERED_BYTES

    def _taken(self) -> _T | None:
        if self._arrived:
            message = self._arrived.popleft()
            if not self._arrived:
                self._room.set()
            return message
        if self._error is not None:
            raise self._error
        return None

    async def _read(self) -> None:
        try:
            async for message in self._messages:
                awaited = not self._news.is_set() and not self._gathers
                self._arrived.append(message)
                del message
                full = self._is_full()
                if full or not self._gathers:
                    self.wake()
                if full and not awaited:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:
            self._error = error
        self._over = True
        self.wake()


def _is_audio(message: object) -> bool:
    """Return whether it is bytes, and not so few that they come at a rate."""
    return isinstance(message, bytes) and len(message) >= _SMALL_BYTES
