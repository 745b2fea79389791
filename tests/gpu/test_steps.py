"""Optimizer steps of every family on the GPU: near those of the CPU, and the same again if they are to repeat."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.rigs.fixed_step import FixedStep
from benchmarks.rigs.training_case import CASES
from sonorant.models import computation
from sonorant.tensorflow import tf
from sonorant.training.step import Notes

SECONDS = [2.2, 2.6, 1.4, 0.8]
IN_HALF = ("lstm_ctc", "lstm_ctc, convolution_2d", "bfa", "mocha")
AGAIN = """
import hashlib, sys
import numpy as np
from sonorant.tensorflow import tf
from sonorant.models.devices import take_gpu
take_gpu(0)
tf.config.experimental.enable_op_determinism()
from benchmarks.rigs.fixed_step import FixedStep
from benchmarks.rigs.training_case import CASES
for _ in range(2):
    step = FixedStep(CASES[int(sys.argv[1])], [2.2, 2.6, 1.4, 0.8])
    losses = [step() for _ in range(3)]
    weights = np.concatenate([w.ravel() for w in step.step.model.named_weights().values()])
    print(losses, hashlib.sha256(weights.tobytes()).hexdigest())
"""


def without_dropout(case):
    loaded = case.load()
    return loaded.model_copy(update={"model": loaded.model.model_copy(update={"dropout": 0.0})})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_steps_have_the_losses_of_the_cpu(case, monkeypatch):
    recipe = without_dropout(case)
    monkeypatch.setattr(type(case), "load", lambda _: recipe)
    step = FixedStep(case, SECONDS)
    found = [step() for _ in range(3)]
    with monkeypatch.context() as on_cpu, tf.device("CPU"):
        on_cpu.setattr(computation, "has_gpu", lambda devices=None: False)
        step = FixedStep(case, SECONDS)
        expected = [step() for _ in range(3)]
    np.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", [case for case in CASES if case.name in IN_HALF], ids=lambda case: case.name)
def test_half_precision_learns_its_batch(case, precision):
    step = FixedStep(replace(case, training={"precision": precision, "warmup_steps": 1}), SECONDS)
    losses = [step() for _ in range(12)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


def test_a_rank_without_a_batch_takes_its_step():
    step = FixedStep(CASES[0], SECONDS)
    assert step.step(None, 0, Notes()).examples == 0


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].name)
def test_steps_repeat_bit_for_bit_where_order_is_strict(number):
    command = [sys.executable, "-c", AGAIN, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    first, again = done.stdout.splitlines()
    assert first == again
