import asyncio
import contextlib
import os

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from rigs.recognizer import AUDIO, recognizer

from services.recognizer.transports import google_batch
from sonorant.serving.errors import FAULT
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import google_speech_pb2 as pb
from sonorant.v1 import google_speech_pb2_grpc
from sonorant.v1 import longrunning_pb2 as lro

PARENT = "projects/p/locations/l"
INLINE = pb.RecognitionOutputConfig(inline_response_config={})


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.pcm").write_bytes(AUDIO[: 8000 * (number + 2)])
    (tmp_path / "secret.pcm").write_bytes(AUDIO)
    (folder / "link.pcm").symlink_to(tmp_path / "secret.pcm")
    (folder / "circle.pcm").symlink_to(folder / "circle.pcm")
    return folder


def batch(*uris, output=INLINE, **config):
    files = [pb.BatchRecognizeFileMetadata(uri=uri) for uri in uris]
    return pb.BatchRecognizeRequest(
        recognizer=f"{PARENT}/recognizers/_",
        files=files,
        recognition_output_config=output,
        config=pb.RecognitionConfig(**config),
    )


def call(channel, method, request, answer=lro.Operation):
    return channel.unary_unary(
        f"/google.longrunning.Operations/{method}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=answer.FromString,
    )(request)


def transcript(store, content):
    session = Session(store.get(), SessionOptions())
    session.push(content)
    return session.finish()[-1].alternatives[0].text


def response_of(operation):
    response = pb.BatchRecognizeResponse()
    assert operation.response.Unpack(response)
    return response


def test_each_file_has_its_transcript(store, recordings):
    uris = [f"file://{recordings}/{number}.pcm" for number in range(3)]

    async def run():
        async with recognizer(store, recordings=str(recordings)) as (_, channel):
            begun = await google_speech_pb2_grpc.SpeechStub(channel).BatchRecognize(batch(*uris))
            ended = await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))
            listed = await call(
                channel, "ListOperations", lro.ListOperationsRequest(name=PARENT), lro.ListOperationsResponse
            )
            return begun, ended, listed.operations

    begun, ended, listed = asyncio.run(run())
    assert begun.name.startswith(f"{PARENT}/operations/")
    assert (begun.done, ended.done, [one.name for one in listed]) == (False, True, [begun.name])
    results = response_of(ended).results
    for number, uri in enumerate(uris):
        text = transcript(store, AUDIO[: 8000 * (number + 2)])
        assert results[uri].transcript.results[0].alternatives[0].transcript == text
        assert results[uri].inline_result.transcript == results[uri].transcript


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("gs://bucket/0.pcm", "expected file:///PATH"),
        ("{folder}/0.pcm", "expected file:///PATH"),
        ("file://elsewhere{folder}/0.pcm", "expected file:///PATH"),
        ("file://{folder}/../secret.pcm", "not below the folder"),
        ("file://{folder}/%2e%2e/secret.pcm", "not below the folder"),
        ("file://{folder}/link.pcm", "not below the folder"),
        ("file://{folder}s/0.pcm", "not below the folder"),
        ("file://{folder}/%00", "expected file:///PATH"),
        ("file://{folder}/circle.pcm", "cannot be found"),
    ],
)
def test_files_elsewhere_are_refused_at_once(store, recordings, uri, reason):
    code, details = refusal(store, recordings, batch(uri.format(folder=recordings)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert reason in details


def refusal(store, recordings, request):
    async def run():
        async with recognizer(store, recordings=str(recordings)) as (_, channel):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await google_speech_pb2_grpc.SpeechStub(channel).BatchRecognize(request)
            return caught.value.code(), caught.value.details()

    return asyncio.run(run())


def test_what_no_file_can_be_recognized_with_is_refused_at_once(store, recordings):
    good = f"file://{recordings}/0.pcm"
    for request, reason in (
        (batch(), "files: 0: expected 1 to 15"),
        (batch(good, good), "files: 2: expected 1 to 15, each of them once"),
        (batch(good, output=pb.RecognitionOutputConfig()), "inline_response_config: absent"),
        (batch(good, output=pb.RecognitionOutputConfig(gcs_output_config={})), "gcs_output_config: not supported"),
        (batch(good, translation_config={}), "config.translation_config: not supported"),
        (batch(good, model="bubble"), "model 'bubble': not served"),
    ):
        assert reason in refusal(store, recordings, request)[1]


def test_a_file_that_cannot_be_recognized_does_not_end_the_others(store, recordings):
    os.mkfifo(recordings / "pipe")
    (recordings / "long").write_bytes(bytes(2**20 + 1))
    (recordings / "odd").write_bytes(b"odd")
    names = ["pipe", "long", "odd", "0.pcm"]

    async def run():
        async with recognizer(store, recordings=str(recordings), max_message_mb=1.0) as (_, channel):
            request = batch(*(f"file://{recordings}/{name}" for name in names))
            begun = await google_speech_pb2_grpc.SpeechStub(channel).BatchRecognize(request)
            return await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))

    results = response_of(asyncio.run(run())).results
    pipe, long, odd, good = (results[f"file://{recordings}/{name}"] for name in names)
    assert pipe.error.message == "pipe: no such file"
    assert "more than 1048576 bytes" in long.error.message
    assert "3 bytes of audio" in odd.error.message
    assert {one.error.code for one in (pipe, long, odd)} == {3}
    assert good.transcript.results[0].alternatives[0].transcript


def test_a_batch_waits_for_a_slot_and_can_be_cancelled(store, recordings):
    async def run():
        async with recognizer(store, recordings=str(recordings), max_streams=1) as (server, channel):
            with server.engine.admission.slot():
                stub = google_speech_pb2_grpc.SpeechStub(channel)
                begun = await stub.BatchRecognize(batch(f"file://{recordings}/0.pcm"))
                short = lro.WaitOperationRequest(name=begun.name, timeout=Duration(nanos=50_000_000))
                waiting = await call(channel, "WaitOperation", short)
                with pytest.raises(grpc.aio.AioRpcError, match="is at work; cancel it first"):
                    await call(channel, "DeleteOperation", lro.DeleteOperationRequest(name=begun.name))
                await call(channel, "CancelOperation", lro.CancelOperationRequest(name=begun.name))
                ended = await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))
                await call(channel, "DeleteOperation", lro.DeleteOperationRequest(name=begun.name))
                with pytest.raises(grpc.aio.AioRpcError, match="unknown here"):
                    await call(channel, "GetOperation", lro.GetOperationRequest(name=begun.name))
            return waiting, ended, server.engine.admission.active

    waiting, ended, active = asyncio.run(run())
    assert (waiting.done, ended.done, ended.error.code, active) == (False, True, 1, 0)


def test_a_file_of_channels_apart_waits_for_a_slot_for_each(store, recordings, monkeypatch):
    monkeypatch.setattr(google_batch, "_TRY_AGAIN_S", 0.01)
    stereo = b"".join(AUDIO[at : at + 2] + bytes(2) for at in range(0, len(AUDIO), 2))
    (recordings / "stereo.pcm").write_bytes(stereo)
    decoding = pb.ExplicitDecodingConfig(encoding="LINEAR16", sample_rate_hertz=8000, audio_channel_count=2)
    features = pb.RecognitionFeatures(multi_channel_mode="SEPARATE_RECOGNITION_PER_CHANNEL")
    request = batch(f"file://{recordings}/stereo.pcm", explicit_decoding_config=decoding, features=features)

    async def run():
        async with recognizer(store, recordings=str(recordings), max_streams=2) as (server, channel):
            with server.engine.admission.slot():
                begun = await google_speech_pb2_grpc.SpeechStub(channel).BatchRecognize(request)
                short = lro.WaitOperationRequest(name=begun.name, timeout=Duration(nanos=50_000_000))
                waiting = await call(channel, "WaitOperation", short)
            return waiting, await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))

    waiting, ended = asyncio.run(run())
    (found,) = response_of(ended).results.values()
    assert not waiting.done
    assert [(one.channel_tag, one.alternatives[0].transcript) for one in found.transcript.results] == [
        (1, transcript(store, AUDIO)),
        (2, ""),
    ]


def test_operations_are_bounded_and_the_oldest_that_is_done_is_forgotten(store, recordings):
    request = batch(f"file://{recordings}/0.pcm")

    async def run():
        async with recognizer(store, recordings=str(recordings), max_streams=1) as (server, channel):
            stub, names = google_speech_pb2_grpc.SpeechStub(channel), []
            with server.engine.admission.slot():
                names += [(await stub.BatchRecognize(request)).name for _ in range(100)]
                with pytest.raises(grpc.aio.AioRpcError, match="100 operations at work") as caught:
                    await stub.BatchRecognize(request)
                await call(channel, "CancelOperation", lro.CancelOperationRequest(name=names[7]))
                await call(channel, "WaitOperation", lro.WaitOperationRequest(name=names[7]))
                await stub.BatchRecognize(request)
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await call(channel, "GetOperation", lro.GetOperationRequest(name=names[7]))
                    return None
                return caught.value.code()

    assert asyncio.run(run()) == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_file_that_is_swapped_for_one_elsewhere_is_not_read(store, recordings, tmp_path_factory, swapped):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    folder = recordings / "deep"
    folder.mkdir()
    (folder / "1.pcm").write_bytes((recordings / "0.pcm").read_bytes())
    (elsewhere / "1.pcm").write_bytes((recordings / "0.pcm").read_bytes())

    async def run():
        async with recognizer(store, recordings=str(recordings), max_streams=1) as (server, channel):
            with server.engine.admission.slot():
                stub = google_speech_pb2_grpc.SpeechStub(channel)
                begun = await stub.BatchRecognize(batch(f"file://{recordings}/0.pcm", f"file://{folder}/1.pcm"))
                if swapped == "file":
                    (folder / "1.pcm").unlink()
                    (folder / "1.pcm").symlink_to(elsewhere / "1.pcm")
                else:
                    folder.rename(recordings / "aside")
                    folder.symlink_to(elsewhere)
            return await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))

    results = response_of(asyncio.run(run())).results
    assert results[f"file://{recordings}/0.pcm"].transcript.results
    assert results[f"file://{folder}/1.pcm"].error.code == 3


def test_a_fault_of_the_recognizer_costs_its_file_and_is_named_without_its_text(store, recordings, monkeypatch):
    def fail(*_):
        raise ValueError("a secret")

    monkeypatch.setattr(google_batch, "_read", fail)

    async def run():
        async with recognizer(store, recordings=str(recordings)) as (_, channel):
            stub = google_speech_pb2_grpc.SpeechStub(channel)
            begun = await stub.BatchRecognize(batch(f"file://{recordings}/0.pcm"))
            return await call(channel, "WaitOperation", lro.WaitOperationRequest(name=begun.name))

    (found,) = response_of(asyncio.run(run())).results.values()
    assert (found.error.code, found.error.message) == (13, FAULT)
