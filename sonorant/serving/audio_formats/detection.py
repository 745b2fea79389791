"""The reader of a format: named, or found from the first bytes."""

from collections.abc import Iterator

from sonorant.serving.audio_formats.audio_format import AudioFormat
from sonorant.serving.audio_formats.flac import FlacReader
from sonorant.serving.audio_formats.mp3 import Mp3Reader
from sonorant.serving.audio_formats.ogg import OggOpusReader
from sonorant.serving.audio_formats.raw import RawReader
from sonorant.serving.audio_formats.samples import Block, Reader, bad_audio
from sonorant.serving.audio_formats.wav import WavReader
from sonorant.serving.audio_formats.webm import WebmOpusReader

__all__ = ["FoundReader", "UnnamedReader", "open_reader"]

_MARKERS: dict[bytes, str] = {
    b"RIFF": "WAV",
    b"fLaC": "FLAC",
    b"OggS": "OGG_OPUS",
    b"\x1a\x45\xdf\xa3": "WEBM_OPUS",
}
_LONGEST = 4
_SYNC = 0xFFE0  # of an MPEG frame, which has no other marker
_LAYER = 0x0006  # AAC has none


def open_reader(audio: AudioFormat, model_rate_hz: int) -> Reader:
    """Return the reader of a format."""
    match audio.encoding:
        case "AUTO":
            return FoundReader()
        case "WAV":
            return WavReader()
        case "FLAC":
            return FlacReader()
        case "MP3":
            return Mp3Reader()
        case "OGG_OPUS":
            return OggOpusReader()
        case "WEBM_OPUS":
            return WebmOpusReader()
    kind = RawReader if audio.encoding else UnnamedReader
    return kind(audio.encoding or "LINEAR16", audio.rate_hz or model_rate_hz, audio.channels or 1)


class UnnamedReader(RawReader):
    """Reads headerless samples where the request names no encoding, so that a container may have been forgotten."""

    _begun = False

    def push(self, data: bytes) -> Iterator[Block]:
        """See `RawReader`; raises BadAudio if the first message begins as a container does."""
        if not self._begun and (found := _marked(data[:_LONGEST])):
            raise bad_audio(
                f"begins as {found} does, and the request names no encoding; name {found}, or AUTO; LINEAR16 if it is "
                "headerless"
            )
        self._begun = True
        return super().push(data)


class FoundReader:
    """Reads the container that the first bytes are of."""

    def __init__(self) -> None:
        self._first = b""
        self._reader: Reader | None = None

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield what the container's reader does; raises BadAudio if there is none."""
        if self._reader is None:
            self._first += data
            if len(self._first) < _LONGEST:
                return
            data, self._first = self._first, b""
            self._reader = open_reader(AudioFormat(_found(data[:_LONGEST])), 0)
        yield from self._reader.push(data)

    def finish(self) -> Iterator[Block]:
        """Yield the rest; nothing of no bytes at all."""
        if self._reader is not None:
            yield from self._reader.finish()
        elif self._first:
            raise bad_audio(f"{len(self._first)} bytes in all: no container is so short")


def _marked(first: bytes) -> str | None:
    return "MP3" if first[:3] == b"ID3" else _MARKERS.get(first)


def _found(first: bytes) -> str:
    if encoding := _marked(first):
        return encoding
    sync = int.from_bytes(first[:2], "big")
    if sync & _SYNC == _SYNC and sync & _LAYER:
        return "MP3"
    raise bad_audio(
        f"begins with {first!r}: no WAV, FLAC, MP3, OGG_OPUS or WEBM_OPUS; name the encoding, rate and channels of "
        "audio without a header"
    )
