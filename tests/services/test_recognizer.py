import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager

import grpc
import pytest
from babble import RATE_HZ, export_babble, murmur
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from services.recognizer.client import ask_model, connect, pcm16, stream_recording
from services.recognizer.server import RecognizerServer
from sonorant.errors import Unavailable
from sonorant.export.loading import load_exported
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

SPEECH = murmur(2.0, seed=4)
AUDIO = pcm16(SPEECH)
EVERYTHING = pb.RecognitionFeatures(enable_word_time_offsets=True, enable_word_confidence=True, max_alternatives=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    exports = tmp_path_factory.mktemp("exports")
    export_babble(exports)
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


@asynccontextmanager
async def recognizer(store, refresh_s=60.0, **limits):
    """A recognizer on a real socket, and a client of it."""
    server = RecognizerServer(store, ServingRecipe(port=0, **limits), refresh_s)
    port = await server.start()
    try:
        async with asyncio.timeout(60), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield server, channel
    finally:
        await server.stop(0.0)


def opening(model="", features=None, **audio):
    config = pb.RecognitionConfig(
        model=model, features=features, explicit_decoding_config=pb.ExplicitDecodingConfig(**audio)
    )
    return pb.StreamingRecognizeRequest(streaming_config=pb.StreamingRecognitionConfig(config=config))


def audio(content=AUDIO):
    return pb.StreamingRecognizeRequest(audio=content)


def refusal(store, *requests, **limits):
    """Status and message with which a stream of `requests` is refused."""

    async def run():
        async with recognizer(store, **limits) as (server, channel):
            call = connect(channel).StreamingRecognize(iter(requests))
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                async for _ in call:
                    pass
            while server.servicer.admission.active:  # the client may know first that the stream has ended
                await asyncio.sleep(0.01)
            return caught.value.code(), caught.value.details()

    return asyncio.run(run())


def test_streams_at_once_get_the_transcripts_that_they_get_alone(store):
    recordings = [murmur(2.0, seed=seed) for seed in range(6)]

    def alone(recording):
        session = Session(store.get(), SessionOptions())
        session.push(pcm16(recording))
        return session.finish().alternatives[0].text

    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            sizes = [10, 25, 70, 100, 333, 2000]
            return await asyncio.gather(
                *(
                    stream_recording(stub, recording, RATE_HZ, chunk_ms=size)
                    for recording, size in zip(recordings, sizes, strict=True)
                )
            )

    transcripts = asyncio.run(run())
    assert [transcript.text for transcript in transcripts] == [alone(recording) for recording in recordings]
    assert len({transcript.text for transcript in transcripts}) > 1
    assert all(transcript.model == "babble/1" for transcript in transcripts)


def test_a_paced_stream_hears_words_while_they_are_spoken(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await stream_recording(connect(channel), SPEECH, RATE_HZ, paced=True)

    transcript = asyncio.run(run())
    assert transcript.audio_end_s == pytest.approx(2.0)
    assert transcript.events[0].arrival_s < 2.0 < transcript.final_s
    assert [event.is_final for event in transcript.events[-2:]] == [False, True]


def test_a_whole_recording_is_recognized_as_its_stream(store):
    config = pb.RecognitionConfig(features=EVERYTHING)

    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            streamed = await stream_recording(stub, SPEECH, RATE_HZ, config)
            return streamed, await stub.Recognize(pb.RecognizeRequest(config=config, content=AUDIO))

    streamed, response = asyncio.run(run())
    (result,) = response.results
    assert tuple((a.transcript, a.confidence) for a in result.alternatives) == streamed.alternatives
    assert len(result.alternatives) == 4
    assert result.result_end_offset.ToMilliseconds() == 2000
    assert response.metadata.total_billed_duration.ToMilliseconds() == 2000
    words = result.alternatives[0].words
    assert " ".join(word.word for word in words) == result.alternatives[0].transcript
    assert all(0 < word.confidence <= 1 for word in words)
    assert all(0 <= w.start_offset.ToSeconds() <= w.end_offset.ToMilliseconds() / 1000 <= 2 for w in words)


def test_words_come_only_when_asked_for(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await connect(channel).Recognize(pb.RecognizeRequest(content=AUDIO))

    (alternative,) = asyncio.run(run()).results[0].alternatives
    assert alternative.transcript
    assert not alternative.words


def test_without_interim_results_only_the_final_one_comes(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return [r async for r in connect(channel).StreamingRecognize(iter([opening(), audio(), audio()]))]

    (response,) = asyncio.run(run())
    assert response.results[0].is_final


def test_silence_is_an_empty_result_and_no_error(store):
    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            silent = await stream_recording(stub, SPEECH * 0, RATE_HZ)
            return silent, await stub.Recognize(pb.RecognizeRequest(content=bytes(2 * RATE_HZ)))

    streamed, whole = asyncio.run(run())
    assert (streamed.text, streamed.words, len(streamed.events)) == ("", (), 1)
    assert [alternative.transcript for alternative in whole.results[0].alternatives] == [""]


def test_a_stream_without_audio_is_an_empty_result(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await stream_recording(connect(channel), SPEECH[:0], RATE_HZ)

    assert asyncio.run(run()).text == ""


def test_a_request_without_content_tells_the_rate(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await ask_model(connect(channel))

    info = asyncio.run(run())
    assert (info.model, info.sample_rate_hz) == ("babble/1", RATE_HZ)


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ([audio()], "expected streaming_config"),
        ([], "first message has nothing"),
        ([pb.StreamingRecognizeRequest()], "an empty message"),
        ([opening(), audio(), opening()], "second streaming_config"),
        ([opening(), audio(b"odd")], "3 bytes of audio"),
        ([opening(sample_rate_hertz=16000)], "sample_rate_hertz=16000: model 'babble' takes 8000"),
        ([opening(encoding=2)], "encoding=2: unsupported; send LINEAR16"),
        ([opening(audio_channel_count=2)], "audio_channel_count=2: expected 1"),
        ([opening(features=pb.RecognitionFeatures(max_alternatives=31))], "max_alternatives=31: expected 1 to 30"),
    ],
)
def test_what_a_client_may_not_send_is_an_invalid_argument(store, requests, reason):
    code, details = refusal(store, *requests)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert reason in details


def test_an_odd_byte_count_is_refused_even_if_the_next_message_would_complete_it(store):
    code, _ = refusal(store, opening(), audio(AUDIO[:3]), audio(AUDIO[3:8]))
    assert code == grpc.StatusCode.INVALID_ARGUMENT


def test_an_unknown_model_is_not_found(store):
    assert refusal(store, opening(model="bubble")) == (
        grpc.StatusCode.NOT_FOUND,
        "model 'bubble': not served; served are: babble",
    )


def test_audio_beyond_the_limit_is_out_of_range(store):
    code, details = refusal(store, opening(), audio(), audio(), max_stream_seconds=3.0)
    assert code == grpc.StatusCode.OUT_OF_RANGE
    assert "may have 3 s" in details


def test_a_message_beyond_the_limit_exhausts_resources(store):
    code, _ = refusal(store, opening(), audio(bytes(2**20)), max_message_mb=0.5)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_the_same_limits_hold_for_whole_recordings(store):
    async def run():
        async with recognizer(store, max_stream_seconds=1.0) as (_, channel):
            stub, codes = connect(channel), []
            for request in (
                pb.RecognizeRequest(content=AUDIO),
                pb.RecognizeRequest(content=b"odd"),
                pb.RecognizeRequest(config=pb.RecognitionConfig(model="bubble")),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await stub.Recognize(request)
                codes.append(caught.value.code())
            return codes

    expected = [grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND]
    assert asyncio.run(run()) == expected


def test_an_idle_stream_is_ended(store):
    async def run():
        async with recognizer(store, idle_timeout_s=0.1) as (server, channel):
            call = connect(channel).StreamingRecognize()
            await call.write(opening())
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            return caught.value.code(), server.servicer.admission.active

    assert asyncio.run(run()) == (grpc.StatusCode.DEADLINE_EXCEEDED, 0)


async def last(call):
    response = await call.read()
    while not response.results[0].is_final:
        response = await call.read()
    return response


async def interim(call, features=None):
    """Open a stream, speak, and wait for the first word, so that the recognizer surely has the stream."""
    request = opening(features=features)
    request.streaming_config.streaming_features.interim_results = True
    await call.write(request)
    await call.write(audio())
    return await call.read()


def test_one_stream_too_many_is_refused_and_the_others_go_on(store):
    async def run():
        async with recognizer(store, max_streams=2) as (_, channel):
            stub = connect(channel)
            calls = [stub.StreamingRecognize(), stub.StreamingRecognize()]
            for call in calls:
                await interim(call)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stream_recording(stub, SPEECH, RATE_HZ)
            for call in calls:
                await call.done_writing()
            finals = [await last(call) for call in calls]
            after = await stream_recording(stub, SPEECH, RATE_HZ)
            return caught.value.code(), finals, after

    code, finals, after = asyncio.run(run())
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert {final.results[0].alternatives[0].transcript for final in finals} == {after.text}


def test_a_client_that_goes_away_gives_its_place_to_the_next(store):
    async def run():
        async with recognizer(store, max_streams=1) as (server, channel):
            stub = connect(channel)
            call = stub.StreamingRecognize()
            await interim(call)
            assert server.servicer.admission.active == 1
            call.cancel()
            while server.servicer.admission.active:
                await asyncio.sleep(0)  # the timeout of `recognizer` ends this if the place is never freed
            return await stream_recording(stub, SPEECH, RATE_HZ)

    assert asyncio.run(run()).text


def test_a_new_version_serves_new_streams_and_old_streams_keep_theirs(tmp_path):
    export_babble(tmp_path)
    store = ModelStore(tmp_path, load_exported)
    store.refresh()

    async def run():
        async with recognizer(store, refresh_s=0.01) as (_, channel):
            stub = connect(channel)
            call = stub.StreamingRecognize()
            await interim(call)
            await asyncio.to_thread(export_babble, tmp_path, seed=2)
            while (await ask_model(stub)).model != "babble/2":
                pass
            await call.done_writing()
            return await last(call)

    assert asyncio.run(run()).metadata.model == "babble/1"


def test_health_tells_of_the_server_and_of_the_service(store):
    async def run():
        async with recognizer(store) as (_, channel):
            stub = health_pb2_grpc.HealthStub(channel)
            names = ("", "sonorant.v1.Recognizer")
            return [(await stub.Check(health_pb2.HealthCheckRequest(service=name))).status for name in names]

    assert asyncio.run(run()) == [health_pb2.HealthCheckResponse.SERVING] * 2


def test_reflection_describes_the_service(store):
    async def run():
        async with recognizer(store) as (_, channel):
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            wanted = reflection_pb2.ServerReflectionRequest(file_containing_symbol="sonorant.v1.Recognizer")
            call = stub.ServerReflectionInfo(iter([wanted]))
            return await call.read()

    files = asyncio.run(run()).file_descriptor_response.file_descriptor_proto
    described = FileDescriptorProto.FromString(files[0])
    assert [method.name for method in described.service[0].method] == ["Recognize", "StreamingRecognize"]


def command(exports, *options):
    return [sys.executable, "-m", "services.recognizer", "--exports", str(exports), *options]


@contextmanager
def process(exports, *options):
    """A recognizer process, and a function that waits for a log event of it."""
    running = subprocess.Popen(command(exports, *options), stderr=subprocess.PIPE, text=True)

    def event(name):
        for line in running.stderr:
            if f'"event": "{name}"' in line:
                return json.loads(line)
        raise AssertionError(f"the recognizer ended without {name}")

    try:
        yield running, event
    finally:
        running.kill()
        running.wait()
        running.stderr.close()


def test_sigterm_lets_streams_end_takes_no_new_ones_and_exits_with_0(store, tmp_path):
    exports = store.get().folder.parent.parent

    async def run(port, terminate):
        async with asyncio.timeout(60), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = connect(channel).StreamingRecognize()
            await interim(call)
            terminate()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as late:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await stream_recording(connect(late), SPEECH, RATE_HZ)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
            await call.write(audio())
            await call.done_writing()
            return await last(call)

    with process(exports, "--port", "0", "--port-file", str(tmp_path / "port")) as (running, event):
        port = event("recognizer_ready")["port"]
        assert (tmp_path / "port").read_text() == f"{port}\n"

        def terminate():
            os.kill(running.pid, signal.SIGTERM)
            assert event("recognizer_draining")["streams"] == 1

        final = asyncio.run(run(port, terminate))
        assert final.results[0].is_final
        assert final.metadata.total_billed_duration.ToMilliseconds() == 4000
        assert running.wait(30) == 0


def test_a_port_in_use_is_named(store):
    async def run():
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(
                Unavailable, match=f"127.0.0.1:{port}: cannot listen there; is the port taken"
            ) as caught:
                await RecognizerServer(store, ServingRecipe(port=port)).start()
            assert caught.value.exit_code == 69

    asyncio.run(run())


def test_no_model_to_serve_is_said_and_the_exit_code_is_69(tmp_path):
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 69
    assert "no model that can be served" in done.stderr
