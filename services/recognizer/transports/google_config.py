"""Requests of Google Speech-to-Text v2: which fields are supported, and what they mean to the engine."""

import itertools
import re
from collections.abc import Iterator

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from services.recognizer.transports.google_features import sensitivity, speech_timeouts
from services.recognizer.transports.grpc_messages import channels_apart, encoding_name, words_wanted
from sonorant.serving.errors import BadRequest
from sonorant.serving.model_choice import parse_choice
from sonorant.serving.phrases import MOST_PHRASES
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["PARENT", "SUPPORTED", "apply_mask", "check_supported", "model_name", "stream_request"]

SUPPORTED: dict[str, frozenset[str]] = {
    kind.DESCRIPTOR.full_name: frozenset(fields.split())
    for kind, fields in (
        (pb.GetRecognizerRequest, "name"),
        (pb.ListRecognizersRequest, "parent page_size page_token show_deleted"),
        (pb.RecognizeRequest, "recognizer config config_mask content"),
        (pb.BatchRecognizeRequest, "recognizer config config_mask files recognition_output_config"),
        (pb.BatchRecognizeFileMetadata, "uri"),
        (pb.RecognitionOutputConfig, "inline_response_config output_format_config"),
        (pb.InlineOutputConfig, ""),
        (pb.OutputFormatConfig, "native"),
        (pb.NativeOutputFileFormatConfig, ""),
        (pb.StreamingRecognizeRequest, "recognizer streaming_config audio"),
        (pb.StreamingRecognitionConfig, "config config_mask streaming_features"),
        (
            pb.StreamingRecognitionFeatures,
            "interim_results enable_voice_activity_events voice_activity_timeout endpointing_sensitivity",
        ),
        (pb.StreamingRecognitionFeatures.VoiceActivityTimeout, "speech_start_timeout speech_end_timeout"),
        (Duration, "seconds nanos"),
        (
            pb.RecognitionConfig,
            "auto_decoding_config explicit_decoding_config model language_codes features adaptation",
        ),
        (pb.ExplicitDecodingConfig, "encoding sample_rate_hertz audio_channel_count"),
        (pb.AutoDetectDecodingConfig, ""),
        (pb.RecognitionFeatures, "enable_word_time_offsets enable_word_confidence max_alternatives multi_channel_mode"),
        (pb.SpeechAdaptation, "phrase_sets"),
        (pb.SpeechAdaptation.AdaptationPhraseSet, "inline_phrase_set"),
        (pb.PhraseSet, "phrases boost"),
        (pb.PhraseSet.Phrase, "value boost"),
        (FieldMask, "paths"),
    )
}
"""The fields of each message of a request that have an effect; any other that is set is refused."""

PARENT = re.compile(r"projects/[^/]+/locations/[^/]+")
_RECOGNIZER = re.compile(rf"{PARENT.pattern}/recognizers/([^/]+)")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")  # BCP 47, without its private and grandfathered tags
_MOST_MESSAGES = 3 * MOST_PHRASES + 500  # phrases, a set of two messages each, and the config
_MOST_PATHS = 100
_WHOLE = pb.StreamingRecognitionFeatures()


def check_supported(message: Message, path: str = "") -> None:
    """Raise BadRequest for the first field of a request, named by its path, that would be ignored.

    A field whose value is its default is as good as absent. Raises it too for a request of too many phrases or
    messages, which would hold up others.
    """
    _check(message, path, itertools.count(1))


def _check(message: Message, path: str, visited: Iterator[int]) -> None:
    if next(visited) > _MOST_MESSAGES:
        raise BadRequest(f"{path.removesuffix('.')}: more than {_MOST_MESSAGES} messages in a request: send fewer")
    if isinstance(message, pb.SpeechAdaptation):
        _check_phrases(message, path)
    for unknown in UnknownFieldSet(message):
        place = path.removesuffix(".") or message.DESCRIPTOR.name
        raise BadRequest(f"{place}: field number {unknown.field_number}: unknown to this recognizer; leave it out")
    supported = SUPPORTED[message.DESCRIPTOR.full_name]
    for field, value in message.ListFields():
        name = f"{path}{field.name}"
        if field.name not in supported:
            known = ", ".join(sorted(supported)) or "none"
            raise BadRequest(f"{name}: not supported by this recognizer; leave it out. Supported beside it: {known}")
        if field.message_type is not None and field.label == field.LABEL_REPEATED:
            for number, part in enumerate(value):
                _check(part, f"{name}[{number}].", visited)
        elif field.message_type is not None:
            _check(value, f"{name}.", visited)


def _check_phrases(adaptation: pb.SpeechAdaptation, path: str) -> None:
    """Raise BadRequest for more phrases than `scorer_with_phrases` takes, in the sets that a request may have."""
    count = sum(len(one.inline_phrase_set.phrases) for one in adaptation.phrase_sets[:_MOST_MESSAGES])
    if count > MOST_PHRASES:
        raise BadRequest(f"{path}phrase_sets: {count} phrases: expected {MOST_PHRASES} at most")


def apply_mask(message: pb.RecognizeRequest | pb.StreamingRecognitionConfig | pb.BatchRecognizeRequest) -> None:
    """Leave in the config of `message` what its mask names; all if it names nothing, or "*"; raises BadRequest."""
    if not message.config_mask.paths or list(message.config_mask.paths) == ["*"]:
        return
    if len(message.config_mask.paths) > _MOST_PATHS:
        raise BadRequest(f"config_mask: {len(message.config_mask.paths)} paths: expected {_MOST_PATHS} at most")
    for path in message.config_mask.paths:
        if not FieldMask(paths=[path]).IsValidForDescriptor(pb.RecognitionConfig.DESCRIPTOR):
            raise BadRequest(f"config_mask: {path!r}: no field of RecognitionConfig; for all of them, write *")
    counted = pb.RecognitionConfig()
    message.config_mask.MergeMessage(message.config, counted)
    message.config.CopyFrom(counted)


def model_name(recognizer: str) -> str:
    """Return the model that a recognizer's name ends with; empty for `_`, the implicit one. Raises BadRequest."""
    found = _RECOGNIZER.fullmatch(recognizer)
    if found is None:
        raise BadRequest(
            f"recognizer={recognizer!r}: expected projects/PROJECT/locations/LOCATION/recognizers/MODEL, "
            "or _ in place of MODEL"
        )
    return "" if found[1] == "_" else found[1]


def stream_request(
    recognizer: str, config: pb.RecognitionConfig, wanted: pb.StreamingRecognitionFeatures = _WHOLE
) -> StreamRequest:
    """Return what the engine is asked for by a checked config of a recognizer; raises BadRequest."""
    name = model_name(recognizer)
    if name and config.model not in ("", name):
        raise BadRequest(
            f"config.model={config.model!r}: recognizer {name!r} is that model alone; for another, end the "
            "recognizer's name with _"
        )
    return StreamRequest(
        model=parse_choice(name or config.model),
        audio=_audio_format(config),
        alternatives=config.features.max_alternatives,
        interim_results=wanted.interim_results,
        words=words_wanted(config.features),
        phrases=tuple(_phrases(config.adaptation)),
        language=_language(config),
        utterances=wanted is not _WHOLE,
        speech_events=wanted.enable_voice_activity_events,
        sensitivity=sensitivity(wanted),
        timeouts=speech_timeouts(wanted),
    )


def _audio_format(config: pb.RecognitionConfig) -> AudioFormat:
    apart = channels_apart(config.features)
    if config.WhichOneof("decoding_config") == "auto_decoding_config":
        return AudioFormat("AUTO", apart=apart)
    audio = config.explicit_decoding_config
    encoding = encoding_name(pb.ExplicitDecodingConfig.AudioEncoding, audio.encoding)
    return AudioFormat(encoding, audio.sample_rate_hertz, audio.audio_channel_count, apart)


def _phrases(adaptation: pb.SpeechAdaptation) -> Iterator[tuple[str, float]]:
    """Yield each phrase, and its boost: its own, its set's, or 0."""
    for one in adaptation.phrase_sets:
        for phrase in one.inline_phrase_set.phrases:
            yield phrase.value, phrase.boost or one.inline_phrase_set.boost


def _language(config: pb.RecognitionConfig) -> str:
    codes = config.language_codes
    if len(codes) > 1:
        raise BadRequest(f"config.language_codes={len(codes)} codes: expected one at most; a model has one language")
    if codes and not _LANGUAGE.fullmatch(codes[0]):
        raise BadRequest(f"config.language_codes={codes[0]!r}: expected a BCP 47 code, such as en or en-US")
    return codes[0] if codes else ""
