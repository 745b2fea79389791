"""Full and truncated unrolling of the delayed LSTM, by cross-entropy of frames and CTC (Google 2017, Tables 1 and 2).

Utterances are as long as strings of digits, features random, weights of the size of the recipe for digits. Full
unrolling pads whole utterances to batches: at random, or with others of like length from a pool (bucketing). Truncated
unrolling cuts rows of utterances into chunks of 20 vectors, the paper's number, and makes a step of each; with CTC it
passes over whole utterances first. All use one thread, and CPU time counts, in which a GPU's gain from large batches
does not show.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs.training_case import Case
from benchmarks.row import Progress, Row
from benchmarks.timing import quickest_s
from services.process.memory import keep_freed_memory

if TYPE_CHECKING:
    from benchmarks.rigs.fixed_step import FixedStep
    from sonorant.training.batch import Batch

__all__ = ["rows"]

_CORPUS, _TIMED = 2048, 512  # utterances that are put into batches, and that are timed, all but a batch's rest
_RANDOM, _BUCKETED = "full, random batches of 32", "full, bucketed, batches of 32"
_CTC_BUCKETED = f"CTC, {_BUCKETED}"
_CTC_TRUNCATED, _CTC_FRESH = (f"CTC, truncated, 32 rows of 20, batches of {size}" for size in (256, 32))
_POOL_256: Mapping[str, int] = {"batch_examples": 32, "pool_examples": 256}
_ROWS_32: Mapping[str, int] = {"batch_examples": 256, "unroll_vectors": 20, "unroll_rows": 32}
_BY_FRAME: dict[str, Mapping[str, int]] = {
    _RANDOM: {"batch_examples": 32, "pool_examples": 32},
    _BUCKETED: _POOL_256,
    "truncated, 32 rows of 20": _ROWS_32,
    "truncated, 128 rows of 20": {"batch_examples": 512, "unroll_vectors": 20, "unroll_rows": 128},
}
_CTC: dict[str, Mapping[str, int]] = {
    _CTC_BUCKETED: _POOL_256,
    _CTC_TRUNCATED: _ROWS_32,
    _CTC_FRESH: {**_ROWS_32, **_POOL_256},
}
_PEERS = dict.fromkeys(_CTC, _CTC_BUCKETED) | {_RANDOM: None, _BUCKETED: _RANDOM, _CTC_BUCKETED: _BUCKETED}


def rows(progress: Progress) -> Iterator[Row]:
    """Yield each way's padding ratio and rate; bucketing beside random batches, truncated unrolling beside it."""
    keep_freed_memory()  # as the trainer does
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from sonorant.tensorflow import tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    seconds = np.random.default_rng(1).uniform(1.2, 4.0, _CORPUS)  # strings of three to seven digits
    padding, timed, audio_s = {}, {}, {}
    for name, training in (_BY_FRAME | _CTC).items():
        progress(name)
        step, batches = _batches(training, seconds, frames=name in _BY_FRAME)
        padding[name] = sum(batch.padded for batch in batches) / sum(batch.vectors for batch in batches)
        audio_s[name] = sum(batch.audio_s for batch in batches)
        timed[name] = _epoch(step, batches)
    progress("all in turn")
    took = quickest_s(timed)
    speed = {name: audio_s[name] / 3600 / took[name] for name in timed}
    for name in timed:
        peer = _PEERS.get(name, _BUCKETED)
        for what, unit, values in (("padding ratio", "1", padding), ("training step", "audio-h/s", speed)):
            yield Row(what, name, values[name], unit, peer, values[peer] if peer else None)


def _batches(
    training: Mapping[str, int], seconds: NDArray[np.float64], frames: bool
) -> "tuple[FixedStep, list[Batch]]":
    """Return the step, by cross-entropy of frames or by CTC, and whole batches that the intake draws for it."""
    from benchmarks.intake import epoch_batches
    from benchmarks.rigs.fixed_step import FixedStep

    step = FixedStep(Case("delayed_lstm", "digits-google.yaml", frames=frames, training=training), [2.0])
    vectors = np.array([step.extractor.vectors(round(s * step.recipe.corpus.sample_rate_hz)) for s in seconds])
    size = step.recipe.training.batch_examples
    whole = [batch for batch in epoch_batches(vectors, step.recipe.training, 0) if len(batch) == size]
    count = _TIMED // size
    chosen = whole[:: len(whole) // count][:count]
    return step, [step.make_batch(seconds[batch].tolist()) for batch in chosen]


def _epoch(step: "FixedStep", batches: "Sequence[Batch]") -> Callable[[], object]:
    return lambda: [step(batch) for batch in batches]
