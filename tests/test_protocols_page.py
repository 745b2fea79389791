"""The snippets of docs/protocols.md, as a reader copies them from there, against a recognizer on real sockets."""

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
import soxr
from rigs.babble import RATE_HZ, UNITS, export_babble
from rigs.encoded import encoded
from rigs.pages import ROOT, blocks, commands
from rigs.recognizer import AUDIO, SPEECH
from rigs.recognizer_thread import recognizer_on_a_thread
from websockets.sync.client import connect

from services.recognizer.transports.http import HttpServer
from sonorant.export.loading import load_exported
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions

PAGE = ROOT / "docs/protocols.md"
SNIPPETS = {"google": "google.cloud", "tensorflow": "tf.saved_model", "openai": "openai.OpenAI"}  # and what each has


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The reader's folder: a run with an export, and recordings."""
    folder = tmp_path_factory.mktemp("reader")
    exports = folder / "runs/digits/exports"
    export_babble(exports).path.parent.rename(exports / "digits")
    for encoding in ("WAV", "FLAC"):
        (folder / f"FILE.{encoding.lower()}").write_bytes(encoded(encoding, SPEECH, RATE_HZ))
    wide = soxr.resample(SPEECH, RATE_HZ, 44_100)  # of 8 kHz, MP3 keeps too little of such noise for any word
    (folder / "FILE.mp3").write_bytes(encoded("MP3", wide, 44_100))
    return folder


@pytest.fixture(scope="module")
def store(folder):
    store = ModelStore(folder / "runs/digits/exports", load_exported)
    store.refresh()
    return store


@pytest.fixture(scope="module")
def text(store):
    session = Session(store.get(), SessionOptions())
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0].text


@pytest.fixture(scope="module")
def served(store):
    """Return what a reader types, with the addresses of a recognizer in place of the page's."""
    with recognizer_on_a_thread(store) as (server, loop, address):
        http = HttpServer(server.engine, ServingRecipe())
        port = asyncio.run_coroutine_threadsafe(http.start("127.0.0.1", 0), loop).result(timeout=60)
        yield lambda typed: typed.replace("localhost:50051", address).replace("localhost:8080", f"127.0.0.1:{port}")
        asyncio.run_coroutine_threadsafe(http.stop(0.0), loop).result(timeout=60)


def snippet(name):
    (found,) = [block for block in blocks(PAGE, "python") if SNIPPETS[name] in block]
    return found


def printed(program, folder, monkeypatch):
    """What a program prints that runs in this process, which has TensorFlow already."""
    found = []
    monkeypatch.chdir(folder)
    names = {"print": lambda *values: found.extend(values)}
    exec(program, names)
    if "client" in names:
        names["client"].close()  # as the program's end would; later its socket is a warning in whatever test runs then
    return found


def ran(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def test_each_snippet_of_the_page_has_its_test():
    assert sorted(map(snippet, SNIPPETS)) == sorted(blocks(PAGE, "python"))
    assert len(commands(PAGE, "curl")) == 1
    assert set(re.findall(r"^ *```(\w+)", PAGE.read_text(), re.MULTILINE)) == {"python", "sh"}


def test_googles_client_has_the_transcript(served, folder, text):
    """In a process of its own: one cannot load Google's messages and ours, which have the same names."""
    assert ran([sys.executable, "-c", served(snippet("google"))], folder) == f"{text}\n"


def test_tensorflow_alone_has_a_transcript_of_the_export(folder, monkeypatch):
    text, confidence = printed(snippet("tensorflow"), folder, monkeypatch)
    assert text
    assert set(text.split()) <= set(UNITS.symbols)
    assert 0 < confidence <= 1


def test_tensorflow_alone_averages_the_channels(folder, tmp_path, monkeypatch):
    shutil.copytree(folder / "runs", tmp_path / "runs")
    silent = np.stack([np.zeros_like(SPEECH), SPEECH], axis=1)
    (tmp_path / "FILE.wav").write_bytes(encoded("WAV", silent, RATE_HZ))
    text, _ = printed(snippet("tensorflow"), tmp_path, monkeypatch)
    (tmp_path / "FILE.wav").write_bytes(encoded("WAV", SPEECH / 2, RATE_HZ))
    assert text == printed(snippet("tensorflow"), tmp_path, monkeypatch)[0] != ""


def test_openais_client_has_a_transcript(served, folder, monkeypatch):
    (text,) = printed(served(snippet("openai")), folder, monkeypatch)
    assert text  # of an MP3, whose samples are not quite the recording's
    assert set(text.split()) <= set(UNITS.symbols)


def test_curl_has_the_captions(served, folder, text):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed; docs/protocols.md has a call of it")
    (words,) = commands(PAGE, "curl")
    captions = ran(shlex.split(served(shlex.join(["curl", "--silent", "--show-error", "--fail", *words]))), folder)
    number, times, *lines = captions.strip().splitlines()
    assert (number, "-->" in times, " ".join(lines)) == ("1", True, text)


def test_the_messages_of_a_websocket_have_the_effects_of_the_table(served, text):
    messages = re.findall(r'`(\{"type".*?\})`', PAGE.read_text())
    messages = [message.replace("…", '"model": "digits", "sample_rate": 8000') for message in messages]
    kinds = [json.loads(message)["type"] for message in messages]
    assert kinds == ["Configure", "KeepAlive", "Finalize", "CloseStream"]
    configure, keep_alive, finalize, close = messages
    with connect(served("ws://localhost:8080/v1/stream")) as call:
        for message in (configure, AUDIO, keep_alive, finalize, AUDIO, close):
            call.send(message)
        read = [json.loads(message) for message in call]
    ready, first, second, end = read
    assert [message["type"] for message in read] == ["Ready", "Results", "Results", "Closed"]
    assert set(ready) >= {"model", "sample_rate", "max_s"}
    assert (first["from_finalize"], first["alternatives"][0]["transcript"]) == (True, text)
    assert second["is_final"]
    assert (end["audio_s"], call.protocol.close_code) == (4.0, 1000)
