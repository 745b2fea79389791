import itertools

import numpy as np
import pytest

from sonorant.objectives.ctc import ctc_loss, ctc_posteriors, frames_needed
from sonorant.tensorflow import tf


def collapse(path, blank):
    return tuple(unit for unit, _ in itertools.groupby(path) if unit != blank)


def loss_over_all_alignments(log_probs, labels):
    """Graves 2006, Eq. 3: the sum over every path that collapses to the labels."""
    frames, symbols = log_probs.shape
    paths = itertools.product(range(symbols), repeat=frames)
    total = sum(
        np.exp(sum(log_probs[t, s] for t, s in enumerate(path)))
        for path in paths
        if collapse(path, symbols - 1) == tuple(labels)
    )
    return -np.log(total)


def test_loss_equals_the_sum_over_all_alignments():
    rng = np.random.default_rng(1)
    log_probs = np.array(tf.nn.log_softmax(rng.normal(size=(4, 5, 4))), np.float32)
    labels, lengths = [[0, 1], [2, 2], [1], [0, 2, 1]], [5, 5, 3, 4]
    padded = np.array([row + [3] * (3 - len(row)) for row in labels], np.int32)
    loss = ctc_loss(log_probs, lengths, padded, [len(row) for row in labels])
    expected = [loss_over_all_alignments(log_probs[i, : lengths[i]], labels[i]) for i in range(4)]
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_gradient_does_not_see_padding():
    log_probs = tf.nn.log_softmax(tf.constant(np.random.default_rng(2).normal(size=(1, 6, 3)), tf.float32))
    with tf.GradientTape() as tape:
        tape.watch(log_probs)
        loss = tf.reduce_sum(ctc_loss(log_probs, [4], [[0, 1]], [2]))
    gradient = tape.gradient(loss, log_probs)
    assert np.abs(gradient[0, :4]).max() > 0
    assert np.abs(gradient[0, 4:]).max() == 0


def test_a_gradient_of_sure_units_is_finite():
    logits = tf.constant([[[90.0, 0, 0], [0, 0, 90.0], [0, 90.0, 0]]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = ctc_loss(tf.nn.log_softmax(logits), [3], [[0, 1]], [2])
    np.testing.assert_allclose(loss, 0, atol=1e-6)
    np.testing.assert_allclose(tape.gradient(loss, logits), 0, atol=1e-6)


def posteriors_over_all_alignments(log_probs, labels):
    """The share of each symbol at each frame in the sum over every path that collapses to the labels."""
    frames, symbols = log_probs.shape
    found = np.zeros((frames, symbols))
    for path in itertools.product(range(symbols), repeat=frames):
        if collapse(path, symbols - 1) == tuple(labels):
            found[range(frames), path] += np.exp(log_probs[range(frames), path].sum())
    return found / found[0].sum()


def test_posteriors_equal_shares_of_the_sum_over_all_alignments():
    log_probs = tf.nn.log_softmax(tf.constant(np.random.default_rng(4).normal(size=(3, 5, 4)), tf.float32))
    labels, lengths, counts = [[0, 1], [2, 2], [1, 3]], [5, 4, 3], [2, 2, 1]
    loss, found = ctc_posteriors(log_probs, lengths, labels, counts)
    np.testing.assert_allclose(loss, ctc_loss(log_probs, lengths, labels, counts), rtol=1e-5)
    for i in range(3):
        expected = posteriors_over_all_alignments(
            np.array(log_probs[i, : lengths[i]], np.float64), labels[i][: counts[i]]
        )
        np.testing.assert_allclose(found[i, : lengths[i]], expected, atol=1e-5)


def test_cross_entropy_with_posteriors_bounds_the_change_of_the_loss():
    rng = np.random.default_rng(5)
    before, after = (tf.nn.log_softmax(tf.constant(rng.normal(size=(50, 8, 4)) * 3, tf.float32)) for _ in range(2))
    rest = [[8] * 50, np.tile([0, 1, 1], (50, 1)).astype(np.int32), [3] * 50]
    loss, posteriors = ctc_posteriors(before, *rest)
    change = -tf.reduce_sum(posteriors * (after - before), (1, 2))
    assert (change - (ctc_loss(after, *rest) - loss)).numpy().min() > -1e-3


@pytest.mark.parametrize(("labels", "frames"), [([], 0), ([1], 1), ([1, 2], 2), ([1, 1], 3), ([1, 1, 1, 2], 6)])
def test_frames_needed_count_a_blank_between_equal_units(labels, frames):
    assert frames_needed(labels) == frames
