import itertools

import numpy as np
import pytest

from sonorant.models.doubling import doubling, earlier
from sonorant.tensorflow import tf


@pytest.mark.parametrize("length", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("known", [True, False], ids=["length is known", "length is not known"])
def test_a_sum_over_all_before_is_the_one_added_up_vector_by_vector(length, known):
    values = np.random.default_rng(length).integers(-9, 9, (2, length, 3)).astype(np.float32)

    def add_up(values):
        return doubling(values, lambda sums, reach: sums + earlier(sums, reach, 0.0))

    if not known:
        add_up = tf.function(add_up, input_signature=[tf.TensorSpec([2, None, 3])])
    expected = np.stack(list(itertools.accumulate(values.swapaxes(0, 1)))).swapaxes(0, 1)
    np.testing.assert_array_equal(add_up(tf.constant(values)), expected)


def test_what_is_earlier_than_the_first_is_as_it_is_told():
    values = tf.constant([[[1.0], [2.0], [3.0]]])
    np.testing.assert_array_equal(earlier(values, tf.constant(2), -5.0)[0, :, 0], [-5, -5, 1])
