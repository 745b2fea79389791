"""Google's own client against a recognizer, and its messages against ours."""

import asyncio
import base64
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from rigs.recognizer import AUDIO

from services.recognizer.server import RecognizerServer
from services.recognizer.transports.google import SpeechServicer
from services.recognizer.transports.google_config import SUPPORTED
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import google_speech_pb2 as pb

CLIENT = Path(__file__).parents[3] / "rigs" / "google_client.py"


@pytest.fixture(scope="module")
def answers(store, tmp_path_factory):
    if importlib.util.find_spec("google.cloud.speech_v2") is None:
        pytest.skip("no google-cloud-speech here; make setup brings it")
    audio = tmp_path_factory.mktemp("audio") / "pcm"
    audio.write_bytes(AUDIO)

    async def run():
        server = RecognizerServer(store, ServingRecipe(port=0, recordings=str(audio.parent)))
        address = f"127.0.0.1:{await server.start()}"
        try:
            command = [sys.executable, "-W", "ignore", str(CLIENT), address, str(audio)]
            client = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            written, _ = await client.communicate()
        finally:
            await server.stop(0.0)
        assert client.returncode == 0
        return json.loads(written)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def heard(store):
    session = Session(store.get(), SessionOptions(max_alternatives=3))
    session.push(AUDIO)
    return session.finish()[-1].alternatives


def rounded(words):
    return [[word, pytest.approx(start_s, abs=1e-6), pytest.approx(end_s, abs=1e-6)] for word, start_s, end_s in words]


def test_a_whole_recording_has_the_engine_s_transcripts_and_words(answers, heard):
    assert answers["whole"] == [one.text for one in heard]
    assert answers["words"] == rounded((word.word, word.start_s, word.end_s) for word in heard[0].words)
    assert (answers["billed_s"], answers["language"]) == (2.0, "en-US")


def test_a_stream_has_interim_results_and_the_same_transcript_at_the_end(answers, heard):
    *interim, (is_final, text, end_s, words) = answers["streamed"]
    assert interim
    assert not any(one[0] for one in interim)
    assert (is_final, text, end_s) == (True, heard[0].text, 2.0)
    assert words == rounded((word.word, word.start_s, word.end_s) for word in heard[0].words)


def test_channels_apart_have_a_result_each(answers, heard):
    assert answers["apart"] == {"results": [[1, heard[0].text], [2, ""]], "billed_s": 4.0}


def test_a_timeout_ends_a_stream_with_its_results_and_no_error(answers, store):
    session = Session(store.get(), SessionOptions(interim_results=False, sensitivity="SHORT"))
    expected = session.push(AUDIO + bytes(16_000))[0].alternatives[0].text
    found = answers["timed_out"]
    assert found["events"] == ["SPEECH_ACTIVITY_BEGIN", "SPEECH_ACTIVITY_END"]
    (text, said_s), (rest, end_s) = found["results"]
    assert (text, rest) == (expected, "")
    assert 2.3 < said_s < 2.6  # speech, and a pause of 0.4 s
    assert end_s == pytest.approx(said_s + 1.0, abs=1e-5)


def test_files_are_recognized_in_an_operation_and_each_has_its_own_error(answers, heard):
    found = answers["in_files"]
    assert found["transcripts"] == [one.text for one in heard]
    assert found["error"] == [3, "pcm-not: no such file"]
    assert (found["billed_s"], found["progress"], found["files"]) == (2.0, 100, 2)


def test_recognizers_are_the_models_in_service(answers):
    assert answers["recognizers"] == ["projects/p/locations/l/recognizers/babble"]
    assert answers["rate_hz"] == 8000


def test_refusals_are_the_client_s_own_exceptions_and_name_the_field(answers):
    kinds, messages = zip(*answers["refused"], strict=True)
    assert kinds == ("InvalidArgument", "NotFound", "InvalidArgument", "MethodNotImplemented")
    assert messages[0].startswith("config.translation_config: not supported by this recognizer")
    assert messages[1] == "model 'bubble': not served; served are: babble"
    assert messages[2].startswith("uri='gs://bucket/file': expected file:///PATH")


def test_every_method_is_served_or_refused_with_a_reason(answers):
    known = {
        path.rpartition("/")[2] for path in SpeechServicer(SimpleNamespace(refuse=None)).handlers()._method_handlers
    }
    assert known == set(answers["methods"])


def flat(messages, prefix="google.cloud.speech.v2."):
    for message in messages:
        yield prefix + message.name, message
        yield from flat(message.nested_type, f"{prefix}{message.name}.")


def written(field, message):
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
    return field.number, field.type, field.label, field.type_name.replace(".google.rpc.", ".sonorant.v1."), oneof


def test_messages_have_google_s_names_numbers_and_types(answers):
    theirs = dict(flat(FileDescriptorProto.FromString(base64.b64decode(answers["messages"])).message_type))
    ours = dict(flat(FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb).message_type))
    assert len(ours) > 30
    for name, message in ours.items():
        numbers = {field.name: written(field, theirs[name]) for field in theirs[name].field}
        assert {field.name: written(field, message) for field in message.field}.items() <= numbers.items(), name
        for enum in message.enum_type:
            (same,) = (one for one in theirs[name].enum_type if one.name == enum.name)
            assert [(v.name, v.number) for v in enum.value] == [(v.name, v.number) for v in same.value]
    common = {"google.protobuf.Duration", "google.protobuf.FieldMask"}
    for name in SUPPORTED.keys() - common - {"google.cloud.speech.v2.PhraseSet"}:
        assert {field.name for field in ours[name].field} == {field.name for field in theirs[name].field}, name
