"""The engine: streams on workers that they share, within limits, counted. Independent of protocols.

A transport takes a slot (`admission`), parses a client's request into a `StreamRequest`, opens a `Stream`, pushes
audio and writes results out. Errors are `sonorant.serving.errors`; `Engine.refuse` counts one and gives its canonical
code, which each transport maps to a status of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import TypeVar

import structlog

from services.recognizer.inbox import Ending, Inbox
from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.workers import Workers
from sonorant.arrays import Waveform
from sonorant.errors import SonorantError, Unavailable
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.audio_formats import AudioDecoder, Pieces, open_decoder
from sonorant.serving.errors import IdleStream, code_of
from sonorant.serving.lag import Arrivals, LagWatch, Turns
from sonorant.serving.model import ServedModel
from sonorant.serving.model_store import ModelStore, VersionState
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.request import StreamRequest, check_request
from sonorant.serving.session import Result, Session, SessionOptions, shifted
from sonorant.serving.steps import Steps

__all__ = ["Engine", "Stream"]

log = structlog.get_logger()

# Audio that one call recognizes: longer messages are cut, and streams queue for the workers piece by piece.
_PIECE_S = 0.5
_DECODED_S = 2  # of whole recordings, which are decoded before they are recognized

_T = TypeVar("_T")


class Stream:
    """One client's audio, in order; each call computes on a worker, never on the event loop."""

    def __init__(
        self, session: Session, decoder: AudioDecoder, workers: Workers, metrics: RecognizerMetrics, watch: LagWatch
    ) -> None:
        self._session = session
        self._ended_s = 0.0  # of the utterances that were finalized
        self._decoder = decoder
        self._workers = workers
        self._metrics = metrics
        self._watch = watch
        self._turns = Turns()
        self._arrivals = Arrivals()

    @property
    def model(self) -> str:
        """The model that answers, as "name/version"."""
        return f"{self._session.model.name}/{self._session.model.version}"

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language that the model's recipe names; empty: none."""
        return self._session.model.recipe.text.language or ""

    @property
    def rate_hz(self) -> int:
        """Rate of the audio that the model takes."""
        return self._session.model.sample_rate_hz

    @property
    def max_s(self) -> float:
        """Longest audio, in seconds."""
        return self._ended_s + self._session.max_s

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._ended_s + self._session.audio_s

    async def push(self, audio: bytes) -> Result | None:
        """Recognize the next `audio`; return an interim result if the text is new.

        Raises as `AudioDecoder.push` and `Session.push`.
        """
        with self._lag():
            return await self._recognize(self._decoder.pieces(audio))

    async def finalize(self) -> Result:
        """End the utterance, and return its final result; the audio goes on with another one."""
        session = self._session
        result = self._placed(await self._workers.run(session.finish_steps()))
        self._ended_s += session.audio_s
        self._session = session.next()
        return result

    async def finish(self) -> Result:
        """End the audio; return the final result. Raises as `push`."""
        return await self._finish(time.perf_counter())

    async def whole(self, audio: bytes) -> Result | None:
        """Return the final result of a whole recording; None if it is empty.

        Raises as `push`; AudioTooLong before anything is recognized.
        """
        began_s = time.perf_counter()
        samples = await self._decoded(chain(self._decoder.pieces(audio), self._decoder.last_pieces()))
        self._session.check(sum(map(len, samples)))
        await self._recognize(iter(samples))
        return await self._finish(began_s) if audio else None

    async def _decoded(self, samples: Iterator[Waveform]) -> list[Waveform]:
        pieces, found, more = Pieces(samples, _DECODED_S * self.rate_hz), [], True
        while more:
            piece, more = await self._workers.run(_next(pieces))
            found.append(piece)
        return found

    async def _recognize(self, samples: Iterator[Waveform]) -> Result | None:
        """Recognize `samples` on workers, piece by piece, each in this stream's turn."""
        pieces, result, more = Pieces(samples, round(_PIECE_S * self.rate_hz)), None, True
        while more:
            due_s, before_s = self._turns.due_s(time.monotonic()), self.audio_s
            steps = _recognize_next(pieces, self._session)
            found, more = await self._workers.run(steps, due_s, lambda: self._session.audio_s)
            self._turns.took(due_s, self.audio_s - before_s)
            result = found or result
        return None if result is None else self._placed(result)

    @contextmanager
    def _lag(self) -> Iterator[None]:
        """Measure the lag of a message that is recognized in the context, unless the client waits for nothing."""
        read_s, before_s = time.monotonic(), self.audio_s
        if not self._turns.ahead(read_s):
            self._watch.waits(self, read_s)
        try:
            yield
        finally:
            done_s = time.monotonic()
            self._watch.ended(self)
            lag_s = done_s - self._arrivals.arrived_s(read_s, self.audio_s - before_s)
            self._arrivals.recognized(done_s)
            if not self._turns.ahead(done_s):
                self._watch.heard(done_s, lag_s)
                self._metrics.lag.observe(lag_s)

    async def _finish(self, received_s: float) -> Result:
        """Finish a stream whose audio was complete at `received_s`, and count it."""
        await self._recognize(self._decoder.last_pieces())
        result = await self._workers.run(self._session.finish_steps())
        self._metrics.latency.observe(time.perf_counter() - received_s)
        self._metrics.ended.inc()
        self._metrics.audio.inc(self.audio_s)
        return self._placed(result)

    def _placed(self, result: Result) -> Result:
        """Return a result with times from the start of the audio."""
        return shifted(result, self._ended_s) if self._ended_s else result


def _next(pieces: Pieces) -> Steps[tuple[Waveform, bool]]:
    """Decode the next piece; return it, and whether there may be more."""
    yield from ()
    return pieces.next()


def _recognize_next(pieces: Pieces, session: Session) -> Steps[tuple[Result | None, bool]]:
    """Decode and recognize the next piece; return the result, and whether there may be more."""
    samples, more = pieces.next()
    return (yield from session.push_steps(samples)), more


class Engine:
    """Serves the models of `store` within the limits of `serving`; all computation runs on `workers`."""

    def __init__(
        self,
        store: ModelStore,
        serving: ServingRecipe,
        workers: Workers,
        admission: Admission,
        metrics: RecognizerMetrics,
        watch: LagWatch,
    ) -> None:
        self.admission = admission
        self._watch = watch
        self._store = store
        self._serving = serving
        self._workers = workers
        self._metrics = metrics
        self._ending = Ending()
        self._polling = asyncio.Lock()

    def versions(self, name: str) -> list[VersionState]:
        """Return the versions of a model, newest first; raises UnknownModel."""
        return self._store.versions(name)

    async def refresh(self) -> None:
        """Poll for new versions, one poll at a time; raises Unavailable if their folder cannot be read."""
        try:
            async with self._polling:
                changes = await asyncio.to_thread(self._store.refresh)
        except OSError as error:
            raise Unavailable(f"the exports cannot be read: {error}") from error
        for change in changes:
            log.info("model_version", path=str(change.path), refusal=change.refusal)

    @property
    def models(self) -> Mapping[str, ServedModel]:
        """The models in service by name."""
        return self._store.models

    def model(self, name: str) -> ServedModel:
        """Return the model called `name`, or the only one if the name is empty; raises UnknownModel."""
        return self._store.get(name)

    @contextmanager
    def stream(self, request: StreamRequest) -> Iterator[Stream]:
        """Open a stream while the context lasts; raises BadRequest or UnknownModel."""
        model = self._store.get(request.model)
        check_request(request, model)
        max_s = self._serving.max_stream_seconds
        options = SessionOptions(request.alternatives or 1, request.interim_results, max_s, request.written)
        decoder = open_decoder(request.audio, model.sample_rate_hz, max_s)
        session = Session(model, options, scorer_with_phrases(model, request.phrases))
        stream = Stream(session, decoder, self._workers, self._metrics, self._watch)
        log.info("stream_began", model=model.name, version=model.version)
        try:
            yield stream
        finally:
            log.info("stream_ended", model=model.name, audio_s=round(stream.audio_s, 3))

    def inbox(self, messages: AsyncIterator[_T]) -> Inbox[_T]:
        """Return a client's messages, within the idle limit, until `end_streams`."""
        return Inbox(messages, self._serving.idle_timeout_s, self._ending)

    async def in_time(self, writing: Awaitable[None]) -> None:
        """Wait until a result is written; raises IdleStream for a client that reads none within the idle limit."""
        idle_s = self._serving.idle_timeout_s
        try:
            async with asyncio.timeout(idle_s):
                await writing
        except TimeoutError:
            raise IdleStream(f"no result was read for {idle_s:g} s; read them, or end the stream") from None

    def end_streams(self) -> None:
        """End the streams that wait for a message, or come to do so: their `Inbox` raises Draining."""
        self._ending.begin()

    def refuse(self, error: SonorantError) -> str:
        """Count an error that a client gets; return its canonical code (see `code_of`)."""
        code = code_of(error)
        self._metrics.refusals.labels(code).inc()
        log.info("request_refused", status=code, reason=str(error))
        return code
