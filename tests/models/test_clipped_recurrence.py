import numpy as np
import pytest

from sonorant.models.clipped_recurrence import ClippedRecurrence
from sonorant.tensorflow import tf


def plain(inputs, weight, ceiling):
    """Hannun 2014, section 2, step by step."""
    hidden, outputs = tf.zeros_like(inputs[0]), []
    for vectors in inputs:
        hidden = tf.minimum(tf.nn.relu(vectors + tf.einsum("dbi,dij->dbj", hidden, weight)), ceiling)
        outputs.append(hidden)
    return tf.stack(outputs)


@pytest.mark.parametrize("steps", [1, 12])
def test_the_layer_and_its_gradient_equal_the_recurrence_step_by_step(steps):
    rng = np.random.default_rng(3)
    layer = ClippedRecurrence(2, 5, ceiling=1.5, seed=1, name="recurrence")
    layer.weight.assign(rng.normal(0, 0.7, (2, 5, 5)))
    inputs = tf.constant(rng.normal(size=(steps, 2, 3, 5)), tf.float32)
    ramp = tf.reshape(tf.range(1.0, steps + 1), (steps, 1, 1, 1))
    outcomes = []
    for run in (layer, lambda a: plain(a, layer.weight.value, 1.5)):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            hiddens = run(inputs)
            loss = tf.reduce_sum(hiddens**2 * ramp)
        outcomes.append([hiddens, *tape.gradient(loss, [inputs, layer.weight.value])])
    for ours, theirs in zip(*outcomes, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=1e-5)
    assert (np.asarray(outcomes[0][0]) == 1.5).any() or steps == 1


def test_directions_have_weights_of_their_own_that_begin_orthogonal():
    weight = np.asarray(ClippedRecurrence(2, 8, 20.0, seed=3, name="recurrence").weight)
    for one in weight:
        np.testing.assert_allclose(one @ one.T, np.eye(8), atol=1e-5)
    assert np.abs(weight[0] - weight[1]).max() > 0.1
