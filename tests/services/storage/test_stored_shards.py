"""Shards that one machine makes and others read, with only a store in common."""

import json
import os
import time

import pytest
from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits

from services.storage.objects import ObjectStore
from services.storage.run import open_run
from sonorant.cli.prepare import command as prepare
from sonorant.corpus.prepared import check_prepared
from sonorant.corpus.shards import SPLITS, ShardSet
from sonorant.errors import BadCorpus, BadRun, BadShard
from sonorant.recipe.loading import dump_recipe
from sonorant.text.units import Units, read_units
from sonorant.training.checkpoints import BadCheckpoint
from sonorant.training.identity import identity

RECIPE = digits_recipe()


@pytest.fixture
def data(tmp_path):
    return write_digits(tmp_path / "data")


def preparing(tmp_path, data, url, where, recipe=RECIPE):
    """Run `sonorant prepare` with a folder of its own; return how it ended."""
    file = tmp_path / "given.yaml"
    file.write_text(dump_recipe(recipe))
    arguments = ["--recipe", str(file), "--data", str(data), "--run", str(tmp_path / where), "--jobs", "1"]
    return CliRunner().invoke(prepare, [*arguments, "--store", url])


def prepared(*arguments, **options):
    """Return what `preparing` said once it succeeded."""
    done = preparing(*arguments, **options)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def trained(store, recipe=RECIPE, step="step-00000002"):
    """Put into a store what one finds there of the newest checkpoint, but its weights."""
    store.write(f"checkpoints/{step}/state.json", json.dumps({"identity": identity(recipe)}).encode())
    store.write(f"checkpoints/{step}/manifest.json", b"{}")
    store.write("checkpoints/latest", step.encode())


def records(run, split="train"):
    return list(run.open_shards(split))


def test_shards_are_read_where_they_were_not_made(tmp_path, data, url):
    prepared(tmp_path, data, url, "maker")
    reader = open_run(tmp_path / "reader", url)
    reader.pull_shards()
    check_prepared(RECIPE, reader.folder)
    assert not list(reader.folder.shards.glob("*.tfrecord"))
    for split in SPLITS:
        assert records(reader, split) == list(ShardSet.open(tmp_path / "maker" / "shards", split))
    deadline_s = time.monotonic() + 60
    while not all(path.exists() for path in reader.open_shards("train").paths):  # behind the reader's back
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    name = reader.open_shards("train").paths[0].name
    assert (reader.folder.shards / name).read_bytes() == (tmp_path / "maker" / "shards" / name).read_bytes()


def test_shards_that_the_store_has_are_not_made_again(tmp_path, data, url):
    assert "shard(s) made" in prepared(tmp_path, data, url, "maker")
    assert "nothing to do" in prepared(tmp_path, data, url, "another")
    assert not list((tmp_path / "another").rglob("*.tfrecord"))


def test_shards_of_another_plan_take_the_place_of_the_old(tmp_path, data, url):
    prepared(tmp_path, data, url, "maker")
    reader = open_run(tmp_path / "reader", url)
    reader.pull_shards()
    before = records(reader)
    other = RECIPE.model_copy(update={"seed": 7})
    assert "shard(s) made" in prepared(tmp_path, data, url, "another", other)
    reader.pull_shards()
    check_prepared(other, reader.folder)
    assert records(reader) == list(ShardSet.open(tmp_path / "another" / "shards", "train")) != before


@pytest.mark.parametrize("folder", ["maker", "another"])
def test_shards_that_the_stores_checkpoints_are_of_are_not_replaced(tmp_path, data, url, folder):
    prepared(tmp_path, data, url, "maker")
    store = ObjectStore(url, 0)
    trained(store)
    before = store.read("shards/plan.json")
    assert "nothing to do" in prepared(tmp_path, data, url, folder)
    os.utime(next(data.rglob("*.wav")), (1, 1))
    refused = preparing(tmp_path, data, url, folder)
    assert isinstance(refused.exception, BadRun)
    assert str(refused.exception).startswith(f"{url}/shards: the checkpoints in {url}/checkpoints are of other")
    assert store.read("shards/plan.json") == before
    store.remove(["shards/plan.json"])
    assert "shard(s) made" in prepared(tmp_path, data, url, "third")


def test_a_recipe_that_the_stores_checkpoints_cannot_go_on_with_is_refused(tmp_path, data, url):
    prepared(tmp_path, data, url, "maker")
    store = ObjectStore(url, 0)
    trained(store)
    before = store.read("recipe.yaml")
    larger = RECIPE.model_copy(update={"model": RECIPE.model.model_copy(update={"cells": 99})})
    refused = preparing(tmp_path, data, url, "another", larger)
    assert isinstance(refused.exception, BadCheckpoint)
    assert str(refused.exception).startswith(f"{url}/checkpoints/step-00000002: made with another recipe: model.cells")
    assert store.read("recipe.yaml") == before
    store.write("checkpoints/step-00000002/state.json", b"{dama")  # a trainer passes over it, too
    prepared(tmp_path, data, url, "another", larger)
    store.write("checkpoints/step-00000002/state.json", b'{"progress": {}}')
    refused = preparing(tmp_path, data, url, "another")
    assert isinstance(refused.exception, BadCheckpoint)  # of a time when checkpoints did not say their recipe


def test_a_trainer_passes_over_a_damaged_checkpoint_of_a_store_and_so_does_the_check(tmp_path, data, url):
    prepared(tmp_path, data, url, "maker")
    store = ObjectStore(url, 0)
    trained(store, step="step-00000001")
    trained(store)
    store.write("checkpoints/step-00000002/state.json", b"{dama")
    larger = RECIPE.model_copy(update={"model": RECIPE.model.model_copy(update={"cells": 99})})
    refused = preparing(tmp_path, data, url, "another", larger)
    assert str(refused.exception).startswith(f"{url}/checkpoints/step-00000001: made with another recipe: model.cells")
    later = {"identity": identity(RECIPE), "generation": 2}  # of a gang that went on from before step 2
    store.write("checkpoints/step-00000001/state.json", json.dumps(later).encode())
    store.write("checkpoints/step-00000002/state.json", json.dumps({"identity": identity(larger)}).encode())
    assert "step-00000001: made with" in str(preparing(tmp_path, data, url, "another", larger).exception)


def test_a_folder_of_another_plan_keeps_no_tokenizer_from_a_store(tmp_path, data, url):
    recipes = [
        RECIPE.model_copy(update={"text": RECIPE.text.model_copy(update={"tokenizer": f"{name}.json"})})
        for name in ("here", "stored")
    ]
    prepared(tmp_path, data, url, "units")
    words = read_units(tmp_path / "units" / "shards" / "units.json").symbols
    for name, symbols in (("here", words), ("stored", words[::-1])):
        (data / f"{name}.json").write_text(Units(RECIPE.text.units, symbols).to_json())
    file = tmp_path / "here.yaml"
    file.write_text(dump_recipe(recipes[0]))
    arguments = ["--recipe", str(file), "--data", str(data), "--run", str(tmp_path / "here"), "--jobs", "1"]
    assert CliRunner().invoke(prepare, arguments).exit_code == 0
    prepared(tmp_path, data, url, "maker", recipes[1])
    trained(ObjectStore(url, 0), recipes[1])
    prepared(tmp_path, data, url, "here", recipes[1])


def test_shards_are_there_when_all_are_and_gone_when_the_first_goes(tmp_path, data, url, monkeypatch):
    def interrupted(self, path, name):
        if path.name == "units.json":
            raise KeyboardInterrupt
        uploaded.append(name)
        upload(self, path, name)

    uploaded, upload = [], ObjectStore.upload
    prepared(tmp_path, data, url, "maker")
    other = RECIPE.model_copy(update={"seed": 7})
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "upload", interrupted)
        with pytest.raises(AssertionError):
            prepared(tmp_path, data, url, "another", other)
    assert len(uploaded) > 5
    reader = open_run(tmp_path / "reader", url)
    reader.pull_shards()
    with pytest.raises(BadCorpus, match="no finished shards"):
        check_prepared(other, reader.folder)
    prepared(tmp_path, data, url, "another", other)  # what was made is pushed now
    reader.pull_shards()
    check_prepared(other, reader.folder)


def test_shards_of_which_some_are_removed_are_not_there(tmp_path, data, url, monkeypatch):
    def interrupted(self, names):
        remove(self, [name for name in names if not name.endswith("json")] if len(names) > 1 else names)
        if len(names) > 1:
            raise KeyboardInterrupt

    remove = ObjectStore.remove
    prepared(tmp_path, data, url, "maker")
    monkeypatch.setattr(ObjectStore, "remove", interrupted)
    with pytest.raises(AssertionError):
        prepared(tmp_path, data, url, "another", RECIPE.model_copy(update={"seed": 7}))
    reader = open_run(tmp_path / "reader", url)
    reader.pull_shards()
    with pytest.raises(BadCorpus, match="no finished shards"):
        check_prepared(RECIPE, reader.folder)


def test_shards_that_are_replaced_while_they_are_brought_are_not_taken(tmp_path, data, url, monkeypatch):
    def replaced(self, name, path):
        if name.endswith("card.json"):
            self.write("shards/plan.json", json.dumps({"fingerprint": "other", "shards": ["x"]}).encode())
        download(self, name, path)

    download = ObjectStore.download
    prepared(tmp_path, data, url, "maker")
    monkeypatch.setattr(ObjectStore, "download", replaced)
    reader = open_run(tmp_path / "reader", url)
    with pytest.raises(BadCorpus, match="just being replaced"):
        reader.pull_shards()
    assert not (reader.folder.shards / "plan.json").exists()


def test_a_shard_that_is_nowhere_is_no_fault_of_its_records(tmp_path, data, url):
    prepared(tmp_path, data, url, "maker")
    reader = open_run(tmp_path / "reader", url)
    reader.pull_shards()
    store = ObjectStore(url, 0)
    store.remove([name for name in store.names("shards") if name.endswith(".tfrecord")])
    with pytest.raises(Exception, match="not there") as missed:
        reader.open_shards("train").read(0, 0)
    assert not isinstance(missed.value, BadShard)
