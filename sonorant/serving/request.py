"""A client's request for a stream, independent of the protocol, and its check."""

from dataclasses import dataclass, field

from sonorant.serving.audio_formats import AudioFormat, check_format
from sonorant.serving.errors import BadRequest

__all__ = ["AudioFormat", "StreamRequest", "check_request"]

_MOST_ALTERNATIVES = 30


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The request that opens a stream.

    model: its name; empty: the only one. alternatives: length of the N-best list; 0: 1. interim_results: whether
    to return results that may still change.
    """

    model: str = ""
    audio: AudioFormat = field(default_factory=AudioFormat)
    alternatives: int = 0
    interim_results: bool = False


def check_request(request: StreamRequest) -> None:
    """Raise BadRequest if the request cannot be served."""
    check_format(request.audio)
    if not 0 <= request.alternatives <= _MOST_ALTERNATIVES:
        raise BadRequest(
            f"max_alternatives={request.alternatives}: expected 1 to {_MOST_ALTERNATIVES}, or 0, which means 1"
        )
