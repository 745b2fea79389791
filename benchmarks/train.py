"""Training steps of each family, beside their matrix products alone and the same model in plain Keras.

Sizes are those of the recipes for digits; the batch is 32 utterances of random features as long as strings of digits.
All use one thread, and CPU time counts. The products alone are the least time that the step could take
(`benchmarks/rigs/products.py`); goal: 0.7 of the step. Keras is fed by tf.data (`benchmarks/rigs/plain_keras.py` says
where it has no layer of that kind).
"""

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.rigs.training_case import CASES, Case
from benchmarks.row import Progress, Row
from benchmarks.timing import quickest_s
from services.process.memory import keep_freed_memory

__all__ = ["rows"]

_UTTERANCES, _SHORTEST_S, _LONGEST_S = 32, 2.2, 2.6
_UNIT = "audio-h/core-h"


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the rate of each family's step beside both peers."""
    keep_freed_memory()  # as the trainer does
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its optimizer of graphs calls Keras' CTC an error, and goes on
    from sonorant.tensorflow import tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    for case in CASES:
        progress(case.name)
        yield from _family(case)


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
