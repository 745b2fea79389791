"""Standard gRPC health on a port of its own, in plain text: what a kubelet's probe asks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from sonorant.errors import Unavailable

__all__ = ["LIVE", "HealthServer", "health_at"]

LIVE = "live"
"""The service that is SERVING as long as the process answers, ready or not: what a liveness probe asks for."""


class HealthServer:
    """Answers `grpc.health.v1.Health/Check`: NOT_SERVING until `ready(True)`, and again while draining.

    Raises Unavailable if the port is taken.
    """

    def __init__(self, host: str, port: int) -> None:
        self._servicer = health.HealthServicer()
        self._server = grpc.server(
            ThreadPoolExecutor(max_workers=2, thread_name_prefix="health"),
            options=[("grpc.so_reuseport", 0)],  # else two could share a port
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, self._server)
        self._servicer.set(LIVE, health_pb2.HealthCheckResponse.SERVING)
        self.ready(False)
        try:
            self.port: int = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise Unavailable(f"health port {host}:{port} cannot be bound: choose a free port, or 0 for any") from error
        self._server.start()

    def ready(self, ready: bool) -> None:
        """Say whether the process is warm and takes work."""
        status = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        self._servicer.set("", status)

    def close(self) -> None:
        """Answer NOT_SERVING to all that still ask, and stop."""
        self._servicer.enter_graceful_shutdown()
        self._server.stop(grace=0.1).wait()


@contextmanager
def health_at(host: str, port: int | None) -> Iterator[HealthServer | None]:
    """Serve health while the context lasts, ready or not; without a port, yield None and serve nothing."""
    if port is None:
        yield None
        return
    server = HealthServer(host, port)
    try:
        yield server
    finally:
        server.close()
