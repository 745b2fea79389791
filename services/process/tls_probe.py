"""Why a gRPC server does not answer: gRPC reports UNAVAILABLE for a missing server and for wrong keys alike.

One handshake of our own distinguishes: no TLS, an untrusted certificate of the server, or ours is refused.
"""

import socket
import ssl

from services.process.keys import KEYS_VARIABLE, Keys, process_keys
from services.process.tls import load_certificate

__all__ = ["why_refused"]

_TIMEOUT_S = 2.0
_HINT = f"set {KEYS_VARIABLE} to a folder with"
_ALERT = "ALERT"  # in OpenSSL's reasons: the other end sent one, so it speaks TLS
_PLAIN = f"it does not speak TLS, and this process has keys: unset {KEYS_VARIABLE}, or give the server its keys"


def why_refused(address: str, keys: Keys | None = None) -> str:
    """Return what is wrong with the keys for HOST:PORT, and what to do; empty: nothing is.

    keys: default, the process'.
    """
    keys = keys or process_keys()
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S) as connection:
            connection.settimeout(_TIMEOUT_S)
            return _tried(connection, host.strip("[]"), keys)
    except (OSError, ValueError):
        return ""


def _tried(connection: socket.socket, host: str, keys: Keys) -> str:
    context, shaken = _context(keys), False
    try:
        with context.wrap_socket(connection, server_hostname=host) as secure:
            if keys.authority is None:
                return f"it speaks TLS, and this process has no keys: {_HINT} its ca.crt, and tls.crt and tls.key"
            shaken = True
            # A server that accepts our certificate begins HTTP/2; else it closes here, with or without an alert.
            return "" if secure.recv(1) else _refuses(keys)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted: {error.verify_message}; {_HINT} the ca.crt of its authority"
    except TimeoutError:
        return ""
    except (ssl.SSLError, ConnectionError) as error:
        if keys.authority is None:
            return ""
        return _refuses(keys) if shaken or _ALERT in (getattr(error, "reason", None) or "") else _PLAIN


def _refuses(keys: Keys) -> str:
    if keys.certificate is None:
        return f"it requires a certificate, and none is presented: {_HINT} tls.crt and tls.key"
    return (
        "it refuses the presented certificate, of another authority or expired: "
        f"{_HINT} tls.crt and tls.key that it accepts"
    )


def _context(keys: Keys) -> ssl.SSLContext:
    """Return the context for gRPC's own checks; without an authority, only for whether the other end speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if keys.authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context.load_verify_locations(cadata=keys.authority.decode("ascii", errors="replace"))
    if keys.certificate is not None:
        load_certificate(context, keys.certificate)
    return context
