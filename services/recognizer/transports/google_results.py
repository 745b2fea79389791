"""Results in the messages of Google Speech-to-Text v2."""

from services.coordination.durations import duration
from services.recognizer.engine import Stream
from services.recognizer.transports.grpc_messages import Formatter
from sonorant.serving.session import Result
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["StreamWriter", "recognized"]


async def recognized(
    stream: Stream, content: bytes, config: pb.RecognitionConfig, language: str
) -> pb.RecognizeResponse:
    """Recognize a whole recording; the response has no result if it is empty. Raises as `Stream.whole`."""
    result = await stream.whole(content)
    response = pb.RecognizeResponse(metadata=_metadata(stream))
    if result is not None:
        response.results.add(
            alternatives=_formatter(config).write(result.alternatives),
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

    def write(self, result: Result) -> pb.StreamingRecognizeResponse:
        """Return the response with a result."""
        response = pb.StreamingRecognizeResponse(metadata=_metadata(self._stream))
        response.results.add(
            alternatives=self._formatter.write(result.alternatives),
            is_final=result.is_final,
            stability=result.stability,
            result_end_offset=duration(result.end_s),
            language_code=self._language,
        )
        return response


def _formatter(config: pb.RecognitionConfig) -> Formatter[pb.SpeechRecognitionAlternative]:
    return Formatter(pb.SpeechRecognitionAlternative, config.features)


def _metadata(stream: Stream) -> pb.RecognitionResponseMetadata:
    return pb.RecognitionResponseMetadata(total_billed_duration=duration(stream.audio_s))
