"""A stream on workers of its own."""

import asyncio

from prometheus_client import CollectorRegistry
from rigs.recognizer import AUDIO

from services.recognizer.metrics import RecognizerMetrics
from services.recognizer.stream import MonoStream
from services.recognizer.workers import Workers
from sonorant.serving.admission import Admission
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.headroom import Headroom
from sonorant.serving.session import SessionOptions
from sonorant.serving.speech_timeouts import NO_TIMEOUTS
from sonorant.serving.timed_session import open_session


def test_the_end_of_a_stream_tells_what_its_round_costs(store):
    rounds = []
    workers = Workers(1, lambda *measured: rounds.append(measured))
    model = store.get()
    decoder = open_decoder(AudioFormat("LINEAR16", model.sample_rate_hz), model.sample_rate_hz, 300.0)
    session = open_session(model, SessionOptions(), None, NO_TIMEOUTS)
    metrics = RecognizerMetrics(CollectorRegistry(), Admission(9))
    stream = MonoStream(session, decoder, workers, metrics, Headroom(0.3, 1, 32))

    async def run():
        await stream.push(AUDIO)
        await asyncio.sleep(0)
        before = len(rounds)
        await stream.finish()
        await asyncio.sleep(0)
        return before

    before = asyncio.run(run())
    workers.shutdown()
    assert len(rounds) == before + 1
