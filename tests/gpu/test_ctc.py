"""CTC of a model on the GPU: the kernel, which is one of CPUs, is handed what it needs, and hands the gradient back."""

import numpy as np
import pytest

from sonorant.objectives.ctc import ctc_loss
from sonorant.tensorflow import tf


def outcomes(logits, *rest):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(ctc_loss(tf.nn.log_softmax(logits), *rest))
    return loss, tape.gradient(loss, logits)


@pytest.mark.parametrize(("units", "longest"), [(20, 30), (1000, 60)])
def test_losses_and_gradients_are_those_of_a_model_on_the_cpu(units, longest):
    rng = np.random.default_rng(3)
    logits = tf.constant(rng.normal(size=(16, 150, units + 1)) * 2, tf.float32)
    labels = rng.integers(0, units, (16, longest)).astype(np.int32)
    rest = np.full(16, 150, np.int32), labels, np.full(16, longest, np.int32)
    loss, gradient = outcomes(logits, *rest)
    with tf.device("CPU"):
        expected, d_expected = outcomes(tf.identity(logits), *rest)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, d_expected, atol=2e-3)
