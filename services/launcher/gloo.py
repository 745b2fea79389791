"""Replaces Horovod's launcher: a rendezvous server for each gang, variables for each rank."""

import socket
from typing import Any

import psutil
from horovod.runner.common.util.hosts import SlotInfo
from horovod.runner.http.http_server import RendezvousServer

__all__ = ["GlooRendezvous", "gloo_environment", "interface_of", "rendezvous_environment"]

# Gloo's time-out in seconds, of the start and of each collective: a rank later than this fails the others.
_TIMEOUT_S = 30


class GlooRendezvous:
    """A key-value store in which the ranks of one gang exchange addresses; each gang needs its own.

    The server listens on a free port at all addresses, without authentication.
    """

    def __init__(self, ranks: int) -> None:
        self._server = RendezvousServer()
        self.port: int = self._server.start()
        self._server.init([SlotInfo(_host(rank), rank, 0, rank, ranks, 1, ranks) for rank in range(ranks)])

    def close(self) -> None:
        """Close the server; a gang that has formed needs it no more."""
        self._server.stop()
        self._server._httpd.server_close()  # which `stop` leaves open


def gloo_environment(rank: int, ranks: int, interface: str) -> dict[str, str]:
    """Return Horovod's variables for a rank with a host of its own."""
    return {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_HOSTNAME": _host(rank),
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(ranks),
        "HOROVOD_LOCAL_RANK": "0",
        "HOROVOD_LOCAL_SIZE": "1",
        "HOROVOD_CROSS_RANK": str(rank),
        "HOROVOD_CROSS_SIZE": str(ranks),
        "HOROVOD_GLOO_IFACE": interface,
        "HOROVOD_GLOO_TIMEOUT_SECONDS": str(_TIMEOUT_S),
    }


def rendezvous_environment(address: str) -> dict[str, str]:
    """Return the variables that differ from gang to gang; `address` is HOST:PORT."""
    host, _, port = address.rpartition(":")
    return {"HOROVOD_GLOO_RENDEZVOUS_ADDR": host, "HOROVOD_GLOO_RENDEZVOUS_PORT": port}


def interface_of(address: str) -> str:
    """Return the name of the network interface that has an IP address; raises OSError if none has."""
    found: dict[str, list[Any]] = psutil.net_if_addrs()
    for name, addresses in found.items():
        if any(a.address == address for a in addresses if a.family in (socket.AF_INET, socket.AF_INET6)):
            return name
    raise OSError(f"no network interface here has the address {address}; give the pod's own")


def _host(rank: int) -> str:
    return f"rank-{rank}"
