"""Audio that outlives the stream that it is sent in."""

import asyncio
from collections.abc import AsyncIterator

__all__ = ["Replay"]

_MOST_BYTES = 32_000  # of a chunk that is sent again


class Replay:
    """Chunks of audio, and those of them that no recognizer has recognized yet, to be sent again in the next stream."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._next: asyncio.Future[bytes | None] | None = None
        self._sent = bytearray()
        self._begin = 0  # bytes before those
        self._over = False
        self._error: Exception | None = None

    def check(self) -> None:
        """Raise the error by which the chunks have ended, if any; gRPC would make a cancelled call of it."""
        if self._next is not None and self._next.done():  # after the last stream
            self._next.result()
        if self._error is not None:
            raise self._error

    @property
    def over(self) -> bool:
        """Whether all is recognized."""
        return self._over and not self._sent

    def go_on(self, at: int) -> None:
        """Forget what comes before byte `at` of the audio, as far as it was sent."""
        size = min(max(0, at - self._begin), len(self._sent))  # places at other rates may be a sample out
        del self._sent[:size]
        self._begin += size

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield for one stream: what was sent and not recognized, then what comes; it may be abandoned anywhere."""
        for at in range(0, len(self._sent), _MOST_BYTES):
            yield bytes(self._sent[at : at + _MOST_BYTES])
        while (chunk := await self._read()) is not None:
            self._sent += chunk
            yield chunk
        self._over = True

    async def _read(self) -> bytes | None:
        if self._error is not None:
            return None
        if self._next is None:
            self._next = asyncio.ensure_future(_next(self._chunks))
        chunk = None
        try:
            chunk = await asyncio.shield(self._next)  # a stream's end cancels its reader, not the source
        except Exception as error:
            self._error = error
        self._next = None
        return chunk


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    """Return the next chunk; raises TypeError for what is no buffer of bytes, or of 16-bit samples of one channel."""
    if (chunk := await anext(chunks, None)) is None:
        return None
    view = memoryview(chunk)
    if view.format.lstrip("<=") not in ("B", "b", "c", "h") or view.ndim > 1:
        found = f"a chunk of format {view.format!r} and shape {view.shape}"
        raise TypeError(f"{found}: expected bytes, or 16-bit samples of one channel")
    return view.tobytes()
