"""Channels apart: a stream of several channels is one mono stream a channel, which share a decoder and nothing else.

So each channel's results are those of the channel alone, its computations share calls of the model with all others that
are due, and it counts as a stream in admission and metrics.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from services.recognizer.stream import MonoStream
from services.recognizer.workers import Workers
from sonorant.serving.admission import Admission
from sonorant.serving.audio_formats import AudioDecoder
from sonorant.serving.audio_formats.audio_format import CONTAINERS
from sonorant.serving.audio_formats.samples import Frames
from sonorant.serving.channels import ChannelDecoder, Decoder, SharedDecoder
from sonorant.serving.model import ServedModel
from sonorant.serving.request import StreamRequest
from sonorant.serving.results import Answer, Result
from sonorant.serving.steps import Steps

__all__ = ["ChannelStreams", "open_channels"]

_Answer = TypeVar("_Answer", Result, Answer)


@contextmanager
def open_channels(
    request: StreamRequest,
    decoder: AudioDecoder,
    mono: Callable[[Decoder, int], MonoStream],
    workers: Workers,
    admission: Admission,
) -> Iterator["ChannelStreams"]:
    """Open a stream of channels apart, and hold a slot for each but the first, whose slot the caller holds.

    Their number is the request's, or else the header's; slots are taken when it is known. Raises as `Admission.slot`,
    and BadRequest for another number than the stream had that it goes on from.
    """
    audio = request.audio
    with ExitStack() as slots:

        def admit(channels: int) -> None:
            if request.resume is not None:
                request.resume.check_channels(channels)
            if channels > 1:
                slots.enter_context(admission.slot(channels - 1, held=1))

        streams = ChannelStreams(decoder, mono, workers, admit)
        if known := audio.channels or (0 if audio.encoding in CONTAINERS else 1):
            streams.open(known)
        yield streams


class ChannelStreams:
    """`Stream` of channels apart; answers say which channel they are of, and are in order in each channel."""

    def __init__(
        self,
        decoder: AudioDecoder,
        mono: Callable[[Decoder, int], MonoStream],
        workers: Workers,
        admit: Callable[[int], None],
    ) -> None:
        """mono: opens the stream of a channel, from 0. admit: takes the slots of so many, but for the first."""
        self._decoder = decoder
        self._mono = mono
        self._workers = workers
        self._admit = admit
        self._shared = SharedDecoder()
        self._streams = [mono(ChannelDecoder(self._shared, 0), 0)]
        self._opened = False
        self._answers: list[Answer] = []  # of the channels that had some when another one failed

    def open(self, channels: int) -> None:
        """Have so many channels; once, before any audio is recognized."""
        self._admit(channels)
        self._shared.open(channels)
        self._streams += [self._mono(ChannelDecoder(self._shared, number), number) for number in range(1, channels)]
        self._opened = True

    @property
    def served(self) -> ServedModel:
        """See `Stream`."""
        return self._streams[0].served

    @property
    def model(self) -> str:
        """See `Stream`."""
        return self._streams[0].model

    @property
    def language(self) -> str:
        """See `Stream`."""
        return self._streams[0].language

    @property
    def rate_hz(self) -> int:
        """See `Stream`."""
        return self._streams[0].rate_hz

    @property
    def max_s(self) -> float:
        """See `Stream`."""
        return self._streams[0].max_s

    @property
    def channels(self) -> int:
        """See `Stream`."""
        return len(self._streams)

    @property
    def audio_s(self) -> float:
        """See `Stream`."""
        return self._earliest.audio_s

    @property
    def heard_s(self) -> float:
        """See `Stream`."""
        return self._earliest.heard_s

    @property
    def ended(self) -> bool:
        """See `Stream`; requests for channels apart have no timeouts."""
        return False

    @property
    def gathers(self) -> bool:
        """See `Stream`: an error of one message would lose answers of the channels that had some of another."""
        return False

    def check(self) -> None:
        """See `Stream`."""
        for stream in self._streams:
            stream.check()

    async def push(self, *messages: bytes) -> list[Answer]:
        """See `Stream`."""
        await self._begin(chain.from_iterable(map(self._decoder.pieces, messages)))
        return await self._each(stream.push(*messages) for stream in self._streams)

    async def finalize(self) -> list[Answer]:
        """See `Stream`; last a final result of each channel."""
        return await self._each(stream.finalize() for stream in self._streams)

    async def finish(self) -> list[Answer]:
        """See `Stream`; likewise."""
        await self._begin(self._decoder.last_pieces())
        return await self._each(stream.finish() for stream in self._streams)

    async def suspend(self, least_s: float) -> list[Answer]:
        """See `Stream`; likewise, and each channel ends at a place of its own."""
        await self._begin(self._decoder.last_pieces())
        return await self._each(stream.suspend(least_s) for stream in self._streams)

    async def whole(self, audio: bytes) -> list[Result]:
        """See `Stream`; one of each channel."""
        await self._begin(chain(self._decoder.pieces(audio), self._decoder.last_pieces()))
        found = await self._each(stream.whole(audio) for stream in self._streams)
        return [answer for answer in found if isinstance(answer, Result)]

    async def results(self, audio: bytes) -> AsyncIterator[Result]:
        """See `Stream`; those of all channels together, when they have ended."""
        for result in await self.whole(audio):
            yield result

    @property
    def _earliest(self) -> MonoStream:
        """The channel that has had most audio; others may go on at later places."""
        return max(self._streams, key=lambda stream: stream.audio_s)

    async def _begin(self, frames: Iterator[Frames]) -> None:
        """Let the channels read `frames` next; of the first ones there are, open a stream for each channel."""
        if not self._opened:
            first = await self._workers.run(_first(frames))
            if first is None:
                return
            self.open(first.shape[1])
            frames = chain([first], frames)
        self._shared.begin(frames)

    async def _each(self, calls: Iterable[Coroutine[Any, Any, list[_Answer]]]) -> list[Answer]:
        """Return the answers of all channels; an error is raised when all have ended, and loses none of them."""
        errors = []
        for number, found in enumerate(await asyncio.gather(*calls, return_exceptions=True), start=1):
            if isinstance(found, BaseException):
                errors.append(found)
            else:
                self._answers += [replace(answer, channel=number) for answer in found]
        if errors:
            raise errors[0]
        answers, self._answers = self._answers, []
        return answers


def _first(frames: Iterator[Frames]) -> Steps[Frames | None]:
    """Decode the first samples; return them, or None if there are none."""
    yield from ()
    return next(frames, None)
