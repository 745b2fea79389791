"""Slow clients and many, of a server with an application of its own: plain and in TLS, in both event loops."""

import asyncio
import select
import socket
import ssl
import time
from contextlib import asynccontextmanager, suppress

import pytest
import trustme
import uvicorn
import uvloop
from rigs.keyed import trusting
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from services.recognizer.transports.http_connections import BoundedServer, Connections

WAIT_S = 0.4
LONG_S = 30.0
BIG = 6_000_000
HOUSE = trustme.CA()
GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
UPLOAD = b"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
CLOSE = b"\x88\x82" + bytes(4) + b"\x03\xe8"


@pytest.fixture(params=[uvloop.EventLoopPolicy, asyncio.DefaultEventLoopPolicy], ids=["uvloop", "asyncio"])
def loops(request, _event_loop_of_the_program):
    asyncio.set_event_loop_policy(request.param())


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def secured(request):
    return request.param


async def answer(scope, receive, send):
    """Answer /busy never, /big with much, /refused at once, and what else in a word; accept WebSockets."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        return
    if scope["path"] == "/busy":
        await receive()
        await receive()
        return
    status, body = {"/big": (200, bytes(BIG)), "/refused": (429, b"later")}.get(scope["path"], (200, b"here"))
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(secured=False, wait_s=WAIT_S, most=100):
    """Yield a server and its port."""
    config = uvicorn.Config(answer, lifespan="off", log_config=None, http="h11", ws="websockets-sansio")
    config.load()
    if secured:
        config.ssl = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        HOUSE.issue_cert("localhost").configure_cert(config.ssl)
    server = BoundedServer(config, wait_s, most)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server.serve([listening]))
        try:
            async with asyncio.timeout(30):
                yield server, listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            server.connections.abort_all()
            await task


def opened(port, sent=b"", secured=False):
    """Connect with a small buffer, and send something."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    client.settimeout(20)
    client.connect(("127.0.0.1", port))
    if secured:
        client = trusting(HOUSE).wrap_socket(client, server_hostname="localhost")
    client.sendall(sent)
    return client


def is_reset(client, within_s=0.0):
    poll = select.poll()
    poll.register(client, 0)
    return bool(poll.poll(within_s * 1000))


async def asked(port, path=b"", secured=False):
    """The answer of a new client's request."""

    def ask():
        with opened(port, GET % path, secured) as client:
            came = client.recv(1000)
            while b"here" not in came:
                came += client.recv(1000) or b"here"
            return came

    return await asyncio.to_thread(ask)


@pytest.mark.usefixtures("loops")
def test_a_big_answer_that_is_read_slowly_arrives_whole(secured):
    def read(port):
        began_s, came = time.monotonic(), 0
        with opened(port, GET % b"big", secured) as client:
            while came < BIG and (more := client.recv(1 << 14)):
                came += len(more)
                time.sleep(0.005)
        return came, time.monotonic() - began_s

    async def run():
        async with served(secured) as (_, port):
            return await asyncio.to_thread(read, port)

    came, took_s = asyncio.run(run())
    assert came >= BIG
    assert took_s > 2 * WAIT_S


@pytest.mark.usefixtures("loops")
def test_a_big_answer_that_is_not_read_is_reset(secured):
    def wait(port):
        with opened(port, GET % b"big", secured) as client:
            return is_reset(client, 15)

    async def run():
        async with served(secured) as (_, port):
            return await asyncio.to_thread(wait, port)

    assert asyncio.run(run())


@pytest.mark.usefixtures("loops")
def test_an_upload_that_is_refused_at_once_may_end_before_the_answer_is_read(secured):
    def upload(port):
        with opened(port, UPLOAD % 200_000, secured) as client:
            for _ in range(20):
                client.sendall(bytes(10_000))
                time.sleep(WAIT_S / 5)
            return client.recv(1000)

    async def run():
        async with served(secured) as (_, port):
            return await asyncio.to_thread(upload, port)

    assert b" 429 " in asyncio.run(run())


def test_a_client_in_tls_that_stays_after_its_stream_was_closed_does_not_end_the_looks():
    def wait(port):
        with opened(port, HANDSHAKE, secured=True) as client:
            client.recv(1000)
            client.sendall(CLOSE)
            return is_reset(client, 15)

    async def run():
        async with served(secured=True) as (_, port):
            reset = await asyncio.to_thread(wait, port)
            return reset, await asked(port, secured=True)

    reset, said = asyncio.run(run())
    assert reset
    assert b"200 OK" in said


def test_one_that_cannot_be_measured_is_aborted_and_the_others_are_looked_at():
    class Odd:
        aborted = False

        def is_closing(self):
            return True

        def get_extra_info(self, name):
            raise AttributeError(name)

        def abort(self):
            self.aborted = True

    class Protocol:
        def __init__(self):
            self.transport = Odd()

    protocols = {Protocol(), Protocol()}
    Connections(protocols, WAIT_S, 10).look(0.0)
    assert all(one.transport.aborted for one in protocols)


@pytest.mark.usefixtures("loops")
def test_silent_connections_are_bounded_in_number():
    async def run():
        async with served(wait_s=LONG_S, most=5) as (_, port):
            clients = [opened(port) for _ in range(60)]
            while sum(map(is_reset, clients)) < 55:
                await asyncio.sleep(0.01)
            said = await asked(port)
            for client in clients:
                client.close()
            return said

    assert b"200 OK" in asyncio.run(run())


def test_a_newcomer_takes_the_place_of_the_one_that_is_idle():
    async def run():
        async with served(wait_s=LONG_S, most=48) as (server, port):
            clients = [opened(port, GET % b"busy") for _ in range(47)]
            while len(server.server_state.tasks) < 47:
                await asyncio.sleep(0.01)
            clients.append(opened(port))
            said = await asked(port)
            reset = [is_reset(client) for client in clients]
            for client in clients:
                client.close()
            return said, reset

    said, reset = asyncio.run(run())
    assert b"200 OK" in said
    assert reset == [False] * 47 + [True]


def test_uvicorn_has_what_the_limits_rely_on():
    async def run():
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(answer, log_config=None, http="h11", ws="websockets-sansio")
        config.load()
        server = BoundedServer(config, WAIT_S, 10)
        protocol = H11Protocol(config, server.server_state, {}, loop)
        stream = WebSocketsSansIOProtocol(config, server.server_state, {}, loop)
        near, far = socket.socketpair()
        transport, _ = await loop.create_connection(lambda: protocol, sock=near)
        assert server.server_state.connections == {protocol}
        assert protocol.transport is transport
        assert (protocol.cycle, protocol.flow.write_paused, protocol.loop) == (None, False, loop)
        assert protocol.conn.their_state is not None
        assert (stream.close_sent, stream.transport) == (False, None)
        assert config.ws_protocol_class is WebSocketsSansIOProtocol
        far.sendall(GET % b"")
        while protocol.cycle is None:
            await asyncio.sleep(0)
        assert isinstance(protocol.cycle, RequestResponseCycle)
        assert protocol.cycle.response_complete is False
        far.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                while server.server_state.connections:
                    await asyncio.sleep(0)
        assert not server.server_state.connections

    asyncio.run(run())
    names = ["startup", "on_tick", "capture_signals"]
    assert all(hasattr(uvicorn.Server, name) for name in names)
