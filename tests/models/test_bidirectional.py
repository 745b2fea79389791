import numpy as np
import pytest

from sonorant.models.bidirectional import BidirectionalEncoder, max_pool
from sonorant.tensorflow import tf


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def undropped(hidden, layer):
    return hidden


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_maxima_are_of_windows_that_begin_at_the_first_frame_and_end_with_the_utterance(rng, size):
    hidden = rng.normal(-3, 1, (11, 3, 2)).astype(np.float32)
    lengths = [11, 7, 1]
    maxima, shorter = max_pool(tf.constant(hidden), tf.constant(lengths), size)
    assert list(shorter) == [-(-n // size) for n in lengths]
    for b, length in enumerate(lengths):
        windows = [hidden[t : min(t + size, length), b].max(0) for t in range(0, length, size)]
        np.testing.assert_array_equal(maxima[: len(windows), b], windows)
        if size > 1:
            assert not maxima[len(windows) :, b].numpy().any()


def test_each_frame_depends_on_those_before_and_after_it_and_padding_on_none(rng):
    encoder = BidirectionalEncoder(3, layers=2, cells=4, pooling=(3,), seed=1)
    features = rng.normal(size=(1, 10, 3)).astype(np.float32)
    whole, lengths = encoder.encode(tf.constant(features), tf.constant([10]), undropped)
    assert whole.shape == (1, 4, 8)
    assert list(lengths) == [4]
    for changed in (0, 9):
        other = features.copy()
        other[0, changed] += 1
        found, _ = encoder.encode(tf.constant(other), tf.constant([10]), undropped)
        assert (np.abs(found - whole).max(2) > 1e-6).all()
    padded = np.concatenate([features, rng.normal(9, 1, (1, 5, 3)).astype(np.float32)], 1)
    found, _ = encoder.encode(tf.constant(padded), tf.constant([10]), undropped)
    np.testing.assert_allclose(found[:, :4], whole, atol=1e-6)


def test_the_backward_half_of_a_layer_reads_backwards(rng):
    encoder = BidirectionalEncoder(3, layers=1, cells=4, pooling=(), seed=1)
    encoder.backward[0].weight.assign(encoder.forward[0].weight.value)
    features = rng.normal(size=(1, 6, 3)).astype(np.float32)
    one, _ = encoder.encode(tf.constant(features), tf.constant([6]), undropped)
    other, _ = encoder.encode(tf.constant(features[:, ::-1].copy()), tf.constant([6]), undropped)
    np.testing.assert_allclose(one[..., 4:], other[:, ::-1, :4], atol=1e-6)
