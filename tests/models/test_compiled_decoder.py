"""The decoders' kernels, as this processor runs them and as any does, beside the loops of TensorFlow's."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.models.attention import FeedbackAttention
from sonorant.models.attention_decoder import AttentionDecoder, Sampling
from sonorant.models.monotonic_attention import ExpectedAttention, MonotonicAttention
from sonorant.tensorflow import tf

SIZE, SYMBOLS = 5, 7
BATCH = st.fixed_dictionaries(
    {"labels": st.integers(0, 4), "rows": st.integers(1, 20), "frames": st.integers(1, 9), "seed": st.integers(0, 99)}
)


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.models.{request.param}")


@pytest.fixture(scope="module")
def by_kernels(kernels):
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (("attention", "TaughtFeedback"), ("monotonic_attention", "TaughtMonotonic")):
            patch.setattr(importlib.import_module(f"sonorant.models.{module}"), name, getattr(kernels, name))
        yield


def decoder_of(family, seed, inner=18):
    attention = (
        FeedbackAttention(SIZE, 17, inner, seed=1)
        if family == "bfa"
        else MonotonicAttention(SIZE, 17, inner, chunk=1 + seed % 3, offset=-1.0, seed=1)
    )
    decoder = AttentionDecoder(attention, SIZE, SYMBOLS, cells=17, embedding=3, readout=6, seed=1)
    rng = np.random.default_rng(seed)
    for weight in decoder.trainable_weights:
        weight.assign(rng.normal(0, 0.7, weight.shape))
    return decoder


def draw(labels, rows, frames, seed):
    rng = np.random.default_rng(seed)
    encoded = rng.normal(size=(rows, frames, SIZE)).astype(np.float32)
    lengths = rng.integers(1, frames + 1, rows).astype(np.int32)
    taught = rng.integers(0, SYMBOLS - 1, (rows, labels)).astype(np.int32)
    weights = rng.normal(size=(rows, labels + 1, SYMBOLS)), rng.normal(size=(rows, labels + 1, frames))
    return encoded, lengths, taught, *(one.astype(np.float32) for one in weights)


def teach(decoder, compiled, encoded, lengths, taught, by_log_prob, by_weight, sampling=None):
    """Return log-probabilities, weights, and the gradients of a weighted sum of both."""
    decoder.compiled = compiled
    encoded = tf.constant(encoded)
    variables = [v.value for v in decoder.trainable_weights]
    with tf.GradientTape() as tape:
        tape.watch(encoded)
        attention = decoder.attention
        expected = ExpectedAttention(attention, tf.constant([3, 4])) if hasattr(attention, "chunk") else None
        memory = attention.memory(encoded, tf.constant(lengths))
        log_probs, weights = decoder.teach(tf.constant(taught), memory, sampling, attention=expected)
        loss = tf.reduce_sum(log_probs * by_log_prob) + tf.reduce_sum(weights * by_weight)
    zero = tf.UnconnectedGradients.ZERO
    gradients = tape.gradient(loss, [encoded, *variables], unconnected_gradients=zero)
    return [np.asarray(tf.convert_to_tensor(one)) for one in (log_probs, weights, *gradients)]


@pytest.mark.parametrize("family", ["bfa", "mocha"])
@given(batch=BATCH)
@settings(max_examples=25, deadline=None)
def test_outputs_and_gradients_are_those_of_the_loop(by_kernels, family, batch):
    decoder, given_ = decoder_of(family, batch["seed"]), draw(**batch)
    for found, expected in zip(teach(decoder, True, *given_), teach(decoder, False, *given_), strict=True):
        scale = max(1, np.abs(expected).max())
        np.testing.assert_allclose(found / scale, expected / scale, atol=1e-4)


def passes(kernels, family, rows, threads=1):
    """Return what the kernel of so many utterances makes forward and, of random gradients, back."""
    labels, frames, cells, inner = 3, 6, 17, 19 if family == "bfa" else 18
    rng = np.random.default_rng(5)

    def floats(*shape):  # more utterances, the first axis, leave the first ones as they are
        each = [np.random.default_rng(seed).normal(size=shape[1:]) for seed in range(shape[0])]
        return np.stack(each).astype(np.float32)

    def by_label(columns):
        return np.ascontiguousarray(floats(rows, labels, columns).transpose(1, 0, 2))

    shapes = (SIZE + cells, 4 * cells), (cells, inner), inner, inner
    weight, query, *vectors = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    lengths = np.resize(np.array([6, 0, 1, 4, 2], np.int32), rows)
    memory = weight, query, floats(rows, frames, SIZE), lengths, floats(rows, frames, inner)
    if family == "bfa":
        scores, kept = floats(rows, frames), 2
        decoder = kernels.TaughtFeedback(*memory, scores, *vectors)
    else:
        scores, kept = by_label(frames), 3
        decoder = kernels.TaughtMonotonic(*memory, scores, vectors[0], 2)
    columns = [4 * cells, cells, cells, SIZE, inner, *[frames] * kept]
    made = [np.full((labels, rows, n), np.nan, np.float32) for n in columns]
    decoder.forward(by_label(4 * cells), threads, *made)
    of_rows = [(rows, inner)] * (kept == 2) + [(rows, inner)]
    shapes = [made[0].shape, made[4].shape, (rows, frames, SIZE), (rows, frames, inner), scores.shape, *of_rows]
    back = [np.full(shape, np.nan, np.float32) for shape in shapes]
    gates, cells_, _, _, queries, *weights = made
    gradients = by_label(cells), by_label(SIZE), by_label(frames)
    decoder.backward(*gradients, gates, cells_, queries, *weights, threads, *back)
    return [*made, *back]


@pytest.mark.parametrize("family", ["bfa", "mocha"])
def test_an_utterance_has_the_same_bits_alone_and_in_company_and_with_any_threads(kernels, family):
    whole = passes(kernels, family, 29)
    for one, threaded in zip(whole, passes(kernels, family, 29, threads=3), strict=True):
        np.testing.assert_array_equal(one, threaded)
    for few, many in zip(passes(kernels, family, 2), whole, strict=True):
        axis = many.shape.index(29)
        np.testing.assert_array_equal(few, np.take(many, [0, 1], axis))


@pytest.mark.parametrize("family", ["bfa", "mocha"])
def test_an_utterance_without_frames_attends_to_nothing(kernels, family):
    made = passes(kernels, family, 3)
    assert all(np.isfinite(one).all() for one in made)
    for one in (made[3], made[5]):  # contexts and weights
        assert [bool(one[:, utterance].any()) for utterance in range(3)] == [True, False, True]


@pytest.mark.parametrize("family", ["bfa", "mocha"])
def test_the_portable_kernel_computes_the_same(family):
    fast, portable = (passes(importlib.import_module(f"sonorant.models.{name}"), family, 9)
                      for name in ("kernels", "kernels_portable"))  # fmt: skip
    for one, other in zip(fast, portable, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=2e-4)


def test_heads_that_stop_nowhere_or_at_once_for_long_have_finite_gradients(by_kernels):
    decoder = decoder_of("mocha", 0)
    for scale in (-300.0, 300.0):
        decoder.attention.scale.assign(scale)
        for one in teach(decoder, True, *draw(4, 3, 400, 1)):
            assert np.isfinite(one).all()


def test_scheduled_sampling_is_left_to_the_loop():
    decoder, sampling = decoder_of("bfa", 0), Sampling(tf.constant(1.0), tf.constant([1, 2]))
    drawn, looped = (teach(decoder, compiled, *draw(4, 3, 5, 1), sampling) for compiled in (True, False))
    for one, other in zip(drawn, looped, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("place", "shape", "expected"),
    [
        (0, (21, 68), r"weight: expected \[encoded \+ H, 4 H\]"),
        (3, (3,), r"lengths: expected \[B\]"),
        (4, (2, 5, 18), r"keys: expected \[B, T, Q\]"),
        (5, (2, 5), r"fertility: expected \[B, T\]"),
        (6, (19,), r"energy: expected \[Q\]"),
        (7, (17,), r"feedback: expected \[Q\]"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_refused(kernels, place, shape, expected):
    shapes = [(22, 68), (17, 18), (2, 6, 5), (2,), (2, 6, 18), (2, 6), (18,), (18,)]
    shapes[place] = shape
    arrays = [np.zeros(one, np.int32 if at == 3 else np.float32) for at, one in enumerate(shapes)]
    with pytest.raises(ValueError, match=expected):
        kernels.TaughtFeedback(*arrays)


def test_a_length_beyond_the_frames_and_an_array_of_other_labels_are_refused(kernels):
    shapes = [(22, 68), (17, 18), (2, 6, 5), (2,), (2, 6, 18), (3, 2, 6), (18,)]
    arrays = [np.zeros(one, np.int32 if at == 3 else np.float32) for at, one in enumerate(shapes)]
    decoder = kernels.TaughtMonotonic(*arrays, 2)
    made = [np.zeros((3, 2, n), np.float32) for n in (68, 17, 17, 5, 18, 6, 6, 6)]
    with pytest.raises(ValueError, match=r"noise: expected \[L, B, T\]"):
        decoder.forward(np.zeros((4, 2, 68), np.float32), 1, *made)
    with pytest.raises(ValueError, match=r"alphas: expected \[L, B, T\]"):
        decoder.forward(np.zeros((3, 2, 68), np.float32), 1, *made[:5], made[5][:, :, :5].copy(), *made[6:])
    with pytest.raises(ValueError, match="lengths: expected 0 to T"):
        kernels.TaughtMonotonic(*arrays[:3], np.array([6, 7], np.int32), *arrays[4:], 2)
    with pytest.raises(ValueError, match="chunk: expected 1 or more"):
        kernels.TaughtMonotonic(*arrays, 0)
