"""Errors of streams and requests as HTTP's: a status, and an object like OpenAI's."""

import asyncio
import math
from contextlib import suppress
from typing import Any

from starlette.types import Receive

from services.recognizer.engine import Engine
from sonorant.errors import SonorantError
from sonorant.serving.errors import BadRequest, TooManyStreams, status_of

__all__ = ["HttpError", "error_answer", "linger", "retry_after_s"]

_TYPES = {429: "rate_limit_error", 408: "timeout_error"}
_NAMES = {401: "invalid_api_key", 404: "model_not_found"}
_RETRY_S = 1.0  # on another replica
_LINGER_S = 0.25  # for a refused client to end its body: it would not read the answer before


class HttpError(SonorantError):
    """A fault of the HTTP request itself, or of a field that only HTTP has.

    status: HTTP's. param: the form's field, if one is at fault.
    """

    exit_code = 65

    def __init__(self, status: int, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param


def retry_after_s(error: SonorantError) -> float | None:
    """Return after how many seconds a retry may help; None: never."""
    if isinstance(error, TooManyStreams):
        return error.retry_s
    return _RETRY_S if status_of(error).code == "UNAVAILABLE" else None


def error_answer(engine: Engine, error: SonorantError) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Count an error; return its status, headers and content."""
    code = engine.refuse(BadRequest(str(error)) if isinstance(error, HttpError) else error)
    status = error.status if isinstance(error, HttpError) else status_of(error).http
    headers = {"Connection": "close"} if status in (408, 413) else {}
    if (seconds := retry_after_s(error)) is not None:
        headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    param = error.param if isinstance(error, HttpError) else "model" if status == 404 else None
    named = _NAMES.get(status, code.lower())
    return status, headers, {"error": {"message": str(error), "type": kind, "param": param, "code": named}}


async def linger(receive: Receive) -> None:
    """Read and drop the rest of a refused request, for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while (await receive()).get("more_body", False):
                pass
