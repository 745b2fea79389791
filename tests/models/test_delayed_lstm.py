import numpy as np
import pytest

from sonorant.models.delayed_lstm import DelayedLstm
from sonorant.models.family import Inputs
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.models.section import DelayedLstmRecipe, LstmCtcRecipe
from sonorant.tensorflow import tf

SIZES = {"layers": 2, "cells": 6, "dropout": 0.2}


def frames(model, features, lengths):
    return model.outputs(Inputs(tf.constant(features), tf.constant(lengths))).frames.numpy()


@pytest.fixture(params=["global", "running"])
def pair(request):
    """A delayed model, and one without delay with the same weights."""
    normalisation = {"normalisation": request.param, "memory_vectors": 10}
    delayed = DelayedLstm(DelayedLstmRecipe(family="delayed_lstm", delay_vectors=3, **SIZES, **normalisation), 4, 3, 2)
    delayed.set_normalisation([np.random.default_rng(0).normal(2, 3, (50, 4))], lambda moments: moments)
    plain = LstmCtc(LstmCtcRecipe(**SIZES, **normalisation), 4, 3)
    plain.assign(delayed.named_weights())
    return delayed, plain


@pytest.fixture
def features():
    return np.random.default_rng(1).normal(2, 3, (2, 12, 4)).astype(np.float32)


def test_a_frame_is_the_plain_model_s_three_vectors_later(pair, features):
    delayed, plain = pair
    behind = np.tile(np.asarray(plain.normalisation.padding), (2, 3, 1))
    expected = frames(plain, np.concatenate([features, behind], 1), [15, 15])[:, 3:]
    np.testing.assert_allclose(frames(delayed, features, [12, 12]), expected, atol=1e-6)


def test_an_utterance_alone_equals_it_in_a_padded_batch(pair, features):
    delayed, _ = pair
    features[0, 7:] = 0
    together = frames(delayed, features, [7, 12])
    np.testing.assert_allclose(together[0, :7], frames(delayed, features[:1, :7], [7])[0], atol=1e-6)


def test_a_stream_has_the_frames_of_the_whole_after_its_delay(pair, features):
    delayed, _ = pair
    vectors = np.concatenate([features, np.tile(delayed.padding, (2, delayed.framing.tail, 1))], 1)
    state, parts = delayed.initial_state(2), []
    for t in range(vectors.shape[1]):
        log_probs, state = delayed.step(tf.constant(vectors[:, t : t + 1]), state)
        parts.append(log_probs)
    stream = tf.concat(parts[delayed.framing.lead :], 1)
    np.testing.assert_allclose(stream, frames(delayed, features, [12, 12]), atol=1e-5)
