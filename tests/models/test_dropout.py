import numpy as np
import pytest

from sonorant.models.dropout import Dropout, dropped
from sonorant.tensorflow import tf

SEED = tf.constant([3, 4])


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9])
def test_a_share_is_dropped_and_the_expectation_stays(rate):
    values = dropped(tf.ones((301, 333)), rate, SEED, tf.constant([301, 333])).numpy()
    deviation = np.sqrt(rate * (1 - rate) / values.size)
    assert np.mean(values == 0) == pytest.approx(rate, abs=5 * deviation + 2**-16)
    assert np.unique(values[values > 0]) == pytest.approx([1 / (1 - rate)], rel=1e-3)


def test_the_highest_rates_leave_finite_values():
    assert np.isfinite(dropped(tf.ones((301, 333)), 1 - 2**-20, SEED, tf.constant([301, 333]))).all()


def test_neighbours_are_dropped_independently():
    values = dropped(tf.ones((400, 400)), 0.5, SEED, tf.constant([400, 400])).numpy() - 1
    for one, other in ((values[:, ::2], values[:, 1::2]), (values[:-1], values[1:])):
        assert abs(np.mean(one * other)) < 5 / np.sqrt(one.size)


def test_an_axis_may_share_its_mask():
    values = dropped(tf.ones((5, 3, 7)), 0.5, SEED, tf.constant([1, 3, 7])).numpy()
    assert 0 < values[0].mean() < 2
    np.testing.assert_array_equal(values, np.broadcast_to(values[:1], values.shape))


def test_the_gradient_is_dropped_where_the_values_are():
    values = tf.ones((4, 5))
    with tf.GradientTape() as tape:
        tape.watch(values)
        outputs = Dropout(0.5)(values, seed=SEED)
    np.testing.assert_array_equal(tape.gradient(outputs, values), outputs)
