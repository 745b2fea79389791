import asyncio
import itertools
import time

import grpc
import numpy as np
import pytest
from google.protobuf.duration_pb2 import Duration

from benchmarks.load import clients
from benchmarks.load.clients import Task
from benchmarks.load.recordings import Recording
from benchmarks.load.schedule import speeches
from benchmarks.load.stream import Heard, say
from services.recognizer_client.client import connect
from sonorant.v1 import recognizer_pb2 as pb

SPEECH = Recording(np.ones(2400, "<i2").tobytes(), 8000, 0.1)  # 0.3 s
METHOD = "/sonorant.v1.Recognizer/StreamingRecognize"


def response(text, *, is_final, billed_s=0.0):
    result = pb.StreamingRecognitionResult(
        alternatives=[pb.SpeechRecognitionAlternative(transcript=text)], is_final=is_final
    )
    billed = Duration()
    billed.FromMilliseconds(round(1000 * billed_s))
    return pb.StreamingRecognizeResponse(
        results=[result], metadata=pb.RecognitionResponseMetadata(total_billed_duration=billed)
    )


def heard(behave, *, late_s=0.0, until_s=5.0, recording=SPEECH):
    """What a client notes of a server that answers as `behave(requests, context)` does; it began `late_s` ago."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            assert details.method == METHOD
            return grpc.stream_stream_rpc_method_handler(
                behave, pb.StreamingRecognizeRequest.FromString, pb.StreamingRecognizeResponse.SerializeToString
            )

    async def run():
        server = grpc.aio.server()
        server.add_generic_rpc_handlers([Handler()])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                begin_s = time.monotonic() - late_s
                return await say(connect(channel), recording, "", begin_s, begin_s + until_s)
        finally:
            await server.stop(0.0)

    return asyncio.run(run())


async def answering(requests, context):
    billed_s = 0.0
    async for request in requests:
        if request.audio:
            billed_s += len(request.audio) / 16000
            yield response("one", is_final=False, billed_s=billed_s)
    yield response("won", is_final=True, billed_s=billed_s)


@pytest.mark.parametrize(("chunk_s", "lengths_s"), [(0.1, [0.1, 0.1, 0.1]), (0.12, [0.12, 0.12, 0.06])])
def test_chunks_are_sent_when_due_and_results_are_noted(chunk_s, lengths_s):
    noted = heard(answering, recording=SPEECH._replace(chunk_s=chunk_s))
    assert noted.status == "OK"
    assert [audio_s for _, audio_s in noted.sent] == pytest.approx(lengths_s)
    for (sent_s, _), due_s in zip(noted.sent, itertools.accumulate(lengths_s), strict=True):
        assert sent_s - noted.begin_s >= due_s - 1e-6
    assert noted.interim_s >= 0
    assert noted.first_s == pytest.approx(noted.interim_s + chunk_s - 0.1)  # the sound begins at 0.1 s
    assert noted.final_s >= 0
    assert (noted.shown, noted.changed) == (1, 1)


def test_latency_counts_from_when_audio_was_due_though_it_was_sent_late():
    """A client that comes late, or one that a slow server holds back, omits nothing."""
    noted = heard(answering, late_s=2.0)
    assert noted.interim_s >= 1.9 - 1e-6
    assert noted.final_s >= 1.7 - 1e-6


def test_a_server_that_stands_still_delays_the_results_by_as_much():
    async def stalling(requests, context):
        await asyncio.sleep(0.5)
        async for each in answering(requests, context):
            yield each

    noted = heard(stalling)
    assert noted.interim_s >= 0.4 - 1e-3
    assert noted.final_s >= 0.2 - 1e-3


def test_a_result_that_never_comes_counts_as_late_as_it_was_waited_for():
    async def silent(requests, context):
        async for request in requests:
            if not request:
                yield
        await asyncio.sleep(60)

    noted = heard(silent, until_s=0.6)
    assert noted.status == "DEADLINE_EXCEEDED"
    assert noted.final_s >= 0.3 - 1e-3
    noted = heard(silent, until_s=0.2)  # the step is over, in the midst of the audio
    assert (noted.status, noted.final_s) == ("", None)


def test_another_error_is_noted_by_its_status():
    async def failing(requests, context):
        await context.abort(grpc.StatusCode.INTERNAL, "fault")
        yield

    noted = heard(failing)
    assert (noted.status, noted.retry_s, noted.final_s) == ("INTERNAL", None, None)


def test_a_refused_client_comes_again_when_it_was_told_and_all_later_streams_with_it(monkeypatch):
    tries = []

    async def refused_once(stub, recording, model, begin_s, until_s):
        tries.append(begin_s)
        noted = Heard(begin_s, begin_s + recording.duration_s, "OK")
        if len(tries) == 1:
            noted.status, noted.retry_s = "RESOURCE_EXHAUSTED", 0.4
        return noted

    monkeypatch.setattr(clients, "say", refused_once)
    begin_s = time.monotonic()
    task = Task([0], 1, begin_s, begin_s + 10.0)
    noted = asyncio.run(clients._Clients("127.0.0.1:1", [SPEECH], task).run())
    set_times = [speech.begin_s for speech in speeches(0, 1, [SPEECH.duration_s], 10.0)]
    assert tries[0] == begin_s + set_times[0]
    assert tries[1] >= begin_s + 0.4
    put_off_s = tries[1] - tries[0]
    assert tries[2] == pytest.approx(begin_s + set_times[1] + put_off_s)
    assert [each.status for each in noted].count("RESOURCE_EXHAUSTED") == 1
