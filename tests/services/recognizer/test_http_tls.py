"""TLS at the port of HTTP, with the keys of the port of gRPC."""

import asyncio
import json
import ssl

import httpx2 as httpx
import pytest
import trustme
import websockets
from rigs.http_recognizer import http_recognizer
from rigs.keyed import tls, trusting
from rigs.recognizer import AUDIO

from services.process.keys import BadKeys, Keys
from services.process.tls import server_context

HOUSE, STRANGER = trustme.CA(), trustme.CA()


@pytest.fixture
def answer(store, tmp_path, monkeypatch):
    """The status of a request, and the last message of a stream, of a client with a TLS context."""

    def ask(context, clients=None):
        async def run():
            async with http_recognizer(store) as (_, address), httpx.AsyncClient(verify=context) as http:
                where = address.replace("127.0.0.1", "localhost")
                status = (await http.get(f"https://{where}/v1/models")).status_code
                async with websockets.connect(f"wss://{where}/v1/stream", ssl=context) as call:
                    await call.send(AUDIO)
                    await call.send(json.dumps({"type": "CloseStream"}))
                    told = [json.loads(message) async for message in call]
                return status, told[-1]["type"]

        with tls(tmp_path / "keys", monkeypatch, HOUSE, clients):
            return asyncio.run(run())

    return ask


def test_requests_and_streams_are_encrypted_for_who_trusts_the_authority(answer):
    assert answer(trusting(HOUSE)) == (200, "Closed")


def test_a_client_that_does_not_trust_the_certificate_ends_the_connection(answer):
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        answer(trusting(STRANGER))


def test_clients_present_a_certificate_where_grpc_asks_for_it(answer):
    assert answer(trusting(HOUSE, STRANGER.issue_cert("client.example")), clients=STRANGER) == (200, "Closed")


@pytest.mark.parametrize("presented", [None, HOUSE])
def test_no_certificate_or_another_authority_s_is_refused(answer, presented):
    certificate = presented and presented.issue_cert("client.example")
    with pytest.raises((httpx.TransportError, ssl.SSLError, ConnectionError)):
        answer(trusting(HOUSE, certificate), clients=STRANGER)


def test_plain_requests_get_no_answer_at_a_port_in_tls(store, tmp_path, monkeypatch):
    async def run():
        async with http_recognizer(store) as (_, address), httpx.AsyncClient() as http:
            await http.get(f"http://{address}/v1/models")

    with tls(tmp_path / "keys", monkeypatch, HOUSE), pytest.raises(httpx.TransportError):
        asyncio.run(run())


def test_versions_before_1_2_are_refused():
    certificate = HOUSE.issue_cert("localhost")
    keys = Keys(certificate=(certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes()))
    assert server_context(keys).minimum_version == ssl.TLSVersion.TLSv1_2
    assert server_context(Keys()) is None


def test_a_certificate_and_the_key_of_another_are_refused_by_the_names_of_their_files():
    one, other = HOUSE.issue_cert("localhost"), HOUSE.issue_cert("localhost")
    keys = Keys(certificate=(one.private_key_pem.bytes(), other.cert_chain_pems[0].bytes()))
    with pytest.raises(BadKeys, match=r"tls.crt and tls.key: no certificate with its key"):
        server_context(keys)
    keys = Keys(
        certificate=(one.private_key_pem.bytes(), one.cert_chain_pems[0].bytes()), client_authority=b"no certificate"
    )
    with pytest.raises(BadKeys, match=r"client-ca.crt: no certificate in PEM"):
        server_context(keys)
