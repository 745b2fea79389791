"""Why a stream or request is not served; a transport maps each to a status of its own."""

from sonorant.errors import SonorantError

__all__ = ["AudioTooLong", "BadRequest", "IdleStream", "TooManyStreams", "UnknownModel"]


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
    """All places are taken; trying again later, or elsewhere, may help."""

    exit_code = 69
