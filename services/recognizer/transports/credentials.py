"""Where a client's API key is in a call, of gRPC as of HTTP.

A browser's WebSocket can set no header but the offered subprotocols: `new WebSocket(url, ["token", KEY])`, as Deepgram
takes it. A parameter of the URL is not read: URLs are written to the access logs of servers and proxies.
"""

from collections.abc import Iterable, Sequence

__all__ = ["SUBPROTOCOL", "api_key", "offered_key"]

SUBPROTOCOL = "token"
"""The subprotocol that a recognizer accepts where it is offered with a key; the key is not sent back."""


def api_key(headers: Iterable[tuple[str, str | bytes]]) -> str:
    """Return the key in headers, or gRPC's metadata, whose names are in lower case; empty: there is none."""
    found = ""
    for name, value in headers:
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if name == "authorization":
            scheme, _, secret = text.strip().partition(" ")
            if scheme.lower() == "bearer":
                return secret.strip()
        elif name == "x-goog-api-key":
            found = text.strip()
    return found


def offered_key(subprotocols: Sequence[str]) -> str:
    """Return the key among the subprotocols that a WebSocket's client offers; empty: there is none."""
    if len(subprotocols) == 2 and subprotocols[0] == SUBPROTOCOL:
        return subprotocols[1]
    return ""
