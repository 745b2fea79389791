"""Calls that are worth another try: refused ones, and those whose status grpc.aio lost; no others."""

import asyncio
import time
from contextlib import contextmanager

import grpc
import numpy as np
import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from services.coordination.durations import duration
from services.recognizer_client.client import stream_recording
from services.recognizer_client.retrying import lost_status_delay_s, retry_delay_s
from sonorant.v1 import recognizer_pb2 as pb

FINAL = pb.StreamingRecognizeResponse(
    results=[pb.StreamingRecognitionResult(alternatives=[pb.SpeechRecognitionAlternative(transcript="one")])]
)
FINAL.results[0].is_final = True
SUSPENDED = pb.StreamingRecognizeResponse(results=FINAL.results, resume_token="token")


def error(code=grpc.StatusCode.INTERNAL, details="Internal error from Core", metadata=()):
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*metadata), details)


def refusal(seconds):
    info = Any()
    info.Pack(RetryInfo(retry_delay=duration(seconds)))
    status = Status(code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], message="full", details=[info])
    packed = ("grpc-status-details-bin", status.SerializeToString())
    return error(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", [packed])


class Answers:
    """Calls of a recognizer, each of which has some responses, and then an error."""

    def __init__(self, *calls):
        self.calls = list(calls)

    def StreamingRecognize(self, requests):
        return Call(*self.calls.pop(0))


class Call:
    def __init__(self, responses, error):
        self._responses, self._error = responses, error

    async def __aiter__(self):
        for response in self._responses:
            yield response
        if self._error is not None:
            raise self._error

    def cancel(self):
        pass


def test_a_refusal_is_tried_again_after_its_time():
    assert 3 <= retry_delay_s(refusal(3)) <= 4.5


def test_an_error_that_hides_the_status_is_no_refusal_and_none_of_the_same_code_hides_it():
    assert 1 <= lost_status_delay_s(error()) <= 1.5
    assert lost_status_delay_s(error(details="a fault")) is None
    assert retry_delay_s(error()) is None


def streamed(*calls, **options):
    return asyncio.run(stream_recording(Answers(*calls), np.zeros(8000, np.float32), 8000, **options))


def test_a_stream_whose_status_is_lost_before_any_result_is_sent_again():
    assert streamed(([], error()), ([FINAL], None)).text == "one"


def test_after_a_result_no_error_is_tried_again():
    with pytest.raises(grpc.aio.AioRpcError, match="Core"):
        streamed(([FINAL], error()), ([FINAL], None))


def away(code=grpc.StatusCode.UNAVAILABLE):
    return error(code, "failed to connect to all addresses")


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
def test_a_stream_that_goes_on_waits_for_a_recognizer_that_starts_anew(code):
    assert streamed(([SUSPENDED], None), ([], away(code)), ([], away(code)), ([FINAL], None)).text == "one one"


@pytest.mark.parametrize(
    ("calls", "patience_s"),
    [
        ([([], away())], 60.0),
        ([([SUSPENDED], None), ([FINAL], away())], 60.0),
        ([([SUSPENDED], None), ([], error(details="a fault"))], 60.0),
        ([([SUSPENDED], None), ([], away())], 0.1),
    ],
    ids=["the first stream", "an answer came", "another error", "patience is over"],
)
def test_no_other_stream_waits_for_it(calls, patience_s):
    with pytest.raises(grpc.aio.AioRpcError, match=r"connect|fault"):
        streamed(*calls, ([FINAL], None), patience_s=patience_s)


def test_a_stream_is_in_the_context_of_a_wait_for_capacity_and_of_no_other():
    waits = []

    @contextmanager
    def wait(reason, since_s):
        waits.append([reason, began_s := time.monotonic(), began_s - since_s])
        yield
        waits[-1][1] = time.monotonic() - began_s

    assert streamed(([], refusal(0.1)), ([], error()), ([], refusal(0.2)), ([FINAL], None), waits=wait).text == "one"
    (first, first_s, before_s), (second, second_s, before_second_s) = waits
    assert first == second == "full"
    assert first_s > 0.1
    assert second_s > 0.2
    assert before_s < 0.1
    assert before_second_s > first_s + 1  # since the same moment; the lost status was a second
