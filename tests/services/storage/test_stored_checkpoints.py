"""Checkpoints by way of a store: one gang writes them, another goes on from them."""

import shutil
import time

import numpy as np
import pytest
from rigs.log import WrittenLog
from rigs.s3 import S3Server
from rigs.waiting import eventually

from services.storage import checkpoints as stored_checkpoints
from services.storage.checkpoints import CheckpointPusher
from services.storage.objects import ObjectStore
from services.storage.run import open_run
from sonorant.atomic import atomic_write
from sonorant.errors import Unavailable
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress, load_checkpoint

RECIPE = {"seed": 1}


def checkpoint(step):
    weights = {"w": np.full(1000, step, np.float32)}
    return Checkpoint(Progress(step=step), RECIPE, weights, weights, {}, {}, b"ledger")


class Gang:
    """What the first rank of a gang does with its run."""

    def __init__(self, folder, url):
        self.run = open_run(folder, url)
        self.run.pull_checkpoints()
        self.warned = []
        self.checkpoints = Checkpoints(self.run.folder.checkpoints, 2, self.warned.append)
        self.generation, self.begun = self.checkpoints.begin(0, RECIPE)
        self.run.push_generation()

    def save(self, step, best=False):
        with self.run.folder.metrics.open("a") as file:
            file.write(f'{{"kind": "step", "time_s": {step}}}\n')
        self.checkpoints.save(checkpoint(step), best)


def steps(url):
    names = ObjectStore(url, 0).names("checkpoints")
    return sorted({int(name.split("/")[1][5:]) for name in names if name.endswith("manifest.json")})


def test_another_gang_goes_on_from_the_last_checkpoint_in_an_empty_folder(tmp_path, url):
    first = Gang(tmp_path / "first", url)
    assert first.begun is None
    first.run.folder.tracking.write_text('{"key": "of the first"}')
    with first.run.pushing_checkpoints():
        for step in (1, 2, 3, 4):
            first.save(step, best=step == 1)
            eventually(lambda step=step: step in steps(url))
    assert steps(url) == [1, 3, 4]  # two are kept, and the best
    second = Gang(tmp_path / "second", url)
    assert second.generation == first.generation + 1
    assert second.begun.progress.step == 4
    np.testing.assert_array_equal(second.begun.weights["w"], checkpoint(4).weights["w"])
    assert load_checkpoint(second.run.folder.checkpoints, "best").progress.step == 1
    assert second.run.folder.metrics.read_text().count("step") == 4
    assert second.run.folder.tracking.read_text() == '{"key": "of the first"}'
    assert not second.warned


def test_a_checkpoint_that_is_written_anew_takes_the_place_of_the_old(tmp_path, url):
    gang = Gang(tmp_path / "first", url)
    with gang.run.pushing_checkpoints():
        gang.save(1)
        eventually(lambda: steps(url) == [1])
        again = checkpoint(1)
        again.progress.epoch = 5
        gang.checkpoints.save(again, best=True)
    second = Gang(tmp_path / "second", url)
    assert second.begun.progress.epoch == 5
    assert not second.warned


def test_a_folder_that_cannot_be_read_for_a_moment_is_pushed_once_it_can(tmp_path, url, monkeypatch):
    told = WrittenLog()
    monkeypatch.setattr(stored_checkpoints, "log", told)
    gang = Gang(tmp_path / "first", url)
    with gang.run.pushing_checkpoints():
        gang.save(1)
        eventually(lambda: steps(url) == [1])
        manifest = gang.run.folder.checkpoints / "step-00000009" / "manifest.json"
        manifest.parent.mkdir()
        manifest.symlink_to("/proc/self/mem")  # answers EIO
        latest = gang.run.folder.checkpoints / "latest"
        atomic_write(latest, latest.read_bytes())  # news for the pusher; saving would remove the damaged folder
        eventually(lambda: any(entry["event"] == "checkpoint_not_pushed" for entry in told.entries))
        shutil.rmtree(manifest.parent)
        gang.save(2)
        eventually(lambda: steps(url) == [1, 2])


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path, url):
    gang = Gang(tmp_path / "first", url)
    with gang.run.pushing_checkpoints():
        gang.save(1)
        eventually(lambda: steps(url) == [1])
        gang.save(2)
    ObjectStore(url, 0).write("checkpoints/step-00000002/state.json", b"{}")
    second = Gang(tmp_path / "second", url)
    assert second.begun.progress.step == 1
    assert "checksum" in second.warned[0]


@pytest.mark.parametrize("late", [(7,), (1,)], ids=["a checkpoint", "a pointer"])
def test_an_older_gang_pushes_nothing_once_a_newer_has_begun(tmp_path, url, late):
    old = Gang(tmp_path / "old", url)
    with old.run.pushing_checkpoints():
        old.save(1)
        eventually(lambda: steps(url) == [1])
        new = Gang(tmp_path / "new", url)
        with new.run.pushing_checkpoints():
            new.save(5)
            eventually(lambda: 5 in steps(url))
            old.save(*late, best=True)
    store = ObjectStore(url, 0)
    assert steps(url) == [1, 5]
    assert (store.read("checkpoints/latest"), store.read("checkpoints/best")) == (b"step-00000005", None)


def test_what_is_pruned_after_its_successor_was_pushed_goes_too(tmp_path, url, monkeypatch):
    gang = Gang(tmp_path / "run", url)
    prune = gang.checkpoints._prune

    def late(newest):
        eventually(lambda: ObjectStore(url, 0).read("checkpoints/latest") == newest.name.encode())
        prune(newest)

    monkeypatch.setattr(gang.checkpoints, "_prune", late)
    with gang.run.pushing_checkpoints():
        for step in (1, 2, 3):
            gang.save(step)
    assert steps(url) == [2, 3]


def test_a_damaged_checkpoint_of_a_higher_step_goes_when_one_is_saved_after_it(tmp_path, url):
    gang = Gang(tmp_path / "first", url)
    with gang.run.pushing_checkpoints():
        gang.save(1)
        eventually(lambda: steps(url) == [1])
        gang.save(8, best=True)
    ObjectStore(url, 0).write("checkpoints/step-00000008/arrays.npz", b"")
    second = Gang(tmp_path / "second", url)
    assert second.begun.progress.step == 1
    with second.run.pushing_checkpoints():
        second.save(2)
    assert steps(url) == [1, 2]
    assert Gang(tmp_path / "third", url).begun.progress.step == 2


def test_what_an_older_gang_had_in_its_hands_when_a_newer_began_is_not_gone_on_from(tmp_path, url):
    old = Gang(tmp_path / "old", url)
    old.save(9)
    new = Gang(tmp_path / "new", url)
    new.generation = new.checkpoints.next_generation(old.generation)
    new.run.push_generation()
    with new.run.pushing_checkpoints():
        new.save(3)
    store, late = ObjectStore(url, 0), old.run.folder.checkpoints / "step-00000009"
    for file in late.iterdir():
        store.write(f"checkpoints/{late.name}/{file.name}", file.read_bytes())
    third = Gang(tmp_path / "third", url)
    assert third.begun.progress.step == 3
    with third.run.pushing_checkpoints():
        third.save(4)
    assert steps(url) == [3, 4]


def test_what_an_older_gang_left_in_a_folder_is_not_gone_on_from(tmp_path, url):
    old = Gang(tmp_path / "old", url)
    old.save(9)  # never pushed
    new = Gang(tmp_path / "new", url)
    new.generation = new.checkpoints.next_generation(old.generation)
    new.run.push_generation()
    with new.run.pushing_checkpoints():
        new.save(3)
    assert Gang(tmp_path / "old", url).begun.progress.step == 3


def test_training_goes_on_while_the_store_is_away_and_its_checkpoint_comes_later(tmp_path, monkeypatch):
    server = S3Server(tmp_path / "s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("services.storage.checkpoints._FIRST_PAUSE_S", 0.1)
    server.start()
    try:
        gang = Gang(tmp_path / "first", "s3://bucket/run")
        with gang.run.pushing_checkpoints():
            gang.save(1)
            eventually(lambda: steps("s3://bucket/run") == [1])
            server.kill()
            gang.save(2)
            time.sleep(0.3)  # more than it waits between two looks
            gang.save(3)
            server.start()
        assert Gang(tmp_path / "second", "s3://bucket/run").begun.progress.step == 3
        monkeypatch.setattr("services.storage.checkpoints._FLUSH_S", 0.1)

        def train_without_a_store():
            with gang.run.pushing_checkpoints():
                server.kill()
                gang.save(4)

        with pytest.raises(Unavailable, match="the last checkpoint is in"):
            train_without_a_store()
    finally:
        server.kill()


def test_the_error_that_ends_training_is_not_hidden_by_a_store_that_is_away(tmp_path, url, monkeypatch):
    gang = Gang(tmp_path / "first", url)
    pusher = CheckpointPusher(ObjectStore(url, 0), gang.run.folder)

    def away(*_):
        raise Unavailable("away")

    monkeypatch.setattr(ObjectStore, "upload", away)

    def train_and_fail():
        with pusher.following():
            gang.save(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train_and_fail()


class PruningStore:
    """A store so slow that in each push the folder saves a checkpoint, and prunes the oldest, which is uploaded."""

    def __init__(self, store, gang):
        self._store, self._gang = store, gang
        self._may_prune = False
        self.pruned = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def upload(self, path, name):
        if path == self._gang.run.folder.metrics:  # a push begins
            self._may_prune = True
        elif self._may_prune and path.parent == min(self._gang.run.folder.checkpoints.glob("step-*")):
            self._may_prune, self.pruned = False, self.pruned + 1
            self._gang.save(self.pruned + 2)
        self._store.upload(path, name)


def test_a_checkpoint_is_pushed_though_the_one_before_is_pruned_in_each_push(tmp_path, url):
    gang = Gang(tmp_path / "first", url)
    gang.save(1)
    gang.save(2)
    store = PruningStore(ObjectStore(url, 0), gang)
    with CheckpointPusher(store, gang.run.folder).following():
        eventually(lambda: 2 in steps(url))
    assert ObjectStore(url, 0).read("checkpoints/latest") is not None
