"""The error of a call to a recognizer, in words for whoever runs a command."""

import grpc

from services.process.tls_probe import why_refused
from services.recognizer_client.api_key import API_KEY_VARIABLE, BadApiKey
from services.recognizer_client.http_probe import speaks_http
from sonorant.errors import SonorantError, Unavailable

__all__ = ["Refused", "call_error"]

_UNCONNECTED = "failed to connect"  # in gRPC's details; a status that a gateway makes has others


class Refused(SonorantError):
    """A request that the recognizer refused: the message has its status, and what it said."""

    exit_code = 65


def call_error(address: str, error: grpc.aio.AioRpcError, key_advice: str = f"set {API_KEY_VARIABLE}") -> SonorantError:
    """Return the error of a call as a SonorantError: Unavailable only if no recognizer answered.

    key_advice: how to give the API key that the recognizer asks for.
    """
    if error.code() == grpc.StatusCode.UNAUTHENTICATED:
        return BadApiKey(f"{address}: {error.details()}; {key_advice}")
    if error.code() != grpc.StatusCode.UNAVAILABLE:
        return Refused(f"{address}: {error.code().name}: {error.details()}")
    if why := why_refused(address):
        return Unavailable(f"{address}: the recognizer refuses the connection: {why}")
    if _UNCONNECTED in (error.details() or "") and speaks_http(address):
        return Unavailable(f"{address}: no gRPC there, but HTTP; give the port of gRPC, --port of `sonorant serve`")
    return Unavailable(f"{address}: no recognizer answers: {error.details()}; is it running?")
