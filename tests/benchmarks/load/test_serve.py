import json

import pytest
import soundfile
from click.testing import CliRunner
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer_thread import recognizer_on_a_thread

from services.recognizer.transports import grpc_methods
from sonorant.cli.bench import command


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number, seconds in enumerate((0.6, 0.8)):
        soundfile.write(folder / f"{number}.wav", murmur(seconds, seed=number), RATE_HZ, subtype="PCM_16")
    return folder


def bench(*options):
    result = CliRunner().invoke(command, ["serve", "--json", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return {(row["name"], row["unit"]): row["value"] for row in json.loads(result.stdout)}


def test_three_streams_of_two_seconds_are_measured_over_real_sockets(store, recordings, tmp_path):
    options = ("--recordings", str(recordings), "--streams", "3", "--seconds", "2", "--output", str(tmp_path / "load"))
    with recognizer_on_a_thread(store) as (_, _, address):
        rows = bench("--server", address, *options)
    assert rows["failed", "streams"] == rows["refused", "tries"] == 0
    assert rows["CPU, server", "ms/audio-s"] > 0
    assert 0 < rows["final result", "ms (p50)"] <= rows["final result", "ms (max)"]
    report = json.loads((tmp_path / "load" / "load.json").read_text())
    (step,) = report["series"]["recognizer"]
    # Each speaker says 0.7 s in 1.1 s, on average, so in 2 s some 6 recordings end, of 3.8 s; fewer on a busy machine.
    assert 1 <= step["statuses"]["OK"] <= 9
    assert 0.5 <= step["audio_s"] <= 6.0
    assert sum(count for _, count in step["histogram_ms"]["final"]) == step["statuses"]["OK"]
    assert "<svg" in (tmp_path / "load" / "load.html").read_text()


def test_refusals_are_counted_and_break_the_slo(store, recordings, monkeypatch):
    monkeypatch.setattr(grpc_methods, "_LINGER_S", 0.0)  # so that no refusal meets a client's next message
    options = ("--recordings", str(recordings), "--streams", "3", "--seconds", "1")
    with recognizer_on_a_thread(store, max_streams=1) as (_, _, address):
        rows = bench("--server", address, *options)
    assert rows["refused", "tries"] >= 1
    assert rows["failed", "streams"] == 0
    assert next(value for (name, _), value in rows.items() if name == "streams") == 0


@pytest.mark.parametrize(("option", "value"), [("--streams", "3,x"), ("--streams", "0"), ("--server", "localhost")])
def test_an_option_that_cannot_be_is_refused_by_name(option, value):
    result = CliRunner().invoke(command, ["serve", option, value])
    assert result.exit_code == 2
    assert option in result.stderr
    assert value in result.stderr
