"""A recognizer's HTTP on a real socket, in the test's event loop."""

import asyncio
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from services.recognizer.engine import Engine
from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.transports.http import HttpServer
from services.recognizer.workers import MOST_JOBS, Workers
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.headroom import Headroom


@asynccontextmanager
async def http_recognizer(store, connections=None, **limits):
    """Yield its engine and "host:port". connections: limits of `HttpServer`, not of the recipe."""
    serving = ServingRecipe(**limits)
    workers = Workers(1)
    admission = Admission(serving.max_streams)
    metrics = RecognizerMetrics(CollectorRegistry(), admission, lambda: 0.0)
    engine = Engine(store, serving, workers, admission, metrics, Headroom(120.0, 1, MOST_JOBS))
    server = HttpServer(engine, serving, **(connections or {}))
    port = await server.start("127.0.0.1", 0)
    try:
        async with asyncio.timeout(60):
            yield engine, f"127.0.0.1:{port}"
    finally:
        await server.stop(0.0)
        await asyncio.to_thread(workers.shutdown)
