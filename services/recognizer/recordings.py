"""Audio for a client to send: files, and the microphone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr

from sonorant.arrays import Waveform
from sonorant.errors import BadAudio, Unavailable

__all__ = ["microphone", "read_recording"]


def read_recording(path: Path, rate_hz: int) -> Waveform:
    """Return a file's samples [samples] in [-1, 1], channels averaged, at `rate_hz`; raises BadAudio."""
    try:
        samples, found_hz = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, OSError) as error:
        reason = "no such file" if not path.exists() else str(error)
        raise BadAudio(str(path), f"{reason}; expected a recording that soundfile reads") from error
    if not np.isfinite(samples).all():
        raise BadAudio(str(path), "samples that are not finite; expected numbers in [-1, 1]")
    mono: Waveform = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    if found_hz != rate_hz:
        mono = soxr.resample(mono, found_hz, rate_hz).astype(np.float32)
    return mono


@contextmanager
def microphone(rate_hz: int, chunk_ms: float) -> Iterator[AsyncIterator[bytes]]:
    """Yield an endless iterator of 16-bit chunks that the microphone hears; raises Unavailable if there is none.

    For use within an event loop.
    """
    try:
        import sounddevice
    except (ImportError, OSError) as error:  # OSError: the package is there, the PortAudio library is not
        raise Unavailable(
            f"--mic needs the package sounddevice and PortAudio: {error}; pip install sounddevice"
        ) from error
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def hear(audio: Any, frames: int, time: Any, status: Any) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, bytes(audio))

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield await heard.get()

    try:
        stream = sounddevice.RawInputStream(
            rate_hz, blocksize=round(rate_hz * chunk_ms / 1000), channels=1, dtype="int16", callback=hear
        )
    except sounddevice.PortAudioError as error:
        raise Unavailable(f"--mic: no microphone to listen to at {rate_hz} Hz: {error}; connect one") from error
    with stream:
        yield chunks()
