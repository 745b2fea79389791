"""A stream on workers of its own."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from rigs.recognizer import AUDIO

from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.stream import MonoStream
from services.recognizer.workers import Workers
from sonorant.serving.admission import Admission
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.errors import BadRequest
from sonorant.serving.headroom import Headroom
from sonorant.serving.session import SessionOptions
from sonorant.serving.speech_timeouts import NO_TIMEOUTS
from sonorant.serving.timed_session import open_session


@pytest.fixture
def opened(store):
    """A stream, and what its workers' rounds measured."""
    rounds = []
    workers = Workers(1, lambda *measured: rounds.append(measured))
    model = store.get()
    decoder = open_decoder(AudioFormat("LINEAR16", model.sample_rate_hz), model.sample_rate_hz, 300.0)
    session = open_session(model, SessionOptions(), None, NO_TIMEOUTS)
    metrics = RecognizerMetrics(CollectorRegistry(), Admission(9))
    yield MonoStream(session, decoder, workers, metrics, Headroom(0.3, 1, 32)), rounds
    workers.shutdown()


def test_the_end_of_a_stream_tells_what_its_round_costs(opened):
    stream, rounds = opened

    async def run():
        await stream.push(AUDIO)
        await asyncio.sleep(0)
        before = len(rounds)
        await stream.finish()
        await asyncio.sleep(0)
        return before

    before = asyncio.run(run())
    assert len(rounds) == before + 1


def test_answers_of_messages_come_before_the_error_of_one_behind_them(opened):
    stream, _ = opened

    async def run():
        stream.check()
        answers = await stream.push(AUDIO + bytes(31_000), bytes(801), AUDIO)
        with pytest.raises(BadRequest, match="801 bytes"):
            stream.check()
        return answers, stream.audio_s

    answers, audio_s = asyncio.run(run())
    assert [one.is_final for one in answers][-1]
    assert audio_s == (len(AUDIO) + 31_000) / 16_000  # the last piece, too, which the error cut short


def test_messages_of_parts_of_samples_are_refused_though_together_they_are_whole(opened):
    with pytest.raises(BadRequest, match="801 bytes"):
        asyncio.run(opened[0].push(bytes(801), bytes(801)))


def test_a_stream_that_is_ahead_gathers_nothing(opened):
    stream, _ = opened
    assert stream.gathers
    asyncio.run(stream.push(AUDIO))
    assert not stream.gathers
