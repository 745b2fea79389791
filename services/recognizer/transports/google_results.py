"""Results in the messages of Google Speech-to-Text v2."""

from services.coordination.durations import duration
from services.recognizer.stream import Stream
from services.recognizer.transports.grpc_messages import Formatter
from sonorant.serving.results import Answer, SpeechEvent
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["StreamWriter", "recognized"]

_SPEECH_EVENTS = {
    "begin": pb.StreamingRecognizeResponse.SPEECH_ACTIVITY_BEGIN,
    "end": pb.StreamingRecognizeResponse.SPEECH_ACTIVITY_END,
}


async def recognized(
    stream: Stream, content: bytes, config: pb.RecognitionConfig, language: str
) -> pb.RecognizeResponse:
    """Recognize a whole recording; the response has no result if it is empty. Raises as `Stream.whole`."""
    results = await stream.whole(content)
    response = pb.RecognizeResponse(metadata=_metadata(stream))
    formatter = _formatter(config)
    for result in results:
        response.results.add(
            alternatives=formatter.write(result.alternatives),
            channel_tag=result.channel,
            result_end_offset=duration(result.end_s),
            language_code=language,
        )
    return response


class StreamWriter:
    """Writes the responses of one stream."""

    def __init__(self, stream: Stream, config: pb.RecognitionConfig, language: str) -> None:
        self._stream = stream
        self._language = language
        self._formatter = _formatter(config)

    def write(self, answer: Answer) -> pb.StreamingRecognizeResponse:
        """Return the response with a result, or with an event of speech."""
        response = pb.StreamingRecognizeResponse(metadata=_metadata(self._stream))
        if isinstance(answer, SpeechEvent):
            response.speech_event_type = _SPEECH_EVENTS[answer.kind]
            response.speech_event_offset.CopyFrom(duration(answer.time_s))
            return response
        response.results.add(
            alternatives=self._formatter.write(answer.alternatives),
            is_final=answer.is_final,
            stability=answer.stability,
            channel_tag=answer.channel,
            result_end_offset=duration(answer.end_s),
            language_code=self._language,
        )
        return response


def _formatter(config: pb.RecognitionConfig) -> Formatter[pb.SpeechRecognitionAlternative]:
    return Formatter(pb.SpeechRecognitionAlternative, config.features)


def _metadata(stream: Stream) -> pb.RecognitionResponseMetadata:
    return pb.RecognitionResponseMetadata(total_billed_duration=duration(stream.channels * stream.audio_s))
