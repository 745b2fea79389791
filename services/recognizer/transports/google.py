"""The Speech service of Google Speech-to-Text v2 over the engine, so that its clients work here."""

from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import Message

from services.recognizer.engine import Engine
from services.recognizer.gathering import gathered
from services.recognizer.inbox import Inbox
from services.recognizer.stream import Stream
from services.recognizer.suspending import end_stream
from services.recognizer.transports.google_batch import BatchRecognizer
from services.recognizer.transports.google_config import apply_mask, check_supported, stream_request
from services.recognizer.transports.google_recognizers import get_recognizer, list_recognizers
from services.recognizer.transports.google_results import StreamWriter, recognized
from services.recognizer.transports.grpc_messages import parsed
from services.recognizer.transports.grpc_methods import Handler, serialized, streaming, unary
from sonorant.serving.errors import STREAM_ENDS, BadRequest
from sonorant.serving.results import Answer
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["SERVICE", "SpeechServicer"]

SERVICE = pb.DESCRIPTOR.services_by_name["Speech"].full_name

_MODELS = "recognizers are the models in service; `sonorant export` adds one"
_PHRASES = "phrases come with each request, in config.adaptation.phrase_sets.inline_phrase_set"
_NOT_SERVED = {
    "BatchRecognize": "the recognizer has no folder of recordings (serving.recordings); send them to Recognize",
    **{f"{verb}Recognizer": _MODELS for verb in ("Create", "Update", "Delete", "Undelete")},
    **{f"{verb}PhraseSet": _PHRASES for verb in ("Create", "Get", "Update", "Delete", "Undelete")},
    **{f"{verb}CustomClass": "there are none" for verb in ("Create", "Get", "Update", "Delete", "Undelete")},
    "ListPhraseSets": _PHRASES,
    "ListCustomClasses": "there are none",
    **{f"{verb}Config": "projects have no configuration" for verb in ("Get", "Update")},
}

_Context = grpc.aio.ServicerContext[Any, Any]


class SpeechServicer:
    """Parses requests, refuses fields that have no effect, calls the engine, formats its results."""

    def __init__(self, engine: Engine, batch: BatchRecognizer | None = None) -> None:
        """batch: absent: BatchRecognize is not served."""
        self._engine = engine
        self._batch = batch

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the service's methods, for a server; requests come as bytes (`parsed`)."""
        refuse = self._engine.refuse
        methods: dict[str, Handler] = {
            "GetRecognizer": unary(pb.GetRecognizerRequest, self._get_recognizer, refuse),
            "ListRecognizers": unary(pb.ListRecognizersRequest, self._list_recognizers, refuse),
            "Recognize": unary(pb.RecognizeRequest, self._recognize, refuse),
            "StreamingRecognize": streaming(self._engine, _first, self._stream),
        }
        methods |= {name: self._not_served(name, reason) for name, reason in _NOT_SERVED.items()}
        if self._batch is not None:
            methods["BatchRecognize"] = unary(pb.BatchRecognizeRequest, self._batch.begin, refuse)
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _not_served(self, name: str, reason: str) -> Handler:
        async def call(message: bytes, context: _Context) -> Message:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{name}: not served; {reason}")
            raise AssertionError("aborted calls go no further")

        return grpc.unary_unary_rpc_method_handler(call, response_serializer=serialized)

    async def _get_recognizer(self, request: pb.GetRecognizerRequest) -> pb.Recognizer:
        return get_recognizer(self._engine, request)

    async def _list_recognizers(self, request: pb.ListRecognizersRequest) -> pb.ListRecognizersResponse:
        return list_recognizers(self._engine, request)

    async def _recognize(self, request: pb.RecognizeRequest) -> pb.RecognizeResponse:
        """Recognize a whole recording."""
        apply_mask(request)
        check_supported(request)
        if not request.content:
            raise BadRequest("content: absent or empty; send the recording in it")
        opening = stream_request(request.recognizer, request.config)
        with self._engine.admission.slot(), self._engine.stream(opening) as stream:
            return await recognized(stream, request.content, request.config, opening.language)

    async def _stream(
        self, first: pb.StreamingRecognizeRequest, inbox: Inbox[bytes]
    ) -> AsyncGenerator[pb.StreamingRecognizeResponse, None]:
        opened = first.streaming_config
        opening = stream_request(first.recognizer, opened.config, opened.streaming_features)
        with self._engine.stream(opening) as stream:
            write = StreamWriter(stream, opened.config, opening.language).write
            try:
                async for answer in _answers(inbox, stream, first.recognizer):
                    yield write(answer)
                for answer in await stream.finish():
                    yield write(answer)
            except STREAM_ENDS as error:
                if stream.audio_s:
                    answers, _ = await end_stream(stream, error)
                    for answer in answers:
                        yield write(answer)
                raise


async def _first(inbox: Inbox[bytes]) -> pb.StreamingRecognizeRequest:
    """Return the first message, checked, without its audio, which is the inbox's next."""
    message = await inbox.next()
    first = pb.StreamingRecognizeRequest() if message is None else parsed(pb.StreamingRecognizeRequest, message)
    apply_mask(first.streaming_config)
    check_supported(first)
    if first.WhichOneof("streaming_request") is None:
        raise BadRequest("the first message has no streaming_config: expected it; send audio after it")
    if message is not None and first.WhichOneof("streaming_request") == "audio":
        inbox.put_back(message)
        first.ClearField("audio")
    kept = pb.StreamingRecognizeRequest()
    kept.CopyFrom(first)  # which keeps the memory of all that its message had
    return kept


async def _answers(inbox: Inbox[bytes], stream: Stream, recognizer: str) -> AsyncIterator[Answer]:
    """Recognize a client's audio, and yield what comes of it; raises SonorantError."""
    while audio := await _next_audio(inbox, stream, recognizer):
        if any(audio):
            for answer in await stream.push(*audio):
                inbox.heard()
                yield answer
            stream.check()
            if stream.ended:
                return
            inbox.heard()  # a slow reader's audio may wait here
        del audio  # an idle stream keeps none


async def _next_audio(inbox: Inbox[bytes], stream: Stream, recognizer: str) -> list[bytes]:
    """Return the audio of the next messages, of none after the last; raises BadRequest if one has anything else."""
    if (message := await inbox.next()) is None:
        return []
    return await gathered(inbox, stream, _audio(message, recognizer), partial(_audio, recognizer=recognizer))


def _audio(message: bytes, recognizer: str) -> bytes:
    request = parsed(pb.StreamingRecognizeRequest, message)
    if request.WhichOneof("streaming_request") == "streaming_config":
        raise BadRequest("a second streaming_config: expected audio; open a new stream to change the config")
    check_supported(request)
    if request.recognizer not in ("", recognizer):
        raise BadRequest(f"recognizer={request.recognizer!r}: the stream began with {recognizer!r}; open a new one")
    return request.audio
