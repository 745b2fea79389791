import json
import shutil

import pytest
import soundfile
from click.testing import CliRunner
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.recognizer_thread import recognizer_on_a_thread
from rigs.waiting import eventually

from benchmarks.load import leaks, long, users
from benchmarks.rigs import process
from services.recognizer.transports import grpc_methods
from sonorant.cli.bench import command
from sonorant.errors import Unavailable
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number, seconds in enumerate((0.6, 0.8)):
        soundfile.write(folder / f"{number}.wav", murmur(seconds, seed=number), RATE_HZ, subtype="PCM_16")
    return folder


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """A store of the models `babble` and `bubble`, whose exports are the same."""
    exports = tmp_path_factory.mktemp("exports")
    shutil.copytree(export_babble(exports).path.parent, exports / "bubble")
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


def bench(*options):
    return {(row["name"], row["unit"]): row["value"] for row in measured(*options)}


def measured(*options):
    result = CliRunner().invoke(command, ["serve", "--json", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


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


@pytest.mark.parametrize("output", ["file/load", "/proc/self"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, output):
    (tmp_path / "file").touch()
    options = ("--server", "127.0.0.1:1", "--output", str(tmp_path / output))
    with pytest.raises(Unavailable, match=f"{output}: cannot be written"):
        CliRunner().invoke(command, ["serve", *options], catch_exceptions=False)


def test_refusals_are_counted_and_break_the_slo(store, recordings, monkeypatch):
    monkeypatch.setattr(grpc_methods, "_LINGER_S", 0.0)  # so that no refusal meets a client's next message
    options = ("--recordings", str(recordings), "--streams", "3", "--seconds", "1")
    with recognizer_on_a_thread(store, max_streams=1) as (_, _, address):
        rows = bench("--server", address, *options)
    assert rows["refused", "tries"] >= 1
    assert rows["failed", "streams"] == 0
    assert next(value for (name, _), value in rows.items() if name == "streams") == 0


def test_a_model_among_several_is_measured_by_what_clients_call_it(two_models, recordings):
    options = ("--recordings", str(recordings), "--streams", "1", "--seconds", "1.5", "--model", "bubble@1")
    with recognizer_on_a_thread(two_models) as (_, _, address):
        rows = bench("--server", address, *options)
    assert rows["failed", "streams"] == 0
    assert rows["final result", "ms (max)"] > 0


def test_every_preset_for_a_server_that_is_there_measures_the_model_that_is_named(two_models, recordings, monkeypatch):
    monkeypatch.setattr(long, "_MINUTES", 2)
    monkeypatch.setattr(long, "_MINUTE_S", 1.9)  # CPU time has ticks of 10 ms
    options = ("--recordings", str(recordings), "--streams", "1", "--seconds", "1.5", "--model", "bubble")
    with recognizer_on_a_thread(two_models, max_stream_seconds=4) as (_, _, address):
        rows = {each: bench("--server", address, "--preset", each, *options) for each in ("hostile", "users", "long")}
        idle = measured("--server", address, "--preset", "idle", *options)
    assert rows["hostile"]["failed", "streams"] == 0
    assert rows["hostile"]["hostile messages", "answered"] > 0
    assert [row["case"] for row in idle] == ["no streams", "1 idle streams", "1 idle streams"]
    assert rows["users"]["request", "ms (p50)"] > 0
    assert rows["long"]["CPU, server", "ms/audio-s"] > 0


def refused(*options):
    result = CliRunner().invoke(command, ["serve", *options])
    return result.exception


def test_what_a_server_says_of_the_model_is_the_error(two_models):
    with recognizer_on_a_thread(two_models) as (_, _, address):
        several, unknown = refused("--server", address), refused("--server", address, "--model", "babel")
    assert str(several) == f"{address}: NOT_FOUND: model '': not served; served are: babble, bubble"
    assert str(unknown) == f"{address}: NOT_FOUND: model 'babel': not served; served are: babble, bubble"


def test_idle_streams_that_are_refused_are_counted_or_are_the_error(two_models, recordings):
    options = ("--recordings", str(recordings), "--preset", "idle", "--model", "bubble")
    with recognizer_on_a_thread(two_models, max_streams=1) as (server, _, address):
        rows = measured("--server", address, "--streams", "3", *options)
        eventually(lambda: server.engine.admission.active == 0, "a measured stream keeps its slot")
        with server.engine.admission.slot():
            none = refused("--server", address, "--streams", "3", *options)
    assert [(row["case"], row["value"]) for row in rows if row["name"] == "refused"] == [("of 3 streams", 2)]
    assert isinstance(none, Unavailable)
    assert str(none).startswith("a stream: RESOURCE_EXHAUSTED: ")


def test_a_long_stream_that_is_refused_is_the_error(two_models, recordings, monkeypatch):
    monkeypatch.setattr(long, "_MINUTES", 2)
    monkeypatch.setattr(long, "_MINUTE_S", 1.0)
    options = ("--recordings", str(recordings), "--preset", "long", "--model", "bubble")
    with (
        recognizer_on_a_thread(two_models, max_streams=1, max_stream_seconds=4) as (server, _, address),
        server.engine.admission.slot(),
    ):
        refusal = refused("--server", address, *options)
    assert isinstance(refusal, Unavailable)
    assert str(refusal).startswith("a stream: RESOURCE_EXHAUSTED: ")


def test_clients_that_vanish_leave_neither_descriptors_nor_threads(recordings, monkeypatch):
    monkeypatch.setattr(leaks, "_SETTLE_S", 1.0)
    rows = measured("--preset", "leaks", "--recordings", str(recordings), "--streams", "60")
    held = {(row["name"], row["case"]): row["value"] for row in rows}
    assert {case for _, case in held} == {"after 12 cycles", "after 60 cycles"}
    for name in ("descriptors", "threads"):
        assert 0 < held[name, "after 60 cycles"] <= held[name, "after 12 cycles"] + 4
    assert held["memory", "after 60 cycles"] > 0


def test_a_full_server_is_the_error_of_clients_that_vanish(two_models, recordings):
    with recognizer_on_a_thread(two_models, max_streams=1) as (server, _, address), server.engine.admission.slot():
        none = refused("--server", address, "--preset", "leaks", "--recordings", str(recordings), "--model", "bubble")
    assert isinstance(none, Unavailable)
    assert str(none).startswith("a stream: RESOURCE_EXHAUSTED: ")


def test_users_whom_a_full_server_never_answers_are_the_error(two_models, recordings, monkeypatch):
    monkeypatch.setattr(users, "_PATIENCE_S", 0.5)
    monkeypatch.setattr(process, "_PATIENCE_S", 0.5)  # for the users to end
    options = ("--recordings", str(recordings), "--preset", "users", "--model", "bubble", "--streams", "2")
    with recognizer_on_a_thread(two_models, max_streams=1) as (server, _, address), server.engine.admission.slot():
        none = refused("--server", address, *options)
    assert isinstance(none, Unavailable)
    assert str(none) == "2 users: not all were answered within 0.5 s"


def test_no_recognizer_answers_where_none_does():
    none = refused("--server", "127.0.0.1:1")
    assert isinstance(none, Unavailable)
    assert str(none).startswith("127.0.0.1:1: no recognizer answers: ")


def test_a_model_without_a_server_that_serves_it_is_a_usage_error():
    result = CliRunner().invoke(command, ["serve", "--model", "digits"])
    assert result.exit_code == 2
    assert "--model digits: chooses one of the models that --server serves; give --server" in result.stderr


@pytest.mark.parametrize(("option", "value"), [("--streams", "3,x"), ("--streams", "0"), ("--server", "localhost")])
def test_an_option_that_cannot_be_is_refused_by_name(option, value):
    result = CliRunner().invoke(command, ["serve", option, value])
    assert result.exit_code == 2
    assert option in result.stderr
    assert value in result.stderr
