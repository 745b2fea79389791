"""Streams of several utterances: their final results, their events, and what clients make of them."""

import asyncio

import numpy as np
import pytest
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer import audio, opening, recognizer

from services.recognizer_client.client import connect, pcm16, stream_recording
from sonorant.serving.session import Session, SessionOptions, SpeechEvent
from sonorant.v1 import recognizer_pb2 as pb

SILENCE = np.zeros(RATE_HZ, np.float32)
SAID = np.concatenate([SILENCE, murmur(1.0, seed=4), SILENCE, SILENCE, murmur(1.0, seed=9), SILENCE])
EVENTS = pb.StreamingRecognizeResponse


def answers(store, **options):
    session = Session(store.get(), SessionOptions(interim_results=False, **options))
    return [*session.push(pcm16(SAID)), *session.finish()]


def responses(store, chunk=1600, **wanted):
    content = pcm16(SAID)
    request = opening(features=pb.RecognitionFeatures(enable_word_time_offsets=True))
    request.streaming_config.streaming_features.MergeFrom(pb.StreamingRecognitionFeatures(**wanted))
    messages = [request, *(audio(content[at : at + chunk]) for at in range(0, len(content), chunk))]

    async def run():
        async with recognizer(store) as (_, channel):
            return [response async for response in connect(channel).StreamingRecognize(iter(messages))]

    return asyncio.run(run())


def test_each_utterance_has_a_final_result_where_it_was_spoken(store):
    expected = answers(store)
    found = [response.results[0] for response in responses(store)]
    assert [result.alternatives[0].transcript for result in found] == [r.alternatives[0].text for r in expected]
    for result, one in zip(found, expected, strict=True):
        assert result.is_final
        assert result.result_start_offset.ToMicroseconds() / 1e6 == pytest.approx(one.start_s, abs=1e-5)
        assert result.result_end_offset.ToMicroseconds() / 1e6 == pytest.approx(one.end_s, abs=1e-5)
    assert [bool(result.alternatives[0].transcript) for result in found] == [True, True, False]


def test_speech_events_say_where_speech_begins_and_ends(store):
    found = [
        (response.speech_event_type, response.speech_event_offset.ToMicroseconds() / 1e6)
        for response in responses(store, enable_voice_activity_events=True)
        if not response.results
    ]
    kinds = {"begin": EVENTS.SPEECH_ACTIVITY_BEGIN, "end": EVENTS.SPEECH_ACTIVITY_END}
    expected = [one for one in answers(store, speech_events=True) if isinstance(one, SpeechEvent)]
    assert found == [(kinds[one.kind], pytest.approx(one.time_s, abs=1e-5)) for one in expected]
    assert [time for _, time in found] == pytest.approx([1.0, 2.0, 4.0, 5.0], abs=0.2)


def test_a_single_result_is_that_of_the_unary_call(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await connect(channel).Recognize(pb.RecognizeRequest(content=pcm16(SAID)))

    (result,) = asyncio.run(run()).results
    (response,) = responses(store, single_result=True)
    assert response.results[0].alternatives[0].transcript == result.alternatives[0].transcript
    assert response.results[0].result_end_offset.ToMilliseconds() == 6000


def test_the_client_joins_the_final_results(store):
    async def run():
        async with recognizer(store) as (_, channel):
            return await stream_recording(connect(channel), SAID, RATE_HZ, chunk_ms=70.0)

    transcript = asyncio.run(run())
    expected = answers(store)
    assert transcript.text == f"{expected[0].alternatives[0].text} {expected[1].alternatives[0].text}"
    words = [word for one in expected for word in one.alternatives[0].words]
    assert [(w.word, w.start_s) for w in transcript.words] == [
        (w.word, pytest.approx(w.start_s, abs=1e-5)) for w in words
    ]
    assert [event.is_final for event in transcript.events].count(True) == 3
