"""A tiny task: each unit is a bin that lights up for some frames, so a small model learns it in seconds."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from sonorant.delivery.example import Example, Lineage
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units

WORDS = ("one", "two", "three", "four")
SHARD = 8
BINS = 6


def tiny_recipe(**training) -> Recipe:
    defaults = {
        "batch_examples": 4,
        "pool_examples": 64,
        "epochs": 2,
        "warmup_steps": 5,
        "decay_steps": 100,
        "learning_rate": 0.01,
        "checkpoint_every_steps": 1000,
    }
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": 8000},
            "text": {"units": "words"},
            "features": {"mel_bins": 6, "stack": 1, "stride": 1},
            "model": {"family": "lstm_ctc", "layers": 1, "cells": 12, "dropout": 0.1},
            "training": defaults | training,
        }
    )


def tiny_units() -> Units:
    return Units("words", WORDS)


def tiny_example(ordinal: int, epoch: int = 0) -> Example:
    rng = np.random.default_rng(ordinal)
    numbers = rng.integers(0, len(WORDS), int(rng.integers(1, 5)))
    rows = [np.eye(6)[[n] * int(rng.integers(2, 5)) + [5]] for n in numbers]
    features = np.concatenate(rows) + rng.normal(0, 0.1, (sum(map(len, rows)), 6))
    return Example(
        lineage=Lineage(epoch, ordinal // SHARD, ordinal % SHARD),
        utterance=f"u{ordinal}",
        text=" ".join(WORDS[n] for n in numbers),
        sample_rate_hz=8000,
        duration_s=len(features) * 0.01,
        features=features.astype(np.float32),
    )


def shard_counts(total: int) -> tuple[int, ...]:
    return tuple(min(SHARD, total - first) for first in range(0, total, SHARD))


@dataclass
class MemorySource:
    """A pipeline in one list: hands out, within its credits, what the ledger has not settled."""

    ledger: object
    total: int
    epoch: int = 0
    epochs: int = 1
    make: object = tiny_example
    _credits: int = 0
    _left: list = field(default_factory=list)

    def __post_init__(self):
        names = itertools.product(range(self.epoch, self.epochs), range(self.total))
        self._left = [(e, o) for e, o in names if not self.ledger.settled(e).has([o])[0]]

    def take(self, timeout_s):
        count = min(self._credits, len(self._left))
        taken, self._left = self._left[:count], self._left[count:]
        self._credits -= count
        return [self.make(o, e) for e, o in taken]

    def grant(self, count):
        self._credits += count

    def drained(self, epoch):
        return all(e > epoch for e, _ in self._left)
