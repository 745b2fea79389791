"""The compiled CTC loss, beside a reference in Float64 and TensorFlow; beside all alignments in `test_ctc.py`."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.objectives.ctc import ctc_loss
from sonorant.tensorflow import tf


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.ctc.{request.param}")


def log_softmax(logits):
    return np.array(tf.nn.log_softmax(logits), np.float32)


def draw(seed, utterances, frames, units, longest, spread=2.0):
    """Return log-probabilities, lengths, labels that repeat and that do not always fit, and their numbers."""
    rng = np.random.default_rng(seed)
    log_probs = log_softmax(rng.normal(size=(utterances, frames, units + 1)) * spread)
    labels = rng.integers(0, units, (utterances, longest))
    lengths, counts = rng.integers(0, frames + 1, utterances), rng.integers(0, longest + 1, utterances)
    return log_probs, *(np.array(one, np.int32) for one in (lengths, labels, counts))


def losses_and_gradients(kernels, log_probs, lengths, labels, counts, threads=1):
    losses, gradients = np.full(len(log_probs), np.nan, np.float32), np.full_like(log_probs, np.nan)
    kernels.ctc_loss(log_probs, lengths, labels, counts, threads, losses, gradients)
    return losses, gradients


def forward_variables(log_probs, states, skips):
    """Return Graves 2006's Eq. 6 and 7 in logarithms and Float64: [T, states], each with its own frame."""
    none = np.full(len(states), -np.inf)
    before, found = none.copy(), []
    before[:2] = 0
    for t, row in enumerate(log_probs):
        if t:
            one, two = (np.concatenate([none[:n], before[: len(before) - n]]) for n in (1, 2))
            before = np.logaddexp(np.logaddexp(before, one), np.where(skips, two, -np.inf))
        before = before + row[states]
        found.append(before)
    return np.stack(found)


def reference(log_probs, labels):
    """Return the loss of labels, and the posteriors [T, units + 1]."""
    blank = log_probs.shape[1] - 1
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.array([i % 2 == 1 and i > 1 and states[i] != states[i - 2] for i in range(len(states))])
    forward = forward_variables(log_probs, states, skips)
    skips_back = np.array([i % 2 == 1 and i > 1 and states[::-1][i] != states[::-1][i - 2] for i in range(len(states))])
    backward = forward_variables(log_probs[::-1], states[::-1], skips_back)[::-1, ::-1]
    total = np.logaddexp.reduce(forward[-1, -2:])
    posteriors = np.zeros_like(log_probs)
    if np.isfinite(total):
        for i, symbol in enumerate(states):
            posteriors[:, symbol] += np.exp(forward[:, i] + backward[:, i] - log_probs[:, symbol] - total)
    return -total, posteriors


@pytest.mark.parametrize(
    "sizes", [(200, 9, 3, 6), (16, 170, 45, 60), (3, 700, 5, 20)], ids=["short", "sentences", "long"]
)
@pytest.mark.parametrize("spread", [0.5, 20.0], ids=["unsure", "sure"])
def test_losses_and_posteriors_are_those_of_a_reference_in_float64(kernels, sizes, spread):
    log_probs, lengths, labels, counts = given = draw(7, *sizes, spread)
    losses, gradients = losses_and_gradients(kernels, *given)
    for row, (frames, count) in enumerate(zip(lengths, counts, strict=True)):
        expected = 0, np.zeros((frames, log_probs.shape[2]))
        if 0 < frames >= count:
            expected = reference(log_probs[row, :frames].astype(np.float64), labels[row, :count])
        assert losses[row] == pytest.approx(expected[0], rel=1e-6, abs=1e-4)
        np.testing.assert_allclose(-gradients[row, :frames], expected[1], atol=2e-5)
        assert not gradients[row, frames:].any()
    if sizes[0] == 200:  # each case of a fit
        assert min(np.isinf(losses).sum(), (counts > lengths).sum(), np.isfinite(losses).sum()) > 5


def test_losses_are_those_of_tensorflow():
    log_probs, lengths, labels, counts = draw(9, 50, 30, 8, 10)
    counts = np.clip(counts, 1, lengths // 2)
    losses = tf.nn.ctc_loss(labels, log_probs, counts, lengths, logits_time_major=False, blank_index=-1)
    fits = (counts > 0) & np.isfinite(losses)
    np.testing.assert_allclose(ctc_loss(log_probs, lengths, labels, counts)[fits], losses[fits], rtol=1e-4)


def test_a_path_that_is_improbable_at_each_frame_is_not_lost(kernels):
    frames = 120
    log_probs = np.full((1, frames, 3), -700, np.float32)
    log_probs[:, :, 2] = 0  # the blank
    labels = np.arange(frames, dtype=np.int32)[np.newaxis] % 2
    given = log_probs, np.array([frames], np.int32), labels, np.array([frames], np.int32)
    losses, gradients = losses_and_gradients(kernels, *given)
    assert losses[0] == pytest.approx(700 * frames)
    np.testing.assert_allclose(-gradients[0], np.eye(3)[labels[0]], atol=1e-5)


def test_what_is_impossible_has_an_infinite_loss_and_no_gradient(kernels):
    log_probs = log_softmax(np.zeros((2, 3, 3)))
    log_probs[0, :, 0] = -np.inf
    given = log_probs, np.array([3, 3], np.int32), np.array([[0], [1]], np.int32), np.array([1, 1], np.int32)
    losses, gradients = losses_and_gradients(kernels, *given)
    assert losses[0] == np.inf
    assert np.isfinite(losses[1])
    assert not gradients[0].any()
    assert gradients[1].any()


def test_no_labels_are_blanks_and_no_frames_are_certain(kernels):
    log_probs = log_softmax(np.random.default_rng(1).normal(size=(2, 4, 3)))
    given = log_probs, np.array([4, 0], np.int32), np.zeros((2, 0), np.int32), np.array([0, 0], np.int32)
    losses, gradients = losses_and_gradients(kernels, *given)
    np.testing.assert_allclose(losses, [-log_probs[0, :, 2].sum(), 0], rtol=1e-6)
    np.testing.assert_allclose(gradients, np.stack([np.tile([0, 0, -1.0], (4, 1)), np.zeros((4, 3))]), rtol=1e-6)


def test_an_unknown_number_is_no_loss(kernels):
    given = draw(3, 4, 6, 3, 2)
    lengths, counts = np.full(4, 6, np.int32), np.full(4, 2, np.int32)
    given[0][1, 2] = np.nan
    losses, gradients = losses_and_gradients(kernels, given[0], lengths, given[2], counts)
    assert np.isnan(losses).tolist() == [False, True, False, False]
    assert np.isfinite(gradients).all()


@settings(deadline=None, max_examples=40)
@given(
    utterances=st.integers(1, 9), frames=st.integers(1, 40), units=st.integers(1, 70), longest=st.integers(0, 35),
    threads=st.integers(0, 5), seed=st.integers(0, 99),
)  # fmt: skip
def test_an_utterance_has_the_same_bits_alone_and_in_company_and_with_any_threads(
    kernels, utterances, frames, units, longest, threads, seed
):
    given = draw(seed, utterances, frames, units, longest)
    together = losses_and_gradients(kernels, *given, threads)
    for row in range(utterances):
        alone = losses_and_gradients(kernels, *(np.ascontiguousarray(one[row : row + 1]) for one in given))
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[row : row + 1])


def test_the_portable_kernel_computes_the_same():
    assert importlib.import_module("sonorant.ctc.kernels_portable").VARIANT == "portable"
    given = draw(5, 20, 60, 30, 20)
    names = ("sonorant.ctc.kernels", "sonorant.ctc.kernels_portable")
    fast, portable = (losses_and_gradients(importlib.import_module(name), *given) for name in names)
    for one, other in zip(fast, portable, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(
    ("named", "to"),
    [("lengths", [4, 7]), ("lengths", [-1, 2]), ("label_lengths", [3, 1]), ("labels", [[0, 3], [0, 0]]),
     ("labels", [[-1, 0], [0, 0]])],
)  # fmt: skip
def test_a_number_out_of_its_range_is_refused_by_name(named, to):
    given = {
        "log_probs": log_softmax(np.zeros((2, 6, 4))), "lengths": [4, 4], "labels": [[0, 1], [2, 0]],
        "label_lengths": [2, 1],
    }  # fmt: skip
    assert np.isfinite(ctc_loss(**given)).all()
    with pytest.raises(ValueError, match=f"{named}: expected"):
        ctc_loss(**given | {named: to})


def test_a_graph_takes_batches_of_any_size():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 4]), *(tf.TensorSpec(None, tf.int32) for _ in range(3))])
    def gradient(logits, lengths, labels, counts):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = tf.reduce_sum(ctc_loss(tf.nn.log_softmax(logits), lengths, labels, counts) * [1.0, -2.0])
        return tape.gradient(loss, logits)

    logits = np.random.default_rng(2).normal(size=(2, 7, 4)).astype(np.float32)
    given = np.array([7, 5], np.int32), np.array([[0, 1, 1], [2, 0, 0]], np.int32), np.array([3, 1], np.int32)
    posteriors = np.zeros_like(logits)
    for row, (frames, labels, count) in enumerate(zip(*given, strict=True)):
        posteriors[row, :frames] = reference(log_softmax(logits)[row, :frames], labels[:count])[1]
        posteriors[row, frames:] = np.exp(log_softmax(logits)[row, frames:])
    expected = (np.exp(log_softmax(logits)) - posteriors) * np.array([1, -2])[:, np.newaxis, np.newaxis]
    np.testing.assert_allclose(gradient(logits, *given), expected, atol=1e-5)
