from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import grpc
import pytest

from services.recognizer_client.call_error import Refused, call_error
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


def test_of_a_port_of_http_it_is_said_that_it_is_one():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        address = f"127.0.0.1:{server.server_port}"
        error = call_error(address, Failed(grpc.StatusCode.UNAVAILABLE, "Failed parsing HTTP/2"))
        server.shutdown()
        thread.join()
    assert isinstance(error, Unavailable)
    assert str(error) == f"{address}: no gRPC there, but HTTP; give the port of gRPC, --port of `sonorant serve`"
