"""Versions that come, are copied and go, while a recognizer polls for them."""

import asyncio
import itertools
import json
import shutil
import threading
import weakref

import grpc
import pytest
from prometheus_client import CollectorRegistry
from rigs.babble import export_babble, murmur
from rigs.recognizer import audio, interim, last, opening, recognizer
from rigs.slots import until_free
from structlog.testing import capture_logs

from services.recognizer.version_events import log_changes
from services.recognizer_client.client import ask_model, connect, pcm16
from sonorant.export.loading import load_exported
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions


def test_a_roll_back_by_copy_is_served_under_its_number_and_loaded_once(tmp_path):
    export_babble(tmp_path)
    polls, loads = [], []

    def load(folder):
        loads.append(folder.name)
        return load_exported(folder)

    store = ModelStore(tmp_path, load, lambda: polls.append(0))
    store.refresh()

    async def serving(stub, model):
        while (await ask_model(stub)).model != model:
            await asyncio.sleep(0.01)

    async def run():
        async with recognizer(store, refresh_s=0.01) as (_, channel):
            stub = connect(channel)
            shutil.copytree(tmp_path / "babble/1", tmp_path / "babble/.draft").rename(tmp_path / "babble/8")
            await serving(stub, "babble/8")
            call = stub.StreamingRecognize()
            await interim(call)
            seen = len(polls)
            while len(polls) < seen + 20:
                await asyncio.sleep(0.01)
            before = list(loads)
            await asyncio.to_thread(shutil.rmtree, tmp_path / "babble/8")
            await serving(stub, "babble/1")
            await call.done_writing()
            return before, await last(call)

    before, final = asyncio.run(run())
    assert before == ["1", "8"]
    assert final.metadata.model == "babble/8"


def test_a_poll_whose_caller_has_left_goes_on_before_the_next(tmp_path):
    export_babble(tmp_path)
    entries, goes_on = [], threading.Event()
    goes_on.set()

    def bring():
        entries.append(0)
        goes_on.wait()

    store = ModelStore(tmp_path, load_exported, bring)
    store.refresh()

    async def run():
        async with recognizer(store) as (server, _):
            goes_on.clear()
            left = asyncio.create_task(server.engine.refresh())
            while len(entries) < 2:
                await asyncio.sleep(0.01)
            left.cancel()
            await asyncio.wait({left})
            following = asyncio.create_task(server.engine.refresh())
            await asyncio.sleep(0.1)
            meanwhile = len(entries)
            goes_on.set()
            await following
            return meanwhile, len(entries)

    assert asyncio.run(run()) == (2, 3)


def label(exports, **labels):
    (exports / "babble/labels.json").write_text(json.dumps(labels))


def transcript(model, content):
    session = Session(model, SessionOptions())
    session.push(content)
    return " ".join(text for result in session.finish() if result.is_final and (text := result.alternatives[0].text))


async def spoken(channel, content, model="", chunk=1600):
    """Stream chunks, with pauses; return the version that answered, and its transcript."""
    call = connect(channel).StreamingRecognize()
    await call.write(opening(model))
    for first in range(0, len(content), chunk):
        await call.write(audio(content[first : first + chunk]))
        await asyncio.sleep(0.002)
    await call.done_writing()
    texts = []
    async for response in call:
        used = response.metadata.model
        texts += [result.alternatives[0].transcript for result in response.results if result.is_final]
    return used, " ".join(text for text in texts if text)


def test_a_version_out_of_service_leaves_the_memory_with_its_last_stream(tmp_path):
    export_babble(tmp_path)
    store = ModelStore(tmp_path, load_exported)
    store.refresh()
    model = weakref.ref(store.get())

    async def run():
        async with recognizer(store) as (server, channel):
            call = connect(channel).StreamingRecognize()
            await interim(call)
            export_babble(tmp_path, seed=2)
            await server.engine.refresh()
            meanwhile = [(state.version, state.state) for state in server.engine.versions("babble")], model() is None
            await call.done_writing()
            await last(call)
            del call
            await until_free(server.engine)
            await server.engine.refresh()
            return meanwhile, [(state.version, state.state) for state in server.engine.versions("babble")]

    meanwhile, after = asyncio.run(run())
    assert meanwhile == ([(2, "AVAILABLE"), (1, "UNLOADING")], False)
    assert (after, model()) == ([(2, "AVAILABLE"), (1, "END")], None)


def test_clients_choose_versions_and_the_canary_takes_its_share_which_is_counted(tmp_path):
    for seed in (1, 2, 3):
        export_babble(tmp_path, seed=seed)
    label(tmp_path, stable=1, canary=2, canary_share=0.5)
    store, metrics = ModelStore(tmp_path, load_exported), CollectorRegistry()
    store.refresh()

    async def run():
        async with recognizer(store, metrics=metrics) as (_, channel):
            names = ["", "babble", "babble@stable", "babble@canary", "babble@2", "babble/1"]
            return [(await spoken(channel, b"\0" * 3200, name))[0] for name in names] + [
                (await ask_model(connect(channel))).model
            ]

    assert asyncio.run(run()) == [f"babble/{version}" for version in (1, 2, 1, 2, 2, 1, 1)]
    counted = {
        version: metrics.get_sample_value(
            "sonorant_recognizer_begun_sessions_total", {"model": "babble", "version": version}
        )
        for version in ("1", "2", "3")
    }
    assert counted == {"1": 3, "2": 3, "3": None}


def test_a_stable_version_that_is_missing_at_the_start_is_a_warning_and_counts_until_it_comes(tmp_path):
    export_babble(tmp_path)
    label(tmp_path, stable=2)
    store, metrics = ModelStore(tmp_path, load_exported), CollectorRegistry()
    with capture_logs() as logs:
        log_changes(store.refresh())
    by_level = {entry["log_level"]: (entry["path"], "stable=2" in entry["refusal"]) for entry in logs}
    assert by_level == {
        "warning": (str(tmp_path / "babble/labels.json"), True),
        "info": (str(tmp_path / "babble/1"), False),
    }

    def unmet():
        return metrics.get_sample_value("sonorant_recognizer_unmet_labels", {"model": "babble"})

    async def run():
        async with recognizer(store, metrics=metrics) as (server, channel):
            before = unmet(), (await ask_model(connect(channel))).model
            export_babble(tmp_path, seed=2)
            await server.engine.refresh()
            return before, (unmet(), (await ask_model(connect(channel))).model)

    assert asyncio.run(run()) == ((1, "babble/1"), (0, "babble/2"))


def test_a_version_out_of_service_is_not_found(tmp_path):
    export_babble(tmp_path)
    store = ModelStore(tmp_path, load_exported)
    store.refresh()

    async def run():
        async with recognizer(store) as (_, channel):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await spoken(channel, b"", "babble@canary")
            return caught.value

    error = asyncio.run(run())
    assert (error.code(), "in service are: 1" in error.details()) == (grpc.StatusCode.NOT_FOUND, True)


def test_streams_under_way_while_versions_are_swapped_are_neither_dropped_nor_mixed(tmp_path):
    """Three versions take turns as stable and canary at each poll; each stream has the transcript of one of them."""
    for seed in (1, 2, 3):
        export_babble(tmp_path, seed=seed)
    content = pcm16(murmur(1.5, seed=4))
    expected = {
        f"babble/{version}": transcript(load_exported(tmp_path / f"babble/{version}"), content) for version in (1, 2, 3)
    }
    assert len(set(expected.values())) == 3
    label(tmp_path, stable=1, canary=2, canary_share=0.3)
    store = ModelStore(tmp_path, load_exported)
    store.refresh()

    async def swap(engine, over):
        for stable, canary in itertools.cycle([(2, 3), (3, 1), (1, 2)]):
            label(tmp_path, stable=stable, canary=canary, canary_share=0.3)
            await engine.refresh()
            if over.is_set():
                return

    async def run():
        async with recognizer(store) as (server, channel):
            over = asyncio.Event()
            swapping, found = asyncio.create_task(swap(server.engine, over)), []

            async def client(delay_s):
                await asyncio.sleep(delay_s)
                found.extend([await spoken(channel, content) for _ in range(3)])

            await asyncio.gather(*(client(0.01 * number) for number in range(6)))
            over.set()
            await swapping
            return found

    found = asyncio.run(run())
    assert len(found) == 18
    assert len({version for version, _ in found}) > 1
    assert found == [(version, expected[version]) for version, _ in found]
    assert store.get(ModelChoice("babble", label="stable"))
