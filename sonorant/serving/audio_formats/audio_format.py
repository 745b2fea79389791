"""The format of a client's audio, and its check."""

from dataclasses import dataclass

from sonorant.serving.errors import BadRequest

__all__ = ["CONTAINERS", "ENCODINGS", "MOST_CHANNELS", "RATES_HZ", "AudioFormat", "check_format"]

CONTAINERS = ("WAV", "FLAC", "MP3", "OGG_OPUS", "WEBM_OPUS", "AUTO")
ENCODINGS = ("LINEAR16", "MULAW", "ALAW", *CONTAINERS)
MOST_CHANNELS = 8
RATES_HZ = (4_000, 192_000)
"""Lowest and highest rate of audio that is taken."""


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """The format of audio in messages; empty or 0: the model's, or what the container says.

    encoding: one of `ENCODINGS`. LINEAR16, headerless 16-bit little-endian samples; MULAW and ALAW, headerless 8-bit
    samples (G.711); a container; AUTO, whichever container the first bytes are of. Empty: LINEAR16. channels: of
    interleaved samples. Rate and channels of a container are in its header; another number here is refused.
    apart: whether channels are recognized each by itself; else they are mixed to one.
    """

    encoding: str = ""
    rate_hz: int = 0
    channels: int = 0
    apart: bool = False


def check_format(audio: AudioFormat) -> None:
    """Raise BadRequest for a format that is not taken."""
    if audio.encoding and audio.encoding not in ENCODINGS:
        raise BadRequest(f"encoding={audio.encoding}: unsupported; expected one of {', '.join(ENCODINGS)}")
    lowest, highest = RATES_HZ
    if audio.rate_hz and not lowest <= audio.rate_hz <= highest:
        raise BadRequest(
            f"sample_rate_hertz={audio.rate_hz}: expected {lowest} to {highest}; or leave the field out if the audio "
            "has the model's rate"
        )
    if not 0 <= audio.channels <= MOST_CHANNELS:
        raise BadRequest(f"audio_channel_count={audio.channels}: expected 1 to {MOST_CHANNELS}")
