"""What the gRPC transports share: parsing, the alternatives of results, and the end of a refused stream."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from services.coordination.durations import duration
from services.recognizer.transports.grpc_errors import abort, fail
from sonorant.decoding import Hypothesis, Word
from sonorant.errors import SonorantError
from sonorant.serving.errors import BadRequest
from sonorant.v1 import google_speech_pb2 as google
from sonorant.v1 import recognizer_pb2 as own

__all__ = ["Formatter", "Handler", "listen_out", "parsed", "serialized", "unary", "unhurried"]

_LISTEN_OUT_S = 0.25  # time for a refused stream's client to end its messages

# A flood of tiny messages is read at this rate, and the rest stays with its client: 4 ms of audio at 8 kHz, each 2 ms.
_SMALL_BYTES, _SMALL_S = 64, 0.002

_Message = TypeVar("_Message", bound=Message)
_Alternative = TypeVar("_Alternative", bound=own.SpeechRecognitionAlternative | google.SpeechRecognitionAlternative)


Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context = grpc.aio.ServicerContext[Any, Any]


class _WordFeatures(Protocol):
    enable_word_time_offsets: bool
    enable_word_confidence: bool


def parsed(kind: type[_Message], message: bytes) -> _Message:
    """Return a client's message; raises BadRequest if it is none, where gRPC's own parsing ends with INTERNAL."""
    try:
        return kind.FromString(message)
    except DecodeError as error:
        name = kind.DESCRIPTOR.full_name
        raise BadRequest(
            f"{len(message)} bytes that are no {name}: {error}; is the client made from our proto?"
        ) from None


async def unhurried(message: bytes) -> None:
    """Wait a moment where a message is tiny: one client's thousands a second would delay all others."""
    if len(message) < _SMALL_BYTES:
        await asyncio.sleep(_SMALL_S)


def serialized(message: Message) -> bytes:
    """Return a message as bytes."""
    return message.SerializeToString()


def unary(
    kind: type[_Message], answer: Callable[[_Message], Awaitable[Message]], refuse: Callable[[SonorantError], str]
) -> Handler:
    """Return the handler of a method with one request of `kind`; refuse: gives an error's code."""

    async def call(message: bytes, context: _Context) -> Message:
        try:
            return await answer(parsed(kind, message))
        except SonorantError as error:
            await abort(context, error, refuse(error))
        except Exception as error:
            await fail(context, error)

    return grpc.unary_unary_rpc_method_handler(call, response_serializer=serialized)


async def listen_out(messages: AsyncIterator[bytes]) -> None:
    """Read and drop a refused client's messages, for a while.

    If its stream were closed while it writes, its client would often get INTERNAL instead of our status.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LISTEN_OUT_S):
            async for _ in messages:
                pass


class Formatter(Generic[_Alternative]):
    """Writes the results of one stream; of a word that is the same as in the result before nothing is written again."""

    def __init__(self, kind: type[_Alternative], features: _WordFeatures) -> None:
        self._kind: type[_Alternative] = kind
        self._features = features
        self._with_words = features.enable_word_time_offsets or features.enable_word_confidence
        self._written: list[tuple[tuple[Word, ...], _Alternative]] = []

    def write(self, hypotheses: Sequence[Hypothesis]) -> list[_Alternative]:
        """Return the alternatives, valid until the next call."""
        known = [*self._written, *(((), self._kind()) for _ in hypotheses)]
        self._written = []
        for hypothesis, (words, alternative) in zip(hypotheses, known, strict=False):
            alternative.transcript = hypothesis.text
            alternative.confidence = hypothesis.confidence
            if self._with_words:
                self._write_words(hypothesis.words, words, alternative)
            self._written.append((hypothesis.words, alternative))
        return [alternative for _, alternative in self._written]

    def _write_words(self, words: Sequence[Word], before: Sequence[Word], alternative: _Alternative) -> None:
        infos = alternative.words
        del infos[len(words) :]
        for i, word in enumerate(words):
            if i >= len(before) or word is not before[i]:
                self._write_word(word, infos[i] if i < len(infos) else infos.add())

    def _write_word(self, word: Word, info: own.WordInfo | google.WordInfo) -> None:
        info.word = word.word
        if self._features.enable_word_time_offsets:
            info.start_offset.CopyFrom(duration(word.start_s))
            info.end_offset.CopyFrom(duration(word.end_s))
        if self._features.enable_word_confidence:
            info.confidence = word.confidence
