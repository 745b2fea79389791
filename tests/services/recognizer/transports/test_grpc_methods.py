import asyncio

from rigs.recognizer import opening, recognizer
from rigs.slots import until_free, until_taken
from structlog.testing import capture_logs

from services.recognizer.transports.grpc import RecognizerServicer
from services.recognizer_client.client import connect
from sonorant.v1 import recognizer_pb2 as pb


def test_a_client_that_cancels_while_a_result_is_written_is_no_fault(store, monkeypatch, caplog):
    async def endless(self, first, inbox):
        while True:
            yield pb.StreamingRecognizeResponse(resume_token="x" * 200_000)  # more than is sent before it is read

    monkeypatch.setattr(RecognizerServicer, "_stream", endless)

    async def run():
        async with recognizer(store) as (server, channel):
            for number in range(60):
                call = connect(channel).StreamingRecognize()
                await call.write(opening())
                for _ in range(number % 6):
                    await call.read()
                await until_taken(server.engine)
                call.cancel()
                await until_free(server.engine)

    with capture_logs() as logs:
        asyncio.run(run())
    assert [one for one in logs if one["log_level"] == "error"] == []
    assert caplog.records == []
