"""An LSTM layer by the kernels of a CPU, beside the textbook's recurrence; cuDNN's is in `test_cudnn_lstm.py`."""

import numpy as np
import pytest

from sonorant.models import graph_lstm
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import tf


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def plain_lstm(inputs, cell, hidden, weight, bias, peepholes=(0.0, 0.0, 0.0)):
    """Gers 2000, with peepholes Gers 2002, written down step by step; gates in the order i, g, f, o."""
    outputs = []
    p_i, p_f, p_o = peepholes
    for vectors in inputs:
        i, g, f, o = tf.split(tf.concat([vectors, hidden], 1) @ weight + bias, 4, axis=1)
        cell = tf.sigmoid(f + p_f * cell) * cell + tf.sigmoid(i + p_i * cell) * tf.tanh(g)
        hidden = tf.sigmoid(o + p_o * cell) * tf.tanh(cell)
        outputs.append(hidden)
    return tf.stack(outputs), cell, hidden


@pytest.mark.parametrize("kernel", ["graph", "compiled"])
@pytest.mark.parametrize(
    ("peepholes", "gpu"), [(False, False), (True, False), (True, True)], ids=["plain", "peepholes", "on a GPU"]
)
@pytest.mark.parametrize("steps", [1, 9])
def test_fused_layer_and_its_gradient_equal_the_textbook_recurrence(rng, monkeypatch, steps, peepholes, gpu, kernel):
    monkeypatch.setattr(graph_lstm, "has_gpu", lambda: gpu)
    layer = Lstm(5, 4, seed=1, name="lstm", peepholes=peepholes)
    layer.kernel = kernel
    layer.bias.assign(rng.normal(size=16))
    inputs = tf.constant(rng.normal(size=(steps, 3, 5)), tf.float32)
    cell, hidden = (tf.constant(rng.normal(size=(3, 4)), tf.float32) for _ in range(2))
    ramp = tf.reshape(tf.range(1.0, steps + 1), (steps, 1, 1))
    given = [inputs, cell, hidden, layer.weight.value, layer.bias.value]
    if peepholes:
        layer.peepholes.assign(rng.normal(size=(3, 4)))
        given.append(layer.peepholes.value)
    exact = [tf.cast(one, tf.float64) for one in given]
    outcomes = []
    for run, sources in ((lambda: layer(*given[:3]), given), (lambda: plain_lstm(*exact), exact)):
        with tf.GradientTape() as tape:
            tape.watch(sources)
            outputs, last_cell, last_hidden = run()
            weighed = outputs**2 * tf.cast(ramp, outputs.dtype)
            loss = tf.reduce_sum(weighed) + tf.reduce_sum(last_cell**3) + tf.reduce_sum(last_hidden**4)
        outcomes.append([outputs, last_cell, last_hidden, *tape.gradient(loss, sources)])
    for fused, plain in zip(*outcomes, strict=True):
        np.testing.assert_allclose(fused, plain, atol=3e-5, rtol=1e-5)


@pytest.mark.parametrize("kernel", ["graph", "compiled"])
def test_inputs_that_are_taken_twice_have_the_sum_of_both_gradients(rng, kernel):
    layer = Lstm(5, 4, seed=1, name="lstm")
    layer.kernel = kernel
    inputs, start = tf.constant(rng.normal(size=(6, 3, 5)), tf.float32), tf.zeros((3, 4))
    sources = [inputs, layer.weight.value, layer.bias.value]

    def twice_of(projected):
        outputs, *state = layer.recur(projected[0], start, start)
        again, *_ = layer.recur(projected[1], *state)
        return tf.reduce_sum(outputs**2) + tf.reduce_sum(again**3)

    found = []
    for projected in (lambda: [layer.project(inputs)] * 2, lambda: [layer.project(inputs), layer.project(inputs)]):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = twice_of(projected())
        found.append([value, *tape.gradient(value, sources)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
