"""The methods of the Recognizer service: take messages in, pump them through sessions, send results out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import grpc
import structlog

from services.recognizer.messages import (
    alternatives,
    check_audio_config,
    max_alternatives,
    metadata,
    status_of,
)
from services.recognizer.metrics import RecognizerMetrics
from services.runtime.durations import duration
from sonorant.errors import SonorantError
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.errors import BadRequest, IdleStream
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Result, Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["RecognizerServicer"]

log = structlog.get_logger()

# How long a refused stream may go on sending, in seconds.
_LISTEN_OUT_S = 0.25
# A long request is recognized in pieces of so many bytes (2 s at 16 kHz), to share the workers with streams.
_PIECE_BYTES = 64_000

_T = TypeVar("_T")


class RecognizerServicer(recognizer_pb2_grpc.RecognizerServicer):
    """Serves the models of `store`; all computing runs on `workers`, never on the event loop."""

    def __init__(
        self,
        store: ModelStore,
        serving: ServingRecipe,
        workers: Executor,
        admission: Admission,
        metrics: RecognizerMetrics,
    ) -> None:
        self._store = store
        self._serving = serving
        self._workers = workers
        self.admission = admission
        self._metrics = metrics

    async def Recognize(
        self, request: pb.RecognizeRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.RecognizeResponse:
        """Recognize a whole recording."""
        try:
            with self.admission.place():
                return await self._recognize(request)
        except SonorantError as error:
            await self._abort(context, error)
            raise

    async def StreamingRecognize(
        self,
        request_iterator: AsyncIterator[pb.StreamingRecognizeRequest],
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> AsyncIterator[pb.StreamingRecognizeResponse]:
        """Recognize a stream; its place is free again when it ends, whichever side ended it."""
        try:
            with self.admission.place():
                async with aclosing(self._stream(request_iterator)) as responses:
                    async for response in responses:
                        yield response
        except SonorantError as error:
            await _listen_out(request_iterator)
            await self._abort(context, error)

    async def _recognize(self, request: pb.RecognizeRequest) -> pb.RecognizeResponse:
        began_s = time.perf_counter()
        session = self._session(request.config, interim_results=False)
        for at in range(0, len(request.content), _PIECE_BYTES):
            await self._work(session.push, request.content[at : at + _PIECE_BYTES])
        response = pb.RecognizeResponse(metadata=metadata(session.model, session.audio_s))
        if request.content:
            result = await self._work(session.finish)
            response.results.add(
                alternatives=alternatives(result, request.config.features), result_end_offset=duration(result.end_s)
            )
        self._note_end(session, began_s)
        return response

    async def _stream(
        self, requests: AsyncIterator[pb.StreamingRecognizeRequest]
    ) -> AsyncGenerator[pb.StreamingRecognizeResponse, None]:
        first = await self._next(requests)
        if first is None or first.WhichOneof("request") != "streaming_config":
            sent = "nothing" if first is None else first.WhichOneof("request") or "an empty message"
            raise BadRequest(f"the first message has {sent}: expected streaming_config; send audio after it")
        config = first.streaming_config
        session = self._session(config.config, interim_results=config.streaming_features.interim_results)
        log.info("stream_began", model=session.model.name, version=session.model.version)
        try:
            while (request := await self._next(requests)) is not None:
                if request.WhichOneof("request") != "audio":
                    raise BadRequest(
                        "a second streaming_config: expected audio; open a new stream to change the config"
                    )
                result = await self._work(session.push, request.audio)
                if result is not None:
                    yield _response(session, result, config.config.features)
            heard_s = time.perf_counter()
            result = await self._work(session.finish)
            self._note_end(session, heard_s)
            yield _response(session, result, config.config.features)
        finally:
            log.info("stream_ended", model=session.model.name, audio_s=round(session.audio_s, 3))

    def _session(self, config: pb.RecognitionConfig, *, interim_results: bool) -> Session:
        model = self._store.get(config.model)
        check_audio_config(config, model)
        options = SessionOptions(max_alternatives(config.features), interim_results, self._serving.max_stream_seconds)
        return Session(model, options)

    async def _next(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> pb.StreamingRecognizeRequest | None:
        """Return the next message, or None when the client has sent its last; raises IdleStream."""
        limit_s = self._serving.idle_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await anext(requests, None)
        except TimeoutError:
            raise IdleStream(f"no message for {limit_s:g} s; send audio as it is spoken, or end the stream") from None

    def _note_end(self, session: Session, heard_s: float) -> None:
        """Count a session whose audio was all here at `heard_s`, and whose final result is."""
        self._metrics.latency.observe(time.perf_counter() - heard_s)
        self._metrics.ended.inc()
        self._metrics.audio.inc(session.audio_s)

    async def _abort(self, context: grpc.aio.ServicerContext[Any, Any], error: SonorantError) -> None:
        status = status_of(error)
        self._metrics.refusals.labels(status.name).inc()
        log.info("request_refused", status=status.name, reason=str(error))
        await context.abort(status, str(error))

    async def _work(self, function: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, function, *arguments)


def _response(session: Session, result: Result, features: pb.RecognitionFeatures) -> pb.StreamingRecognizeResponse:
    response = pb.StreamingRecognizeResponse(metadata=metadata(session.model, session.audio_s))
    response.results.add(
        alternatives=alternatives(result, features),
        is_final=result.is_final,
        stability=result.stability,
        result_end_offset=duration(result.end_s),
    )
    return response


async def _listen_out(requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> None:
    """Let a client that is refused finish sending, for a while.

    If its stream were closed while it writes, gRPC would often tell it INTERNAL in place of our status.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LISTEN_OUT_S):
            async for _ in requests:
                pass
