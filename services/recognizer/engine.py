"""The engine: streams on workers that they share, within limits, counted. Independent of protocols.

A transport takes a slot (`admission`), parses a client's request into a `StreamRequest`, opens a `Stream`, pushes
audio and writes results out. Errors are `sonorant.serving.errors`; `Engine.refuse` counts one and gives its canonical
code, which each transport maps to a status of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.workers import Workers
from sonorant.errors import SonorantError
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.errors import IdleStream, code_of
from sonorant.serving.model_store import ModelStore
from sonorant.serving.request import StreamRequest, check_request
from sonorant.serving.session import Result, Session, SessionOptions

__all__ = ["Engine", "Stream"]

log = structlog.get_logger()

# Bytes of a long recording that one call recognizes (2 s at 16 kHz): streams share the workers.
_PIECE_BYTES = 64_000

_T = TypeVar("_T")


class Stream:
    """One client's audio, in order; each call computes on a worker, never on the event loop."""

    def __init__(self, session: Session, workers: Workers, metrics: RecognizerMetrics) -> None:
        self._session = session
        self._workers = workers
        self._metrics = metrics

    @property
    def model(self) -> str:
        """The model that answers, as "name/version"."""
        return f"{self._session.model.name}/{self._session.model.version}"

    @property
    def rate_hz(self) -> int:
        """Rate of the audio that the model takes."""
        return self._session.model.sample_rate_hz

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._session.audio_s

    async def push(self, audio: bytes) -> Result | None:
        """Recognize the next `audio`; return an interim result if the text is new. Raises as `Session.push`."""
        return await self._workers.run(self._session.push_steps(audio))

    async def finish(self) -> Result:
        """End the audio; return the final result."""
        return await self._finish(time.perf_counter())

    async def whole(self, audio: bytes) -> Result | None:
        """Return the final result of a whole recording; None if it is empty. Raises as `Session.push`."""
        began_s = time.perf_counter()
        for at in range(0, len(audio), _PIECE_BYTES):
            await self._workers.run(self._session.push_steps(audio[at : at + _PIECE_BYTES]))
        return await self._finish(began_s) if audio else None

    async def _finish(self, received_s: float) -> Result:
        """Finish a stream whose audio was complete at `received_s`, and count it."""
        result = await self._workers.run(self._session.finish_steps())
        self._metrics.latency.observe(time.perf_counter() - received_s)
        self._metrics.ended.inc()
        self._metrics.audio.inc(self._session.audio_s)
        return result


class Engine:
    """Serves the models of `store` within the limits of `serving`; all computation runs on `workers`."""

    def __init__(
        self,
        store: ModelStore,
        serving: ServingRecipe,
        workers: Workers,
        admission: Admission,
        metrics: RecognizerMetrics,
    ) -> None:
        self.admission = admission
        self._store = store
        self._serving = serving
        self._workers = workers
        self._metrics = metrics

    @contextmanager
    def stream(self, request: StreamRequest) -> Iterator[Stream]:
        """Open a stream while the context lasts; raises BadRequest or UnknownModel."""
        model = self._store.get(request.model)
        check_request(request, model)
        options = SessionOptions(request.alternatives or 1, request.interim_results, self._serving.max_stream_seconds)
        stream = Stream(Session(model, options), self._workers, self._metrics)
        log.info("stream_began", model=model.name, version=model.version)
        try:
            yield stream
        finally:
            log.info("stream_ended", model=model.name, audio_s=round(stream.audio_s, 3))

    async def next(self, messages: AsyncIterator[_T]) -> _T | None:
        """Return a client's next message, or None after its last; raises IdleStream."""
        limit_s = self._serving.idle_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await anext(messages, None)
        except TimeoutError:
            raise IdleStream(f"no message for {limit_s:g} s; send audio as it is spoken, or end the stream") from None

    def refuse(self, error: SonorantError) -> str:
        """Count an error that a client gets; return its canonical code (see `code_of`)."""
        code = code_of(error)
        self._metrics.refusals.labels(code).inc()
        log.info("request_refused", status=code, reason=str(error))
        return code
