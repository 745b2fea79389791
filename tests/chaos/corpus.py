"""A prepared run folder of very short examples, and the recipe for it."""

import numpy as np
from chaos.variants import EPOCHS, VARIANTS
from rigs.small_corpus import RATE_HZ, digits_recipe

from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.delivery.example import WordSpan
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units

__all__ = ["chaos_recipe", "write_run"]

_SHARD = 250


def chaos_recipe(variant="split"):
    different = VARIANTS[variant]
    values = digits_recipe().model_dump(mode="json") | {
        "features": {"mel_bins": 8, "stack": 1, "stride": 1},
        "stages": [{"stage": "vtlp"}, {"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}}],
        "pipeline": {"credits": 4, "lease_examples": 8, "lookahead_examples": 32} | different.pipeline,
        "model": {"family": "lstm_ctc", "layers": 1, "cells": 8},
        "training": {
            "ranks": 2,
            "batch_examples": 4,
            "pool_examples": 16,
            "epochs": EPOCHS,
            "patience": 1000,
            "checkpoint_every_steps": 20,
        }
        | different.training,
    }
    return Recipe.model_validate(values)


def write_run(folder, examples, variant="split"):
    """Write shards of `examples` noises of 0.1 to 0.3 s, each its own, and return the run folder."""
    every = VARIANTS[variant].damaged_every
    run = RunFolder(folder)
    run.shards.mkdir(parents=True)
    run.recipe.write_text(dump_recipe(chaos_recipe(variant)))
    (run.shards / "units.json").write_text(Units("words", ("one", "two")).to_json())
    counts = [min(_SHARD, examples - first) for first in range(0, examples, _SHARD)]
    for shard, count in enumerate(counts):
        first = shard * _SHARD
        records = [_noise(n, damaged=every > 0 and n % every == 0) for n in range(first, first + count)]
        write_shard(run.shards / shard_name("train", shard, len(counts)), records)
    write_shard(run.shards / shard_name("dev", 0, 1), [_noise(10**6 + i) for i in range(2)])
    return run


def _noise(number, damaged=False):
    rng = np.random.default_rng(number)
    waveform = (0.1 * rng.standard_normal(int(rng.integers(800, 2400)))).astype(np.float32)
    return Record(
        utterance=f"u{number}",
        speaker="ann",
        text="one two",
        sample_rate_hz=RATE_HZ,
        duration_s=len(waveform) / RATE_HZ,
        encoding="flac" if damaged else "pcm16",
        audio=b"no audio" if damaged else encode_audio(waveform, RATE_HZ, "pcm16"),
        words=(WordSpan("one", 0.01, 0.05), WordSpan("two", 0.06, 0.1)),
    )
