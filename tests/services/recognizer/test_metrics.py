"""What the recognizer tells Prometheus, over HTTP."""

import asyncio

import pytest
from rigs.babble import RATE_HZ
from rigs.metrics import scrape
from rigs.recognizer import AUDIO, SPEECH, audio, opening, recognizer

from services.process.metrics import MetricsServer
from services.recognizer_client.client import connect, stream_recording
from sonorant.v1 import recognizer_pb2 as pb


def test_sessions_refusals_and_latency_are_counted(store):
    server = MetricsServer("127.0.0.1", 0)

    async def run():
        async with recognizer(store, metrics=server.registry, max_streams=1) as (_, channel):
            stub = connect(channel)
            await stream_recording(stub, SPEECH, RATE_HZ)
            await stub.Recognize(pb.RecognizeRequest(content=AUDIO))
            held = stub.StreamingRecognize()
            await held.write(opening())
            await held.write(audio())
            while (await asyncio.to_thread(scrape, server.port))[("sonorant_recognizer_sessions",)] != 1:
                await asyncio.sleep(0.01)
            with pytest.raises(Exception, match="no more than 1 at once"):
                await stub.Recognize(pb.RecognizeRequest(content=AUDIO))
            found = await asyncio.to_thread(scrape, server.port)
            held.cancel()
            return found

    found = asyncio.run(run())
    server.close()
    assert found[("sonorant_recognizer_ended_sessions_total",)] == 2
    assert found["sonorant_recognizer_refusals_total", "RESOURCE_EXHAUSTED"] == 1
    assert found[("sonorant_recognizer_audio_seconds_total",)] == pytest.approx(2 * len(SPEECH) / RATE_HZ)
    assert found[("sonorant_recognizer_latency_seconds_count",)] == 2
    assert found[("sonorant_recognizer_latency_seconds_sum",)] > 0
