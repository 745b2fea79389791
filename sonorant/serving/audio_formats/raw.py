"""Headerless audio: 16-bit samples, and the 8-bit companded ones of telephony (ITU-T G.711)."""

from collections.abc import Callable, Iterator

import numpy as np

from sonorant.arrays import Waveform
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


def _mulaw_table() -> Waveform:
    code = ~np.arange(256, dtype=np.uint8)
    exponent, mantissa = (code >> 4 & 7).astype(np.int32), (code & 15).astype(np.int32)
    magnitude = ((mantissa << 3) + 0x84 << exponent) - 0x84  # 0x84: the bias, 33 of 14 bits
    return from_int16(np.where(code & 0x80, -magnitude, magnitude).astype(np.int16))


def _alaw_table() -> Waveform:
    code = np.arange(256, dtype=np.uint8) ^ np.uint8(0x55)  # every other bit is inverted on the line
    exponent, mantissa = (code >> 4 & 7).astype(np.int32), (code & 15).astype(np.int32)
    low = (mantissa << 4) + 8
    magnitude = np.where(exponent > 0, low + 0x100 << np.maximum(exponent - 1, 0), low)
    return from_int16(np.where(code & 0x80, magnitude, -magnitude).astype(np.int16))


_MULAW = _mulaw_table()
_ALAW = _alaw_table()
_READERS: dict[str, tuple[int, Callable[[bytes], Waveform]]] = {
    "LINEAR16": (2, linear16),
    "MULAW": (1, mulaw),
    "ALAW": (1, alaw),
}
