"""The recognizer's server: loads models, binds the port, serves health, drains."""

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from prometheus_client import CollectorRegistry

from services.process.channels import KEEPALIVE_OPTIONS, SERVER_OPTIONS, add_port
from services.process.keys import process_keys
from services.process.vital_tasks import VitalTasks
from services.recognizer.calibration import calibrate
from services.recognizer.callers import KeyedAdmission
from services.recognizer.engine import Engine
from services.recognizer.key_file import KeyFile
from services.recognizer.key_metrics import register_key_metrics
from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.transports import google
from services.recognizer.transports.google_batch import BatchRecognizer
from services.recognizer.transports.grpc import SERVICE, RecognizerServicer
from services.recognizer.transports.grpc_keys import KeyInterceptor
from services.recognizer.transports.operations import SERVICE as OPERATIONS
from services.recognizer.transports.operations import Operations
from services.recognizer.transports.reflection import add_reflection
from services.recognizer.transports.tensorflow_serving import SERVICES as TENSORFLOW_SERVICES
from services.recognizer.transports.tensorflow_serving import ModelServicer, PredictionServicer
from services.recognizer.version_events import register_label_metric
from services.recognizer.workers import MOST_JOBS, Workers
from sonorant.errors import Unavailable
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.headroom import Headroom
from sonorant.serving.model_store import ModelStore

if TYPE_CHECKING:
    from services.recognizer.transports.http import HttpServer

__all__ = ["RecognizerServer"]

log = structlog.get_logger()

_SERVICES = (SERVICE, google.SERVICE, *TENSORFLOW_SERVICES)
_OWN_MACHINE = ("127.0.0.1", "::1", "localhost")
# Seconds between two polls for new versions.
_REFRESH_S = 5.0
# Seconds for which new streams are refused with a status before the port closes: gRPC cancels those that arrive at that
# moment without a reason, and a load balancer needs time to see it.
_REFUSE_S = 0.5
# gRPC would decompress a message before it looks at its size; the algorithms' bits are in the order of their numbers.
_UNCOMPRESSED = 1 << grpc.Compression.NoCompression
# Seconds before the end of a drain in which streams that are still open get their final results.
_RESULT_S = 2.0


class RecognizerServer:
    """Serves the models of `store` until `stop`; `store` must have been refreshed once, off the event loop.

    threads: workers, each of which computes many streams together; 0: one a processor. metrics: where to register
    its own.
    """

    def __init__(
        self,
        store: ModelStore,
        serving: ServingRecipe,
        refresh_s: float = _REFRESH_S,
        threads: int = 0,
        metrics: CollectorRegistry | None = None,
    ) -> None:
        self._store = store
        self._serving = serving
        self._refresh_s = refresh_s
        threads = threads or os.cpu_count() or 1
        self.headroom = Headroom(serving.slo_ms / 1000, threads, MOST_JOBS)
        self._workers = Workers(threads, self.headroom.cost.measured)
        self._health = health.aio.HealthServicer()
        self._tasks: VitalTasks
        self._http: HttpServer | None = None
        admission = KeyedAdmission(serving.max_streams, self.headroom, time.monotonic)
        headroom = self.headroom
        registry = metrics or CollectorRegistry()
        counted = RecognizerMetrics(
            registry,
            admission,
            lambda: headroom.lag.worst_s(time.monotonic()),
            lambda: headroom.gather_s(time.monotonic(), admission.active),
        )
        register_label_metric(registry, store)
        self._api_keys = KeyFile(Path(serving.api_keys)) if serving.api_keys else None
        if self._api_keys is not None:
            register_key_metrics(registry, self._api_keys, admission)
        self.engine = Engine(store, serving, self._workers, admission, counted, self.headroom)
        self._operations = Operations(self.engine.refuse)

    async def calibrate(self) -> None:
        """Measure what streams cost on this machine, before any comes."""
        await calibrate(next(iter(self._store.models.values())), self._workers, self.headroom)

    async def start(self) -> int:
        """Listen, and return gRPC's port; raises Unavailable if a port is taken, and BadKeys: then nothing is left."""
        self._tasks = VitalTasks()
        self._server = self._grpc_server()
        try:
            return await self._listen()
        except BaseException:
            self._tasks.cancel()
            await self._server.stop(None)  # else its threads would run on, without an event loop
            if self._http is not None:
                await self._http.stop(0.0)
            await asyncio.to_thread(self._workers.shutdown)
            raise

    def _grpc_server(self) -> grpc.aio.Server:
        server = grpc.aio.server(
            interceptors=[KeyInterceptor(self._api_keys, self.engine.refuse)] if self._api_keys is not None else [],
            options=[
                *SERVER_OPTIONS,
                *KEEPALIVE_OPTIONS,  # of clients that vanish without a word, too, the slots are freed
                ("grpc.max_receive_message_length", int(self._serving.max_message_mb * 2**20)),
                ("grpc.compression_enabled_algorithms_bitset", _UNCOMPRESSED),
            ],
        )
        batch = BatchRecognizer(self.engine, self._serving, self._operations) if self._serving.recordings else None
        servicers = (
            RecognizerServicer(self.engine),
            google.SpeechServicer(self.engine, batch),
            self._operations,
            ModelServicer(self.engine),
            PredictionServicer(self.engine),
        )
        server.add_generic_rpc_handlers([servicer.handlers() for servicer in servicers])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        add_reflection((*_SERVICES, OPERATIONS, health.SERVICE_NAME), server)
        return server

    async def _listen(self) -> int:
        port = add_port(self._server, f"{self._serving.host}:{self._serving.port}")
        await self._server.start()
        self._http = await self._start_http()
        for service in ("", *_SERVICES):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        self._tasks.start(self._refresh())
        if self._serving.recordings and not os.path.isdir(self._serving.recordings):
            log.warning("recordings_missing", folder=self._serving.recordings)
        if self._api_keys is not None:
            if process_keys().certificate is None and self._serving.host not in _OWN_MACHINE:
                log.warning("api_keys_in_plain_text", host=self._serving.host)
            self._tasks.start(self._api_keys.follow())
        return port

    async def _start_http(self) -> "HttpServer | None":
        if not self._serving.http_port:
            return None
        from services.recognizer.transports.http import HttpServer  # and its packages, where it is wanted

        http = HttpServer(self.engine, self._serving, self._api_keys)
        await http.start(self._serving.host, self._serving.http_port)
        return http

    async def wait_failed(self) -> None:
        """Wait until a background task fails, and raise its error: new models would never be served then."""
        await self._tasks.failure()

    async def stop(self, grace_s: float) -> None:
        """Drain within `grace_s` seconds: refuse new streams, wait for open ones, end the last with their results."""
        self._tasks.cancel()
        await self._health.enter_graceful_shutdown()
        self.engine.admission.close()
        refuse_s = min(_REFUSE_S, grace_s)
        await asyncio.sleep(refuse_s)
        rest_s = grace_s - refuse_s
        stopping = {asyncio.create_task(self._server.stop(rest_s))}
        if self._http is not None:
            stopping.add(asyncio.create_task(self._http.stop(rest_s)))
        await asyncio.wait(stopping, timeout=max(rest_s / 2, rest_s - _RESULT_S))
        self.engine.end_streams()
        await asyncio.gather(*stopping)
        self._operations.cancel()
        await asyncio.to_thread(self._workers.shutdown)

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(self._refresh_s)
            try:
                await self.engine.refresh()
            except Unavailable as error:  # a volume is away: loaded models are still served
                log.warning("exports_not_read", error=str(error))
