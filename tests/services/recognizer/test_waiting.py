"""Readiness of a recognizer that waits for its first model, asked over a real port."""

import socket

import pytest
from rigs.health import NOT_SERVING, SERVING, asked

from services.process.health import health_at
from services.recognizer.waiting import Waiting, connection_refused


@pytest.fixture
def health():
    with health_at("127.0.0.1", 0) as health:
        yield health


def test_a_waiting_replica_is_ready_only_while_connections_to_the_service_are_refused(health):
    with socket.create_server(("127.0.0.1", 0)) as server:
        waiting = Waiting(health, f"127.0.0.1:{server.getsockname()[1]}")
        waiting.model_missing()
        assert asked(health) == NOT_SERVING
    waiting.model_missing()
    assert asked(health) == SERVING
    waiting.exports_known = False  # perhaps there is a model
    waiting.model_missing()
    assert asked(health) == NOT_SERVING


def test_who_loads_its_model_is_not_ready_and_waits_no_more(health):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    waiting = Waiting(health, address)
    waiting.model_missing()
    waiting.model_found()
    assert asked(health) == NOT_SERVING
    waiting.model_missing()
    assert asked(health) == NOT_SERVING


def test_who_knows_no_service_is_not_ready_without_a_model(health):
    Waiting(health, "").model_missing()
    assert asked(health) == NOT_SERVING


@pytest.mark.parametrize("address", ["no.such.host.invalid:50051", "nonsense"])
def test_what_cannot_be_asked_may_serve(address):
    assert not connection_refused(address)
