import numpy as np
import pytest

from sonorant.tensorflow import tf
from sonorant.training.adam import Adam

BETA_1, BETA_2, EPSILON = 0.9, 0.98, 1e-8
RATE = 0.01


@pytest.mark.parametrize("size", [1.0, 1e-7], ids=["gradients of usual size", "gradients in which epsilon counts"])
def test_it_equals_kingma_s_algorithm(size):
    """Kingma 2015, algorithm 1, in float64."""
    rng = np.random.default_rng(0)
    theta, m, v = rng.normal(size=5), np.zeros(5), np.zeros(5)
    variable = tf.Variable(theta, dtype=tf.float32)
    optimizer = Adam([variable])
    for t in range(1, 31):
        g = (size * rng.normal(size=5)).astype(np.float32)
        m, v = BETA_1 * m + (1 - BETA_1) * g, BETA_2 * v + (1 - BETA_2) * np.square(g, dtype=np.float64)
        theta = theta - RATE * (m / (1 - BETA_1**t)) / (np.sqrt(v / (1 - BETA_2**t)) + EPSILON)
        optimizer.update([tf.constant(g)], tf.constant(RATE))
        np.testing.assert_allclose(variable, theta, rtol=1e-5, atol=1e-6)
    assert optimizer.t == 30


def test_steps_go_on_bit_for_bit_from_its_state():
    rng = np.random.default_rng(1)
    gradients = [tf.constant(rng.normal(size=(3, 4)), tf.float32) for _ in range(6)]
    whole, cut = (tf.Variable(tf.ones((3, 4))) for _ in range(2))
    once, first, second = Adam([whole]), Adam([cut]), Adam([cut])
    for g in gradients:
        once.update([g], tf.constant(RATE))
    for g in gradients[:3]:
        first.update([g], tf.constant(RATE))
    second.restore(first.state())
    for g in gradients[3:]:
        second.update([g], tf.constant(RATE))
    np.testing.assert_array_equal(cut, whole)
