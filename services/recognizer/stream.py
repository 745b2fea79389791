"""One client's stream: audio in, results out, computed on workers in its turn; its lag is measured."""

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Protocol

from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.piece_steps import NextSteps, decode_next, finish_next, recognize_next
from services.recognizer.workers import Workers
from sonorant.arrays import Waveform
from sonorant.errors import SonorantError
from sonorant.serving.audio_formats import Pieces
from sonorant.serving.channels import Decoder
from sonorant.serving.errors import STREAM_ENDS
from sonorant.serving.headroom import Headroom
from sonorant.serving.lag import Arrivals, Turns
from sonorant.serving.model import ServedModel
from sonorant.serving.results import Answer, Result
from sonorant.serving.session import Session
from sonorant.serving.steps import Steps

__all__ = ["MonoStream", "Stream"]

# Audio that one call recognizes: longer messages are cut, and streams queue for the workers piece by piece.
_PIECE_S = 0.5
_DECODED_S = 2  # of whole recordings, which are decoded before they are recognized


class Stream(Protocol):
    """One client's audio, in order; each call computes on a worker, never on the event loop."""

    @property
    def served(self) -> ServedModel:
        """The version that answers."""

    @property
    def model(self) -> str:
        """The model that answers, as "name/version"."""

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language that the model's recipe names; empty: none."""

    @property
    def rate_hz(self) -> int:
        """Rate of the audio that the model takes."""

    @property
    def max_s(self) -> float:
        """Longest audio, in seconds."""

    @property
    def channels(self) -> int:
        """Channels that are recognized, each by itself; 1: of mixed ones, or not known before the first audio."""

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""

    @property
    def heard_s(self) -> float:
        """End of the audio received, from the beginning of the first of the streams that go on from each other."""

    @property
    def ended(self) -> bool:
        """Whether it hears no more audio: a timeout of the request has expired."""

    @property
    def gathers(self) -> bool:
        """Whether several messages may be pushed at once: not of a stream that is ahead, which waits for nothing."""

    def check(self) -> None:
        """Raise the error of the last push, if it returned answers, which come before it."""

    async def push(self, *messages: bytes) -> list[Answer]:
        """Recognize the audio of the next messages, each of which is decoded as one; return what `Session.push` does.

        Raises as `AudioDecoder.push` and `Session.push`; what was found before an error of `STREAM_ENDS` is left to
        `finish`, and before another one returned: then `check` raises it.
        """

    async def finalize(self) -> list[Answer]:
        """End the utterance; return what is left of it, last a final result. The audio goes on with another one."""

    async def finish(self) -> list[Answer]:
        """End the audio; return what is left, last a final result. Raises as `push`."""

    async def suspend(self, least_s: float) -> list[Answer]:
        """End the stream, but not its audio: see `Session.suspend_steps`. Raises as `push`."""

    async def whole(self, audio: bytes) -> list[Result]:
        """Return the final results of a whole recording, as `results`."""

    def results(self, audio: bytes) -> AsyncIterator[Result]:
        """Yield the final results of a whole recording, each as soon as it is there; none if it is empty.

        Raises as `push`, errors of the audio before anything is recognized, and AudioTooLong too.
        """


class MonoStream:
    """`Stream` of one channel, or of mixed ones."""

    channels = 1

    def __init__(
        self, session: Session, decoder: Decoder, workers: Workers, metrics: RecognizerMetrics, headroom: Headroom
    ) -> None:
        self._session = session
        self._answers: list[Answer] = []  # of a message that is not recognized yet, or only in part
        self._decoder = decoder
        self._workers = workers
        self._metrics = metrics
        self._headroom = headroom
        self._error: SonorantError | None = None
        self._turns = Turns()
        self._arrivals = Arrivals()

    @property
    def served(self) -> ServedModel:
        """The version that answers."""
        return self._session.model

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
        return self._session.max_s

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._session.audio_s

    @property
    def heard_s(self) -> float:
        """See `Stream`."""
        return self._session.heard_s

    @property
    def ended(self) -> bool:
        """See `Stream`."""
        return self._session.ended

    @property
    def gathers(self) -> bool:
        """See `Stream`."""
        return not self._turns.ahead(time.monotonic())

    def check(self) -> None:
        """See `Stream`."""
        if self._error is not None:
            raise self._error

    async def push(self, *messages: bytes) -> list[Answer]:
        """See `Stream`."""
        try:
            with self._lag():
                await self._compute(recognize_next, chain.from_iterable(map(self._decoder.pieces, messages)))
        except STREAM_ENDS:
            raise
        except SonorantError as error:
            if not self._answers:
                raise
            self._error = error
        return self._taken()

    async def finalize(self) -> list[Answer]:
        """See `Stream`."""
        self._answers += await self._workers.run(self._session.finalize_steps())
        return self._taken()

    async def finish(self) -> list[Answer]:
        """See `Stream`."""
        return await self._finish(time.perf_counter(), self._session.finish_steps())

    async def suspend(self, least_s: float) -> list[Answer]:
        """See `Stream`."""
        return await self._finish(time.perf_counter(), self._session.suspend_steps(least_s))

    async def whole(self, audio: bytes) -> list[Result]:
        """See `Stream`."""
        return [result async for result in self.results(audio)]

    async def results(self, audio: bytes) -> AsyncIterator[Result]:
        """See `Stream`."""
        began_s = time.perf_counter()
        samples = await self._decoded(chain(self._decoder.pieces(audio), self._decoder.last_pieces()))
        self._session.check(sum(map(len, samples)))
        if not audio:
            return
        pieces, more = self._pieces(iter(samples)), True
        while more:
            more = await self._turn(recognize_next, pieces)
            for result in _results(self._taken()):
                yield result
        for result in _results(await self._finish(began_s, self._session.finish_steps())):
            yield result

    async def _decoded(self, samples: Iterator[Waveform]) -> list[Waveform]:
        pieces, found, more = Pieces(samples, _DECODED_S * self.rate_hz), [], True
        while more:
            piece, more = await self._workers.run(decode_next(pieces))
            found.append(piece)
        return found

    async def _compute(self, steps: NextSteps, samples: Iterator[Waveform], *, ends: bool = False) -> None:
        """Compute the steps of `samples` on workers, piece by piece, each in this stream's turn.

        ends: whether they end the audio, which tells a cost without audio of its own: all of a whole-utterance model's.
        """
        pieces, more = self._pieces(samples), True
        while more:
            more = await self._turn(steps, pieces, ends=ends)

    def _pieces(self, samples: Iterator[Waveform]) -> Pieces:
        return Pieces(samples, round(_PIECE_S * self.rate_hz))

    async def _turn(self, steps: NextSteps, pieces: Pieces, *, ends: bool = False) -> bool:
        """Compute the steps of the next piece; return whether there may be more."""
        due_s, before_s, session = self._turns.due_s(time.monotonic()), self.audio_s, self._session
        told = () if ends else (partial(_speech_s, session),)
        found, more = await self._workers.run(steps(pieces, session), due_s, *told)
        self._turns.took(due_s, self.audio_s - before_s)
        if self._turns.ahead(time.monotonic()):
            self._headroom.lag.ended(self)  # a long message waits for nobody but its own time
        self._answers += found
        return more

    @contextmanager
    def _lag(self) -> Iterator[None]:
        """Measure the lag of a message that is recognized in the context, unless the client waits for nothing."""
        read_s, before_s = time.monotonic(), self.audio_s
        if not self._turns.ahead(read_s):
            self._headroom.lag.waits(self, read_s)
        try:
            yield
        finally:
            done_s = time.monotonic()
            self._headroom.lag.ended(self)
            audio_s = self.audio_s - before_s
            lag_s = done_s - self._arrivals.arrived_s(read_s, audio_s)
            self._arrivals.recognized(done_s)
            if audio_s and not self._turns.ahead(done_s):
                self._headroom.heard(done_s, audio_s, lag_s, time.thread_time())
                self._metrics.lag.observe(lag_s)

    async def _finish(self, received_s: float, last: Steps[list[Answer]]) -> list[Answer]:
        """Finish a stream whose audio was complete at `received_s`, by its `last` steps, and count it."""
        await self._compute(partial(finish_next, last), self._decoder.last_pieces(), ends=True)
        self._metrics.latency.observe(time.perf_counter() - received_s)
        self._metrics.ended.inc()
        self._metrics.audio.inc(self.audio_s)
        return self._taken()

    def _taken(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers


def _results(answers: Iterable[Answer]) -> Iterator[Result]:
    return (answer for answer in answers if isinstance(answer, Result))


def _speech_s(session: Session) -> float:
    return session.speech_s
