"""Features of Google Speech-to-Text v2 as the engine has them: how the ends of speech are judged."""

from math import inf

from google.protobuf.duration_pb2 import Duration

from services.recognizer.transports.grpc_messages import encoding_name
from sonorant.serving.errors import BadRequest
from sonorant.serving.speech_timeouts import NO_TIMEOUTS, SpeechTimeouts
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["sensitivity", "speech_timeouts"]


def sensitivity(wanted: pb.StreamingRecognitionFeatures) -> str:
    """Return the sensitivity of endpointing, without its prefix; the number of an unknown one."""
    name = encoding_name(pb.StreamingRecognitionFeatures.EndpointingSensitivity, wanted.endpointing_sensitivity)
    return name.removeprefix("ENDPOINTING_SENSITIVITY_") or "STANDARD"


def speech_timeouts(wanted: pb.StreamingRecognitionFeatures) -> SpeechTimeouts:
    """Return the timeouts of a stream; raises BadRequest without the events that they are counted from."""
    if not wanted.HasField("voice_activity_timeout"):
        return NO_TIMEOUTS
    if not wanted.enable_voice_activity_events:
        raise BadRequest(
            "voice_activity_timeout is counted from voice activity events: set enable_voice_activity_events"
        )
    given = wanted.voice_activity_timeout
    return SpeechTimeouts(
        _seconds(given.speech_start_timeout) if given.HasField("speech_start_timeout") else inf,
        _seconds(given.speech_end_timeout) if given.HasField("speech_end_timeout") else inf,
    )


def _seconds(given: Duration) -> float:
    """Return a duration in seconds, whatever its fields say."""
    return float(given.seconds) + given.nanos / 1e9
