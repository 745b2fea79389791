"""Streams of channels apart: each channel's results are those of a mono stream of it, and each counts as a stream."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur
from rigs.encoded import written
from rigs.metrics import scrape
from rigs.recognizer import AUDIO, audio, opening, recognizer

from services.process.metrics import MetricsServer
from services.recognizer_client.client import connect, pcm16
from sonorant.errors import BadAudio
from sonorant.serving.errors import AudioTooLong, BadRequest, TooManyStreams
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

SILENCE = np.zeros(RATE_HZ, np.float32)
CHANNELS = np.stack(
    [
        np.concatenate([SILENCE, murmur(1.0, seed=4), SILENCE, murmur(1.0, seed=9)]),
        np.concatenate([murmur(2.0, seed=2), SILENCE, SILENCE]),
        np.zeros(4 * RATE_HZ, np.float32),
    ],
    axis=1,
)
PCM = np.frombuffer(pcm16(CHANNELS.reshape(-1)), np.int16).reshape(CHANNELS.shape)
APART = StreamRequest(alternatives=3, speech_events=True, audio=AudioFormat("LINEAR16", RATE_HZ, 3, apart=True))


def interleaved(channels):
    return pcm16(channels.reshape(-1))


def alone(store, samples, **options):
    session = Session(store.get(), SessionOptions(max_alternatives=3, interim_results=False, **options))
    return [*session.push(pcm16(samples)), *session.finish()]


async def streamed(server, request, data, cuts=()):
    """The answers of each channel."""
    with server.engine.admission.slot(), server.engine.stream(request) as stream:
        answers = [one for a, b in pairwise([0, *cuts, len(data)]) for one in await stream.push(data[a:b])]
        answers += await stream.finish()
    count = max(one.channel for one in answers)
    return [[replace(one, channel=0) for one in answers if one.channel == channel + 1] for channel in range(count)]


def run(store, work, **limits):
    async def served():
        async with recognizer(store, **limits) as (server, _):
            found = await work(server)
            assert server.engine.admission.active == 0
            return found

    return asyncio.run(served())


@given(cuts=st.lists(st.integers(0, 4 * RATE_HZ), max_size=8), company=st.integers(0, 3))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_channel_has_the_results_of_the_channel_alone_however_cut_and_in_any_company(store, cuts, company):
    data = interleaved(CHANNELS)

    async def work(server):
        others = [streamed(server, replace(APART, audio=AudioFormat(apart=True)), AUDIO) for _ in range(company)]
        found, *_ = await asyncio.gather(streamed(server, APART, data, sorted(6 * cut for cut in cuts)), *others)
        return found

    assert run(store, work, max_streams=8) == [alone(store, one, speech_events=True) for one in CHANNELS.T]


def test_the_number_of_channels_of_a_file_is_in_its_header(store):
    file = written(PCM[:, :2], RATE_HZ, "FLAC", "PCM_16")
    request = replace(APART, audio=AudioFormat("AUTO", apart=True))
    found = run(store, lambda server: streamed(server, request, file, cuts=[3, 60, 5000]))
    assert found == [alone(store, one, speech_events=True) for one in CHANNELS[:, :2].T]


@pytest.mark.parametrize("spoken", [APART.audio, AudioFormat("AUTO", apart=True)])
def test_a_whole_recording_has_a_result_of_each_channel(store, spoken):
    data = interleaved(CHANNELS) if spoken.channels else written(PCM[:, :2], RATE_HZ, "WAV", "PCM_16")

    async def work(server):
        with server.engine.admission.slot():
            with server.engine.stream(StreamRequest(alternatives=3, audio=spoken, utterances=False)) as stream:
                assert await stream.whole(b"") == []
            with server.engine.stream(StreamRequest(alternatives=3, audio=spoken, utterances=False)) as stream:
                return await stream.whole(data)

    found = run(store, work)
    expected = [alone(store, one, utterances=False)[0] for one in CHANNELS.T[: len(found)]]
    assert len(found) == (spoken.channels or 2)
    assert found == [replace(one, channel=number) for number, one in enumerate(expected, start=1)]


def test_finalize_ends_the_utterance_of_each_channel(store):
    async def work(server):
        with server.engine.admission.slot(), server.engine.stream(APART) as stream:
            await stream.push(interleaved(CHANNELS[: 2 * RATE_HZ]))
            return [one for one in await stream.finalize() if getattr(one, "is_final", False)]

    found = run(store, work)
    expected = [alone(store, one)[-1] for one in CHANNELS[: 2 * RATE_HZ].T]
    assert [(one.channel, one.alternatives) for one in found] == [
        (number, one.alternatives) for number, one in enumerate(expected, start=1)
    ]


def test_an_error_behind_answers_of_all_channels_is_raised_after_them(store):
    async def work(server):
        request = replace(APART, audio=replace(APART.audio, channels=2))
        with server.engine.admission.slot(), server.engine.stream(request) as stream:
            answers = await stream.push(interleaved(CHANNELS[: 2 * RATE_HZ, :2]), bytes(3))
            with pytest.raises(BadRequest, match="3 bytes"):
                stream.check()
            return {answer.channel for answer in answers}

    assert run(store, work) == {1, 2}


def test_at_the_limit_each_channel_keeps_what_it_had(store):
    async def work(server):
        with server.engine.admission.slot(), server.engine.stream(replace(APART, speech_events=False)) as stream:
            with pytest.raises(AudioTooLong):
                await stream.push(interleaved(CHANNELS))
            return await stream.finish()

    found = run(store, work, max_stream_seconds=2.5)
    for number, samples in enumerate(CHANNELS[: round(2.5 * RATE_HZ)].T, start=1):
        assert [replace(one, channel=0) for one in found if one.channel == number] == alone(store, samples)


def test_channels_count_as_streams_in_admission_and_metrics(store):
    metrics = MetricsServer("127.0.0.1", 0)

    async def work(server):
        admission = server.engine.admission
        with admission.slot(), server.engine.stream(APART):
            assert admission.active == 3
            with admission.slot(), pytest.raises(TooManyStreams), server.engine.stream(APART):
                pass
            assert admission.active == 3
        await streamed(server, APART, interleaved(CHANNELS))
        five = replace(APART, audio=replace(APART.audio, channels=5))
        too_many = pytest.raises(BadRequest, match="5 streams in one: this recognizer has 4 at most")
        with admission.slot(), too_many, server.engine.stream(five):
            pass
        return await asyncio.to_thread(scrape, metrics.port)

    found = run(store, work, max_streams=4, metrics=metrics.registry)
    metrics.close()
    assert found[("sonorant_recognizer_audio_seconds_total",)] == pytest.approx(12.0)
    assert found[("sonorant_recognizer_ended_sessions_total",)] == 3


def test_a_file_with_more_channels_than_there_are_slots_is_refused_with_its_header(store):
    file = written(np.repeat(PCM[:, :1], 6, axis=1), RATE_HZ, "WAV", "PCM_16")

    async def work(server):
        admission, request = server.engine.admission, StreamRequest(audio=AudioFormat("AUTO", apart=True))
        with admission.slot(), admission.slot(), server.engine.stream(request) as stream:
            assert await stream.push(file[:30]) == []
            with pytest.raises(TooManyStreams):
                await stream.push(file[30:])
            assert admission.active == 2

    run(store, work, max_streams=6)


def test_damage_ends_the_stream_once(store):
    async def work(server):
        request = StreamRequest(audio=AudioFormat("AUTO", apart=True))
        begins = pytest.raises(BadAudio, match="begins with")
        with server.engine.admission.slot(), server.engine.stream(request) as stream, begins:
            await stream.push(AUDIO)

    run(store, work)


def test_our_own_protocol_marks_results_with_their_channel(store):
    features = pb.RecognitionFeatures(multi_channel_mode="SEPARATE_RECOGNITION_PER_CHANNEL")
    first = opening(features=features, encoding="LINEAR16", audio_channel_count=3)
    config, data = first.streaming_config.config, interleaved(CHANNELS)

    async def run():
        async with recognizer(store) as (_, channel):
            call = connect(channel).StreamingRecognize(iter([first, audio(data)]))
            streamed = [one async for one in call]
            return streamed, await connect(channel).Recognize(pb.RecognizeRequest(config=config, content=data))

    responses, whole = asyncio.run(run())
    for number, samples in enumerate(CHANNELS.T, start=1):
        found = [one.results[0] for one in responses if one.results[0].channel_tag == number]
        assert [one.alternatives[0].transcript for one in found] == [
            one.alternatives[0].text for one in alone(store, samples)
        ]
        (result,) = (one for one in whole.results if one.channel_tag == number)
        assert result.alternatives[0].transcript == alone(store, samples, utterances=False)[0].alternatives[0].text
