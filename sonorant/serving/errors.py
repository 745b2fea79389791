"""Errors of streams and requests, and the statuses that transports answer them with."""

from typing import NamedTuple

from sonorant.errors import BadAudio, RejectedExample, SonorantError, Unavailable

__all__ = [
    "FAULT",
    "INTERNAL",
    "STATUSES",
    "STREAM_ENDS",
    "AudioTooLong",
    "BadRequest",
    "Draining",
    "Forbidden",
    "IdleStream",
    "Status",
    "TooManyStreams",
    "Unauthenticated",
    "UnknownModel",
    "UnknownOperation",
    "code_of",
    "status_of",
]


class BadRequest(SonorantError):
    """A client's request is invalid; a retry will not help."""

    exit_code = 65


class UnknownModel(SonorantError):
    """A client asked for a model that is not served."""

    exit_code = 65


class UnknownOperation(SonorantError):
    """A client asked for a long-running operation that is not here."""

    exit_code = 65


class Unauthenticated(SonorantError):
    """A client sent no API key that is accepted; the message never quotes what it sent."""

    exit_code = 77


class Forbidden(SonorantError):
    """A client's API key is no operator's, and the method is for operators."""

    exit_code = 77


class AudioTooLong(SonorantError):
    """The audio exceeds a stream's limit."""

    exit_code = 65


class IdleStream(SonorantError):
    """A client kept a stream open without sending audio, or without reading results."""

    exit_code = 69


class Draining(SonorantError):
    """The recognizer shuts down, and ends the streams that are still open; a new one elsewhere may go on."""

    exit_code = 69


class TooManyStreams(SonorantError):
    """No further stream fits; a retry, after `retry_s` seconds or elsewhere, may help."""

    exit_code = 69

    def __init__(self, message: str, retry_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_s = retry_s


class Status(NamedTuple):
    """What a client gets of an error, by protocol.

    when: the condition. code: canonical code (google.rpc.Code), of gRPC and metrics. http: status. retry: what to send
    again, and when.
    """

    when: str
    code: str
    http: int
    retry: str

    @property
    def websocket(self) -> int:
        """The close code, of those that RFC 6455, section 7.4.2, leaves to applications."""
        return _CLOSE + self.http


_CLOSE = 4000
_INVALID = ("INVALID_ARGUMENT", 400, "no")

STATUSES: dict[type[SonorantError], Status] = {
    BadRequest: Status("the request is wrong: no message of the protocol, an unknown value, an odd byte", *_INVALID),
    BadAudio: Status("the audio cannot be decoded", *_INVALID),
    RejectedExample: Status("the audio cannot be recognized, such as samples that are not finite", *_INVALID),
    Unauthenticated: Status(
        "no API key, where the recognizer asks for one, or one that is unknown, expired or disabled",
        "UNAUTHENTICATED",
        401,
        "no",
    ),
    Forbidden: Status("a method for operators, and an API key without `admin`", "PERMISSION_DENIED", 403, "no"),
    UnknownModel: Status("no such model, or version of it", "NOT_FOUND", 404, "no"),
    UnknownOperation: Status(
        "no such operation: forgotten, deleted, of another key, or begun on another replica", "NOT_FOUND", 404, "no"
    ),
    AudioTooLong: Status(
        "more audio than `serving.max_stream_seconds`", "OUT_OF_RANGE", 413, "the rest, in a new stream"
    ),
    IdleStream: Status(
        "no message, no audio or no result read for `serving.idle_timeout_s`; of a stream, no result read for 10 s",
        "DEADLINE_EXCEEDED",
        408,
        "the rest, in a new stream",
    ),
    TooManyStreams: Status(
        "one more stream would delay the others, or exceed `serving.max_streams` or the API key's `streams`",
        "RESOURCE_EXHAUSTED",
        429,
        "all, after the time in `RetryInfo` or `Retry-After`",
    ),
    Draining: Status(
        "this replica shuts down, in the middle of a stream", "UNAVAILABLE", 503, "the rest, in a new stream"
    ),
    Unavailable: Status("this replica shuts down, before the stream", "UNAVAILABLE", 503, "all, at once"),
}
"""The status of each error that a client may get."""

INTERNAL = Status("a fault of the recognizer", "INTERNAL", 500, "no")
FAULT = "a fault of the recognizer; its log has the reason"
"""What a client is told of it."""

STREAM_ENDS = (AudioTooLong, IdleStream, Draining)
"""Errors by which the recognizer ends a stream after its final result, so that nothing is lost."""


def status_of(error: SonorantError) -> Status:
    """Return what a client gets of an error; `INTERNAL` for our own faults."""
    return STATUSES.get(type(error), INTERNAL)


def code_of(error: SonorantError) -> str:
    """Return the canonical code (google.rpc.Code) of an error."""
    return status_of(error).code
