"""A recognizer on a real socket, the messages of its clients, and what they read."""

import asyncio
from contextlib import asynccontextmanager

import grpc
import pytest
from rigs.babble import murmur
from rigs.slots import until_free

from services.recognizer.server import RecognizerServer
from services.recognizer_client.client import connect, pcm16
from sonorant.recipe.serving import ServingRecipe
from sonorant.v1 import recognizer_pb2 as pb

SPEECH = murmur(2.0, seed=4)
AUDIO = pcm16(SPEECH)


@asynccontextmanager
async def recognizer(store, refresh_s=60.0, metrics=None, threads=0, **limits):
    """A recognizer on a real socket, and a client of it. Its SLO is met on any machine, unless `limits` has another."""
    limits = {"slo_ms": 60_000} | limits
    server = RecognizerServer(store, ServingRecipe(port=0, **limits), refresh_s, threads, metrics)
    server.port = await server.start()
    try:
        async with asyncio.timeout(60), grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
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
            await until_free(server.engine)
            return caught.value.code(), caught.value.details()

    return asyncio.run(run())


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
