import asyncio

import grpc
import pytest
from rigs.babble import RATE_HZ
from rigs.recognizer import AUDIO, SPEECH, audio, interim, last, opening, recognizer, refusal
from rigs.slots import until_free

from services.recognizer_client.client import connect, stream_recording
from sonorant.v1 import recognizer_pb2 as pb


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ([audio()], "expected streaming_config"),
        ([], "first message has nothing"),
        ([pb.StreamingRecognizeRequest()], "an empty message"),
        ([opening(), audio(), opening()], "second streaming_config"),
        ([opening(), audio(b"odd")], "3 bytes of audio"),
        ([opening(sample_rate_hertz=768000)], "sample_rate_hertz=768000: expected 4000 to 192000"),
        ([opening(encoding=5)], "encoding=5: unsupported; expected one of LINEAR16"),
        ([opening(audio_channel_count=255)], "audio_channel_count=255: expected 1 to 8"),
        ([opening(encoding=6), audio(b"no FLAC at all")], "a FLAC file has fLaC there"),
        ([opening(features=pb.RecognitionFeatures(max_alternatives=31))], "max_alternatives=31: expected 1 to 30"),
    ],
)
def test_what_a_client_may_not_send_is_an_invalid_argument(store, requests, reason):
    code, details = refusal(store, *requests)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert reason in details


@pytest.mark.parametrize("earlier", [[], [opening()], [opening(), audio()]])
def test_a_message_that_is_no_protobuf_is_an_invalid_argument(store, earlier):
    async def run():
        async with recognizer(store) as (_, channel):
            stream = channel.stream_stream("/sonorant.v1.Recognizer/StreamingRecognize")
            whole = channel.unary_unary("/sonorant.v1.Recognizer/Recognize")
            errors = []
            for call in (
                stream(iter([*(one.SerializeToString() for one in earlier), b"\xff\xff"])),
                whole(b"\x0a\x7f"),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await (call.read() if hasattr(call, "read") else call)
                errors.append((caught.value.code(), caught.value.details()))
            return errors

    streamed, whole = asyncio.run(run())
    assert (streamed[0], whole[0]) == (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INVALID_ARGUMENT)
    assert "2 bytes that are no sonorant.v1.StreamingRecognizeRequest" in streamed[1]
    assert "2 bytes that are no sonorant.v1.RecognizeRequest" in whole[1]


def test_an_odd_byte_count_is_refused_even_if_the_next_message_would_complete_it(store):
    code, _ = refusal(store, opening(), audio(AUDIO[:3]), audio(AUDIO[3:8]))
    assert code == grpc.StatusCode.INVALID_ARGUMENT


def test_an_unknown_model_is_not_found(store):
    assert refusal(store, opening(model="bubble")) == (
        grpc.StatusCode.NOT_FOUND,
        "model 'bubble': not served; served are: babble",
    )


def test_an_idle_stream_without_audio_is_only_ended(store):
    code, details = refusal(store, opening(), audio(b""), idle_timeout_s=0.0001)
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    assert "no audio for 0.0001 s" in details


def test_audio_beyond_the_limit_is_out_of_range(store):
    code, details = refusal(store, opening(), audio(), audio(), max_stream_seconds=3.0)
    assert code == grpc.StatusCode.OUT_OF_RANGE
    assert "may have 3 s" in details


def test_a_message_beyond_the_limit_exhausts_resources(store):
    code, _ = refusal(store, opening(), audio(bytes(2**20)), max_message_mb=0.5)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    code, _ = refusal(store, opening(model="bubble"), max_message_mb=2047.9999999)  # the most that a recipe may have
    assert code == grpc.StatusCode.NOT_FOUND


def test_compressed_messages_are_not_implemented_as_their_size_is_known_too_late(store):
    async def run():
        async with recognizer(store) as (_, channel):
            request = pb.RecognizeRequest(content=bytes(2**20))
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await connect(channel).Recognize(request, compression=grpc.Compression.Gzip)
            return caught.value.code()

    assert asyncio.run(run()) == grpc.StatusCode.UNIMPLEMENTED


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
            return caught.value.code(), server.engine.admission.active

    assert asyncio.run(run()) == (grpc.StatusCode.DEADLINE_EXCEEDED, 0)


def test_one_stream_too_many_is_refused_and_the_others_go_on(store):
    async def run():
        async with recognizer(store, max_streams=2) as (_, channel):
            stub = connect(channel)
            calls = [stub.StreamingRecognize(), stub.StreamingRecognize()]
            for call in calls:
                await interim(call)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.StreamingRecognize(iter([opening(), audio()])).read()
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
            assert server.engine.admission.active == 1
            call.cancel()
            await until_free(server.engine)
            return await stream_recording(stub, SPEECH, RATE_HZ)

    assert asyncio.run(run()).text


def test_a_client_that_still_sends_for_a_while_is_told_why_its_stream_ends(store, monkeypatch):
    monkeypatch.setattr("services.recognizer.transports.grpc_methods._LINGER_S", 30.0)  # it ends with the messages

    async def messages():
        yield opening()
        for _ in range(50):
            yield audio(b"")
            await asyncio.sleep(0.002)

    async def run():
        async def code():
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await connect(channel).StreamingRecognize(messages()).read()
            return caught.value.code()

        async with recognizer(store, idle_timeout_s=0.02) as (_, channel):
            return await asyncio.gather(*(code() for _ in range(10)))

    assert set(asyncio.run(run())) == {grpc.StatusCode.DEADLINE_EXCEEDED}
