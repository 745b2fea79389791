"""A training whose processes have nothing in common but a real S3 server, Redis and their network."""

import contextlib
import json
import os
import subprocess
import sys
import uuid

import pytest
from rigs.small_corpus import write_digits
from rigs.training_run import PATIENCE_S, end, tiny_recipe
from rigs.waiting import eventually

from services.storage.objects import ObjectStore
from sonorant.recipe.loading import dump_recipe

EPOCHS = 40  # seconds of training, so that the trainer is lost before its end
TOTAL = 20  # strings of the corpus' train split
RECIPE = tiny_recipe(epochs=EPOCHS, patience=EPOCHS, dev_every_epochs=10)


class Processes:
    """Processes, each of which has a folder of its own."""

    def __init__(self, tmp_path, url, environment, stack):
        self.tmp_path = tmp_path
        self._environment = os.environ | environment | {"SONORANT_STORE": url}
        self._stack = stack
        (tmp_path / "recipe.yaml").write_text(dump_recipe(RECIPE))

    def start(self, name, module, *arguments):
        """Start a module, whose run is the folder `name`."""
        log = self._stack.enter_context((self.tmp_path / f"{name}.log").open("ab"))
        recipe = ("--recipe", str(self.tmp_path / "recipe.yaml"))
        command = [sys.executable, "-m", *module.split(), *recipe, *arguments]
        process = subprocess.Popen(command, stderr=log, stdout=log, env=self._environment)
        self._stack.callback(end, process)
        return process

    def start_in_run(self, name, module, *arguments):
        return self.start(name, module, "--run", str(self.tmp_path / name), "--patience-s", "300", *arguments)

    def log(self, name):
        return (self.tmp_path / f"{name}.log").read_text()


@pytest.fixture
def url(tmp_path):
    return f"s3://bucket/{uuid.uuid4().hex}/runs/tiny"


@pytest.fixture
def store(s3, url, monkeypatch):
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return ObjectStore(url, 5)


@pytest.fixture
def processes(tmp_path, url, s3, store):
    with contextlib.ExitStack() as stack:
        yield Processes(tmp_path, url, s3.environment, stack)


def test_a_training_whose_pods_share_a_store_survives_the_loss_of_its_trainer(processes, store, tmp_path, redis_url):
    port_files = {name: tmp_path / f"{name}.port" for name in ("coordinator", "recognizer")}
    processes.start_in_run(
        "coordinator", "services.coordinator", "--redis", redis_url, "--port-file", str(port_files["coordinator"])
    )
    exports = ("--exports", str(tmp_path / "recognizer" / "exports"), "--port", "0", "--patience-s", "300")
    recognizer = processes.start(
        "recognizer", "services.recognizer", *exports, "--port-file", str(port_files["recognizer"])
    )
    made = processes.start(
        "prepare",
        "sonorant.cli prepare",
        *("--run", str(tmp_path / "prepare"), "--data", str(write_digits(tmp_path / "data")), "--jobs", "1"),
    )
    assert made.wait(PATIENCE_S) == 0, processes.log("prepare")
    eventually(port_files["coordinator"].exists)
    address = ("--coordinator", port_files["coordinator"].read_text().strip())
    server = processes.start_in_run("example_server", "services.example_server", *address)

    trainer = (*address, "--redis", redis_url, "--export")
    lost = processes.start_in_run("lost", "services.trainer", *trainer)
    eventually((tmp_path / "lost" / "checkpoints" / "latest").exists, process=lost)
    end(server)  # no training ends without it, however long a checkpoint takes to the store
    eventually(lambda: store.read("checkpoints/latest"), process=lost)
    lost.kill()
    lost.wait()
    assert store.read("finished.json") is None, "training was over too early: nothing is proved"
    saved = int(store.read("checkpoints/latest").decode().removeprefix("step-"))

    processes.start_in_run("example_server", "services.example_server", *address)
    goes_on = processes.start_in_run("goes_on", "services.trainer", *trainer)
    assert goes_on.wait(PATIENCE_S) == 0, processes.log("goes_on")
    (begun,) = (e for e in map(json.loads, processes.log("goes_on").splitlines()) if e["event"] == "generation_started")
    assert begun["step"] >= saved > 0
    totals = json.loads(store.read("finished.json"))
    assert totals["examples"] == EPOCHS * TOTAL
    assert totals["ledger"] == {"committed": EPOCHS * TOTAL, "rejected": 0, "lost": 0, "duplicated": 0}
    lines = [json.loads(line) for line in store.read("metrics.jsonl").splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, totals["steps"] + 1))

    eventually(port_files["recognizer"].exists, process=recognizer)
    assert list((tmp_path / "recognizer").glob("exports/tiny/1/manifest.json"))
    for name in ("coordinator", "example_server", "prepare", "lost", "goes_on", "recognizer"):
        assert "Traceback" not in processes.log(name), processes.log(name)
        assert "AWS_SECRET" not in processes.log(name)
