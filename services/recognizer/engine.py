"""The engine: streams on workers that they share, within limits, counted. Independent of protocols.

A transport takes a slot (`admission`), parses a client's request into a `StreamRequest`, opens a `Stream`, pushes
audio and writes results out. Errors are `sonorant.serving.errors`; `Engine.refuse` counts one and gives its canonical
code, which each transport maps to a status of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TypeVar

import structlog

from services.recognizer.channel_streams import open_channels
from services.recognizer.gathering import GatherTime
from services.recognizer.inbox import Ending, Inbox
from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.stream import MonoStream, Stream
from services.recognizer.version_events import log_changes
from services.recognizer.workers import Workers
from sonorant.decoding import Scorer
from sonorant.errors import SonorantError, Unavailable
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.admission import Admission
from sonorant.serving.audio_formats import AudioDecoder, open_decoder
from sonorant.serving.channels import Decoder
from sonorant.serving.errors import IdleStream, UnknownModel, code_of
from sonorant.serving.headroom import Headroom
from sonorant.serving.language import check_language
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.model_store import ModelStore, VersionState
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.request import StreamRequest, check_request
from sonorant.serving.session import SessionOptions
from sonorant.serving.timed_session import open_session

__all__ = ["Engine"]

log = structlog.get_logger()

# For a stream's client to read: what it has not read fills the sockets' buffers before a result waits.
_READ_S = 10.0

_T = TypeVar("_T")


class Engine:
    """Serves the models of `store` within the limits of `serving`; all computation runs on `workers`."""

    def __init__(
        self,
        store: ModelStore,
        serving: ServingRecipe,
        workers: Workers,
        admission: Admission,
        metrics: RecognizerMetrics,
        headroom: Headroom,
    ) -> None:
        self.admission = admission
        self._headroom = headroom
        self._store = store
        self._serving = serving
        self._workers = workers
        self._metrics = metrics
        self._ending = Ending()
        self._gather_time = GatherTime(headroom, admission)
        self._polling = asyncio.Lock()
        self._next_poll: asyncio.Task[None] | None = None  # that waits for another, and is all later callers'

    def versions(self, name: str) -> list[VersionState]:
        """Return the versions of a model, newest first; raises UnknownModel."""
        return self._store.versions(name)

    async def refresh(self, held: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Poll for new versions, one poll at a time; raises Unavailable if their folder cannot be read.

        held: labels, see `ModelStore.hold`, whose errors it raises. A poll that has begun goes on when its caller is
        cancelled, before any other.
        """
        if held is not None:
            await asyncio.shield(asyncio.ensure_future(self._poll(held)))
            return
        if self._next_poll is None or self._next_poll.done():
            self._next_poll = asyncio.ensure_future(self._poll())
        await asyncio.shield(self._next_poll)

    async def _poll(self, held: Mapping[str, Mapping[str, int]] | None = None) -> None:
        async with self._polling:
            if held is None:
                self._next_poll = None
            try:
                log_changes(await asyncio.to_thread(self._store.refresh))
                if held:
                    log_changes(await asyncio.to_thread(self._store.hold, held))
            except OSError as error:
                raise Unavailable(f"the exports cannot be read: {error}") from error
            finally:
                for path in await asyncio.to_thread(self._store.unload):
                    log.info("model_version_unloaded", path=str(path))

    @property
    def models(self) -> list[str]:
        """Names of the models in service."""
        return sorted(self._store.models)

    def model(self, choice: ModelChoice) -> ServedModel:
        """Return a version of a model in service; raises UnknownModel."""
        return self._store.get(choice)

    @contextmanager
    def stream(self, request: StreamRequest, beside: Stream | None = None) -> Iterator[Stream]:
        """Open a stream while the context lasts; raises BadRequest or UnknownModel. beside: one of the same version.

        Of channels apart, each but the first takes a slot besides the stream's own: raises as `Admission.slot`.
        """
        with self._store.session(self._choice(request), beside.served if beside is not None else None) as model:
            yield from self._opened(request, model)

    def _choice(self, request: StreamRequest) -> ModelChoice:
        """Return the version that the stream before this one had, if it is in service; else what is asked for."""
        if request.resume is None:
            return request.model
        choice = request.resume.choice(request.model)
        with suppress(UnknownModel):
            self._store.get(choice)
            return choice
        return request.model

    @property
    def max_stream_s(self) -> float:
        """Longest audio of a stream, in seconds."""
        return self._serving.max_stream_seconds

    @property
    def idle_s(self) -> float:
        """Longest time without audio, in seconds."""
        return self._serving.idle_timeout_s

    def check(self, request: StreamRequest) -> ServedModel:
        """Return the model of a request, no canary unless it is named; raises what `stream` would, and opens none."""
        model = self._store.get(request.model)
        self._prepared(request, model)
        return model

    def _prepared(self, request: StreamRequest, model: ServedModel) -> tuple[AudioDecoder, Scorer]:
        check_request(request, model)
        check_language(request.language, model)
        if request.resume is not None:
            request.resume.check_spread(self._serving.max_stream_seconds)
            if not request.audio.apart:
                request.resume.check_channels(1)
        decoder = open_decoder(request.audio, model.sample_rate_hz, self._serving.max_stream_seconds)
        return decoder, scorer_with_phrases(model, request.phrases, language_model=request.language_model)

    def _opened(self, request: StreamRequest, model: ServedModel) -> Iterator[Stream]:
        decoder, scorer = self._prepared(request, model)
        options = SessionOptions(
            max_alternatives=request.alternatives or 1,
            interim_results=request.interim_results,
            max_seconds=self._serving.max_stream_seconds,
            utterances=request.utterances,
            speech_events=request.speech_events,
            words=request.words,
            written=request.written,
            sensitivity=request.sensitivity,
        )

        def mono(decoder: Decoder, channel: int = 0) -> MonoStream:
            begins = options
            if (resume := request.resume) is not None:
                begin_s = resume.place_s(channel)
                begins = replace(options, begin_s=begin_s, skip_s=begin_s - resume.begin_s)
            session = open_session(model, begins, scorer, request.timeouts)
            self._metrics.begun.labels(model.name, str(model.version)).inc()
            return MonoStream(session, decoder, self._workers, self._metrics, self._headroom)

        opened: AbstractContextManager[Stream]
        if request.audio.apart:
            opened = open_channels(request, decoder, mono, self._workers, self.admission)
        else:
            opened = nullcontext(mono(decoder))
        with opened as stream:
            log.info("stream_began", model=model.name, version=model.version)
            try:
                yield stream
            finally:
                log.info("stream_ended", model=model.name, audio_s=round(stream.audio_s, 3))

    def inbox(self, messages: AsyncIterator[_T]) -> Inbox[_T]:
        """Return a client's messages, within the idle limit, until `end_streams`."""
        return Inbox(messages, self._serving.idle_timeout_s, self._ending, self._gather_time)

    async def in_time(self, writing: Awaitable[object]) -> None:
        """Wait until a stream's result is written; raises IdleStream for a client that reads none for seconds."""
        await _written(writing, min(_READ_S, self.idle_s))

    async def answered(self, writing: Awaitable[object]) -> None:
        """Wait until a part of an answer, long or short, is written; raises IdleStream after the idle limit."""
        await _written(writing, self.idle_s)

    def end_streams(self) -> None:
        """End the streams that wait for a message, or come to do so: their `Inbox` raises Draining."""
        self._ending.begin()

    def refuse(self, error: SonorantError) -> str:
        """Count an error that a client gets; return its canonical code (see `code_of`)."""
        code = code_of(error)
        self._metrics.refusals.labels(code).inc()
        log.info("request_refused", status=code, reason=str(error))
        return code


async def _written(writing: Awaitable[object], limit_s: float) -> None:
    try:
        async with asyncio.timeout(limit_s):
            await writing
    except TimeoutError:
        raise IdleStream(f"no result was read for {limit_s:g} s; read them, or end the stream") from None
