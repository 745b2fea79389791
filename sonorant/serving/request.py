"""A client's request for a stream, independent of the protocol, and its check against a model."""

from dataclasses import dataclass

from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel

__all__ = ["AudioFormat", "StreamRequest", "check_request"]

_ENCODINGS = ("", "LINEAR16")
_MOST_ALTERNATIVES = 30


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """The format of audio in messages; empty or 0: the model's.

    encoding: "LINEAR16", headerless 16-bit little-endian samples.
    """

    encoding: str = ""
    rate_hz: int = 0
    channels: int = 0


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The request that opens a stream.

    model: its name; empty: the only one. alternatives: length of the N-best list; 0: 1. interim_results: whether
    to return results that may still change. utterances: whether each utterance has a final result; else the stream has
    one, of all of them. speech_events: whether to return where speech begins and ends.
    """

    model: str = ""
    audio: AudioFormat = AudioFormat()
    alternatives: int = 0
    interim_results: bool = False
    utterances: bool = True
    speech_events: bool = False


def check_request(request: StreamRequest, model: ServedModel) -> None:
    """Raise BadRequest if `model` cannot serve the request."""
    audio = request.audio
    if audio.encoding not in _ENCODINGS:
        raise BadRequest(f"encoding={audio.encoding}: unsupported; send LINEAR16, 16-bit little-endian samples")
    if audio.rate_hz not in (0, model.sample_rate_hz):
        raise BadRequest(
            f"sample_rate_hertz={audio.rate_hz}: model {model.name!r} takes {model.sample_rate_hz}; "
            "resample the audio, or leave the field out if it has that rate"
        )
    if audio.channels not in (0, 1):
        raise BadRequest(f"audio_channel_count={audio.channels}: expected 1; send one channel")
    if not 0 <= request.alternatives <= _MOST_ALTERNATIVES:
        raise BadRequest(
            f"max_alternatives={request.alternatives}: expected 1 to {_MOST_ALTERNATIVES}, or 0, which means 1"
        )
