"""Versions that come, are copied and go, while a recognizer polls for them."""

import asyncio
import shutil
import threading

from rigs.babble import export_babble
from rigs.recognizer import interim, last, recognizer

from services.recognizer_client.client import ask_model, connect
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore


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
