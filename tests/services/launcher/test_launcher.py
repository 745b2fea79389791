"""Two launchers with a trainer's rank each, which find each other over Gloo, with the whole pipeline behind them."""

import contextlib
import json
import os
import signal
import sys

import psutil
import pytest
from rigs.training_run import EPOCHS, PATIENCE_S, TOTAL, Run, tiny_recipe, write_run
from rigs.waiting import eventually

from services.supervisor.past_run import audit_run

# After this time a rank that stands still is noticed. One that is only slow may be taken for that, and all start again.
GLOO_TIMEOUT_S = "5"


class Gang:
    def __init__(self, run, redis_url):
        self.run = run
        self._redis_url = redis_url
        self.launchers = [self._launch(rank) for rank in range(2)]

    def _launch(self, rank):
        options = ("--ranks", "2", "--rank", str(rank), "--host", "127.0.0.1", "--redis", self._redis_url)
        return self.run.train(
            sys.executable, "-m", "services.launcher", *options, "--", more=("--export", "--launched")
        )

    def rank(self, number):
        """The process of a rank, once there is one."""
        launcher = psutil.Process(self.launchers[number].pid)
        eventually(launcher.children, process=self.launchers[number])
        (process,) = launcher.children()
        return process

    def replace(self, number):
        """Kill a launcher, and start another one."""
        self.run.kill(self.launchers[number])
        self.launchers[number] = self._launch(number)

    def train(self, steps=3):
        """Wait until there is a checkpoint of a later step."""
        last = self.run.last_step()
        eventually(lambda: self.run.last_step() >= last + steps, process=self.launchers[0])

    def await_completions(self, count):
        """Wait until so many launchers have said that training is complete."""
        said = lambda: self.run.log("trainer").count('"training_complete"')  # noqa: E731
        eventually(lambda: said() >= count, lambda: self.run.log("trainer"))

    def begun(self):
        return self.run.log("trainer").count("gang_begun")


@pytest.fixture
def gang(tmp_path, redis_url, monkeypatch):
    monkeypatch.setenv("HOROVOD_GLOO_TIMEOUT_SECONDS", GLOO_TIMEOUT_S)
    with contextlib.ExitStack() as stack:
        yield Gang(Run(write_run(tmp_path / "run", tiny_recipe()), redis_url, stack), redis_url)


def test_a_launcher_killed_a_rank_stopped_and_each_example_used_once(gang):
    gang.train()
    gang.replace(1)
    eventually(lambda: gang.begun() >= 2)  # the first gang may have left checkpoints to write
    gang.train()
    stopped = gang.rank(0)
    stopped.suspend()
    stopped.wait(PATIENCE_S)
    eventually(gang.run.folder.totals.exists, process=gang.launchers[1])
    eventually(lambda: list(gang.run.folder.exports.glob("*/1/manifest.json")), process=gang.launchers[0])
    assert gang.begun() >= 3
    gang.await_completions(2)
    gang.replace(0)  # the other rank is done, and joins no gang any more
    gang.await_completions(3)
    for launcher in gang.launchers:
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(PATIENCE_S) in (0, os.EX_TEMPFAIL), gang.run.log("trainer")
    totals = json.loads(gang.run.folder.totals.read_text())
    assert totals["ledger"] == {"committed": EPOCHS * TOTAL, "rejected": 0, "lost": 0, "duplicated": 0}
    found = audit_run(gang.run.folder)
    assert found.exact
    assert [(epoch.committed, epoch.trained) for epoch in found.epochs] == [(TOTAL, TOTAL)] * EPOCHS
