"""A recognizer that asks for API keys, on both its ports, in TLS or not."""

import ssl
from contextlib import asynccontextmanager, contextmanager

from rigs.ports import free_port

from services.process.keys import process_keys
from services.recognizer.key_file import append_key
from services.recognizer.server import RecognizerServer
from sonorant.recipe.serving import ServingRecipe


def api_keys(folder, **streams):
    """Write a key for each name, with its limit; return the file and the secrets."""
    path = folder / "api.keys"
    return str(path), {name: append_key(path, name, most) for name, most in streams.items()}


@asynccontextmanager
async def keyed(store, file, metrics=None, **limits):
    """Yield a recognizer whose `port` and `http_port` are open."""
    http_port = free_port()
    serving = ServingRecipe(api_keys=file, http_port=http_port, slo_ms=60_000, **limits)
    server = RecognizerServer(store, serving, 60.0, 1, metrics)
    server.port, server.http_port = await server.start(), http_port
    try:
        yield server
    finally:
        await server.stop(0.0)


@contextmanager
def tls(folder, monkeypatch, authority, clients=None):
    """Let this process have a certificate for localhost, and ask its clients for one of the authority `clients`."""
    folder.mkdir()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(folder / "tls.key")
    certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    if clients is not None:
        clients.cert_pem.write_to_path(folder / "client-ca.crt")
    monkeypatch.setenv("SONORANT_KEYS", str(folder))
    process_keys.cache_clear()
    try:
        yield
    finally:
        monkeypatch.delenv("SONORANT_KEYS")
        process_keys.cache_clear()


def trusting(authority, certificate=None):
    """The TLS context of a client that trusts an authority, and presents a certificate."""
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    if certificate is not None:
        certificate.configure_cert(context)
    return context
