"""What a kubelet's probe hears."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.runtime.health import LIVE, HealthServer, health_at
from sonorant.errors import Unavailable


@pytest.fixture
def server():
    server = HealthServer("127.0.0.1", 0)
    yield server
    server.close()


def _asked(server, service=""):
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service)).status


def test_a_process_serves_from_ready_to_drain(server):
    status = health_pb2.HealthCheckResponse
    assert _asked(server) == status.NOT_SERVING
    server.ready(True)
    assert _asked(server) == status.SERVING
    server.ready(False)
    assert _asked(server) == status.NOT_SERVING


def test_a_taken_port_is_named(server):
    with pytest.raises(Unavailable, match=str(server.port)):
        HealthServer("127.0.0.1", server.port)


def test_a_process_that_is_not_ready_is_alive(server):
    assert _asked(server, LIVE) == health_pb2.HealthCheckResponse.SERVING


def test_without_a_port_there_is_no_health():
    with health_at("127.0.0.1", None) as server:
        assert server is None
