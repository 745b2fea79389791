import asyncio

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.field_mask_pb2 import FieldMask
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from rigs.babble import export_babble
from rigs.recognizer import AUDIO, recognizer
from rigs.slots import until_free

from services.recognizer.transports import grpc_methods
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.steps import alone
from sonorant.v1 import google_speech_pb2 as pb
from sonorant.v1 import google_speech_pb2_grpc

PARENT = "projects/p/locations/global"
IMPLICIT = f"{PARENT}/recognizers/_"
APART = pb.RecognitionFeatures(multi_channel_mode="SEPARATE_RECOGNITION_PER_CHANNEL")
FEATURES = pb.RecognitionFeatures(enable_word_time_offsets=True, max_alternatives=4)


def opening(recognizer=IMPLICIT, *, interim=False, mask=(), **config):
    opened = pb.StreamingRecognitionConfig(
        config=pb.RecognitionConfig(**config),
        config_mask=FieldMask(paths=mask) if mask else None,
        streaming_features=pb.StreamingRecognitionFeatures(interim_results=interim),
    )
    return pb.StreamingRecognizeRequest(recognizer=recognizer, streaming_config=opened)


def timing(start_s, *, events=True, sensitivity=0, **config):
    """The opening of a stream that ends when no speech has begun after so many seconds."""
    request = opening(**config)
    request.streaming_config.streaming_features.MergeFrom(
        pb.StreamingRecognitionFeatures(
            enable_voice_activity_events=events,
            endpointing_sensitivity=sensitivity,
            voice_activity_timeout={"speech_start_timeout": {"seconds": start_s}},
        )
    )
    return request


def audio(content=AUDIO):
    return pb.StreamingRecognizeRequest(audio=content)


UNKNOWN = pb.StreamingRecognizeRequest.FromString(b"\x80\x7d\x01" + audio().SerializeToString())


def biasing(*phrases, **features):
    sets = [pb.SpeechAdaptation.AdaptationPhraseSet(inline_phrase_set=pb.PhraseSet(phrases=phrases, **features))]
    return pb.SpeechAdaptation(phrase_sets=sets)


def conversation(store, *requests, **limits):
    """The responses of a stream, and its status."""

    async def run():
        async with recognizer(store, **limits) as (server, channel):
            call = google_speech_pb2_grpc.SpeechStub(channel).StreamingRecognize(iter(requests))
            found = []
            try:
                while (response := await call.read()) is not grpc.aio.EOF:
                    found.append(response)
            except grpc.aio.AioRpcError as error:
                await until_free(server.engine)
                return found, error.code(), error.details()
            return found, grpc.StatusCode.OK, ""

    return asyncio.run(run())


def answer(store, method, request):
    async def run():
        async with recognizer(store) as (_, channel):
            return await getattr(google_speech_pb2_grpc.SpeechStub(channel), method)(request)

    return asyncio.run(run())


def refusal(store, method, request):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        answer(store, method, request)
    return caught.value.code(), caught.value.details()


def heard(store, phrases=(), content=AUDIO):
    model = store.get()
    session = Session(model, SessionOptions(max_alternatives=4), scorer_with_phrases(model, phrases))
    session.push(content)
    return session.finish()[-1].alternatives


def test_a_stream_is_recognized_as_by_the_engine_alone(store):
    chunks = [audio(AUDIO[at : at + 1600]) for at in range(0, len(AUDIO), 1600)]
    responses, code, _ = conversation(store, opening(interim=True, features=FEATURES), *chunks)
    *interim, last = [response.results[0] for response in responses]
    expected = heard(store)
    assert code == grpc.StatusCode.OK
    assert [one.transcript for one in last.alternatives] == [one.text for one in expected]
    assert [word.word for word in last.alternatives[0].words] == [word.word for word in expected[0].words]
    assert (last.is_final, last.result_end_offset.ToMilliseconds()) == (True, 2000)
    assert responses[-1].metadata.total_billed_duration.ToMilliseconds() == 2000
    assert len(interim) > 3
    assert not any(one.is_final for one in interim)


def test_channels_apart_have_results_with_their_tags(store):
    stereo = b"".join(AUDIO[at : at + 2] + bytes(2) for at in range(0, len(AUDIO), 2))
    format_ = pb.ExplicitDecodingConfig(encoding="LINEAR16", audio_channel_count=2, sample_rate_hertz=8000)
    first = opening(explicit_decoding_config=format_, features=APART)
    responses, _, _ = conversation(store, first, *(audio(stereo[at : at + 3200]) for at in range(0, len(stereo), 3200)))
    found = [(one.channel_tag, one.alternatives[0].transcript) for response in responses for one in response.results]
    assert found == [(1, heard(store)[0].text), (2, "")]
    assert responses[-1].metadata.total_billed_duration.ToMilliseconds() == 4000


def test_a_stream_without_speech_ends_when_its_timeout_expires_while_its_client_sends(store, monkeypatch):
    monkeypatch.setattr(grpc_methods, "_LINGER_S", 30.0)  # it ends with its client's messages
    silence = [audio(bytes(3200))] * 100
    (response,), code, _ = conversation(store, timing(2), *silence)
    assert code == grpc.StatusCode.OK
    (result,) = response.results
    assert (result.alternatives[0].transcript, result.result_end_offset.ToMilliseconds()) == ("", 2000)


def test_audio_may_come_with_the_first_message_where_nothing_is_configured(store):
    first = pb.StreamingRecognizeRequest(recognizer=f"{PARENT}/recognizers/babble", audio=AUDIO[:16_000])
    (response,), _, _ = conversation(store, first, audio(AUDIO[16_000:]))
    assert response.results[0].alternatives[0].transcript == heard(store)[0].text


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ([], "the first message has no streaming_config"),
        ([opening(""), audio()], "recognizer='': expected projects/PROJECT/locations/LOCATION/recognizers/MODEL"),
        ([opening(), audio(), opening()], "a second streaming_config"),
        ([opening(), pb.StreamingRecognizeRequest(recognizer="other", audio=AUDIO)], "recognizer='other': the stream"),
        ([opening(), UNKNOWN], "field number 2000: unknown to this recognizer"),
        ([opening(f"{PARENT}/recognizers/babble", model="other")], "config.model='other': recognizer 'babble' is"),
        ([opening(explicit_decoding_config=pb.ExplicitDecodingConfig(encoding=4))], "encoding=AMR: unsupported"),
        ([opening(explicit_decoding_config=pb.ExplicitDecodingConfig(encoding=99))], "encoding=99: unsupported"),
        ([opening(features=pb.RecognitionFeatures(max_alternatives=31))], "max_alternatives=31: expected 1 to 30"),
        ([opening(translation_config={})], "streaming_config.config.translation_config: not supported"),
        ([opening(mask=["no_such"])], "config_mask: 'no_such': no field"),
        ([opening(features=pb.RecognitionFeatures(multi_channel_mode=7))], "multi_channel_mode=7: expected SEPARATE"),
        ([timing(1, events=False)], "voice_activity_timeout is counted from voice activity events: set enable_voice"),
        ([timing(60)], "speech_start_timeout=60 s: expected more than 0.5 s and less than 60 s"),
        ([timing(1, sensitivity=9)], "endpointing_sensitivity=9: expected one of STANDARD, SHORT, SUPERSHORT"),
        ([timing(1, features=APART)], "speech_start_timeout: channels are recognized apart; leave it out"),
        ([opening(adaptation=biasing(pb.PhraseSet.Phrase(value="omega")))], "phrase 'omega': 'omega' is not among"),
    ],
)
def test_what_a_client_may_not_send_is_an_invalid_argument(store, requests, reason):
    responses, code, details = conversation(store, *requests)
    assert (responses, code) == ([], grpc.StatusCode.INVALID_ARGUMENT)
    assert reason in details


def test_a_name_of_any_length_is_refused_with_a_status(store):
    code, details = refusal(store, "GetRecognizer", pb.GetRecognizerRequest(name="x" * 2**20))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert details.startswith("recognizer='xxx")


@pytest.mark.parametrize("character", ["é", "한", "😀"])
def test_what_an_error_quotes_takes_no_more_than_a_status_may_have(store, character):
    """Of 8 KiB; gRPC refuses more of them the more often, the more there is."""
    for _ in range(20):
        code, details = refusal(store, "GetRecognizer", pb.GetRecognizerRequest(name=character * 5000))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert details.startswith(f"recognizer='{character * 50}")


def test_a_model_that_is_not_served_is_not_found(store):
    for request in (opening(model="bubble"), opening(f"{PARENT}/recognizers/bubble")):
        assert conversation(store, request)[1] == grpc.StatusCode.NOT_FOUND


def test_audio_up_to_the_length_limit_is_recognized_before_the_status(store):
    (response,), code, _ = conversation(store, opening(), audio(), max_stream_seconds=1.5)
    assert code == grpc.StatusCode.OUT_OF_RANGE
    (result,) = response.results
    session = Session(store.get(), SessionOptions())
    session.push(AUDIO[:24_000])
    expected = alone(session.suspend_steps())[-1]
    assert result.is_final
    assert result.result_end_offset.ToMicroseconds() / 1e6 == pytest.approx(expected.end_s, abs=1e-6)
    assert result.alternatives[0].transcript == expected.alternatives[0].text


@pytest.mark.parametrize("earlier", [[], [opening()]])
def test_a_message_that_is_no_protobuf_is_an_invalid_argument(store, earlier):
    async def run():
        async with recognizer(store) as (_, channel):
            call = channel.stream_stream("/google.cloud.speech.v2.Speech/StreamingRecognize")
            messages = [*(one.SerializeToString() for one in earlier), b"\xff\xff"]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(iter(messages)).read()
            return caught.value

    error = asyncio.run(run())
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "2 bytes that are no google.cloud.speech.v2.StreamingRecognizeRequest" in error.details()


def test_phrases_of_a_request_bias_its_search_alone(store):
    adaptation = biasing(pb.PhraseSet.Phrase(value="Gamma", boost=15), pb.PhraseSet.Phrase(value="beta"), boost=0.5)
    (biased,), _, _ = conversation(store, opening(adaptation=adaptation), audio())
    (plain,), _, _ = conversation(store, opening(), audio())
    expected = heard(store, [("gamma", 15), ("beta", 0.5)])[0].text
    assert biased.results[0].alternatives[0].transcript == expected
    assert plain.results[0].alternatives[0].transcript == heard(store)[0].text != expected


def test_a_whole_recording_is_recognized_with_the_masked_part_of_its_config(store):
    config = pb.RecognitionConfig(features=FEATURES, denoiser_config={}, auto_decoding_config={})
    request = pb.RecognizeRequest(
        recognizer=IMPLICIT, config=config, content=AUDIO, config_mask=FieldMask(paths=["features.max_alternatives"])
    )
    response = answer(store, "Recognize", request)
    (result,) = response.results
    assert [one.transcript for one in result.alternatives] == [one.text for one in heard(store)]
    assert not result.alternatives[0].words
    request.config_mask.paths.append("denoiser_config")
    assert "config.denoiser_config: not supported" in refusal(store, "Recognize", request)[1]


@pytest.mark.parametrize(
    ("source", "reason"),
    [({"uri": "gs://bucket/file"}, "uri: not supported"), ({}, "content: absent"), ({"content": b""}, "or empty")],
)
def test_a_recording_is_in_the_request(store, source, reason):
    code, details = refusal(store, "Recognize", pb.RecognizeRequest(recognizer=IMPLICIT, **source))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert reason in details


def test_recognizers_are_listed_in_pages(tmp_path):
    for name in ("alto", "basso", "canto"):
        export_babble(tmp_path, name)
    (tmp_path / "basso/labels.json").write_text('{"best": 1}')
    store = ModelStore(tmp_path, load_exported)
    store.refresh()

    async def run():
        async with recognizer(store) as (_, channel):
            stub = google_speech_pb2_grpc.SpeechStub(channel)
            request = pb.ListRecognizersRequest(parent=PARENT, page_size=2)
            pages = [await stub.ListRecognizers(request)]
            request.page_token = pages[0].next_page_token
            pages.append(await stub.ListRecognizers(request))
            names = [f"{PARENT}/recognizers/{name}" for name in ("basso", "basso@best")]
            return pages, *[await stub.GetRecognizer(pb.GetRecognizerRequest(name=name)) for name in names]

    pages, one, best = asyncio.run(run())
    assert [[found.model for found in page.recognizers] for page in pages] == [["alto", "basso"], ["canto"]]
    assert not pages[1].next_page_token
    assert one == pages[0].recognizers[1]
    assert (one.name, one.annotations) == (f"{PARENT}/recognizers/basso", {"version": "1", "labels": "best"})
    assert (best.name, best.model, best.annotations) == (f"{one.name}@best", "basso@best", one.annotations)
    wanted = pb.GetRecognizerRequest(name=f"{PARENT}/recognizers/basso@canary")
    assert refusal(store, "GetRecognizer", wanted)[0] == grpc.StatusCode.NOT_FOUND
    assert refusal(store, "GetRecognizer", pb.GetRecognizerRequest(name=IMPLICIT))[0] == grpc.StatusCode.NOT_FOUND
    assert refusal(store, "ListRecognizers", pb.ListRecognizersRequest())[0] == grpc.StatusCode.INVALID_ARGUMENT


def test_health_and_both_versions_of_reflection_know_the_service(store):
    wanted = reflection_pb2.ServerReflectionRequest(list_services="")

    async def run():
        async with recognizer(store) as (_, channel):
            check = health_pb2.HealthCheckRequest(service="google.cloud.speech.v2.Speech")
            listed = []
            for version in ("v1", "v1alpha"):
                call = channel.stream_stream(
                    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                    request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                    response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
                )
                response = await call(iter([wanted])).read()
                listed.append({service.name for service in response.list_services_response.service})
            return (await health_pb2_grpc.HealthStub(channel).Check(check)).status, listed

    status, listed = asyncio.run(run())
    assert status == health_pb2.HealthCheckResponse.SERVING
    assert all({"sonorant.v1.Recognizer", "google.cloud.speech.v2.Speech"} <= names for names in listed)


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_describes_each_service_that_it_lists(store, version):
    def ask(**wanted):
        return reflection_pb2.ServerReflectionRequest(**wanted)

    async def run():
        async with recognizer(store) as (_, channel):
            call = channel.stream_stream(
                f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )()
            await call.write(ask(list_services=""))
            names = [service.name for service in (await call.read()).list_services_response.service]
            described = {}
            for name in names:
                described[name] = await files_of(call, name)
                (service,) = [one for one in services(described[name]) if name.endswith(f".{one.name}")]
                for method in service.method:
                    assert await files_of(call, f"{name}.{method.name}") == described[name]
            assert not await files_of(call, "sonorant.v1.Recognizer.Nothing")
            return described

    async def files_of(call, symbol):
        await call.write(ask(file_containing_symbol=symbol))
        files = (await call.read()).file_descriptor_response.file_descriptor_proto
        return [FileDescriptorProto.FromString(file) for file in files]

    def services(files):
        return [service for file in files for service in file.service]

    described = asyncio.run(run())
    assert "google.longrunning.Operations" in described
    for name, files in described.items():
        assert name in {f"{file.package}.{service.name}" for file in files for service in file.service}
