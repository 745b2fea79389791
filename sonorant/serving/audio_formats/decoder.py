"""A client's bytes to samples for the model: read, checked, mixed unless apart, resampled, within a limit."""

import sys
from collections.abc import Iterator

import numpy as np
import soxr

from sonorant.arrays import Waveform
from sonorant.serving.audio_formats.audio_format import CONTAINERS, MOST_CHANNELS, RATES_HZ, AudioFormat, check_format
from sonorant.serving.audio_formats.detection import open_reader
from sonorant.serving.audio_formats.samples import Block, bad_audio

__all__ = ["AudioDecoder", "open_decoder"]

_MOST_SILENT = 1 << 24  # bytes without a sample: pictures in headers are as long, and no audio is
_NOTHING = np.zeros(0, np.float32)


def open_decoder(audio: AudioFormat, rate_hz: int, max_s: float) -> "AudioDecoder":
    """Return a decoder of one stream to samples at `rate_hz`, of little more than `max_s`; raises BadRequest."""
    check_format(audio)
    return AudioDecoder(audio, rate_hz, max_s)


class AudioDecoder:
    """Decodes one stream, on one thread at a time: Float32[samples], or Float32[samples, channels] if they are apart.

    Samples do not depend on how its bytes are cut, except that headerless samples come whole. Where the audio is longer
    than the limit, one sample beyond it comes, and nothing after that is decoded: a file of a few bytes may hold hours.
    16-bit samples at the model's rate, which are no more than their bytes, come all. An error ends the stream.
    """

    def __init__(self, audio: AudioFormat, rate_hz: int, max_s: float) -> None:
        self._format = audio
        self._rate_hz = rate_hz
        self._reader = open_reader(audio, rate_hz)
        self._found: tuple[int, int] | None = None  # rate and channels of the first samples
        self._resampler: soxr.ResampleStream | None = None
        plain = audio.encoding in ("", "LINEAR16") and audio.rate_hz in (0, rate_hz)
        self._left = sys.maxsize if plain else round(max_s * rate_hz) + 1
        self._silent = 0
        self._nothing = _NOTHING

    def push(self, data: bytes) -> Waveform:
        """Return what the next bytes complete; raises BadAudio, and BadRequest for raw audio."""
        return _joined(self.pieces(data))

    def finish(self) -> Waveform:
        """Return the rest; raises BadAudio if a container is cut off before its audio."""
        return _joined(self.last_pieces())

    def pieces(self, data: bytes) -> Iterator[Waveform]:
        """Yield what `push` returns, piece by piece, each decoded when it is asked for."""
        self._silent += len(data)
        yield from self._through(self._reader.push(data))
        if self._silent > _MOST_SILENT:
            raise bad_audio(f"{self._silent} bytes without a sample: damaged, or another format than its header says")

    def last_pieces(self) -> Iterator[Waveform]:
        """Yield what `finish` returns, likewise; nothing a second time."""
        if self._left:
            yield from self._through(self._reader.finish())
        if self._resampler is not None and self._left:
            yield from self._within(self._resampler.resample_chunk(self._nothing, last=True))
        self._left = 0

    def _through(self, blocks: Iterator[Block]) -> Iterator[Waveform]:
        while self._left and (block := next(blocks, None)) is not None:
            if len(block.frames):
                self._silent = 0
                yield from self._within(self._resampled(self._mixed(block)))

    def _within(self, samples: Waveform) -> Iterator[Waveform]:
        samples = samples[: self._left]
        self._left -= len(samples)
        if len(samples):
            yield samples

    def _mixed(self, block: Block) -> Waveform:
        frames = block.frames
        found = block.rate_hz, frames.shape[1]
        if found != self._found:
            self._check(*found)
        if self._format.apart:
            mixed: Waveform = frames
        elif frames.shape[1] == 1:
            mixed = frames[:, 0]
        else:
            mixed = frames.mean(axis=1, dtype=np.float32)
        if block.bounded:
            return mixed
        if not np.isfinite(mixed).all():
            raise bad_audio("samples that are not finite; expected numbers in [-1, 1]")
        return np.clip(mixed, -1, 1)

    def _check(self, rate_hz: int, channels: int) -> None:
        if self._found is not None:
            was_hz, were = self._found
            raise bad_audio(f"{rate_hz} Hz, {channels} channels after {was_hz} Hz, {were} channels: damaged")
        lowest, highest = RATES_HZ
        if not lowest <= rate_hz <= highest:
            raise bad_audio(f"a header with {rate_hz} Hz: expected {lowest} to {highest}")
        if channels > MOST_CHANNELS:
            raise bad_audio(f"a header with {channels} channels: expected 1 to {MOST_CHANNELS}")
        wanted = self._format
        opus = wanted.encoding.endswith("_OPUS")  # which has any rate, as one asks for it
        if wanted.encoding in CONTAINERS and not opus and wanted.rate_hz not in (0, rate_hz):
            raise bad_audio(f"a header with {rate_hz} Hz: the request says {wanted.rate_hz}; leave it out")
        if wanted.channels not in (0, channels):
            raise bad_audio(f"a header with {channels} channels: the request says {wanted.channels}; leave it out")
        self._found = rate_hz, channels
        if rate_hz != self._rate_hz:
            self._nothing = np.zeros((0, channels), np.float32) if wanted.apart else _NOTHING
            self._resampler = soxr.ResampleStream(
                rate_hz, self._rate_hz, channels if wanted.apart else 1, dtype="float32"
            )

    def _resampled(self, mixed: Waveform) -> Waveform:
        if self._resampler is None:
            return mixed
        resampled: Waveform = self._resampler.resample_chunk(np.ascontiguousarray(mixed))
        return resampled


def _joined(pieces: Iterator[Waveform]) -> Waveform:
    found = list(pieces)
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else _NOTHING
