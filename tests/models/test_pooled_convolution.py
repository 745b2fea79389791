"""A convolution with max-pooling, beside its definition and gradients by TensorFlow's own rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.models.pooled_convolution import pooled_convolution
from sonorant.tensorflow import tf

sizes = st.integers(1, 4)


def by_definition(values, kernel, pool, count):
    """The same as a product of each window by itself, and a maximum over each pool, with TensorFlow's gradients."""
    width = kernel.shape[0] // values.shape[2]
    products = [
        tf.concat([values[p + i] for i in range(width)], 1) @ kernel  # [N, filters]
        for p in range(pool * count)
    ]
    return tf.stack([tf.reduce_max(tf.stack(products[m * pool : (m + 1) * pool]), 0) for m in range(count)])


@given(
    seed=st.integers(0, 1000), rows=sizes, inputs=sizes, filters=sizes, width=sizes, pool=sizes, count=sizes, more=sizes
)
@settings(max_examples=40, deadline=None)
def test_values_and_gradients_are_those_of_the_definition(seed, rows, inputs, filters, width, pool, count, more):
    random = np.random.default_rng(seed)
    bins = pool * count + width - 1 + more - 1
    values = tf.constant(random.normal(size=(bins, rows, inputs)), tf.float32)
    kernel = tf.constant(random.normal(size=(width * inputs, filters)), tf.float32)
    outcomes = []
    for function in (pooled_convolution, by_definition):
        with tf.GradientTape() as tape:
            tape.watch([values, kernel])
            found = function(values, kernel, pool, count)
            loss = tf.reduce_sum(tf.sin(found))
        outcomes.append([found, *tape.gradient(loss, [values, kernel])])
    assert outcomes[0][0].shape == (count, rows, filters)
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_of_equal_products_the_first_has_the_whole_gradient():
    values, kernel = tf.ones((5, 1, 1)), tf.ones((2, 1))
    with tf.GradientTape() as tape:
        tape.watch([values, kernel])
        found = pooled_convolution(values, kernel, pool=2, count=2)
    of_values, of_kernel = tape.gradient(found, [values, kernel])
    np.testing.assert_array_equal(found, np.full((2, 1, 1), 2))
    np.testing.assert_array_equal(of_values[:, 0, 0], [1, 1, 1, 1, 0])  # windows 0 and 2, of two bins each
    np.testing.assert_array_equal(of_kernel, [[2], [2]])


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_half_precision_stays_so(dtype):
    values, kernel = tf.ones((5, 2, 1), dtype), tf.ones((2, 3), dtype)
    with tf.GradientTape() as tape:
        tape.watch([values, kernel])
        found = pooled_convolution(values, kernel, pool=2, count=2)
    assert [found.dtype, *(part.dtype for part in tape.gradient(found, [values, kernel]))] == [dtype] * 3


def test_bins_that_do_not_suffice_are_an_error():
    with pytest.raises(AssertionError):
        pooled_convolution(tf.ones((4, 1, 1)), tf.ones((2, 1)), pool=2, count=2)
