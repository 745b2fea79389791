"""cuDNN's own LSTM beside TensorFlow's kernel on the CPU: the same weights, states and inputs."""

import numpy as np
import pytest

from sonorant.models.computation import set_computation
from sonorant.models.half_precision import HalfPrecision
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import tf

PRECISIONS = [("float32", 2e-6), ("float16", 1e-2), ("bfloat16", 2e-2)]


def outcomes(layer, given):
    """Return outputs and last states, and their gradients by inputs, states, weight and bias."""
    with tf.GradientTape() as tape:
        tape.watch(given)
        outputs, cell, hidden = layer(*given)
        ends = tf.reduce_sum(cell**3) + tf.reduce_sum(hidden**4)
        loss = 0.01 * (tf.reduce_sum(outputs**2) + ends)  # gradients in float16's range
    return [outputs, cell, hidden, *tape.gradient(loss, [*given, layer.weight.value, layer.bias.value])]


def distance(found, expected):
    found, expected = np.float64(found), np.float64(expected)
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
@pytest.mark.parametrize(("steps", "batch", "inputs", "cells"), [(1, 1, 5, 4), (7, 3, 160, 192), (200, 32, 512, 512)])
def test_both_kernels_give_the_same_forward_and_backward(steps, batch, inputs, cells, precision, tolerance):
    rng = np.random.default_rng(8)
    shapes = [(steps, batch, inputs), (batch, cells), (batch, cells)]
    given = [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]
    layer = Lstm(inputs, cells, seed=1, name="lstm")
    layer.bias.assign(rng.normal(size=4 * cells))
    with tf.device("CPU"):
        expected = outcomes(layer, [tf.identity(one) for one in given])
    layer.kernel = "cudnn"
    assert isinstance(layer, HalfPrecision)
    layer.dtype_policy = precision if precision == "float32" else f"mixed_{precision}"
    found = outcomes(layer, given)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == tf.float32
        assert distance(one, other) < tolerance


def test_peepholes_are_computed_on_the_gpu_as_on_the_cpu():
    rng = np.random.default_rng(9)
    given = [tf.constant(rng.normal(size=shape), tf.float32) for shape in ((60, 8, 32), (8, 48), (8, 48))]
    layer = Lstm(32, 48, seed=1, name="lstm", peepholes=True)
    layer.peepholes.assign(rng.normal(size=(3, 48)))
    with tf.device("CPU"):
        expected = outcomes(layer, [tf.identity(one) for one in given])
    for one, other in zip(outcomes(layer, given), expected, strict=True):
        assert distance(one, other) < 5e-6


def test_a_trainers_model_takes_cudnns_kernel():
    from benchmarks.rigs.fixed_step import FixedStep
    from benchmarks.rigs.training_case import Case

    model = FixedStep(Case("lstm_ctc", "digits.yaml"), [1.0]).step.model
    set_computation(model)
    layers = [layer for layer in model._flatten_layers(include_self=False) if isinstance(layer, Lstm)]
    assert layers
    assert all(layer.kernel == "cudnn" for layer in layers)
