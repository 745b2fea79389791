"""Each error that a client may get has the status that the published table says; walked over real sockets."""

import asyncio
from pathlib import Path

import grpc
import pytest
from grpc_status import rpc_status
from rigs.keyed import api_keys
from rigs.recognizer import audio, interim, opening, recognizer

from services.recognizer_client.client import connect
from sonorant.errors import BadAudio, RejectedExample, SonorantError, Unavailable
from sonorant.serving.errors import (
    INTERNAL,
    STATUSES,
    AudioTooLong,
    BadRequest,
    Draining,
    Forbidden,
    IdleStream,
    TooManyStreams,
    Unauthenticated,
    UnknownModel,
    UnknownOperation,
    status_of,
)
from sonorant.serving.session import Session
from sonorant.v1 import longrunning_pb2

DOCUMENT = Path(__file__).parents[3] / "docs" / "protocols.md"
PROVOKED = {
    BadRequest: ({}, [audio()]),
    UnknownModel: ({}, [opening(model="bubble")]),
    AudioTooLong: ({"max_stream_seconds": 1.0}, [opening(), audio()]),
    IdleStream: ({"idle_timeout_s": 0.1}, [opening()]),
}
RAISED = {
    BadAudio: BadAudio("the stream", "no FLAC"),
    RejectedExample: RejectedExample("samples that are not finite"),
    SonorantError: SonorantError("of a kind that the table does not have"),
    ValueError: ValueError("a fault of ours: /a/path"),
}
OTHERS = {
    BadAudio,
    RejectedExample,
    TooManyStreams,
    Unauthenticated,
    Forbidden,
    UnknownOperation,
    Draining,
    Unavailable,
}


async def failure(channel, requests):
    call = connect(channel).StreamingRecognize()
    for request in requests:
        await call.write(request)
    return await end_of(call)


async def end_of(call):
    """Read a call to its error."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read_all(call)
    return caught.value


async def read_all(call):
    while (await call.read()) is not grpc.aio.EOF:
        pass


@pytest.mark.parametrize("kind", PROVOKED, ids=lambda kind: kind.__name__)
def test_what_a_client_does_wrong(store, kind):
    limits, requests = PROVOKED[kind]

    async def run():
        async with recognizer(store, **limits) as (_, channel):
            return await failure(channel, requests)

    error = asyncio.run(run())
    assert error.code().name == STATUSES[kind].code
    assert rpc_status.from_call(error) is None


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_what_recognition_raises(store, kind, monkeypatch):
    def push_steps(self, content):
        raise RAISED[kind]
        yield

    monkeypatch.setattr(Session, "push_steps", push_steps)

    async def run():
        async with recognizer(store) as (_, channel):
            return await failure(channel, [opening(), audio()])

    error = asyncio.run(run())
    assert error.code().name == STATUSES.get(kind, INTERNAL).code
    assert "/a/path" not in error.details()


def test_too_many_streams(store):
    async def run():
        async with recognizer(store, max_streams=1) as (_, channel):
            held = connect(channel).StreamingRecognize()
            await interim(held)
            error = await failure(channel, [opening()])
            held.cancel()
            return error

    error = asyncio.run(run())
    assert error.code().name == STATUSES[TooManyStreams].code
    assert "RetryInfo" in rpc_status.from_call(error).details[0].type_url


@pytest.mark.parametrize("method", ["GetOperation", "WaitOperation", "CancelOperation", "DeleteOperation"])
def test_an_operation_that_is_not_here(store, method):
    async def run():
        async with recognizer(store) as (_, channel):
            call = channel.unary_unary(f"/google.longrunning.Operations/{method}")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(longrunning_pb2.GetOperationRequest(name="projects/p/operations/1").SerializeToString())
            return caught.value

    assert asyncio.run(run()).code().name == STATUSES[UnknownOperation].code


def test_no_api_key(store, tmp_path):
    async def run():
        async with recognizer(store, api_keys=api_keys(tmp_path, one=None)[0]) as (_, channel):
            return await failure(channel, [opening()])

    assert asyncio.run(run()).code().name == STATUSES[Unauthenticated].code


def test_an_operator_s_method(store, tmp_path):
    file, secrets = api_keys(tmp_path, one=None)

    async def run():
        async with recognizer(store, api_keys=file) as (_, channel):
            call = channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"", metadata=(("authorization", f"Bearer {secrets['one']}"),))
            return caught.value

    assert asyncio.run(run()).code().name == STATUSES[Forbidden].code


def test_a_replica_that_shuts_down(store):
    async def run():
        async with recognizer(store) as (server, channel):
            held = connect(channel).StreamingRecognize()
            await interim(held)
            server.engine.admission.close()
            before = await failure(channel, [opening(), audio()])
            server.engine.end_streams()
            return before, await end_of(held)

    before, amid = asyncio.run(run())
    assert before.code().name == STATUSES[Unavailable].code
    assert amid.code().name == STATUSES[Draining].code


def test_the_walk_leaves_no_error_out():
    assert set(STATUSES) == {*PROVOKED, *OTHERS}
    assert status_of(SonorantError("x")) is INTERNAL


def test_the_published_table_is_that_of_the_code():
    rows = [
        f"| {status.when} | `{status.code}` | {status.http} | {status.websocket} | {status.retry} |"
        for status in (*STATUSES.values(), INTERNAL)
    ]
    assert (
        "| when | gRPC | HTTP | WebSocket | retry |\n|---|---|---|---|---|\n" + "\n".join(rows) in DOCUMENT.read_text()
    )


def test_codes_are_of_their_standards():
    for status in (*STATUSES.values(), INTERNAL):
        assert status.code in grpc.StatusCode.__members__
        assert 400 <= status.http <= 599
        assert status.websocket == 4000 + status.http
