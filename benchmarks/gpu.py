"""Training steps on a GPU, in wall time: small recipes and the papers' sizes, in each precision.

Batches are 32 utterances as long as strings of digits, or 64 of 10 to 15 s at the papers' size; features are random.
Beside float32, whose products TensorFlow computes in TF32, are float16 and bfloat16; beside cuDNN's LSTM the kernel
that a CPU has too. `memory` is the most that was allocated at once.
"""

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from benchmarks.rigs.training_case import CASES, Case
from benchmarks.row import Progress, Row
from sonorant.errors import SonorantError

__all__ = ["rows"]

_SMALL = {case.name: case for case in CASES if case.name in ("lstm_ctc", "mocha")}
_LARGE = {name: Case(name, f"{name}.yaml") for name in ("librispeech-bfa", "librispeech-mocha")}
_WARM, _STEPS = 2, 8


class NoGpu(SonorantError):
    """There is nothing to measure."""

    exit_code = 69

    def __init__(self) -> None:
        super().__init__("TensorFlow sees no GPU here; `sonorant bench train` measures steps on a CPU")


def rows(progress: Progress) -> Iterator[Row]:
    """Yield rate and memory of each case's step."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from sonorant.models.devices import has_gpu, take_gpu

    take_gpu(0)
    if not has_gpu():
        raise NoGpu
    for case in (*_SMALL.values(), *_LARGE.values()):
        progress(case.name)
        rate, memory = _measured(case)
        yield Row("training step", f"{case.name}, float32", rate, "audio-h/s")
        yield Row("memory", f"{case.name}, float32", memory, "GiB")
        yield from _half_precision(case, rate, memory)
        if case.name == "lstm_ctc":
            yield from _beside_a_cpus(case, rate)


def _half_precision(case: Case, exact: float, memory: float) -> Iterator[Row]:
    for precision in ("float16", "bfloat16"):
        rate, taken = _measured(replace(case, training={"precision": precision}))
        yield Row("training step", f"{case.name}, {precision}", rate, "audio-h/s", "float32", exact)
        yield Row("memory", f"{case.name}, {precision}", taken, "GiB", "float32", memory)


def _beside_a_cpus(case: Case, ours: float) -> Iterator[Row]:
    """Yield the rate beside that of the same step without cuDNN."""
    with patch("sonorant.models.computation.has_gpu", lambda devices=None: False):
        peer, _ = _measured(case)
    yield Row("training step", f"{case.name}, float32", ours, "audio-h/s", "BlockLSTM", peer)


def _measured(case: Case) -> tuple[float, float]:
    """Return the rate, by the median step, and the memory."""
    from benchmarks.rigs.fixed_step import FixedStep
    from sonorant.tensorflow import keras, tf

    keras.backend.clear_session()
    tf.config.experimental.reset_memory_stats("GPU:0")
    # Orthogonal weights of 1,536 cells take longer to make than the steps that are measured.
    with patch.object(keras.initializers, "Orthogonal", keras.initializers.GlorotUniform):
        step = FixedStep(case, _seconds(case))
        for _ in range(_WARM):
            step()
    taken = []
    for _ in range(_STEPS):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    memory = tf.config.experimental.get_memory_info("GPU:0")["peak"] / 2**30
    return step.batch.audio_s / 3600 / statistics.median(taken), memory


def _seconds(case: Case) -> list[float]:
    shortest, longest, count = (10.0, 15.0, 64) if case.name in _LARGE else (2.2, 2.6, 32)
    return list(np.random.default_rng(0).uniform(shortest, longest, count))
