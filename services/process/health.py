"""Standard gRPC health on a port of its own, in plain text, for a kubelet's probes."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from services.process.watchdog import where_main_is
from sonorant.errors import Unavailable

__all__ = ["LIVE", "HealthServer", "health_at"]

log = structlog.get_logger()

LIVE = "live"
"""The service that is SERVING as long as the main loop iterates, ready or not: for liveness probes."""

_MAX_ITERATION_S = 60.0  # a read from a store may take 20 s and its last try; a kubelet probes six times more
_LOOK_EVERY_S = 1.0


class _Servicer(health.HealthServicer):  # type: ignore[misc]  # the package ships no types
    """Answers `live` by the time of the main loop's last iteration, in threads that a hanging loop leaves free."""

    iterated_s = float("inf")

    def Check(
        self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """See health.proto."""
        stood_still_s = time.monotonic() - self.iterated_s
        if request.service == LIVE and stood_still_s > _MAX_ITERATION_S:
            log.error("main_loop_hangs", since_s=round(stood_still_s, 1), at=where_main_is())
            return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
        return super().Check(request, context)


class HealthServer:
    """Answers `grpc.health.v1.Health/Check`: NOT_SERVING until `ready(True)`, and again while draining.

    `live` is SERVING while the process starts, however long it loads or waits; after the first iteration of its main
    loop (`iterated`), as long as another follows within a minute. Raises Unavailable if the port is taken.
    """

    def __init__(self, host: str, port: int) -> None:
        self._servicer = _Servicer()
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
        """Set whether the process is warm and takes work."""
        status = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        self._servicer.set("", status)

    def iterated(self) -> None:
        """Note an iteration of the main loop; the next has to follow within a minute."""
        self._servicer.iterated_s = time.monotonic()

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Note the iterations of an event loop, which is the main loop."""
        self.iterated()
        loop.call_later(_LOOK_EVERY_S, self.follow, loop)

    def close(self) -> None:
        """Answer NOT_SERVING to requests that still come, and stop."""
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
