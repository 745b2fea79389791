"""Python's TLS contexts of this process' keys, for servers and clients other than gRPC's."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from services.process.keys import BadKeys, Keys

__all__ = ["load_certificate", "server_context"]


def server_context(keys: Keys) -> ssl.SSLContext | None:
    """Return the context of a server, TLS 1.2 or later; None: there is no certificate, and so no TLS.

    Clients must present a certificate of `client-ca.crt` if that is there, as gRPC's must. Raises BadKeys.
    """
    if keys.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        load_certificate(context, keys.certificate)
    except ssl.SSLError as error:
        raise BadKeys(f"tls.crt and tls.key: no certificate with its key: {error.reason}") from error
    if keys.client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=keys.client_authority.decode("ascii", errors="replace"))
        except ssl.SSLError as error:
            raise BadKeys(f"client-ca.crt: no certificate in PEM: {error.reason}") from error
    return context


def load_certificate(context: ssl.SSLContext, certificate: tuple[bytes, bytes]) -> None:
    """Let a context present a certificate, of which the key comes first, then the chain; raises ssl.SSLError."""
    key, chain = certificate
    with _in_memory(chain + b"\n" + key) as path:
        context.load_cert_chain(path)


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of a file in memory: OpenSSL reads keys from files only."""
    descriptor = os.memfd_create("key")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
