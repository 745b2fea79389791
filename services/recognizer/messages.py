"""Between protos and the library: requests checked, results written out, errors as statuses."""

import grpc

from services.runtime.durations import duration
from sonorant.decoding import Hypothesis
from sonorant.errors import BadAudio, RejectedExample, SonorantError, Unavailable
from sonorant.serving.errors import AudioTooLong, BadRequest, IdleStream, TooManyStreams, UnknownModel
from sonorant.serving.model import StreamingModel
from sonorant.serving.session import Result
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["alternatives", "check_audio_config", "max_alternatives", "metadata", "status_of"]

_STATUS: dict[type[SonorantError], grpc.StatusCode] = {
    BadRequest: grpc.StatusCode.INVALID_ARGUMENT,
    BadAudio: grpc.StatusCode.INVALID_ARGUMENT,
    RejectedExample: grpc.StatusCode.INVALID_ARGUMENT,
    UnknownModel: grpc.StatusCode.NOT_FOUND,
    AudioTooLong: grpc.StatusCode.OUT_OF_RANGE,
    IdleStream: grpc.StatusCode.DEADLINE_EXCEEDED,
    TooManyStreams: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
}
_MOST_ALTERNATIVES = 30


def status_of(error: SonorantError) -> grpc.StatusCode:
    """Return the gRPC status for `error`; INTERNAL for one that is our own fault."""
    return _STATUS.get(type(error), grpc.StatusCode.INTERNAL)


def check_audio_config(config: pb.RecognitionConfig, model: StreamingModel) -> None:
    """Raise BadRequest if audio as `config` describes it cannot be fed to `model`."""
    audio = config.explicit_decoding_config
    encodings = pb.ExplicitDecodingConfig.AudioEncoding
    if audio.encoding not in (encodings.AUDIO_ENCODING_UNSPECIFIED, encodings.LINEAR16):
        raise BadRequest(f"encoding={audio.encoding}: unsupported; send LINEAR16, 16-bit little-endian samples")
    if audio.sample_rate_hertz not in (0, model.sample_rate_hz):
        raise BadRequest(
            f"sample_rate_hertz={audio.sample_rate_hertz}: model {model.name!r} takes {model.sample_rate_hz}; "
            "resample the audio, or leave the field out if it has that rate"
        )
    if audio.audio_channel_count not in (0, 1):
        raise BadRequest(f"audio_channel_count={audio.audio_channel_count}: expected 1; send one channel")


def max_alternatives(features: pb.RecognitionFeatures) -> int:
    """Return how many alternatives the client wants; raises BadRequest outside 0 to 30."""
    wanted = features.max_alternatives
    if not 0 <= wanted <= _MOST_ALTERNATIVES:
        raise BadRequest(f"max_alternatives={wanted}: expected 1 to {_MOST_ALTERNATIVES}, or 0, which means 1")
    return wanted or 1


def alternatives(result: Result, features: pb.RecognitionFeatures) -> list[pb.SpeechRecognitionAlternative]:
    """Write out the N-best list, with as much about words as `features` asks for."""
    return [_alternative(hypothesis, features) for hypothesis in result.alternatives]


def metadata(model: StreamingModel, audio_s: float) -> pb.RecognitionResponseMetadata:
    """Say which model answered, and how much audio it has heard."""
    return pb.RecognitionResponseMetadata(
        total_billed_duration=duration(audio_s),
        model=f"{model.name}/{model.version}",
        sample_rate_hertz=model.sample_rate_hz,
    )


def _alternative(hypothesis: Hypothesis, features: pb.RecognitionFeatures) -> pb.SpeechRecognitionAlternative:
    alternative = pb.SpeechRecognitionAlternative(transcript=hypothesis.text, confidence=hypothesis.confidence)
    if features.enable_word_time_offsets or features.enable_word_confidence:
        for word in hypothesis.words:
            info = alternative.words.add(word=word.word)
            if features.enable_word_time_offsets:
                info.start_offset.CopyFrom(duration(word.start_s))
                info.end_offset.CopyFrom(duration(word.end_s))
            if features.enable_word_confidence:
                info.confidence = word.confidence
    return alternative
