"""Errors of streams and requests, and the canonical codes that transports map to statuses of their own."""

from sonorant.errors import BadAudio, RejectedExample, SonorantError, Unavailable

__all__ = ["AudioTooLong", "BadRequest", "Draining", "IdleStream", "TooManyStreams", "UnknownModel", "code_of"]


class BadRequest(SonorantError):
    """A client's request is invalid; a retry will not help."""

    exit_code = 65


class UnknownModel(SonorantError):
    """A client asked for a model that is not served."""

    exit_code = 65


class AudioTooLong(SonorantError):
    """The audio exceeds a stream's limit."""

    exit_code = 65


class IdleStream(SonorantError):
    """A client kept a stream open without sending audio."""

    exit_code = 69


class Draining(SonorantError):
    """The recognizer shuts down, and ends the streams that are still open; a new one elsewhere may go on."""

    exit_code = 69


class TooManyStreams(SonorantError):
    """All slots are taken; a retry, later or elsewhere, may help."""

    exit_code = 69


_CODES: dict[type[SonorantError], str] = {
    BadRequest: "INVALID_ARGUMENT",
    BadAudio: "INVALID_ARGUMENT",
    RejectedExample: "INVALID_ARGUMENT",
    UnknownModel: "NOT_FOUND",
    AudioTooLong: "OUT_OF_RANGE",
    IdleStream: "DEADLINE_EXCEEDED",
    TooManyStreams: "RESOURCE_EXHAUSTED",
    Draining: "UNAVAILABLE",
    Unavailable: "UNAVAILABLE",
}


def code_of(error: SonorantError) -> str:
    """Return the canonical code (google.rpc.Code) of an error; INTERNAL for our own faults."""
    return _CODES.get(type(error), "INTERNAL")
