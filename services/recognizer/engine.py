"""The engine: streams on workers that they share, within limits, counted. Independent of protocols.

A transport takes a slot (`admission`), parses a client's request into a `StreamRequest`, opens a `Stream`, pushes
audio and writes results out. Errors are `sonorant.serving.errors`; `Engine.refuse` counts one and gives its canonical
code, which each transport maps to a status of its own.
"""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from services.recognizer.inbox import Ending, Inbox
from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.workers import Workers
from sonorant.errors import SonorantError
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.errors import code_of
from sonorant.serving.model_store import ModelStore
from sonorant.serving.request import StreamRequest, check_request
from sonorant.serving.session import Answer, Result, Session, SessionOptions

__all__ = ["Engine", "Stream"]

log = structlog.get_logger()

# Audio that one call recognizes: longer messages are cut, and streams queue for the workers piece by piece.
_PIECE_S = 0.5

_T = TypeVar("_T")


class Stream:
    """One client's audio, in order; each call computes on a worker, never on the event loop."""

    def __init__(self, session: Session, workers: Workers, metrics: RecognizerMetrics) -> None:
        self._session = session
        self._workers = workers
        self._metrics = metrics
        self._answers: list[Answer] = []  # of a message that is not recognized yet, or only in part

    @property
    def model(self) -> str:
        """The model that answers, as "name/version"."""
        return f"{self._session.model.name}/{self._session.model.version}"

    @property
    def rate_hz(self) -> int:
        """Rate of the audio that the model takes."""
        return self._session.model.sample_rate_hz

    @property
    def max_s(self) -> float:
        """Longest audio, in seconds."""
        return self._session.max_s

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._session.audio_s

    async def push(self, audio: bytes) -> list[Answer]:
        """Recognize the next `audio`; return, and raise, what `Session.push` does; `finish` has the rest."""
        for piece in self._pieces(audio):
            self._answers += await self._workers.run(self._session.push_steps(piece))
        return self._taken()

    async def finish(self) -> list[Answer]:
        """End the audio; return what is left, last a final result."""
        return await self._finish(time.perf_counter())

    async def whole(self, audio: bytes) -> Result | None:
        """Return the final result of a whole recording; None if it is empty. Raises as `Session.check`.

        For streams that have one final result: request `utterances=False`.
        """
        began_s = time.perf_counter()
        self._session.check(audio)
        for piece in self._pieces(audio):
            await self._workers.run(self._session.push_steps(piece))
        if not audio:
            return None
        (result,) = (one for one in await self._finish(began_s) if isinstance(one, Result))
        return result

    def _pieces(self, audio: bytes) -> Iterator[bytes]:
        size = 2 * max(1, round(_PIECE_S * self.rate_hz))
        return (audio[at : at + size] for at in range(0, len(audio), size))

    async def _finish(self, received_s: float) -> list[Answer]:
        """Finish a stream whose audio was complete at `received_s`, and count it."""
        self._answers += await self._workers.run(self._session.finish_steps())
        self._metrics.latency.observe(time.perf_counter() - received_s)
        self._metrics.ended.inc()
        self._metrics.audio.inc(self._session.audio_s)
        return self._taken()

    def _taken(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers


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
        self._ending = Ending()

    @contextmanager
    def stream(self, request: StreamRequest) -> Iterator[Stream]:
        """Open a stream while the context lasts; raises BadRequest or UnknownModel."""
        model = self._store.get(request.model)
        check_request(request, model)
        options = SessionOptions(
            request.alternatives or 1,
            request.interim_results,
            self._serving.max_stream_seconds,
            request.utterances,
            request.speech_events,
        )
        stream = Stream(Session(model, options), self._workers, self._metrics)
        log.info("stream_began", model=model.name, version=model.version)
        try:
            yield stream
        finally:
            log.info("stream_ended", model=model.name, audio_s=round(stream.audio_s, 3))

    def inbox(self, messages: AsyncIterator[_T]) -> Inbox[_T]:
        """Return a client's messages, within the idle limit, until `end_streams`."""
        return Inbox(messages, self._serving.idle_timeout_s, self._ending)

    def end_streams(self) -> None:
        """End the streams that wait for a message, or come to do so: their `Inbox` raises Draining."""
        self._ending.begin()

    def refuse(self, error: SonorantError) -> str:
        """Count an error that a client gets; return its canonical code (see `code_of`)."""
        code = code_of(error)
        self._metrics.refusals.labels(code).inc()
        log.info("request_refused", status=code, reason=str(error))
        return code
