"""Two addresses of one socket: TCP, and a local one for consumers on the same machine, which costs less CPU time.

Plain ZeroMQ sockets of two processes carried a gigabyte in 0.21 to 0.31 CPU seconds over the local address and in 0.44
to 0.86 by TCP over loopback, on the development machine.

A producer that binds `tcp://HOST:PORT` also binds a Unix socket whose name follows from that, in Linux' abstract
namespace. Like HOST and PORT, it belongs to the network namespace: where one address is this producer's, so is the
other. It needs no registration, and the kernel removes it with its process.
"""

import os
import socket
import struct

__all__ = ["local_address", "nearest_address"]

_PEER = struct.Struct("3i")  # struct ucred: process, user, group


def local_address(endpoint: str) -> str:
    """Return the local address, `ipc://…`, that belongs to `endpoint`, `tcp://HOST:PORT`."""
    return f"ipc://@sonorant/{endpoint.removeprefix('tcp://')}"


def nearest_address(endpoint: str) -> str:
    """Return the local address of `endpoint` if a process of this user listens there, else `endpoint`."""
    address = local_address(endpoint)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect("\0" + address.removeprefix("ipc://@"))
        except OSError:  # no listener, or its queue of connections is full
            return endpoint
        _, user, _ = _PEER.unpack(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return address if user == os.geteuid() else endpoint
