"""Channels apart: one decoder of a stream's bytes, and of each channel samples as its own decoder would give them.

`SharedDecoder.begin` is given the samples of the next bytes; then a stream of each channel reads its own column of
them, on any worker, as far and as fast as it wants: the first reader decodes for all.
"""

from collections import deque
from collections.abc import Iterator
from threading import Lock
from typing import Protocol

import numpy as np

from sonorant.arrays import Waveform
from sonorant.errors import SonorantError
from sonorant.serving.audio_formats.samples import Frames

__all__ = ["ChannelDecoder", "Decoder", "SharedDecoder"]


class Decoder(Protocol):
    """What a stream of one channel reads: see `AudioDecoder`."""

    def pieces(self, data: bytes) -> Iterator[Waveform]:
        """Yield the samples of the next bytes, each decoded when it is asked for."""
        ...

    def last_pieces(self) -> Iterator[Waveform]:
        """Yield the rest."""
        ...


class SharedDecoder:
    """Samples of all channels, decoded once; threads may read different channels at once.

    What one channel has not read yet waits: up to the samples of the bytes that `begin` was given last.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._source: Iterator[Frames] = iter(())
        self._error: SonorantError | None = None
        self._waiting: list[deque[Waveform]] = [deque()]

    def open(self, channels: int) -> None:
        """Have so many channels; before `begin`. Until then there is one."""
        self._waiting = [deque() for _ in range(channels)]

    def begin(self, frames: Iterator[Frames]) -> None:
        """Let the channels read `frames` next, Float32[samples, channels]; drop what they have not read."""
        self._source, self._error = frames, None
        for waiting in self._waiting:
            waiting.clear()

    def channel(self, number: int) -> Iterator[Waveform]:
        """Yield the samples of a channel, from 0; an error of decoding is raised in each, behind the same samples."""
        while (samples := self._next(number)) is not None:
            yield samples

    def _next(self, number: int) -> Waveform | None:
        with self._lock:
            waiting = self._waiting[number]
            if not waiting:
                self._decode()
            return waiting.popleft() if waiting else None

    def _decode(self) -> None:
        if self._error is not None:
            raise self._error
        try:
            frames = next(self._source, None)
        except SonorantError as error:
            self._error = error
            raise
        if frames is not None:
            for waiting, samples in zip(self._waiting, frames.T, strict=True):
                waiting.append(np.ascontiguousarray(samples))


class ChannelDecoder:
    """`Decoder` of one channel; it reads what its `SharedDecoder` has begun, whatever bytes it is given."""

    def __init__(self, shared: SharedDecoder, number: int) -> None:
        self._shared = shared
        self._number = number

    def pieces(self, data: bytes) -> Iterator[Waveform]:
        """See `Decoder`."""
        return self._shared.channel(self._number)

    def last_pieces(self) -> Iterator[Waveform]:
        """See `Decoder`."""
        return self._shared.channel(self._number)
