from pathlib import Path

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from services.recognizer.transports.google_config import SUPPORTED, apply_mask, check_supported, stream_request
from sonorant.serving.errors import BadRequest
from sonorant.serving.request import AudioFormat
from sonorant.v1 import google_speech_pb2 as pb

IMPLICIT = "projects/p/locations/l/recognizers/_"
DOCUMENT = Path(__file__).parents[4] / "docs" / "protocols.md"
REQUESTS = (
    pb.GetRecognizerRequest,
    pb.ListRecognizersRequest,
    pb.RecognizeRequest,
    pb.BatchRecognizeRequest,
    pb.BatchRecognizeFileMetadata,
    pb.RecognitionOutputConfig,
    pb.OutputFormatConfig,
    pb.StreamingRecognizeRequest,
    pb.StreamingRecognitionConfig,
    pb.StreamingRecognitionFeatures,
    pb.RecognitionConfig,
    pb.ExplicitDecodingConfig,
    pb.RecognitionFeatures,
    pb.SpeechAdaptation,
    pb.SpeechAdaptation.AdaptationPhraseSet,
    pb.PhraseSet,
    pb.PhraseSet.Phrase,
)
FIELDS = [(kind, field) for kind in REQUESTS for field in kind.DESCRIPTOR.fields]


def with_field(kind, field):
    """A message in which nothing but `field` is set."""
    message = kind()
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        getattr(message, field.name)["key"] = "value"
    elif field.message_type is not None and field.label == field.LABEL_REPEATED:
        getattr(message, field.name).add()
    elif field.message_type is not None:
        getattr(message, field.name).SetInParent()
    elif field.label == field.LABEL_REPEATED:
        getattr(message, field.name).append("value")
    else:
        set_to = {field.CPPTYPE_STRING: b"x" if field.type == field.TYPE_BYTES else "x"}.get(field.cpp_type, 1)
        setattr(message, field.name, set_to)
    return message


@pytest.mark.parametrize(("kind", "field"), FIELDS, ids=lambda one: getattr(one, "full_name", ""))
def test_a_field_is_supported_or_refused_by_its_path(kind, field):
    message = with_field(kind, field)
    assert [(one.name) for one, _ in message.ListFields()] == [field.name]
    if field.name in SUPPORTED[kind.DESCRIPTOR.full_name]:
        check_supported(message, "config.")
    else:
        with pytest.raises(BadRequest, match=rf"^config\.{field.name}: not supported by this recognizer"):
            check_supported(message, "config.")


def test_the_page_of_the_recognizer_names_every_field_but_those_of_a_phrase_set():
    page = DOCUMENT.read_text()
    table = page[page.index("| field of a request") : page.index("Phrases of a request")]
    unsaid = {field.name for kind, field in FIELDS if f"`{field.name}`" not in table}
    assert unsaid <= {
        "name",
        "uid",
        "phrases",
        "boost",
        "display_name",
        "annotations",
        "features",
        "adaptation",
        "phrase_sets",
    }


def test_a_field_deep_in_a_list_is_named_with_its_number():
    adaptation = pb.SpeechAdaptation()
    adaptation.phrase_sets.add().inline_phrase_set.boost = 1
    adaptation.phrase_sets.add().phrase_set = "projects/p/locations/l/phraseSets/mine"
    request = pb.RecognizeRequest(config=pb.RecognitionConfig(adaptation=adaptation))
    with pytest.raises(BadRequest, match=r"^config\.adaptation\.phrase_sets\[1\]\.phrase_set: not supported"):
        check_supported(request)


def test_a_field_of_a_later_protocol_is_refused_by_its_number():
    request = pb.RecognizeRequest(config=pb.RecognitionConfig.FromString(b"\x98\x06\x05"))
    with pytest.raises(BadRequest, match=r"^config: field number 99: unknown to this recognizer"):
        check_supported(request)


@pytest.mark.parametrize(("sets", "phrases"), [(1, 10_000), (60, 50), (1001, 1)])
def test_a_request_of_too_many_phrases_is_refused_before_they_are_looked_at(sets, phrases):
    adaptation = pb.SpeechAdaptation()
    for _ in range(sets):
        adaptation.phrase_sets.add().inline_phrase_set.phrases.extend([pb.PhraseSet.Phrase(value="$")] * phrases)
    reason = rf"^config\.adaptation\.phrase_sets: {sets * phrases} phrases: expected 1000 at most"
    with pytest.raises(BadRequest, match=reason):
        check_supported(pb.RecognizeRequest(config=pb.RecognitionConfig(adaptation=adaptation)))


def test_phrases_may_have_a_set_each_and_a_request_of_too_many_messages_is_refused_before_they_are_looked_at():
    adaptation = pb.SpeechAdaptation()
    for _ in range(1000):
        adaptation.phrase_sets.add().inline_phrase_set.phrases.add(value="alpha")
    check_supported(pb.RecognizeRequest(config=pb.RecognitionConfig(adaptation=adaptation)))
    adaptation.phrase_sets.extend([pb.SpeechAdaptation.AdaptationPhraseSet()] * 3000)
    with pytest.raises(BadRequest, match="more than 3500 messages in a request"):
        check_supported(pb.RecognizeRequest(config=pb.RecognitionConfig(adaptation=adaptation)))
    mask = FieldMask(paths=["model"] * 101)
    with pytest.raises(BadRequest, match="101 paths: expected 100 at most"):
        apply_mask(pb.RecognizeRequest(config_mask=mask))


@pytest.mark.parametrize("paths", [[], ["*"]])
def test_without_a_mask_or_with_a_star_all_of_a_config_counts(paths):
    config = pb.RecognitionConfig(model="digits", translation_config={})
    request = pb.RecognizeRequest(config=config, config_mask=FieldMask(paths=paths))
    apply_mask(request)
    assert request.config == config


def test_a_mask_keeps_what_it_names():
    features = pb.RecognitionFeatures(max_alternatives=3, profanity_filter=True)
    config = pb.RecognitionConfig(model="digits", features=features, auto_decoding_config={}, language_codes=["en"])
    mask = FieldMask(paths=["auto_decoding_config", "features.max_alternatives", "language_codes"])
    request = pb.StreamingRecognitionConfig(config=config, config_mask=mask)
    apply_mask(request)
    assert request.config == pb.RecognitionConfig(
        features=pb.RecognitionFeatures(max_alternatives=3), auto_decoding_config={}, language_codes=["en"]
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, AudioFormat()),
        ({"auto_decoding_config": {}}, AudioFormat("AUTO")),
        *(
            ({"explicit_decoding_config": pb.ExplicitDecodingConfig(encoding=name)}, AudioFormat(name))
            for name in ("LINEAR16", "MULAW", "ALAW", "FLAC", "MP3", "OGG_OPUS", "WEBM_OPUS", "AMR", "MP4_AAC")
        ),
        (
            {"explicit_decoding_config": {"encoding": 2, "sample_rate_hertz": 44100, "audio_channel_count": 2}},
            AudioFormat("MULAW", 44100, 2),
        ),
    ],
)
def test_decoding_configs_are_formats_of_audio(config, expected):
    assert stream_request(IMPLICIT, pb.RecognitionConfig(**config)).audio == expected


def test_a_phrase_has_its_own_boost_or_its_set_s():
    adaptation = pb.SpeechAdaptation()
    one = adaptation.phrase_sets.add().inline_phrase_set
    one.boost = 4
    one.phrases.add(value="alpha")
    one.phrases.add(value="beta", boost=2)
    adaptation.phrase_sets.add().inline_phrase_set.phrases.add(value="gamma")
    found = stream_request(IMPLICIT, pb.RecognitionConfig(adaptation=adaptation)).phrases
    assert found == (("alpha", 4), ("beta", 2), ("gamma", 0))


@pytest.mark.parametrize("codes", [["en", "fr"], ["auto"], ["english"], [""], ["en_US"]])
def test_languages_are_one_code_at_most(codes):
    with pytest.raises(BadRequest, match=r"^config\.language_codes="):
        stream_request(IMPLICIT, pb.RecognitionConfig(language_codes=codes))
