"""Training steps on a GPU, in wall time: small recipes and the papers' sizes, in each precision.

Batches are 32 utterances as long as strings of digits, or 64 of 10 to 15 s at the papers' size; features are random.
Beside float32, whose products TensorFlow computes in TF32, are float16 and bfloat16; beside cuDNN's LSTM the kernel
that a CPU has too; beside the sparse kernel of CTC, on the host's CPU, dense labels on the GPU. `memory` is the most
that was allocated at once, without what was before.
"""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.rigs.training_case import CASES, Case
from benchmarks.row import Progress, Row
from sonorant.errors import SonorantError

__all__ = ["rows"]

_SMALL = tuple(case for case in CASES if case.name in ("lstm_ctc", "mocha"))
_LARGE = tuple(Case(name, f"{name}.yaml") for name in ("librispeech-bfa", "librispeech-mocha"))
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
    for case in (*_SMALL, *_LARGE):
        progress(case.name)
        rate, memory = _measured(case)
        yield Row("training step", f"{case.name}, float32", rate, "audio-h/s")
        yield Row("memory", f"{case.name}, float32", memory, "GiB")
        yield from _half_precision(case, rate, memory)
        if case.name == "lstm_ctc":
            yield from _beside_others(case, rate)


def _half_precision(case: Case, exact: float, memory: float) -> Iterator[Row]:
    for precision in ("float16", "bfloat16"):
        rate, taken = _measured(replace(case, training={"precision": precision}))
        yield Row("training step", f"{case.name}, {precision}", rate, "audio-h/s", "float32", exact)
        yield Row("memory", f"{case.name}, {precision}", taken, "GiB", "float32", memory)


def _beside_others(case: Case, ours: float) -> Iterator[Row]:
    """Yield the rate beside those of the same step without cuDNN, and with CTC on the GPU."""
    others: dict[str, AbstractContextManager[object]] = {
        "BlockLSTM": patch("sonorant.models.computation._lstm_kernel", lambda gpu, peepholes: "graph"),
        "dense CTC": patch("sonorant.objectives.ctc.ctc_loss", _dense_ctc_loss),
    }
    for name, other in others.items():
        with other:
            peer, _ = _measured(case)
        yield Row("training step", f"{case.name}, float32", ours, "audio-h/s", name, peer)


def _dense_ctc_loss(log_probs: Any, lengths: Any, labels: Any, label_lengths: Any) -> Any:
    """Return what `ctc_loss` does, by operations that a GPU has."""
    from sonorant.tensorflow import tf

    labels = tf.where(tf.sequence_mask(label_lengths, tf.shape(labels)[1]), labels, 0)
    return tf.nn.ctc_loss(
        labels=labels,
        logits=log_probs,
        label_length=label_lengths,
        logit_length=lengths,
        logits_time_major=False,
        unique=tf.nn.ctc_unique_labels(labels),
        blank_index=-1,
    )


def _measured(case: Case) -> tuple[float, float]:
    """Return the rate, by the median step, and the memory."""
    from benchmarks.rigs.fixed_step import FixedStep
    from sonorant.tensorflow import keras, tf

    keras.backend.clear_session()
    tf.config.experimental.reset_memory_stats("GPU:0")
    before = tf.config.experimental.get_memory_info("GPU:0")["current"]  # of models whose graphs TensorFlow keeps
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
    peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
    return step.batch.audio_s / 3600 / statistics.median(taken), (peak - before) / 2**30


def _seconds(case: Case) -> list[float]:
    shortest, longest, count = (10.0, 15.0, 64) if case.name.startswith("librispeech") else (2.2, 2.6, 32)
    return list(np.random.default_rng(0).uniform(shortest, longest, count))
