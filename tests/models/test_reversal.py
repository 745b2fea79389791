import numpy as np
import pytest

from sonorant.models.reversal import reversed_utterances
from sonorant.tensorflow import tf

LENGTHS = np.array([7, 4, 1, 0], np.int32)


@pytest.fixture
def sequence():
    return tf.constant(np.random.default_rng(0).normal(size=(7, 4, 3)).astype(np.float32))


def reference(sequence):
    reversed_ = np.array(sequence)
    for row, length in enumerate(LENGTHS):
        reversed_[:length, row] = reversed_[:length, row][::-1]
    return reversed_


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16])
def test_each_utterance_is_backwards_and_its_padding_stays(sequence, dtype):
    sequence = tf.cast(sequence, dtype)
    np.testing.assert_array_equal(reversed_utterances(sequence, LENGTHS), reference(sequence))


def test_the_gradient_goes_back_to_where_each_vector_came_from(sequence):
    weight = tf.constant(np.random.default_rng(1).normal(size=sequence.shape).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(sequence)
        loss = tf.reduce_sum(reversed_utterances(sequence, LENGTHS) * weight)
    np.testing.assert_array_equal(tape.gradient(loss, sequence), reference(weight))


def test_a_graph_takes_any_number_of_vectors_and_utterances(sequence):
    signature = [tf.TensorSpec([None, None, 3]), tf.TensorSpec([None], tf.int32)]
    reversed_ = tf.function(reversed_utterances, input_signature=signature)
    np.testing.assert_array_equal(reversed_(sequence, LENGTHS), reference(sequence))
    assert reversed_(tf.zeros((0, 2, 3)), tf.zeros(2, tf.int32)).shape == (0, 2, 3)
