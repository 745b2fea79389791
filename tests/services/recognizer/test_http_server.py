import asyncio
import json
import socket

import pytest
from rigs.ports import free_port
from rigs.recognizer import AUDIO, recognizer
from websockets.asyncio.client import connect

from services.recognizer.transports.http import HttpServer
from sonorant.errors import Unavailable
from sonorant.recipe.serving import ServingRecipe


def test_a_recognizer_serves_http_beside_grpc_and_its_drain_ends_streams_with_their_results(store):
    port = free_port()

    async def run():
        async with (
            recognizer(store, http_port=port) as (server, _),
            connect(f"ws://127.0.0.1:{port}/v1/stream") as call,
        ):
            await call.send(AUDIO)
            await call.recv()
            going = asyncio.create_task(server.stop(1.0))
            final, error = json.loads(await call.recv()), json.loads(await call.recv())
            await call.wait_closed()
            await going
            server.stop = _stopped
            return final, error, call.close_code

    final, error, code = asyncio.run(run())
    assert final["is_final"]
    assert 1.0 < final["end_s"] == final["resume_s"] < 2.0  # before the word that is spoken then
    assert (error["code"], code) == ("UNAVAILABLE", 4503)


async def _stopped(grace_s):
    """Nothing: the test has stopped it."""


def test_a_port_that_is_taken_is_named(store):
    async def run():
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(Unavailable, match=f"127.0.0.1:{port}: cannot listen for HTTP"):
                await HttpServer(None, ServingRecipe()).start("127.0.0.1", port)

    asyncio.run(run())
