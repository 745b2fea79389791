import numpy as np
import pytest

from sonorant.models.kernel_calls import aligned_array, aligned_bytes, call_kernel, kernel_threads
from sonorant.tensorflow import tf

PAIR = [tf.float32, tf.float32]


@pytest.mark.parametrize("shape", [(), (3,), (2, 5, 7)])
@pytest.mark.parametrize(("make", "dtype"), [(aligned_array, np.float32), (aligned_bytes, np.uint8)])
def test_an_array_begins_where_tensorflow_takes_it_without_a_copy(make, dtype, shape):
    array = make(*shape)
    assert (array.shape, array.dtype, array.ctypes.data % 64) == (shape, dtype, 0)
    assert array.flags.c_contiguous
    assert array.flags.writeable


def halves(numbers):
    if (numbers < 0).any():
        raise ValueError("numbers: expected none below 0")
    return numbers / 2, numbers - numbers / 2


def test_a_kernel_is_called_outside_of_a_graph_and_within():
    given = [tf.constant([1.0, 3.0])]
    for call in (call_kernel, tf.function(call_kernel)):
        one, other = call(halves, given, PAIR)
        np.testing.assert_array_equal(one + other, [1, 3])


def test_what_a_kernel_refuses_it_refuses_by_its_message():
    given = [tf.constant([-1.0])]
    with pytest.raises(ValueError, match="expected none below 0"):
        call_kernel(halves, given, PAIR)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected none below 0"):
        tf.function(call_kernel)(halves, given, PAIR)


def test_a_kernel_has_threads():
    assert kernel_threads() >= 1
