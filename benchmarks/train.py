"""Training steps of each family, beside their matrix products alone and the same model in plain Keras.

Sizes are those of the recipes for digits; the batch is 32 utterances of random features as long as strings of digits.
All use one thread, and CPU time counts. The products alone are the least time that the step could take
(`benchmarks/rigs/products.py`); goal: 0.7 of the step. Keras is fed by tf.data (`benchmarks/rigs/plain_keras.py` says
where it has no layer of that kind). Then the batches of `delayed_lstm`, which is unrolled over whole utterances:
bucketing, which draws batches of like lengths from a pool, beside random batches.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs.training_case import CASES, DELAYED, Case
from benchmarks.row import Progress, Row
from benchmarks.timing import quickest_s

if TYPE_CHECKING:
    from benchmarks.rigs.fixed_step import FixedStep

__all__ = ["rows"]

_UTTERANCES, _SHORTEST_S, _LONGEST_S = 32, 2.2, 2.6
_CORPUS, _TIMED = 2048, 8  # utterances that are put into batches; batches that are timed
_UNIT = "audio-h/core-h"


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the rate of each family's step beside both peers, then padding and rate by bucketing."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its optimizer of graphs calls Keras' CTC an error, and goes on
    from sonorant.tensorflow import tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    for case in CASES:
        progress(case.name)
        yield from _family(case)
    progress(f"{DELAYED.name}, batches")
    yield from _bucketing(DELAYED)


def _family(case: Case) -> Iterator[Row]:
    from benchmarks.rigs.fixed_step import FixedStep
    from benchmarks.rigs.plain_keras import STEPS, fitter
    from benchmarks.rigs.products import multiplier, products_of

    step = FixedStep(case, np.random.default_rng(0).uniform(_SHORTEST_S, _LONGEST_S, _UTTERANCES).tolist())
    took = quickest_s({"ours": step, "products": multiplier(products_of(step)), "keras": fitter(step)})
    took["keras"] /= STEPS
    rate = {name: step.batch.audio_s / seconds for name, seconds in took.items()}
    yield Row("training step", case.name, rate["ours"], _UNIT, "products alone", rate["products"])
    yield Row("training step", case.name, rate["ours"], _UNIT, "keras", rate["keras"])


def _bucketing(case: Case) -> Iterator[Row]:
    from benchmarks.intake import epoch_batches, padding
    from benchmarks.rigs.fixed_step import FixedStep

    rng = np.random.default_rng(1)
    seconds = rng.uniform(1.2, 4.0, _CORPUS)  # strings of three to seven digits
    step = FixedStep(case, seconds[:_UTTERANCES].tolist())
    vectors = np.array([step.extractor.vectors(round(s * step.recipe.corpus.sample_rate_hz)) for s in seconds])
    drawn = [batch for batch in epoch_batches(vectors, step.recipe.training, 0) if len(batch) == _UTTERANCES]
    random = rng.permutation(_CORPUS).reshape(-1, _UTTERANCES).tolist()
    rate = {}
    for name, batches in (("drawn", drawn), ("random", random)):
        rate[name] = batches[:: len(batches) // _TIMED][:_TIMED]
    took = quickest_s({name: _epoch(step, seconds, batches) for name, batches in rate.items()})
    speed = {name: seconds[np.ravel(batches)].sum() / took[name] for name, batches in rate.items()}
    pool = f"{case.name}, pool {step.recipe.training.pool_examples}"
    yield Row("padding", pool, padding(vectors, drawn), "1", "random batches", padding(vectors, random))
    yield Row("training step", pool, speed["drawn"], _UNIT, "random batches", speed["random"])


def _epoch(step: "FixedStep", seconds: NDArray[np.float64], batches: Sequence[Sequence[int]]) -> Callable[[], object]:
    made = [step.make_batch(seconds[list(batch)].tolist()) for batch in batches]
    return lambda: [step(batch) for batch in made]
