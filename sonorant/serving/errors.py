"""Why a stream or request is not served, and the canonical code that a transport maps to a status of its own."""

from sonorant.errors import BadAudio, RejectedExample, SonorantError, Unavailable

__all__ = ["AudioTooLong", "BadRequest", "IdleStream", "TooManyStreams", "UnknownModel", "code_of"]


class BadRequest(SonorantError):
    """A client sent what it should not have sent; sending it again will not help."""

    exit_code = 65


class UnknownModel(SonorantError):
    """A client asked for a model that is not served."""

    exit_code = 65


class AudioTooLong(SonorantError):
    """More audio than one stream may have."""

    exit_code = 65


class IdleStream(SonorantError):
    """A client kept a stream open without sending audio."""

    exit_code = 69


class TooManyStreams(SonorantError):
    """All slots are taken; trying again later, or elsewhere, may help."""

    exit_code = 69


_CODES: dict[type[SonorantError], str] = {
    BadRequest: "INVALID_ARGUMENT",
    BadAudio: "INVALID_ARGUMENT",
    RejectedExample: "INVALID_ARGUMENT",
    UnknownModel: "NOT_FOUND",
    AudioTooLong: "OUT_OF_RANGE",
    IdleStream: "DEADLINE_EXCEEDED",
    TooManyStreams: "RESOURCE_EXHAUSTED",
    Unavailable: "UNAVAILABLE",
}


def code_of(error: SonorantError) -> str:
    """Return the canonical code (google.rpc.Code) of an error; INTERNAL for one that is our own fault."""
    return _CODES.get(type(error), "INTERNAL")
