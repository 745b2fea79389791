"""`sonorant key`, and the key that `sonorant transcribe` sends."""

import asyncio
import os
import re
import subprocess
import sys

import pytest
import soundfile
from rigs.babble import RATE_HZ, export_babble
from rigs.command_line import sonorant
from rigs.keyed import keyed
from rigs.recognizer import SPEECH

from services.recognizer.key_file import read_keys
from sonorant.export.loading import load_exported
from sonorant.serving.api_keys import hashed
from sonorant.serving.model_store import ModelStore


def test_it_prints_the_key_once_and_writes_its_hash_and_limits(tmp_path):
    done = sonorant("key", "editors", "--file", "api.keys", "--streams", 3, "--expires", "2999-01-31", folder=tmp_path)
    secret = done.stdout.strip()
    assert re.fullmatch(r"sonorant-[A-Za-z0-9_-]{43}", secret)
    (key,) = read_keys(tmp_path / "api.keys")
    assert (key.name, key.digest, key.streams, str(key.expires)) == ("editors", hashed(secret), 3, "2999-01-31")
    assert sonorant("key", "editors", "--file", "api.keys", folder=tmp_path).stdout.strip() != secret
    assert len(read_keys(tmp_path / "api.keys")) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("no name", "--file", "a"), 78, "name 'no name': expected 1 to 63 letters"),
        (("name", "--file", "broken"), 78, "broken, line 2: nothing after the name 'b'"),
        (("name", "--file", "none/a"), 69, "none/a: cannot be written"),
        (("name", "--file", "a", "--streams", "0"), 2, "0 is not in the range"),
        (("name", "--file", "a", "--expires", "soon"), 2, "'soon' does not match the format"),
        (("name", "--file", "a", "--expires", "2020-01-31"), 2, "2020-01-31: the key would be refused at once"),
        (("name",), 2, "Missing option '--file'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, arguments, code, reason):
    (tmp_path / "broken").write_text("# keys\nb\n")
    (tmp_path / "broken").chmod(0o600)
    done = sonorant("key", *arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert reason in done.stderr


def test_transcribe_sends_the_key_of_a_file_or_of_the_environment_and_says_how_if_it_has_none(tmp_path):
    export_babble(tmp_path / "exports")
    store = ModelStore(tmp_path / "exports", load_exported)
    store.refresh()
    soundfile.write(tmp_path / "speech.wav", SPEECH, RATE_HZ)
    secret = sonorant("key", "editors", "--file", "api.keys", folder=tmp_path).stdout
    (tmp_path / "editors.key").write_text(secret)

    async def run():
        async with keyed(store, str(tmp_path / "api.keys")) as server:

            async def said(*arguments, **environment):
                words = ("transcribe", "--server", f"127.0.0.1:{server.port}", "speech.wav", *arguments)
                client = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "sonorant.cli", *words, cwd=tmp_path, env=os.environ | environment,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
                out, err = await client.communicate()
                return client.returncode, out.decode(), err.decode()

            return await asyncio.gather(
                said("--api-key-file", "editors.key"), said(SONORANT_API_KEY=secret.strip()), said()
            )

    by_file, by_environment, refused = asyncio.run(run())
    assert by_file[:2] == by_environment[:2]
    assert by_file[0] == 0, by_file[2]
    assert by_file[1].strip()
    assert refused[:2] == (77, "")
    assert "no API key: expected `authorization: Bearer KEY`" in refused[2]
    assert "set SONORANT_API_KEY, or give --api-key-file FILE" in refused[2]


def test_what_no_header_can_hold_is_no_key(tmp_path):
    for name, content in {"empty": b"", "two": b"a key", "latin": b"cl\xe9"}.items():
        (tmp_path / name).write_bytes(content)
    call = ("transcribe", "--server", "127.0.0.1:1", "speech.wav")
    found = [
        sonorant(*call, "--api-key-file", "empty", folder=tmp_path),
        sonorant(*call, "--api-key-file", "two", folder=tmp_path),
        sonorant(*call, "--api-key-file", "latin", folder=tmp_path),
        sonorant(*call, "--api-key-file", "none", folder=tmp_path),
        sonorant(*call, folder=tmp_path, environment=os.environ | {"SONORANT_API_KEY": "a key"}),
    ]
    assert [done.returncode for done in found] == [77] * 5
    reasons = ("empty: empty, expected", "two: 5 characters", "latin: 3 characters", "none: the API key cannot be read")
    for done, reason in zip(found, (*reasons, "SONORANT_API_KEY: 5 characters"), strict=True):
        assert reason in done.stderr
        assert "a key" not in done.stderr
