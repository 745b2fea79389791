import asyncio
import json
import threading
from contextlib import contextmanager

import pytest
import soundfile
from click.testing import CliRunner
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer import recognizer

from sonorant.cli.bench import command


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number, seconds in enumerate((0.6, 0.8)):
        soundfile.write(folder / f"{number}.wav", murmur(seconds, seed=number), RATE_HZ, subtype="PCM_16")
    return folder


@contextmanager
def serving(store, **limits):
    """A recognizer in a thread; yields its address."""
    ready, over, address = threading.Event(), None, ""

    async def serve():
        nonlocal over, address
        over = asyncio.Event()
        async with recognizer(store, **limits) as (server, _):
            address = f"127.0.0.1:{server.port}"
            ready.set()
            await over.wait()
        loop.call_soon(loop.stop)

    loop = asyncio.new_event_loop()
    serving = loop.create_task(serve())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    assert ready.wait(60)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        assert serving.done()
        loop.close()


def bench(*options):
    result = CliRunner().invoke(command, ["serve", "--json", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return {(row["name"], row["unit"]): row["value"] for row in json.loads(result.stdout)}


def test_three_streams_of_two_seconds_are_measured_over_real_sockets(store, recordings, tmp_path):
    options = ("--recordings", str(recordings), "--streams", "3", "--seconds", "2", "--output", str(tmp_path / "load"))
    with serving(store) as address:
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


def test_refusals_are_counted_and_break_the_slo(store, recordings):
    options = ("--recordings", str(recordings), "--streams", "3", "--seconds", "1")
    with serving(store, max_streams=1) as address:
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
