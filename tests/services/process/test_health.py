"""Answers to a kubelet's probes."""

import asyncio

import pytest
from rigs.health import NOT_SERVING, SERVING, asked, hang_and_resume
from rigs.log import WrittenLog

from services.process import health
from services.process.health import LIVE, HealthServer, health_at
from sonorant.errors import Unavailable


@pytest.fixture
def server():
    server = HealthServer("127.0.0.1", 0)
    yield server
    server.close()


def test_a_process_serves_from_ready_to_drain(server):
    assert asked(server) == NOT_SERVING
    server.ready(True)
    assert asked(server) == SERVING
    server.ready(False)
    assert asked(server) == NOT_SERVING


def test_a_taken_port_is_named(server):
    with pytest.raises(Unavailable, match=str(server.port)):
        HealthServer("127.0.0.1", server.port)


def test_a_process_that_is_not_ready_is_alive_however_long_it_waits(server, monkeypatch):
    monkeypatch.setattr(health, "_MAX_ITERATION_S", 0.0)
    assert asked(server, LIVE) == SERVING


def test_an_event_loop_that_hangs_is_not_alive_until_it_resumes_and_its_stack_is_logged(server, monkeypatch):
    written = WrittenLog()
    monkeypatch.setattr(health, "log", written)
    server.ready(True)

    async def scene():
        server.follow(asyncio.get_running_loop())
        await hang_and_resume(server)

    asyncio.run(scene())
    assert {entry["event"] for entry in written.entries} == {"main_loop_hangs"}
    assert any("hang_and_resume" in line for line in written.entries[0]["at"])


def test_without_a_port_there_is_no_health():
    with health_at("127.0.0.1", None) as server:
        assert server is None
