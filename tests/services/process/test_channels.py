"""gRPC in TLS, over real sockets: trusted servers, accepted clients."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import pytest
import trustme
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from services.process import channels
from services.process.channels import add_port, open_channel
from services.process.keys import Keys, load_keys
from sonorant.errors import Unavailable

HOUSE, STRANGER = trustme.CA(), trustme.CA()


def keys(authority, *, clients=None, not_before=None):
    certificate = authority.issue_cert("localhost", not_before=not_before)
    chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    return Keys(
        certificate=(certificate.private_key_pem.bytes(), chain),
        authority=authority.cert_pem.bytes(),
        client_authority=clients.cert_pem.bytes() if clients else None,
    )


@pytest.fixture
def serve():
    servers = []

    def start(keys):
        servers.append(grpc.server(ThreadPoolExecutor(1)))
        health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), servers[-1])
        port = add_port(servers[-1], "localhost:0", keys)
        servers[-1].start()
        return f"localhost:{port}"

    yield start
    for server in servers:
        server.stop(None)


def ask(address, keys):
    with open_channel(address, keys=keys) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status


SERVING = health_pb2.HealthCheckResponse.SERVING


def test_without_keys_all_is_plain(serve):
    assert ask(serve(Keys()), Keys()) == SERVING


def test_a_client_trusts_a_server_of_its_authority_and_no_other(serve):
    address = serve(keys(HOUSE))
    assert ask(address, Keys(authority=HOUSE.cert_pem.bytes())) == SERVING
    for client in (Keys(authority=STRANGER.cert_pem.bytes()), Keys()):
        with pytest.raises(grpc.RpcError):
            ask(address, client)


def test_a_client_does_not_speak_to_a_plain_server_that_should_be_secure(serve):
    with pytest.raises(grpc.RpcError):
        ask(serve(Keys()), keys(HOUSE))


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (Keys(authority=HOUSE.cert_pem.bytes()), "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        (replace(keys(STRANGER), authority=HOUSE.cert_pem.bytes()), "CERTIFICATE_VERIFY_FAILED"),
        (Keys(), "WRONG_VERSION_NUMBER"),
    ],
    ids=["no certificate", "another authority's", "plain text"],
)
def test_a_server_that_asks_for_certificates_takes_only_its_authority_s_and_logs_why(serve, capfd, client, reason):
    address = serve(keys(HOUSE, clients=HOUSE))
    assert ask(address, keys(HOUSE)) == SERVING
    assert reason not in capfd.readouterr().err
    with pytest.raises(grpc.RpcError):
        ask(address, client)
    assert reason in capfd.readouterr().err


def test_a_clock_that_is_behind_finds_a_certificate_too_early_and_says_so(serve, capfd):
    address = serve(keys(HOUSE, not_before=datetime.now(UTC) + timedelta(days=1)))
    with pytest.raises(grpc.RpcError):
        ask(address, Keys(authority=HOUSE.cert_pem.bytes()))
    assert "certificate is not yet valid" in capfd.readouterr().err


def test_a_certificate_that_was_too_early_is_taken_once_it_is_time(serve):
    address = serve(keys(HOUSE, not_before=datetime.now(UTC) + timedelta(seconds=2)))
    with open_channel(address, keys=Keys(authority=HOUSE.cert_pem.bytes())) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        assert stub.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=60).status == SERVING


def test_keys_come_from_a_folder_as_kubernetes_mounts_secrets(serve, tmp_path):
    held = keys(HOUSE, clients=HOUSE)
    for name, content in {
        "tls.key": held.certificate[0],
        "tls.crt": held.certificate[1],
        "ca.crt": held.authority,
        "client-ca.crt": held.client_authority,
    }.items():
        (tmp_path / name).write_bytes(content)
    assert ask(serve(load_keys(tmp_path)), load_keys(tmp_path)) == SERVING


HANGING = """
import grpc
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from grpc_health.v1 import health, health_pb2_grpc
from services.process.channels import SERVER_OPTIONS
server = grpc.server(ThreadPoolExecutor(1), options=SERVER_OPTIONS)
health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""


def test_a_peer_that_hangs_is_noticed_though_its_machine_keeps_the_connection(monkeypatch):
    faster = tuple((name, value // 10 if name.endswith("_ms") else value) for name, value in channels._OPTIONS)
    monkeypatch.setattr(channels, "_OPTIONS", faster)  # or the test would take 15 s
    with subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE) as server:
        try:
            with open_channel(f"127.0.0.1:{int(server.stdout.readline())}", keys=Keys()) as channel:
                watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=20)
                assert next(watch).status == SERVING
                server.send_signal(signal.SIGSTOP)
                with pytest.raises(grpc.RpcError) as caught:
                    next(watch)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE  # not the deadline
        finally:
            server.kill()


def test_a_port_that_is_taken_is_named(serve):
    address = serve(Keys())
    server = grpc.server(ThreadPoolExecutor(1), options=[("grpc.so_reuseport", 0)])
    with pytest.raises(Unavailable, match=address):
        add_port(server, address, Keys())
