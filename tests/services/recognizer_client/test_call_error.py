import asyncio
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import grpc
import pytest

from services.recognizer_client.call_error import Refused, call_error
from services.recognizer_client.client import ask_model, connect, open_recognizer
from sonorant.errors import Unavailable


class Failed(grpc.aio.AioRpcError):
    def __init__(self, code, details):
        super().__init__(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


@pytest.mark.parametrize("code", [grpc.StatusCode.NOT_FOUND, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_what_a_recognizer_said_is_said(code):
    error = call_error("localhost:1", Failed(code, "no audio for 30 s"))
    assert isinstance(error, Refused)
    assert str(error) == f"localhost:1: {code.name}: no audio for 30 s"


def test_only_where_none_answers_it_is_said_so():
    error = call_error("localhost:1", Failed(grpc.StatusCode.UNAVAILABLE, "connection refused"))
    assert isinstance(error, Unavailable)
    assert "no recognizer answers: connection refused" in str(error)


@pytest.fixture
def http_address():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_of_a_port_of_http_it_is_said_that_it_is_one(http_address):
    async def ask():
        async with open_recognizer(http_address) as channel:
            await ask_model(connect(channel))

    with pytest.raises(grpc.aio.AioRpcError) as unanswered:
        asyncio.run(ask())
    error = call_error(http_address, unanswered.value)
    assert isinstance(error, Unavailable)
    assert str(error) == f"{http_address}: no gRPC there, but HTTP; give the port of gRPC, --port of `sonorant serve`"


def test_of_a_gateway_that_takes_both_and_has_no_recognizer_it_is_said_what_it_said(http_address):
    error = call_error(http_address, Failed(grpc.StatusCode.UNAVAILABLE, "Received http2 header with status: 503"))
    assert "no recognizer answers: Received http2 header with status: 503" in str(error)
