"""The Recognizer service of `sonorant.v1` over the engine."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from services.coordination.durations import duration
from services.recognizer.engine import Engine, Stream
from services.recognizer.inbox import Inbox
from sonorant.decoding import Hypothesis, Word
from sonorant.errors import SonorantError
from sonorant.serving.errors import AudioTooLong, BadRequest, Draining, IdleStream
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.session import Answer, Result, SpeechEvent
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["SERVICE", "RecognizerServicer"]

SERVICE = pb.DESCRIPTOR.services_by_name["Recognizer"].full_name

_ENCODINGS = pb.ExplicitDecodingConfig.AudioEncoding
_END_REASONS: dict[type[SonorantError], pb.EndReason.ValueType] = {
    AudioTooLong: pb.END_REASON_LENGTH_LIMIT,
    IdleStream: pb.END_REASON_IDLE,
    Draining: pb.END_REASON_DRAIN,
}
_SPEECH_EVENTS = {
    "begin": pb.StreamingRecognizeResponse.SPEECH_ACTIVITY_BEGIN,
    "end": pb.StreamingRecognizeResponse.SPEECH_ACTIVITY_END,
}
_WHOLE = pb.StreamingRecognitionFeatures(single_result=True)
_LISTEN_OUT_S = 0.25  # time for a refused stream's client to end its messages

_Message = TypeVar("_Message", bound=Message)
_Context = grpc.aio.ServicerContext[Any, Any]


class RecognizerServicer:
    """Parses requests, calls the engine, formats its results; errors become statuses.

    Requests come as bytes: of those that its own parser refuses, gRPC says INTERNAL.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the service's methods, for a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Recognize": grpc.unary_unary_rpc_method_handler(
                self.recognize, response_serializer=pb.RecognizeResponse.SerializeToString
            ),
            "StreamingRecognize": grpc.stream_stream_rpc_method_handler(
                self.streaming_recognize, response_serializer=pb.StreamingRecognizeResponse.SerializeToString
            ),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def recognize(self, message: bytes, context: _Context) -> pb.RecognizeResponse:
        """Recognize a whole recording."""
        try:
            request = _parsed(pb.RecognizeRequest, message)
            with self._engine.admission.slot(), self._engine.stream(_request(request.config, _WHOLE)) as stream:
                result = await stream.whole(request.content)
                response = pb.RecognizeResponse(metadata=_metadata(stream))
        except SonorantError as error:
            await self._abort(context, error)
            raise
        if result is not None:
            response.results.add(
                alternatives=_Formatter(request.config.features).write(result.alternatives),
                result_end_offset=duration(result.end_s),
            )
        return response

    async def streaming_recognize(
        self, messages: AsyncIterator[bytes], context: _Context
    ) -> AsyncIterator[pb.StreamingRecognizeResponse]:
        """Recognize a stream; its slot is freed when either side ends it."""
        try:
            with self._engine.admission.slot():
                async with aclosing(self._stream(messages)) as responses:
                    async for response in responses:
                        yield response
        except SonorantError as error:
            await _listen_out(messages)
            await self._abort(context, error)

    async def _stream(self, messages: AsyncIterator[bytes]) -> AsyncGenerator[pb.StreamingRecognizeResponse, None]:
        inbox = self._engine.inbox(messages)
        message = await inbox.next()
        first = None if message is None else _parsed(pb.StreamingRecognizeRequest, message)
        if first is None or first.WhichOneof("request") != "streaming_config":
            sent = "nothing" if first is None else first.WhichOneof("request") or "an empty message"
            raise BadRequest(f"the first message has {sent}: expected streaming_config; send audio after it")
        config, wanted = first.streaming_config.config, first.streaming_config.streaming_features
        with self._engine.stream(_request(config, wanted)) as stream:
            formatter = _Formatter(config.features)
            try:
                async for answer in _answers(inbox, stream):
                    yield _response(stream, answer, formatter)
            except tuple(_END_REASONS) as error:
                if stream.audio_s:  # without audio there is nothing to lose, and gRPC may send the stream again
                    async for response in _last_responses(stream, formatter, _END_REASONS[type(error)]):
                        yield response
                raise
            async for response in _last_responses(stream, formatter):
                yield response

    async def _abort(self, context: _Context, error: SonorantError) -> None:
        await context.abort(grpc.StatusCode[self._engine.refuse(error)], str(error))


def _parsed(kind: type[_Message], message: bytes) -> _Message:
    try:
        return kind.FromString(message)
    except DecodeError as error:
        name = kind.DESCRIPTOR.full_name
        raise BadRequest(
            f"{len(message)} bytes that are no {name}: {error}; is the client made from our proto?"
        ) from None


async def _answers(inbox: Inbox[bytes], stream: Stream) -> AsyncIterator[Answer]:
    """Recognize a client's audio, and yield what comes of it; an empty message is no audio. Raises SonorantError."""
    while (message := await inbox.next()) is not None:
        request = _parsed(pb.StreamingRecognizeRequest, message)
        if request.WhichOneof("request") == "streaming_config":
            raise BadRequest("a second streaming_config: expected audio; open a new stream to change the config")
        if not request.audio:
            continue
        answers = await stream.push(request.audio)
        inbox.heard()
        for answer in answers:
            yield answer
            inbox.heard()  # a slow reader's audio may wait here


async def _last_responses(
    stream: Stream, formatter: "_Formatter", end_reason: pb.EndReason.ValueType = pb.END_REASON_UNSPECIFIED
) -> AsyncIterator[pb.StreamingRecognizeResponse]:
    """Finish a stream; the last response, a final result, says why it ends."""
    *answers, last = await stream.finish()
    for answer in answers:
        yield _response(stream, answer, formatter)
    response = _response(stream, last, formatter)
    response.end_reason = end_reason
    yield response


def _request(config: pb.RecognitionConfig, wanted: pb.StreamingRecognitionFeatures) -> StreamRequest:
    audio = config.explicit_decoding_config
    encoding = str(audio.encoding)  # unknown to this version
    if audio.encoding in _ENCODINGS.values():
        encoding = _ENCODINGS.Name(audio.encoding) if audio.encoding else ""
    spoken = AudioFormat(encoding, audio.sample_rate_hertz, audio.audio_channel_count)
    return StreamRequest(
        config.model,
        spoken,
        config.features.max_alternatives,
        wanted.interim_results,
        not wanted.single_result,
        wanted.enable_voice_activity_events,
    )


class _Formatter:
    """Writes the results of one stream; of a word that is the same as in the result before nothing is written again."""

    def __init__(self, features: pb.RecognitionFeatures) -> None:
        self._features = features
        self._with_words = features.enable_word_time_offsets or features.enable_word_confidence
        self._written: list[tuple[tuple[Word, ...], pb.SpeechRecognitionAlternative]] = []

    def write(self, hypotheses: Sequence[Hypothesis]) -> list[pb.SpeechRecognitionAlternative]:
        """Return the alternatives, valid until the next call."""
        known = [*self._written, *(((), pb.SpeechRecognitionAlternative()) for _ in hypotheses)]
        self._written = []
        for hypothesis, (words, alternative) in zip(hypotheses, known, strict=False):
            alternative.transcript = hypothesis.text
            alternative.confidence = hypothesis.confidence
            if self._with_words:
                self._write_words(hypothesis.words, words, alternative)
            self._written.append((hypothesis.words, alternative))
        return [alternative for _, alternative in self._written]

    def _write_words(
        self, words: Sequence[Word], before: Sequence[Word], alternative: pb.SpeechRecognitionAlternative
    ) -> None:
        infos = alternative.words
        del infos[len(words) :]
        for i, word in enumerate(words):
            if i >= len(before) or word is not before[i]:
                self._write_word(word, infos[i] if i < len(infos) else infos.add())

    def _write_word(self, word: Word, info: pb.WordInfo) -> None:
        info.word = word.word
        if self._features.enable_word_time_offsets:
            info.start_offset.CopyFrom(duration(word.start_s))
            info.end_offset.CopyFrom(duration(word.end_s))
        if self._features.enable_word_confidence:
            info.confidence = word.confidence


def _response(stream: Stream, answer: Answer, formatter: _Formatter) -> pb.StreamingRecognizeResponse:
    response = pb.StreamingRecognizeResponse(metadata=_metadata(stream))
    if isinstance(answer, SpeechEvent):
        response.speech_event_type = _SPEECH_EVENTS[answer.kind]
        response.speech_event_offset.CopyFrom(duration(answer.time_s))
    else:
        _add_result(response, answer, formatter)
    return response


def _add_result(response: pb.StreamingRecognizeResponse, result: Result, formatter: _Formatter) -> None:
    response.results.add(
        alternatives=formatter.write(result.alternatives),
        is_final=result.is_final,
        stability=result.stability,
        result_end_offset=duration(result.end_s),
        result_start_offset=duration(result.start_s),
    )


def _metadata(stream: Stream) -> pb.RecognitionResponseMetadata:
    return pb.RecognitionResponseMetadata(
        total_billed_duration=duration(stream.audio_s),
        model=stream.model,
        sample_rate_hertz=stream.rate_hz,
        max_stream_duration=duration(stream.max_s),
    )


async def _listen_out(messages: AsyncIterator[bytes]) -> None:
    """Read and drop a refused client's messages, for a while.

    If its stream were closed while it writes, its client would often get INTERNAL instead of our status.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LISTEN_OUT_S):
            async for _ in messages:
                pass
