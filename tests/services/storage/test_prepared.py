"""Waiting for the shards that a job prepares meanwhile."""

import threading

import pytest
from rigs.small_corpus import digits_recipe, write_digits

from services.process.restarts import FINAL_CODES
from services.storage.prepared import await_shards
from services.storage.run import SharedRun
from sonorant.corpus.preparing import prepare
from sonorant.errors import BadCorpus, BadRecipe, Unavailable
from sonorant.run_folder import RunFolder


def prepared(recipe, data, run):
    prepare(recipe, data, run, progress=lambda *_: None)


@pytest.fixture
def data(tmp_path):
    return write_digits(tmp_path / "data")


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path / "runs" / "tiny")


def test_it_waits_until_the_shards_are_finished(data, run):
    job = threading.Timer(0.3, prepared, (digits_recipe(), data, run))
    job.start()
    told = []
    await_shards(SharedRun(run), digits_recipe(), 60, told.append)
    assert (run.shards / "card.json").exists()
    assert told == [True, False]
    job.join()


def test_patience_ends(run):
    with pytest.raises(BadCorpus, match="no finished shards"):
        await_shards(SharedRun(run), digits_recipe(), 0.01)


def test_a_store_that_cannot_be_asked_is_not_waited_for_as_if_nothing_were_wrong(run):
    class Away(SharedRun):
        def pull_shards(self):
            raise Unavailable("the store is away")

    told = []
    with pytest.raises(Unavailable):
        await_shards(Away(run), digits_recipe(), 0.01, told.append)
    assert told == [False]


def test_shards_of_another_corpus_are_none(data, run):
    prepared(digits_recipe(), data, run)
    other = digits_recipe().model_copy(update={"seed": 7})
    with pytest.raises(BadRecipe, match=r"made with another recipe: seed: 0 \(default\) then, 7 now"):
        await_shards(SharedRun(run), other, 0.01)
    job = threading.Timer(0.3, prepared, (other, data, run))
    job.start()
    await_shards(SharedRun(run), other, 60)
    job.join()


def test_shards_of_the_same_corpus_serve_another_training(data, run):
    prepared(digits_recipe(), data, run)
    recipe = digits_recipe()
    longer = recipe.training.model_copy(update={"epochs": 99})
    await_shards(SharedRun(run), recipe.model_copy(update={"training": longer}), 0.01)


@pytest.mark.parametrize("what", ["one shard", "all shards", "folder"])
def test_a_process_that_starts_while_shards_are_away_is_to_be_started_again(data, run, what):
    """Of all of them too: that a run has none would say that another start cannot help."""
    prepared(digits_recipe(), data, run)
    shards = [run.shards] if what == "folder" else sorted(run.shards.glob("train-*.tfrecord"))
    for shard in shards[:1] if what == "one shard" else shards:
        shard.rename(shard.with_suffix(".away"))
    with pytest.raises(Unavailable, match="not there") as caught:
        SharedRun(run).open_shards("train")
    assert caught.value.exit_code not in FINAL_CODES
