"""Whether a port where no gRPC answers is one of HTTP, such as the recognizer's other port."""

import socket

__all__ = ["speaks_http"]

_TIMEOUT_S = 2.0
_BEGINS = b"HTTP/"


def speaks_http(address: str) -> bool:
    """Return whether a request of HTTP/1.0 to HOST:PORT has an answer of that protocol."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return connection.recv(len(_BEGINS)) == _BEGINS
    except (OSError, ValueError):
        return False
