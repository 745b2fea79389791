"""gRPC channels and ports, in TLS where this process has the keys for it (`services.process.keys`).

A refused client gets no reason; gRPC's core writes it to the server's standard error, beside our events: "Handshake
failed with error …PEER_DID_NOT_RETURN_A_CERTIFICATE". It has no hook for that, and does not name the client. The line
is of level INFO and shown unless GRPC_VERBOSITY is set; ERROR would hide it.
"""

from typing import Protocol

import grpc

from services.process.keys import Keys, process_keys
from sonorant.errors import Unavailable

__all__ = ["KEEPALIVE_OPTIONS", "SERVER_OPTIONS", "Options", "add_port", "open_aio_channel", "open_channel"]

Options = tuple[tuple[str, int | str], ...]

# Without pings, a connection to a machine that is gone would count as alive for a quarter of an hour. For a process
# that hangs, the kernel still acknowledges packets; gRPC 1.71 then waits for `ping_timeout`, whatever
# `keepalive_timeout` is.
_PING_EVERY_MS, _ANSWER_WITHIN_MS = 10_000, 5_000
KEEPALIVE_OPTIONS: Options = (
    ("grpc.keepalive_time_ms", _PING_EVERY_MS),
    ("grpc.keepalive_timeout_ms", _ANSWER_WITHIN_MS),
    ("grpc.http2.ping_timeout_ms", _ANSWER_WITHIN_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
_OPTIONS: Options = (("grpc.enable_http_proxy", 0), *KEEPALIVE_OPTIONS)
SERVER_OPTIONS: Options = (  # which the servers of such clients need, and no two on one port
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", _PING_EVERY_MS // 2),
)


class _Server(Protocol):
    def add_insecure_port(self, address: str) -> int: ...

    def add_secure_port(self, address: str, server_credentials: grpc.ServerCredentials) -> int: ...


def open_channel(address: str, options: Options = (), keys: Keys | None = None) -> grpc.Channel:
    """Return a channel to HOST:PORT, in TLS if there is a certificate authority. keys: default, the process'."""
    credentials, options = _credentials(keys or process_keys()), (*_OPTIONS, *options)
    if credentials is None:
        return grpc.insecure_channel(address, options)
    return grpc.secure_channel(address, credentials, options)


def open_aio_channel(address: str, options: Options = (), keys: Keys | None = None) -> grpc.aio.Channel:
    """Return the same for asyncio."""
    credentials, options = _credentials(keys or process_keys()), (*_OPTIONS, *options)
    if credentials is None:
        return grpc.aio.insecure_channel(address, options)
    return grpc.aio.secure_channel(address, credentials, options)


def add_port(server: _Server, address: str, keys: Keys | None = None) -> int:
    """Make a server listen on "host:port", in TLS if there is a certificate; return the port.

    Clients must present a certificate of `client-ca.crt` if that is there. Raises Unavailable if the port is taken.
    """
    keys = keys or process_keys()
    try:
        if keys.certificate is None:
            return server.add_insecure_port(address)
        credentials = grpc.ssl_server_credentials(
            [keys.certificate], keys.client_authority, require_client_auth=keys.client_authority is not None
        )
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise Unavailable(f"{address}: cannot listen there; is the port taken? Port 0 takes a free one") from error


def _credentials(keys: Keys) -> grpc.ChannelCredentials | None:
    if keys.authority is None:
        return None
    key, chain = keys.certificate or (None, None)
    return grpc.ssl_channel_credentials(keys.authority, key, chain)
