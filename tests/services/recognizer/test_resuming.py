"""Streams that go on from others: their tokens over each protocol, versions, and channels apart."""

import asyncio
import json

import grpc
import numpy as np
import pytest
from rigs.babble import RATE_HZ
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import audio, opening, recognizer, refusal
from rigs.tones import spoken, tone_store
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import ConnectionClosed

from services.recognizer.suspending import end_stream
from services.recognizer_client.client import connect, pcm16
from sonorant.serving.errors import Draining
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.resume_token import ResumeToken
from sonorant.v1 import recognizer_pb2 as pb

SPEECH, WORDS = spoken(6, seed=5)
CUT = round((WORDS[3][1] + 0.2) * RATE_HZ)
SPOKEN = [word for word, _, _ in WORDS]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tone_store(tmp_path_factory.mktemp("exports"), 1)


def resuming(token, model=""):
    request = opening(model)
    request.streaming_config.resume_token = str(token)
    return request


async def served(store, *requests):
    """The last response of a stream that its client ends."""
    async with recognizer(store) as (_, channel):
        return [response async for response in connect(channel).StreamingRecognize(iter(requests))][-1]


@pytest.mark.parametrize(
    ("token", "model", "answers"),
    [
        (ResumeToken("tones", 1, (0,)), "", "tones/1"),
        (ResumeToken("tones", 2, (0,)), "", "tones/2"),
        (ResumeToken("tones", 3, (0,)), "", "tones/2"),
        (ResumeToken("tones", 1, (0,)), "tones@stable", "tones/1"),
        (ResumeToken("tones", 1, (0,)), "tones@2", "tones/2"),
        (ResumeToken("tunes", 1, (0,)), "", "tones/2"),
    ],
)
def test_the_same_version_goes_on_if_it_is_in_service(tmp_path, token, model, answers):
    store = tone_store(tmp_path, 1, 2, labels={"stable": 2, "before": 1})
    last = asyncio.run(served(store, resuming(token, model), audio(bytes(1600))))
    assert last.metadata.model == answers


def test_times_and_the_total_count_from_the_first_stream(store):
    token = ResumeToken("tones", 1, (90_000_000,))
    last = asyncio.run(served(store, resuming(token), audio(bytes(16_000))))
    assert last.metadata.total_billed_duration.ToMilliseconds() == 91_000
    assert last.results[0].result_end_offset.ToMilliseconds() == 91_000
    assert not last.resume_token


@pytest.mark.parametrize("token", ["A" * 1025, "not a token", ResumeToken("tones", 1, (0, 0))])
def test_a_token_that_is_none_is_refused_by_name(store, token):
    code, details = refusal(store, resuming(token), audio())
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert details.startswith("resume_token")


def interleaved(*channels):
    longest = max(map(len, channels))
    return np.stack([np.pad(one, (0, longest - len(one))) for one in channels], axis=1)


@pytest.mark.parametrize("at", [1.3, 1.7, 2.4])
def test_channels_apart_go_on_each_at_its_own_place(store, at):
    others, other_words = spoken(5, seed=11)
    both = interleaved(SPEECH, others)
    cut = round(at * RATE_HZ)
    request = StreamRequest(audio=AudioFormat("LINEAR16", RATE_HZ, 2, apart=True))

    async def run():
        async with recognizer(store) as (server, _):
            with server.engine.admission.slot(), server.engine.stream(request) as stream:
                answers = await stream.push(pcm16(both[:cut].reshape(-1)))
                last, token = await end_stream(stream, Draining("going"))
                answers += last
            rest = pcm16(both[round(token.begin_s * RATE_HZ) :].reshape(-1))
            again = StreamRequest(audio=request.audio, resume=token)
            with server.engine.admission.slot(), server.engine.stream(again) as stream:
                for begin in range(0, len(rest), 3200):
                    answers += await stream.push(rest[begin : begin + 3200])
                answers += await stream.finish()
                assert stream.heard_s == pytest.approx(len(both) / RATE_HZ, abs=1e-3)
            return token, answers

    token, answers = asyncio.run(run())
    assert len(set(token.places_us)) == 2
    for channel, expected in ((1, WORDS), (2, other_words)):
        found = [word for one in answers if one.channel == channel for word in one.alternatives[0].words]
        assert [word.word for word in found] == [word for word, _, _ in expected]
        assert [word.start_s for word in found] == pytest.approx([begin_s for _, begin_s, _ in expected], abs=0.1)


def test_a_stream_of_which_a_channel_has_had_nothing_yet_has_audio_and_a_place_again(store):
    both = interleaved(SPEECH, spoken(5, seed=11)[0])[:RATE_HZ]
    request = StreamRequest(
        audio=AudioFormat("LINEAR16", RATE_HZ, 2, apart=True), resume=ResumeToken("tones", 1, (3_000_000, 1_000_000))
    )

    async def run():
        async with recognizer(store) as (server, _):
            with server.engine.admission.slot(), server.engine.stream(request) as stream:
                await stream.push(pcm16(both.reshape(-1)))
                audio_s, heard_s = stream.audio_s, stream.heard_s
                _, token = await end_stream(stream, Draining("going"))
                return audio_s, heard_s, token

    audio_s, heard_s, token = asyncio.run(run())
    assert (audio_s, heard_s) == (1.0, 2.0)
    assert token.places_us[0] == 3_000_000
    assert 1_000_000 <= token.places_us[1] <= 2_000_000


def test_a_file_with_another_number_of_channels_than_the_token_is_refused(store):
    request = opening(features=pb.RecognitionFeatures(multi_channel_mode="SEPARATE_RECOGNITION_PER_CHANNEL"))
    request.streaming_config.config.explicit_decoding_config.audio_channel_count = 2
    request.streaming_config.resume_token = str(ResumeToken("tones", 1, (0,)))
    code, details = refusal(store, request, audio())
    assert (code, details.split(":")[0]) == (grpc.StatusCode.INVALID_ARGUMENT, "resume_token")


async def told(call):
    read = []
    try:
        while True:
            read.append(json.loads(await call.recv()))
    except ConnectionClosed:
        return read


def test_a_websocket_goes_on_by_the_token_of_its_last_result(store):
    limit_s = CUT / RATE_HZ

    async def run():
        async with http_recognizer(store, max_stream_seconds=limit_s) as (_, address):
            url = f"ws://{address}/v1/stream?words=true&sample_rate={RATE_HZ}"
            async with connect_socket(url) as call:
                await call.send(pcm16(SPEECH[: CUT + 800]))
                _, *first, error = await told(call)
            token, at_s = first[-1]["resume_token"], first[-1]["resume_s"]
            rest = pcm16(SPEECH[round(at_s * RATE_HZ) :][:CUT])
            async with connect_socket(f"{url}&resume_token={token}") as call:
                await call.send(rest)
                await call.send(json.dumps({"type": "CloseStream"}))
                _, *second, closed = await told(call)
            return error, [*first, *second], closed, at_s + len(rest) / 2 / RATE_HZ

    error, results, closed, end_s = asyncio.run(run())
    assert error["code"] == "OUT_OF_RANGE"
    found = [word for result in results for word in result["alternatives"][0]["words"]]
    assert [word["word"] for word in found] == SPOKEN
    assert [word["start_s"] for word in found] == pytest.approx([begin_s for _, begin_s, _ in WORDS], abs=0.1)
    assert closed["audio_s"] == pytest.approx(end_s)
    assert [result["end_s"] for result in results] == sorted(result["end_s"] for result in results)
    assert sum("resume_token" in result for result in results) == 1


def test_a_websocket_refuses_a_token_that_is_none(store):
    async def run():
        async with http_recognizer(store) as (_, address), connect_socket(f"ws://{address}/v1/stream") as call:
            await call.send(json.dumps({"type": "Configure", "resume_token": "none"}))
            await call.send(pcm16(SPEECH[:800]))
            return await told(call)

    (error,) = asyncio.run(run())
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["message"].startswith("resume_token")
