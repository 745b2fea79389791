"""Connections that wait for their clients, on real sockets: released in time, and bounded in number."""

import asyncio
import json
import socket
import ssl

import pytest
import trustme
from rigs.http_recognizer import http_recognizer
from rigs.keyed import tls, trusting
from rigs.recognizer import AUDIO
from rigs.slots import until_taken
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from services.recognizer import engine as engine_module
from services.recognizer.transports import http_connections
from services.recognizer.transports.http_connections import most_connections

WAIT_S = 0.4
SOON = {"wait_s": WAIT_S}
MODELS = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
PAGE = b"GET /web/app.js HTTP/1.1\r\nHost: x\r\n\r\n"
HANDSHAKE = b"GET /v1/stream?interim_results=true HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
KEY = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
UPLOAD = b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"


async def opened(address, sent=b"", context=None):
    host, port = address.split(":")
    name = context and "localhost"
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname=name)
    writer.write(sent)
    return reader, writer


async def ended(reader):
    """Wait until the server has ended a connection; return what it said."""
    said = b""
    try:
        while more := await reader.read(2**16):
            said += more
    except (ConnectionError, ssl.SSLError):
        pass
    return said


def seconds_open(store, sent, context=None, **limits):
    """For how long the recognizer keeps a connection on which a client sends something, and then nothing."""

    async def run():
        async with http_recognizer(store, SOON, **limits) as (_, address):
            reader, writer = await opened(address, sent, context)
            began_s = asyncio.get_running_loop().time()
            await ended(reader)
            writer.close()
            return asyncio.get_running_loop().time() - began_s

    return asyncio.run(run())


@pytest.mark.parametrize("sent", [b"", UPLOAD, HANDSHAKE, MODELS + MODELS[:12]], ids=["nothing", "head", "ws", "next"])
def test_a_client_that_sends_half_a_request_or_nothing_is_released(store, sent):
    assert WAIT_S / 2 < seconds_open(store, sent) < 5.0


def test_half_a_request_that_goes_on_byte_by_byte_is_released(store):
    async def run():
        async with http_recognizer(store, SOON) as (_, address):
            reader, writer = await opened(address, MODELS[:-2])
            ending = asyncio.create_task(ended(reader))
            while not ending.done():
                writer.write(b"a")
                await asyncio.sleep(0.05)
            return await ending

    assert asyncio.run(run()) == b""


def test_silence_in_tls_and_before_its_handshake_is_released(store, tmp_path, monkeypatch):
    house = trustme.CA()
    with tls(tmp_path / "keys", monkeypatch, house):
        assert seconds_open(store, b"", trusting(house)) < 5.0
        assert seconds_open(store, b"") < 5.0


def unread(address, sent):
    """A client that sends something, and reads nothing."""
    host, port = address.split(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect((host, int(port)))
    client.setblocking(False)
    client.send(sent)
    return client


async def reset(client, sent):
    """Send again and again until the server has aborted the connection, and what waited for its client is gone."""
    try:
        async with asyncio.timeout(15):
            while True:
                await asyncio.get_running_loop().sock_sendall(client, sent)
    except ConnectionError:
        pass


def test_pages_that_are_asked_for_and_never_read_are_released(store):
    async def run():
        async with http_recognizer(store, SOON) as (_, address):
            with unread(address, PAGE) as client:
                await reset(client, PAGE * 20)

    asyncio.run(run())


def test_results_that_are_not_read_wait_before_megabytes_of_them_are_sent(store, monkeypatch):
    send, sizes = WebSocket.send_json, []

    async def padded(self, told):
        await send(self, told | {"padding": "x" * 10_000})
        sizes.append(10_000)

    monkeypatch.setattr(WebSocket, "send_json", padded)
    monkeypatch.setattr(engine_module, "_READ_S", 1.0)

    async def run():
        async with http_recognizer(store, SOON, idle_timeout_s=3600.0) as (engine, address):
            with unread(address, HANDSHAKE + KEY) as client:
                await until_taken(engine)
                await reset(client, _frame(2, AUDIO[:1600]) + _frame(1, b'{"type": "Finalize"}'))

    asyncio.run(run())
    assert 0 < sum(sizes) < 500_000


def test_a_stream_whose_results_are_not_read_is_released_after_it_ended(store):
    async def run():
        async with http_recognizer(store, SOON, idle_timeout_s=1.0) as (engine, address):
            with unread(address, HANDSHAKE + KEY) as client:
                await until_taken(engine)
                pings = _frame(9, bytes(125)) * 500  # whose answers fill the way back
                await reset(client, pings + _frame(2, AUDIO[:1600]) + _frame(1, b'{"type": "Finalize"}'))

    asyncio.run(run())


def test_pings_whose_answers_are_not_read_end_an_open_stream(store, monkeypatch):
    monkeypatch.setattr(http_connections, "_MOST_UNREAD", 1 << 20)

    async def run():
        async with http_recognizer(store, SOON) as (_, address):
            with unread(address, HANDSHAKE + KEY) as client:
                await reset(client, _frame(9, bytes(125)) * 500 + _frame(1, b'{"type": "KeepAlive"}'))

    asyncio.run(run())


def _frame(opcode, content):
    """A client's message, shorter than 64 KB, with a mask of zeros."""
    size = bytes([0x80 | len(content)]) if len(content) < 126 else b"\xfe" + len(content).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + size + bytes(4) + content


def test_what_a_slow_client_reads_begins_a_new_wait(store):
    async def run():
        async with http_recognizer(store, SOON) as (_, address):
            loop = asyncio.get_running_loop()
            with unread(address, PAGE * 100 + PAGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as client:
                began_s, came = loop.time(), b""
                while more := await loop.sock_recv(client, 2**15):
                    came += more
                    await asyncio.sleep(0.005)
                return loop.time() - began_s, came.count(b"HTTP/1.1 200 OK")

    took_s, pages = asyncio.run(run())
    assert took_s > 2 * WAIT_S
    assert pages == 101


def test_streams_that_are_kept_alive_and_uploads_that_go_on_stay(store):
    async def run():
        async with (
            http_recognizer(store, SOON) as (engine, address),
            connect(f"ws://{address}/v1/stream") as call,
        ):
            _, writer = await opened(address, UPLOAD + b"Content-Length: 99999\r\n\r\n--x\r\n")
            for _ in range(15):
                await call.send('{"type": "KeepAlive"}')
                writer.write(b"a")
                await asyncio.sleep(0.1)
            active = engine.admission.active
            await call.send(AUDIO)
            await call.send('{"type": "CloseStream"}')
            told = [json.loads(message)["type"] async for message in call]
            writer.close()
            return active, told

    assert asyncio.run(run()) == (2, ["Ready", "Results", "Closed"])


def test_requests_one_after_another_keep_a_connection_beyond_the_wait(store):
    async def run():
        async with http_recognizer(store, SOON) as (_, address):
            reader, writer = await opened(address)
            for _ in range(20):
                writer.write(MODELS)
                assert b"200 OK" in await reader.readuntil(b"]}")
                await asyncio.sleep(0.05)
            writer.close()

    asyncio.run(run())


def test_one_connection_too_many_takes_the_place_of_the_one_that_waited_longest(store):
    async def run():
        async with (
            http_recognizer(store, {"most": 3}) as (_, address),
            connect(f"ws://{address}/v1/stream") as call,
        ):
            waiting = []
            for _ in range(3):
                waiting.append(await opened(address))
                await asyncio.sleep(0.05)
            assert await ended(waiting[0][0]) == b""
            for reader, writer in waiting[1:]:
                writer.write(MODELS)
                assert b"200 OK" in await reader.readuntil(b"]}")
                writer.close()
            await call.send(AUDIO)
            await call.send('{"type": "CloseStream"}')
            return [json.loads(message)["type"] async for message in call]

    assert asyncio.run(run()) == ["Ready", "Results", "Closed"]


def test_a_process_keeps_descriptors_for_others(monkeypatch):
    def limited(descriptors):
        monkeypatch.setattr("resource.getrlimit", lambda _: (descriptors, descriptors))
        return most_connections(1000)

    assert [limited(1024), limited(4096), limited(-1)] == [768, 1256, 1256]
