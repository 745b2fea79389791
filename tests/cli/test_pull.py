"""`sonorant pull` from a store of files; `tests/services/storage` has a training from a real S3 server."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits

from services.storage.run import open_run
from sonorant.cli.audit import command as audit
from sonorant.cli.prepare import command as prepare
from sonorant.cli.pull import command as pull
from sonorant.corpus.shards import ShardSet, not_here
from sonorant.delivery.snapshot import LedgerSnapshot
from sonorant.errors import BadCorpus, Unavailable
from sonorant.recipe.loading import dump_recipe
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/store"


@pytest.fixture
def trainer(tmp_path, url):
    """A run that was prepared, as its first rank has it."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(dump_recipe(digits_recipe()))
    options = ["--recipe", str(recipe), "--data", str(write_digits(tmp_path / "data")), "--jobs", "1", "--store", url]
    made = CliRunner().invoke(prepare, [*options, "--run", str(tmp_path / "maker")], catch_exceptions=False)
    assert made.exit_code == 0, made.output
    trainer = open_run(tmp_path / "trainer", url)
    trainer.pull_shards()
    return trainer


def train_an_epoch(trainer, epoch):
    """Leave what a new gang leaves that has trained on all examples of epochs 0 to `epoch`."""
    total = trainer.open_shards("train").total
    snapshot = LedgerSnapshot(total)
    for whole in range(epoch + 1):
        snapshot.committed(whole).add(range(total))
    checkpoints = Checkpoints(trainer.folder.checkpoints, 2, print)
    checkpoints.next_generation(epoch)
    trainer.push_generation()
    weights = {"w": np.zeros(3, np.float32)}
    with trainer.folder.metrics.open("a") as metrics:
        metrics.write(json.dumps({"kind": "step", "step": epoch + 1, "epoch": epoch, "examples": total}) + "\n")
    with trainer.pushing_checkpoints():
        progress = Progress(step=epoch + 1, epoch=epoch + 1, examples=total * (epoch + 1))
        checkpoints.save(Checkpoint(progress, "print", weights, weights, {}, {}, snapshot.encode()), best=True)
    return total


def pulled(tmp_path, url):
    done = CliRunner().invoke(pull, ["--run", str(tmp_path / "here"), "--store", url], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return open_run(tmp_path / "here", "").folder


def audited(run):
    done = CliRunner().invoke(audit, [str(run.path), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_what_was_pulled_can_be_audited_and_pulled_again(tmp_path, trainer, url):
    total = train_an_epoch(trainer, 0)
    run = pulled(tmp_path, url)
    assert audited(run)["trained"] == total
    train_an_epoch(trainer, 1)
    assert audited(pulled(tmp_path, url))["trained"] == 2 * total


def test_what_came_of_a_training_is_that_of_the_last_one(tmp_path, trainer, url):
    train_an_epoch(trainer, 0)
    for reason in ("epochs", "max_minutes"):
        trainer.folder.totals.write_text(json.dumps({"reason": reason}))
        trainer.push_totals()
        assert json.loads(pulled(tmp_path, url).totals.read_text())["reason"] == reason


def test_the_sets_that_a_model_is_measured_on_are_here_and_of_train_the_first_shard(tmp_path, trainer, url):
    run = pulled(tmp_path, url)
    assert run.recipe.exists()
    for split in ("dev", "test"):
        assert list(ShardSet.open(run.shards, split)) == list(ShardSet.open(tmp_path / "maker" / "shards", split))
    train = ShardSet.open(run.shards, "train", not_here)
    assert [path.exists() for path in train.paths] == [True] + [False] * (len(train.paths) - 1)
    with pytest.raises(Unavailable, match="only the shard's index is here"):
        train.read(1, 0)


def test_a_store_without_a_run_is_said_to_have_none(tmp_path, url):
    with pytest.raises(BadCorpus, match="no finished shards"):
        CliRunner().invoke(pull, ["--run", str(tmp_path / "here"), "--store", url], catch_exceptions=False)


def test_without_a_store_it_asks_for_one(tmp_path):
    done = CliRunner().invoke(pull, ["--run", str(tmp_path / "here")])
    assert done.exit_code == 2
    assert "--store" in done.output
