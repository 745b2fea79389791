"""A kubelet's probes, and a main loop that hangs."""

import asyncio
import os
import signal

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rigs.waiting import eventually

from services.process import health
from services.process.health import LIVE, health_at

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def asked(server, service=""):
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service)).status


async def hang_and_resume(server):
    """Block the event loop of a ready process until `live` is NOT_SERVING, then run it until `live` is SERVING."""
    while asked(server) != SERVING:
        await asyncio.sleep(0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "_MAX_ITERATION_S", 0.2)
        eventually(lambda: asked(server, LIVE) == NOT_SERVING)
        await asyncio.to_thread(eventually, lambda: asked(server, LIVE) == SERVING)


def hang_and_end(serve):
    """Do that to the coroutine `serve(health)`, a server's main loop in this process, then end it by SIGTERM."""

    async def scene(health):
        serving = asyncio.create_task(serve(health))
        try:
            await hang_and_resume(health)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await serving

    with health_at("127.0.0.1", 0) as health:
        asyncio.run(asyncio.wait_for(scene(health), 60))
