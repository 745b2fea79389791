import numpy as np

from sonorant.tensorflow import tf
from sonorant.training.average import WeightAverage


def test_average_forgets_the_start_and_comes_and_goes():
    variable = tf.Variable([1.0])
    average = WeightAverage([variable], decay=0.9)
    expected = 1.0
    for t, value in enumerate((2.0, 3.0, 5.0), start=1):
        variable.assign([value])
        average.update(tf.constant(float(t)))
        decay = min(0.9, (1 + t) / (10 + t))
        expected = decay * expected + (1 - decay) * value
    with average.applied():
        np.testing.assert_allclose(variable, [expected], rtol=1e-6)
    np.testing.assert_array_equal(variable, [5.0])


def test_a_restart_forgets_its_start_as_soon_as_the_first():
    variable = tf.Variable([1.0])
    average = WeightAverage([variable], decay=0.999)
    average.restart(tf.constant(5000.0))
    resumed = WeightAverage([variable], decay=0.999)
    resumed.restore(average.state())
    variable.assign([12.0])
    for one in (average, resumed):
        one.update(tf.constant(5001.0))
        np.testing.assert_allclose(one.averages[0], [1 + 11 * 9 / 11], rtol=1e-6)


def test_without_decay_the_weights_stay_as_they_are():
    variable = tf.Variable([1.0])
    average = WeightAverage([variable], decay=0.0)
    variable.assign([4.0])
    with average.applied():
        np.testing.assert_array_equal(variable, [4.0])


def test_an_average_that_is_new_in_a_resumption_starts_as_soon_too():
    variable = tf.Variable([1.0])
    average = WeightAverage([variable], decay=0.999)
    average.restore({}, tf.constant(5000.0))
    variable.assign([12.0])
    average.update(tf.constant(5001.0))
    np.testing.assert_allclose(average.averages[0], [1 + 11 * 9 / 11], rtol=1e-6)


def test_a_state_without_averages_begins_at_the_weights():
    variable = tf.Variable([1.0])
    average = WeightAverage([variable], decay=0.9)
    variable.assign([4.0])
    average.restore(WeightAverage([variable], decay=0.0).state())
    with average.applied():
        np.testing.assert_array_equal(variable, [4.0])
