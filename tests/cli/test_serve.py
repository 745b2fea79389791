"""`sonorant serve`: its limits, by every way that settings have."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from urllib.request import urlopen

import grpc
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rigs.babble import babble_recipe, export_babble
from rigs.ports import free_port
from rigs.recognizer import AUDIO
from rigs.waiting import eventually

from services.process.log_tail import last_lines
from sonorant.cli import serve
from sonorant.recipe.loading import override_recipe
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

SERVING = health_pb2.HealthCheckResponse.SERVING


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    export_babble(folder, max_stream_seconds=9.0)
    return folder


def command(exports, *arguments):
    return [sys.executable, "-m", "sonorant.cli", "serve", "--exports", str(exports), "--port", "0", *arguments]


@contextmanager
def served(exports, folder, *arguments, **environment):
    """The methods of a recognizer that `sonorant serve` runs."""
    port = folder / "port"
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            command(exports, "--port-file", str(port), *arguments), stderr=log, env=os.environ | environment
        )
    try:
        eventually(lambda: port.exists() or process.poll() is not None)
        assert process.poll() is None, last_lines(folder / "log", 3)
        with grpc.insecure_channel(f"127.0.0.1:{port.read_text().strip()}") as channel:
            yield recognizer_pb2_grpc.RecognizerStub(channel)
    finally:
        process.kill()
        process.wait()


def test_the_override_that_the_help_shows_is_taken():
    help_ = CliRunner().invoke(serve.command, ["--help"], terminal_width=200).output
    (example,) = re.findall(r"e\.g\. --set (\S+)", help_)
    (override,) = serve._overrides([example], {})
    assert override.key == "serving.max_streams"


def test_each_source_of_limits_wins_over_the_one_before(monkeypatch):
    monkeypatch.setenv("SONORANT_SERVING__MAX_STREAMS", "5")
    monkeypatch.setenv("SONORANT_SERVING__IDLE_TIMEOUT_S", "0.2")
    assignments = ("serving.max_streams=1", "serving.max_stream_seconds=3")
    overrides = serve._overrides(assignments, {"max_stream_seconds": 1.5, "idle_timeout_s": None})
    serving = override_recipe(babble_recipe(), overrides).serving
    assert (serving.max_stream_seconds, serving.max_streams, serving.idle_timeout_s) == (1.5, 1, 0.2)


def test_the_recognizer_keeps_to_them(exports, tmp_path):
    flags = ("--max-stream-seconds", "1.5", "--set", "serving.max_stream_seconds=3")
    with served(exports, tmp_path, *flags, SONORANT_TRAINING__RANKS="2") as stub:
        info = stub.Recognize(pb.RecognizeRequest(), timeout=60)
        assert info.metadata.max_stream_duration.ToMilliseconds() == 1500
        with pytest.raises(grpc.RpcError) as caught:
            stub.Recognize(pb.RecognizeRequest(content=AUDIO), timeout=60)
        assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE


def test_metrics_and_health_have_ports_that_are_asked_for(exports, tmp_path):
    health, metrics = str(free_port()), str(free_port())
    with served(exports, tmp_path, "--health-port", health, "--metrics-port", metrics) as stub:
        stub.Recognize(pb.RecognizeRequest(content=AUDIO), timeout=60)
        page = urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=60).read().decode()
        with grpc.insecure_channel(f"127.0.0.1:{health}") as channel:
            check = health_pb2_grpc.HealthStub(channel).Check
            eventually(lambda: check(health_pb2.HealthCheckRequest(), timeout=60).status == SERVING)
    assert 'sonorant_recognizer_begun_sessions_total{model="babble",version="1"} 1.0' in page


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "decoding.beam=3"], 2, "--set decoding.beam: expected a key of `serving`"),
        (["--set", "serving.streams=3"], 78, "--set serving.streams: serving.streams"),
        (["--max-streams", "0"], 78, "--max-streams: serving.max_streams"),
        (["--max-streams", "many"], 2, "--max-streams"),
        (["--max-message-mb", "2048"], 78, "--max-message-mb: serving.max_message_mb"),
    ],
)
def test_what_is_no_limit_is_refused_by_name(exports, arguments, code, said):
    done = subprocess.run(command(exports, *arguments), capture_output=True, text=True, check=False, timeout=120)
    assert said in done.stderr
    assert done.returncode == code


def test_the_log_names_the_port_of_http_and_a_folder_of_recordings_that_is_missing(exports, tmp_path):
    port = free_port()
    with served(exports, tmp_path, "--http-port", str(port), "--recordings", str(tmp_path / "none")):
        eventually(lambda: "recognizer_ready" in (tmp_path / "log").read_text())
    log = (tmp_path / "log").read_text()
    events = {event["event"]: event for event in map(json.loads, log.splitlines())}
    assert events["recognizer_ready"]["http_port"] == port
    assert events["recordings_missing"]["folder"] == str(tmp_path / "none")
