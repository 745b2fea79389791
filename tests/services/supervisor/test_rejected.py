"""`sonorant train` with a record that is damaged, and a closed pipe as its standard error."""

import subprocess
import sys

from rigs.small_corpus import digits_recipe, write_digits

from sonorant.corpus.preparing import prepare
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder


def sonorant(folder, *arguments):
    """Run a command to its end, its standard error on a full disk; return its exit code and its last line."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sonorant.cli", *arguments],
            cwd=folder, stdout=subprocess.PIPE, stderr=full, text=True, timeout=300, check=False,
        )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1]


def test_a_rejected_example_shows_in_exit_codes_and_last_lines_of_training_and_audit(tmp_path):
    values = digits_recipe().model_dump(mode="json") | {
        "pipeline": {"layout": "fused", "lease_examples": 4},
        "model": {"layers": 1, "cells": 8},
        "training": {"epochs": 2, "batch_examples": 4, "pool_examples": 8, "max_rejected": 0.5},
    }
    recipe, run = Recipe.model_validate(values), RunFolder(tmp_path / "run")
    (tmp_path / "tiny.yaml").write_text(dump_recipe(recipe))
    prepare(recipe, write_digits(tmp_path / "data"), run, progress=lambda doing, done, total: None)
    shard = next(run.shards.glob("train-00000-*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 0xFF
    shard.write_bytes(content)
    train = ["train", "--recipe", "tiny.yaml", "--run", "run", "--data", "data"]
    rejected = "2 of 40 examples, over all epochs, were rejected and not trained on; `sonorant audit run` says which"
    for options, code in (([], 3), ([], 3), (["--lenient"], 0)):  # the first trains
        found, last = sonorant(tmp_path, *train, *options)
        assert (found, last.startswith(rejected)) == (code, True), last
    code, last = sonorant(tmp_path, "audit", "run")
    assert code == 0
    assert last.startswith("each example exactly once an epoch, without 2 of 40 that were rejected: 38 committed, ")
