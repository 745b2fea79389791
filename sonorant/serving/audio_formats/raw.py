"""Headerless audio: 16-bit samples, and the 8-bit companded ones of telephony (ITU-T G.711)."""

from collections.abc import Callable, Iterator

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.g711 import decode_a_law, decode_mu_law
from sonorant.audio.pcm import from_int16
from sonorant.serving.audio_formats.samples import Block, Frames
from sonorant.serving.errors import BadRequest

__all__ = ["RawReader", "alaw", "linear16", "mulaw"]

_BLOCK = 1 << 13  # samples of all channels; messages may have many


def linear16(data: bytes) -> Waveform:
    """Return Float32[samples] of 16-bit little-endian samples."""
    return from_int16(np.frombuffer(data, "<i2"))


def mulaw(data: bytes) -> Waveform:
    """Return Float32[samples] of µ-law samples, 14 bits on a scale of 16."""
    return _MULAW[np.frombuffer(data, np.uint8)]


def alaw(data: bytes) -> Waveform:
    """Return Float32[samples] of A-law samples, 13 bits on a scale of 16."""
    return _ALAW[np.frombuffer(data, np.uint8)]


class RawReader:
    """Reads headerless samples, interleaved; a message has whole ones of all channels."""

    def __init__(self, encoding: str, rate_hz: int, channels: int) -> None:
        self._width, self._decode = _READERS[encoding]
        self._rate_hz = rate_hz
        self._channels = channels

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples; raises BadRequest for a part of one."""
        size = self._width * self._channels
        if len(data) % size:
            raise BadRequest(f"{len(data)} bytes of audio: {_expected(self._width, self._channels)}")
        step = max(1, _BLOCK // self._channels) * size
        for at in range(0, len(data), step):
            yield Block(self._frames(data[at : at + step]), self._rate_hz, bounded=True)

    def finish(self) -> Iterator[Block]:
        """Yield nothing: no sample is held back."""
        return iter(())

    def _frames(self, data: bytes) -> Frames:
        return self._decode(data).reshape(-1, self._channels)


def _expected(width: int, channels: int) -> str:
    if channels > 1:
        return f"expected whole {8 * width}-bit samples of {channels} channels, a multiple of {width * channels} bytes"
    return "expected whole 16-bit samples, an even number of bytes"


_EVERY_CODE = np.arange(256, dtype=np.uint8)
_MULAW = from_int16(decode_mu_law(_EVERY_CODE))
_ALAW = from_int16(decode_a_law(_EVERY_CODE))
_READERS: dict[str, tuple[int, Callable[[bytes], Waveform]]] = {
    "LINEAR16": (2, linear16),
    "MULAW": (1, mulaw),
    "ALAW": (1, alaw),
}
