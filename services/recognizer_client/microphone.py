"""The microphone for a client to send."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from sonorant.errors import Unavailable

__all__ = ["microphone"]

_INSTALL = "`.venv/bin/pip install -e '.[mic]'` in sonorant's folder brings the package"


@contextmanager
def microphone(rate_hz: int, chunk_ms: float) -> Iterator[tuple[AsyncIterator[bytes], Callable[[], None]]]:
    """Yield the microphone's 16-bit chunks, and what ends them; raises Unavailable without one.

    For use within an event loop. The chunks raise Unavailable where the microphone ends, as one that is unplugged.
    """
    try:
        import sounddevice
    except (ImportError, OSError) as error:  # OSError: the package is there, the PortAudio library is not
        missing = "apt install libportaudio2" if isinstance(error, OSError) else _INSTALL
        raise Unavailable(f"--mic needs the package sounddevice and PortAudio: {error}; {missing}") from error
    heard: asyncio.Queue[bytes | None] = asyncio.Queue()  # empty: no more is wanted; None: the microphone has ended
    loop = asyncio.get_running_loop()

    def hear(audio: Any, frames: int, time: Any, status: Any) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, bytes(audio))

    def end() -> None:
        loop.call_soon_threadsafe(heard.put_nowait, None)

    block = round(rate_hz * chunk_ms / 1000)
    try:
        stream = sounddevice.RawInputStream(
            rate_hz, block, channels=1, dtype="int16", callback=hear, finished_callback=end
        )
        stream.start()
    except sounddevice.PortAudioError as error:
        raise Unavailable(f"--mic: no microphone at {rate_hz} Hz: {error}; connect one") from error
    with closing(stream):
        yield _chunks(heard), lambda: heard.put_nowait(b"")


async def _chunks(heard: "asyncio.Queue[bytes | None]") -> AsyncIterator[bytes]:
    while chunk := await heard.get():
        yield chunk
    if chunk is None:
        raise Unavailable("--mic: the microphone has ended; connect it again")
