import asyncio

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.recognizer import AUDIO, SPEECH, audio, interim, last, opening, recognizer

from services.recognizer_client.client import ask_model, connect, pcm16, stream_recording
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

EVERYTHING = pb.RecognitionFeatures(enable_word_time_offsets=True, enable_word_confidence=True, max_alternatives=4)


def test_streams_at_once_get_the_transcripts_that_they_get_alone(store):
    recordings = [murmur(2.0, seed=seed) for seed in range(6)]

    def alone(recording):
        session = Session(store.get(), SessionOptions())
        session.push(pcm16(recording))
        return session.finish()[-1].alternatives[0].text

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
    assert [(a.transcript, a.confidence) for a in result.alternatives] == [
        (one.text, one.confidence) for one in streamed.alternatives
    ]
    assert len(result.alternatives) == 4
    assert result.result_end_offset.ToMilliseconds() == 2000
    assert response.metadata.total_billed_duration.ToMilliseconds() == 2000
    words = result.alternatives[0].words
    assert " ".join(word.word for word in words) == result.alternatives[0].transcript
    assert all(0 < word.confidence <= 1 for word in words)
    assert all(0 <= w.start_offset.ToSeconds() <= w.end_offset.ToMilliseconds() / 1000 <= 2 for w in words)


def test_each_interim_result_has_the_words_of_its_moment(store):
    config = pb.RecognitionConfig(features=EVERYTHING)
    session = Session(store.get(), SessionOptions(max_alternatives=4))
    chunks = [AUDIO[at : at + 1600] for at in range(0, len(AUDIO), 1600)]
    results = [*(result for chunk in chunks for result in session.push(chunk)), *session.finish()]
    expected = [[[(w.word, round(w.end_s, 6)) for w in one.words] for one in result.alternatives] for result in results]

    async def run():
        async with recognizer(store) as (_, channel):
            request = opening(features=config.features)
            request.streaming_config.streaming_features.interim_results = True
            call = connect(channel).StreamingRecognize(iter([request, *map(audio, chunks)]))
            return [response async for response in call]

    found = [
        [[(w.word, w.end_offset.ToMicroseconds() / 1e6) for w in one.words] for one in response.results[0].alternatives]
        for response in asyncio.run(run())
    ]
    assert found == expected
    assert len(found) > 3


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
