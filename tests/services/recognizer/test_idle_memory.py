"""A stream that waits for its client keeps nothing of the audio that it has recognized, however long the message.

Of Python's memory, that is: a parsed protobuf message has its own, so that what a first message of Google's protocol or
a config has beside it is freed is not seen here.
"""

import asyncio
import json
import tracemalloc
from contextlib import contextmanager

import pytest
from rigs.babble import RATE_HZ
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import AUDIO, audio, opening, recognizer
from websockets.asyncio.client import connect as connect_socket

from services.recognizer_client.client import connect
from sonorant.v1 import google_speech_pb2, google_speech_pb2_grpc

SILENCE_S = 120
LONG = 2 * SILENCE_S * RATE_HZ  # bytes


@contextmanager
def memory():
    """Yields what waits until Python has little more memory than at the beginning, for as long as `recognizer` may."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    async def freed():
        while tracemalloc.get_traced_memory()[0] - before > LONG / 2:
            await asyncio.sleep(0.05)

    try:
        yield freed
    finally:
        tracemalloc.stop()


def long_message():
    return bytes(LONG) + AUDIO


async def own_stream(channel):
    call = connect(channel).StreamingRecognize()
    request = opening()
    request.streaming_config.streaming_features.interim_results = True
    await call.write(request)
    await call.write(audio(long_message()))
    await call.read()
    return call


async def google_stream(channel):
    call = google_speech_pb2_grpc.SpeechStub(channel).StreamingRecognize()
    first = google_speech_pb2.StreamingRecognizeRequest(recognizer="projects/p/locations/l/recognizers/_")
    decoding = first.streaming_config.config.explicit_decoding_config
    decoding.encoding, decoding.sample_rate_hertz, decoding.audio_channel_count = "LINEAR16", RATE_HZ, 1
    first.streaming_config.streaming_features.interim_results = True
    await call.write(first)
    await call.write(google_speech_pb2.StreamingRecognizeRequest(audio=long_message()))
    await call.read()
    return call


@pytest.mark.parametrize("stream", [own_stream, google_stream])
def test_an_idle_grpc_stream_keeps_no_audio(store, stream):
    async def run():
        async with recognizer(store) as (_, channel):
            with memory() as freed:
                call = await stream(channel)
                await freed()
                call.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("configure", [[], ['{"type": "Configure"}']], ids=["at once", "configured"])
def test_an_idle_websocket_keeps_no_audio(store, configure):
    async def run():
        async with (
            asyncio.timeout(60),
            http_recognizer(store) as (_, address),
            connect_socket(f"ws://{address}/v1/stream?interim_results=true&sample_rate={RATE_HZ}") as call,
        ):
            with memory() as freed:
                for message in configure:
                    await call.send(message)
                await call.send(long_message())
                assert json.loads(await call.recv())["type"] == "Ready"
                await call.recv()
                await freed()

    asyncio.run(run())
