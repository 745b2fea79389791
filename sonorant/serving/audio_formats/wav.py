"""WAV: RIFF chunks of PCM, float, µ-law or A-law samples; its length may be unknown while it is written."""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sonorant.arrays import Waveform
from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.raw import alaw, linear16, mulaw
from sonorant.serving.audio_formats.samples import Block, Frames, bad_audio

__all__ = ["WavReader"]

_PCM, _FLOAT, _ALAW, _MULAW, _EXTENSIBLE = 1, 3, 6, 7, 0xFFFE
_UNKNOWN = 0x7FFF0000  # lengths from here on are what programs write that do not know them yet, as is 0
_MOST_FORMAT = 1 << 12
_STEP = 1 << 13


class _Layout(NamedTuple):
    rate_hz: int
    channels: int
    width: int
    decode: Callable[[bytes], Waveform]


class WavReader:
    """Reads a WAV file as it comes."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._layout: _Layout | None = None
        self._begun = False
        self._left: int | None = None  # bytes of the data chunk to come; None: before it

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples; raises BadAudio for what is no WAV of a known kind."""
        self._buffer.push(data)
        while self._left is None and self._chunk():
            pass
        if self._left is not None and self._layout is not None:
            yield from self._samples(self._layout)

    def finish(self) -> Iterator[Block]:
        """Yield nothing; raises BadAudio without a data chunk."""
        if self._left is None:
            raise bad_audio("WAV without a data chunk: cut off in its header")
        return iter(())

    def _chunk(self) -> bool:
        """Read a header; return whether another may be read now."""
        if not self._begun:
            head = self._buffer.take(12, 12, "WAV header")
            if head is not None:
                if head[:4] != b"RIFF" or head[8:] != b"WAVE":
                    raise bad_audio(f"begins with {head[:4]!r} and {head[8:]!r}: a WAV file has RIFF and WAVE there")
                self._begun = True
            return self._begun
        head = self._buffer.peek(8)
        if head is None or self._buffer.skipping:
            return False
        size = int.from_bytes(head[4:], "little")
        if head[:4] == b"fmt ":
            return self._format(size)
        self._buffer.skip(8)
        if head[:4] == b"data":
            if self._layout is None:
                raise bad_audio("WAV: a data chunk before the fmt chunk")
            self._left = size if 0 < size < _UNKNOWN else 1 << 62
            return False
        self._buffer.skip(size + size % 2)
        return True

    def _format(self, size: int) -> bool:
        chunk = self._buffer.take(8 + size + size % 2, _MOST_FORMAT, "WAV: a fmt chunk")
        if chunk is None:
            return False
        if size < 16:
            raise bad_audio(f"WAV: a fmt chunk of {size} bytes, expected 16 or more")
        kind, channels, rate_hz, _, align, bits = struct.unpack_from("<HHIIHH", chunk, 8)
        if kind == _EXTENSIBLE and size >= 40:
            kind = int.from_bytes(chunk[32:34], "little")
        width = bits // 8
        decode = _DECODERS.get((kind, bits))
        if decode is None:
            raise bad_audio(f"WAV: format {kind} with {bits} bits: expected PCM, float, µ-law or A-law")
        if not channels or align != channels * width:
            raise bad_audio(f"WAV: {channels} channels of {width} bytes in blocks of {align} bytes: contradictory")
        self._layout = _Layout(rate_hz, channels, width, decode)
        return True

    def _samples(self, layout: _Layout) -> Iterator[Block]:
        size = layout.width * layout.channels
        while self._left and (whole := min(len(self._buffer), self._left, max(1, _STEP // size) * size) // size):
            taken = self._buffer.take(whole * size, whole * size, "samples") or b""
            self._left -= len(taken)
            frames: Frames = layout.decode(taken).reshape(-1, layout.channels)
            yield Block(frames, layout.rate_hz)
        if not self._left:
            self._buffer.skip(len(self._buffer))  # chunks behind the samples


def _unsigned8(data: bytes) -> Waveform:
    return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128


def _signed24(data: bytes) -> Waveform:
    wide = np.zeros((len(data) // 3, 4), np.uint8)
    wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
    return _signed32(wide.tobytes())


def _signed32(data: bytes) -> Waveform:
    return (np.frombuffer(data, "<i4") / 2.0**31).astype(np.float32)


def _float32(data: bytes) -> Waveform:
    return np.frombuffer(data, "<f4").astype(np.float32)


def _float64(data: bytes) -> Waveform:
    return np.clip(np.frombuffer(data, "<f8"), -2, 2).astype(np.float32)  # NaN stays


_DECODERS: dict[tuple[int, int], Callable[[bytes], Waveform]] = {
    (_PCM, 8): _unsigned8,
    (_PCM, 16): linear16,
    (_PCM, 24): _signed24,
    (_PCM, 32): _signed32,
    (_FLOAT, 32): _float32,
    (_FLOAT, 64): _float64,
    (_ALAW, 8): alaw,
    (_MULAW, 8): mulaw,
}
