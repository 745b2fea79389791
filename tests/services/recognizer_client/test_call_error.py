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
