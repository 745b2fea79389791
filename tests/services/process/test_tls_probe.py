"""Messages for clients whose keys do not fit, at real ports."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import pytest
import trustme
from grpc_health.v1 import health, health_pb2_grpc
from rigs.coordinator import ScriptedCoordinator

from services.coordination.status_client import query_status
from services.process.channels import SERVER_OPTIONS, add_port
from services.process.keys import Keys
from services.process.tls_probe import why_refused
from sonorant.errors import Unavailable

HOUSE, STRANGER = trustme.CA(), trustme.CA()
YESTERDAY = datetime.now(UTC) - timedelta(days=1)


def keys(authority, *, clients=None, not_after=None, name="localhost"):
    certificate = authority.issue_cert(name, not_after=not_after)
    chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    return Keys(
        certificate=(certificate.private_key_pem.bytes(), chain),
        authority=authority.cert_pem.bytes(),
        client_authority=clients.cert_pem.bytes() if clients else None,
    )


TRUSTS = Keys(authority=HOUSE.cert_pem.bytes())
MUTUAL = keys(HOUSE, clients=HOUSE)


@pytest.fixture
def serve():
    servers = []

    def start(keys):
        servers.append(grpc.server(ThreadPoolExecutor(1), options=SERVER_OPTIONS))
        health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), servers[-1])
        port = add_port(servers[-1], "localhost:0", keys)
        servers[-1].start()
        return f"localhost:{port}"

    yield start
    for server in servers:
        server.stop(None)


CASES = {
    "no keys, TLS": (keys(HOUSE), Keys(), "it speaks TLS, and this process has no keys"),
    "no keys, mutual TLS": (MUTUAL, Keys(), "it speaks TLS, and this process has no keys"),
    "keys, plain text": (Keys(), TRUSTS, "it does not speak TLS, and this process has keys"),
    "another authority's": (keys(STRANGER), TRUSTS, "its certificate is not trusted: unable to get local issuer"),
    "expired": (keys(HOUSE, not_after=YESTERDAY), TRUSTS, "not trusted: certificate has expired"),
    "another name": (keys(HOUSE, name="elsewhere"), TRUSTS, "not trusted: Hostname mismatch"),
    "no certificate": (MUTUAL, TRUSTS, "it requires a certificate, and none is presented"),
    "a stranger's": (
        MUTUAL,
        replace(keys(STRANGER), authority=TRUSTS.authority),
        "it refuses the presented certificate",
    ),
    "an expired one": (MUTUAL, keys(HOUSE, not_after=YESTERDAY), "it refuses the presented certificate"),
}


@pytest.mark.parametrize(("server", "client", "says"), CASES.values(), ids=CASES)
def test_keys_that_do_not_fit_are_named_with_what_to_set(serve, server, client, says):
    address = serve(server)
    with pytest.raises(Unavailable) as caught:
        query_status(address, client)
    assert str(caught.value).startswith(f"the coordinator at {address} refuses the connection: ")
    assert says in str(caught.value)
    assert "SONORANT_KEYS" in str(caught.value)
    assert b"PRIVATE" not in str(caught.value).encode()


@pytest.mark.parametrize(("server", "client"), [(Keys(), Keys()), (keys(HOUSE), TRUSTS), (MUTUAL, keys(HOUSE))])
def test_keys_that_fit_are_not_blamed(serve, server, client):
    assert why_refused(serve(server), client) == ""


@pytest.mark.parametrize("address", ["localhost:1", "[::1]:1", "no.such.host.invalid:1", "localhost:x"])
def test_where_nobody_listens_keys_are_not_blamed(address):
    assert why_refused(address, TRUSTS) == ""


def test_a_coordinator_that_is_not_there_is_asked_for_as_before():
    coordinator = ScriptedCoordinator()
    address = coordinator.address
    coordinator.close()
    with pytest.raises(Unavailable, match="does not answer; is the training running"):
        query_status(address, Keys())


def test_status_and_transcribe_say_so_and_end_with_69(serve, tmp_path):
    address = serve(keys(HOUSE))
    (tmp_path / "a.wav").write_bytes(b"")
    environment = {name: value for name, value in os.environ.items() if name != "SONORANT_KEYS"}
    for arguments in (["status", "--coordinator", address], ["transcribe", "--server", address, "a.wav"]):
        command = [sys.executable, "-m", "sonorant.cli", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
        assert done.returncode == 69
        assert ": it speaks TLS, and this process has no keys" in done.stderr
        assert "SONORANT_KEYS" in done.stderr
        assert "running?" not in done.stderr
