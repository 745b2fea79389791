"""Each row of the published table of errors, provoked over HTTP and over a WebSocket; see `test_error_table`."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx
import pytest
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.keyed import api_keys
from rigs.openai_client import PLAIN
from rigs.recognizer import AUDIO, SPEECH
from rigs.slots import until_free, until_taken
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from services.recognizer.engine import Engine
from services.recognizer.key_file import KeyFile
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
)
from sonorant.serving.session import Session

FILE = encoded("WAV", SPEECH, 8000)
FORM = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
HEADERS = {"Content-Type": "multipart/form-data; boundary=x"}


@dataclass(frozen=True)
class Case:
    """How clients get an error; amid: called when half of the audio has come, and no more follows."""

    model: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    before: Callable[[Engine], AbstractContextManager[object] | None] = lambda engine: None
    amid: Callable[[Engine], None] | None = None
    keyed: bool = False
    raised: Exception | None = None


CASES: dict[type[Exception], Case] = {
    BadRequest: Case(model="babble@"),
    BadAudio: Case(raised=BadAudio("the stream", "no FLAC")),
    RejectedExample: Case(raised=RejectedExample("samples that are not finite")),
    Unauthenticated: Case(keyed=True),
    UnknownModel: Case(model="bubble"),
    AudioTooLong: Case(limits={"max_stream_seconds": 1.0}),
    IdleStream: Case(limits={"idle_timeout_s": 1.0}, amid=lambda engine: None),
    TooManyStreams: Case(limits={"max_streams": 1}, before=lambda engine: engine.admission.slot()),
    Draining: Case(amid=lambda engine: engine.end_streams()),
    Unavailable: Case(before=lambda engine: engine.admission.close()),
    SonorantError: Case(raised=SonorantError("of a kind that the table does not have")),
    ValueError: Case(raised=ValueError("a fault of ours: /a/path")),
}
NOT_OVER_HTTP = {
    Forbidden,  # methods for operators are TensorFlow Serving's, over gRPC alone
    UnknownOperation,  # operations are Google's, over gRPC alone
}
RETRIED = {TooManyStreams, Draining, Unavailable}
NAMES = {401: "invalid_api_key", 404: "model_not_found"}  # OpenAI's

every_error = pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)


@pytest.fixture
def provoked(store, tmp_path, monkeypatch):
    """What `ask` returns of a recognizer that has a case's error for its client."""

    def provoke(case, ask):
        def push_steps(self, content):
            raise case.raised
            yield

        if case.raised is not None:
            monkeypatch.setattr(Session, "push_steps", push_steps)
        keys = KeyFile(Path(api_keys(tmp_path, one=None)[0])) if case.keyed else None

        async def run():
            async with http_recognizer(store, {"api_keys": keys}, **case.limits) as (engine, address):
                with case.before(engine) or nullcontext():
                    return await ask(case, engine, address)

        return asyncio.run(run())

    return provoke


async def amid(case, engine):
    """Let happen what does while a client's stream is open, and wait for its end."""
    await until_taken(engine)
    case.amid(engine)
    await until_free(engine)


async def uploaded(case, engine, address):
    """The answer to an upload."""
    form = FORM % (b"model", b"", case.model.encode()) + FORM % (b"file", b'; filename="a.wav"', FILE) + b"--x--\r\n"

    async def chunks():
        half = len(form) // 2
        yield form[:half]
        if case.amid is None:
            yield form[half:]
        else:
            await amid(case, engine)

    async with httpx.AsyncClient(verify=PLAIN) as http:
        url = f"http://{address}/v1/audio/transcriptions"
        return await http.post(url, content=chunks(), headers=HEADERS, timeout=60)


async def streamed(case, engine, address):
    """The last message of a stream over a WebSocket, its close code and reason."""
    async with connect(f"ws://{address}/v1/stream?model={case.model}") as call:
        read = []
        try:
            await call.send(AUDIO)
            if case.amid is None:
                await call.send('{"type": "CloseStream"}')
            else:
                await amid(case, engine)
        except ConnectionClosed:
            pass  # with an error that is still to be read
        try:
            while True:
                read.append(json.loads(await call.recv()))
        except ConnectionClosed as closed:
            return read[-1], closed.rcvd.code, closed.rcvd.reason


@every_error
def test_http_has_its_status_and_an_error_in_the_body(provoked, kind):
    answer = provoked(CASES[kind], uploaded)
    status = STATUSES.get(kind, INTERNAL)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status.http, NAMES.get(status.http, status.code.lower()))
    assert set(error) == {"message", "type", "param", "code"}
    assert int(answer.headers.get("Retry-After", 0)) >= (kind in RETRIED)
    assert ("Retry-After" in answer.headers) == (kind in RETRIED)
    assert "/a/path" not in answer.text


@every_error
def test_a_websocket_has_an_error_and_is_closed_with_its_code_and_reason(provoked, kind):
    error, code, reason = provoked(CASES[kind], streamed)
    status = STATUSES.get(kind, INTERNAL)
    assert (error["type"], error["code"]) == ("Error", status.code)
    assert (code, reason) == (status.websocket, status.code)
    assert ("retry_after_s" in error) == (kind in RETRIED)
    assert "/a/path" not in error["message"]


def test_the_walks_leave_no_row_out_but_those_of_methods_that_grpc_alone_has():
    assert {*CASES, *NOT_OVER_HTTP} == {*STATUSES, SonorantError, ValueError}
    assert not NOT_OVER_HTTP & set(CASES)


def test_a_retry_is_told_where_the_table_has_one_with_a_time_or_on_another_replica():
    assert {kind for kind, status in STATUSES.items() if "Retry-After" in status.retry or status.http == 503} == RETRIED
