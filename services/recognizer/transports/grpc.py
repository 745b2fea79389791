"""The Recognizer service of `sonorant.v1` over the engine."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import grpc

from services.coordination.durations import duration
from services.recognizer.engine import Engine
from services.recognizer.gathering import gathered
from services.recognizer.inbox import Inbox
from services.recognizer.stream import Stream
from services.recognizer.suspending import end_stream
from services.recognizer.transports.grpc_messages import Formatter, channels_apart, encoding_name, parsed, words_wanted
from services.recognizer.transports.grpc_methods import streaming, unary
from sonorant.errors import SonorantError
from sonorant.serving.errors import AudioTooLong, BadRequest, Draining, IdleStream
from sonorant.serving.model_choice import parse_choice
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.results import Answer, Result, SpeechEvent
from sonorant.serving.resume_token import parse_token
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["SERVICE", "RecognizerServicer"]

SERVICE = pb.DESCRIPTOR.services_by_name["Recognizer"].full_name

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

_Formatter = Formatter[pb.SpeechRecognitionAlternative]


class RecognizerServicer:
    """Calls the engine, and formats its results."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the service's methods, for a server."""
        methods = {
            "Recognize": unary(pb.RecognizeRequest, self._recognize, self._engine.refuse),
            "StreamingRecognize": streaming(self._engine, _opening, self._stream),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _recognize(self, request: pb.RecognizeRequest) -> pb.RecognizeResponse:
        """Recognize a whole recording."""
        if not request.content:
            return self._described(_request(request.config, _WHOLE))
        with self._engine.admission.slot(), self._engine.stream(_request(request.config, _WHOLE)) as stream:
            results = await stream.whole(request.content)
            response = pb.RecognizeResponse(metadata=_metadata(stream))
        formatter = _Formatter(pb.SpeechRecognitionAlternative, request.config.features)
        for result in results:
            response.results.add(
                alternatives=formatter.write(result.alternatives),
                result_end_offset=duration(result.end_s),
                channel_tag=result.channel,
            )
        return response

    def _described(self, request: StreamRequest) -> pb.RecognizeResponse:
        """Return what a client learns of a model before it streams; that is no stream of the canary's share."""
        with self._engine.admission.open():
            model = self._engine.check(request)
        metadata = pb.RecognitionResponseMetadata(
            total_billed_duration=duration(0.0),
            model=f"{model.name}/{model.version}",
            sample_rate_hertz=model.sample_rate_hz,
            max_stream_duration=duration(self._engine.max_stream_s),
        )
        return pb.RecognizeResponse(metadata=metadata)

    async def _stream(
        self, opening: pb.StreamingRecognitionConfig, inbox: Inbox[bytes]
    ) -> AsyncGenerator[pb.StreamingRecognizeResponse, None]:
        config, wanted = opening.config, opening.streaming_features
        request = replace(_request(config, wanted), resume=parse_token(opening.resume_token))
        with self._engine.stream(request) as stream:
            formatter = _Formatter(pb.SpeechRecognitionAlternative, config.features)
            try:
                async for answer in _answers(inbox, stream):
                    yield _response(stream, answer, formatter)
                for answer in await stream.finish():
                    yield _response(stream, answer, formatter)
            except tuple(_END_REASONS) as error:
                if stream.audio_s:  # without audio there is nothing to lose, and gRPC may send the stream again
                    async for response in _last_responses(stream, formatter, error):
                        yield response
                raise


async def _opening(inbox: Inbox[bytes]) -> pb.StreamingRecognitionConfig:
    """Return the config of a stream's first message."""
    message = await inbox.next()
    first = None if message is None else parsed(pb.StreamingRecognizeRequest, message)
    if first is None or first.WhichOneof("request") != "streaming_config":
        sent = "nothing" if first is None else first.WhichOneof("request") or "an empty message"
        raise BadRequest(f"the first message has {sent}: expected streaming_config; send audio after it")
    config = pb.StreamingRecognitionConfig()
    config.CopyFrom(first.streaming_config)  # a part of a message keeps all its memory
    return config


async def _answers(inbox: Inbox[bytes], stream: Stream) -> AsyncIterator[Answer]:
    """Recognize a client's audio, and yield what comes of it; an empty message is no audio. Raises SonorantError."""
    while audio := await _next_audio(inbox, stream):
        if not any(audio):
            continue
        answers = await stream.push(*audio)
        del audio  # an idle stream keeps none
        inbox.heard()
        for answer in answers:
            yield answer
            inbox.heard()  # a slow reader's audio may wait here
        stream.check()


async def _next_audio(inbox: Inbox[bytes], stream: Stream) -> list[bytes]:
    """Return the audio of the next messages, of none after the last; raises BadRequest for another config."""
    message = await inbox.next()
    return [] if message is None else await gathered(inbox, stream, _audio(message), _audio)


def _audio(message: bytes) -> bytes:
    request = parsed(pb.StreamingRecognizeRequest, message)
    if request.WhichOneof("request") == "streaming_config":
        raise BadRequest("a second streaming_config: expected audio; open a new stream to change the config")
    return request.audio


async def _last_responses(
    stream: Stream, formatter: _Formatter, error: SonorantError
) -> AsyncIterator[pb.StreamingRecognizeResponse]:
    """End a stream for `error`; the last response, a final result, says why, and where the audio goes on."""
    (*answers, last), token = await end_stream(stream, error)
    for answer in answers:
        yield _response(stream, answer, formatter)
    response = _response(stream, last, formatter)
    response.end_reason = _END_REASONS[type(error)]
    response.resume_token = str(token)
    response.resume_offset.CopyFrom(duration(token.begin_s))
    yield response


def _request(config: pb.RecognitionConfig, wanted: pb.StreamingRecognitionFeatures) -> StreamRequest:
    audio = config.explicit_decoding_config
    encoding = encoding_name(pb.ExplicitDecodingConfig.AudioEncoding, audio.encoding)
    features = config.features
    apart = channels_apart(features)
    spoken = AudioFormat(encoding, audio.sample_rate_hertz, audio.audio_channel_count, apart)
    return StreamRequest(
        parse_choice(config.model),
        spoken,
        features.max_alternatives,
        wanted.interim_results,
        words=words_wanted(features),
        phrases=tuple((phrase.value, phrase.boost) for phrase in config.phrases),
        language_model=not config.without_language_model,
        written=features.written,
        utterances=not wanted.single_result,
        speech_events=wanted.enable_voice_activity_events,
    )


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
        channel_tag=result.channel,
    )


def _metadata(stream: Stream) -> pb.RecognitionResponseMetadata:
    return pb.RecognitionResponseMetadata(
        total_billed_duration=duration(stream.heard_s),
        model=stream.model,
        sample_rate_hertz=stream.rate_hz,
        max_stream_duration=duration(stream.max_s),
    )
