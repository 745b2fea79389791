"""Google's own client in TLS, with an API key as it sends one."""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path

import pytest
import trustme
from rigs.keyed import api_keys, keyed, tls
from rigs.recognizer import AUDIO

CLIENT = Path(__file__).parents[3] / "rigs" / "google_key_client.py"
HOUSE = trustme.CA()


@pytest.mark.skipif(
    importlib.util.find_spec("google.cloud.speech_v2") is None, reason="make setup brings google-cloud-speech"
)
def test_google_s_client_is_recognized_with_its_key_and_refused_without(store, tmp_path, monkeypatch):
    file, secrets = api_keys(tmp_path, one=None)
    (tmp_path / "pcm").write_bytes(AUDIO)
    HOUSE.cert_pem.write_to_path(tmp_path / "ca.crt")

    async def said(server, secret):
        command = [sys.executable, "-W", "ignore", str(CLIENT), f"localhost:{server.port}", str(tmp_path / "pcm")]
        trust = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(tmp_path / "ca.crt"), "API_KEY": secret}
        client = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=os.environ | trust)
        return (await client.communicate())[0].decode()

    async def run():
        async with asyncio.timeout(120), keyed(store, file) as server:
            return await asyncio.gather(said(server, secrets["one"]), said(server, "sonorant-another"))

    with tls(tmp_path / "keys", monkeypatch, HOUSE):
        text, refusal = asyncio.run(run())
    assert text.strip()
    assert not text.startswith(("Un", "Service"))
    assert refusal == "Unauthenticated: unknown API key\n"
