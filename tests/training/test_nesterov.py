import numpy as np
import pytest

from sonorant.tensorflow import keras, tf
from sonorant.training.adam import Adam
from sonorant.training.checkpoints import BadCheckpoint
from sonorant.training.nesterov import Nesterov
from sonorant.training.optimizer import check_state

CURVATURE = np.array([1.0, 10.0])


def test_it_equals_sutskever_s_equations_in_the_point_ahead():
    """Sutskever 2013, Eq. 3 and 4, on a quadratic: g(theta) = curvature theta."""
    mu, epsilon = 0.9, 0.02
    theta, v = np.array([1.0, -2.0]), np.zeros(2)
    variable = tf.Variable(theta, dtype=tf.float32)
    optimizer = Nesterov([variable], mu)
    for _ in range(20):
        v = mu * v - epsilon * CURVATURE * (theta + mu * v)
        theta = theta + v
        optimizer.update([tf.constant(CURVATURE, tf.float32) * variable], tf.constant(epsilon))
        np.testing.assert_allclose(variable, theta + mu * v, rtol=1e-4, atol=1e-6)


def test_it_equals_keras():
    ours, theirs = tf.Variable([1.0, -2.0]), keras.Variable([1.0, -2.0])
    optimizer, reference = Nesterov([ours], 0.99), keras.optimizers.SGD(0.05, momentum=0.99, nesterov=True)
    reference.build([theirs])
    for g in np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32):
        optimizer.update([tf.constant(g)], tf.constant(0.05))
        reference.apply([tf.constant(g)])
    np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-5)
    assert optimizer.t == 6


def test_its_state_comes_back():
    first, second = (Nesterov([tf.Variable([1.0])], 0.9) for _ in range(2))
    first.update([tf.constant([3.0])], tf.constant(0.1))
    second.restore(first.state())
    assert second.state().keys() == first.state().keys()
    np.testing.assert_array_equal(second.v[0], first.v[0])


def test_the_state_of_another_optimizer_is_refused_by_name():
    variables = [tf.Variable([1.0])]
    with pytest.raises(BadCheckpoint, match=r"training.optimizer: the checkpoint's has \['m', 't', 'v'\]"):
        check_state(Nesterov(variables, 0.9), Adam(variables).state())
    check_state(Adam(variables), Adam(variables).state())
