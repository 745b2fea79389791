import numpy as np
import pytest
from rigs.tiny_bfa import SECTION as BFA
from rigs.tiny_convolution import SECTION as CONVOLUTION
from rigs.tiny_mocha import tiny_mocha

from sonorant.models.family import Inputs
from sonorant.models.registry import build_model
from sonorant.models.section import BfaRecipe
from sonorant.tensorflow import tf

LABELS = np.array([[0, 1, 3, 2], [3, 0, 9, -1], [1, 9, 9, 9]], np.int32)
LABEL_LENGTHS = np.array([4, 2, 1], np.int32)
LENGTHS = np.array([20, 13, 4], np.int32)


SECTIONS = {
    "global": {},
    "running": {"normalisation": "running"},
    "convolution": {"normalisation": "running", "convolution": CONVOLUTION, "seed": 4},
    "look-ahead": {"normalisation": "running", "look_ahead": 2, "cells": 4},
}


@pytest.fixture(params=SECTIONS)
def model(request):
    model = tiny_mocha(ctc=True, memory_vectors=10, **SECTIONS[request.param])  # of a seed with which heads stop
    model.set_normalisation([np.random.default_rng(0).normal(2, 3, (50, 6))], lambda moments: moments)
    return model


@pytest.fixture
def features():
    rng = np.random.default_rng(5)
    features = rng.normal(2, 3, (3, 20, 6)).astype(np.float32)
    for i, length in enumerate(LENGTHS):
        features[i, length:] = 0
    return features


def outputs(model, features, lengths, labels, seed=None, sampling=None):
    return model.outputs(Inputs(tf.constant(features), tf.constant(lengths), tf.constant(labels), None, sampling), seed)


def test_outputs_are_log_probabilities_and_attention_is_hard_outside_training(model, features):
    found = outputs(model, features, LENGTHS, LABELS)
    assert found.labels.shape == (3, 5, 5)
    assert found.frames.shape == (3, 10, 5)
    assert list(found.lengths) == [model.framing.frames(n) for n in LENGTHS] == [10, 7, 2]
    for log_probs in (found.labels, found.frames):
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, atol=1e-5)
    attended = found.attention.numpy().sum(-1)
    np.testing.assert_allclose(attended, np.rint(attended), atol=1e-6)
    assert 2 < attended.sum() < attended.size
    assert ((found.attention.numpy() > 0).sum(-1) <= 2).all()


def test_in_training_attention_is_in_expectation_and_repeats_with_its_seed(model, features):
    model.dropout.rate.assign(0)
    one, again, other = (outputs(model, features, LENGTHS, LABELS, tf.constant([7, n])) for n in (1, 1, 900))
    np.testing.assert_array_equal(one.labels, again.labels)
    np.testing.assert_array_equal(one.frames, other.frames)
    assert np.abs(one.attention.numpy() - other.attention.numpy()).max() > 1e-2
    attended = one.attention.numpy().sum(-1)
    assert ((attended > 0) & (attended < 1 + 1e-5)).all()
    assert (np.abs(attended - np.rint(attended)) > 1e-2).any()


def test_an_utterance_alone_is_as_in_a_batch(model, features):
    together = outputs(model, features, LENGTHS, LABELS)
    for i, (length, labels) in enumerate(zip(LENGTHS, LABEL_LENGTHS, strict=True)):
        alone = outputs(model, features[i : i + 1, :length], LENGTHS[i : i + 1], LABELS[i : i + 1, :labels])
        frames = alone.frames.shape[1]
        np.testing.assert_allclose(together.labels[i, : labels + 1], alone.labels[0], atol=1e-5)
        np.testing.assert_allclose(together.frames[i, :frames], alone.frames[0], atol=1e-5)
        np.testing.assert_allclose(together.attention[i, : labels + 1, :frames], alone.attention[0], atol=1e-5)


def test_label_by_label_is_as_by_teacher_forcing_for_any_number_of_hypotheses(model, features):
    taught = outputs(model, features, LENGTHS, LABELS)
    memory, state = model.begin(*model.encode(tf.constant(features), tf.constant(LENGTHS)), 2)
    before = np.full((3, 2), model.symbols.end, np.int32)
    for number in range(5):
        step = model.next_label(tf.constant(before), memory, state)
        for i, labels in enumerate(LABEL_LENGTHS):
            if number <= labels:
                for k in range(2):
                    np.testing.assert_allclose(step.log_probs[i, k], taught.labels[i, number], atol=1e-5)
        before, state = np.tile(LABELS[:, number : number + 1].clip(0, 4), (1, 2)), step.state


def test_a_stream_has_the_frames_of_the_whole(model, features):
    encoded, lengths = model.encode(tf.constant(features), tf.constant(LENGTHS))
    for i, length in enumerate(LENGTHS):
        framing, state, frames = model.framing, model.initial_state(1), []
        behind = np.tile(model.padding, (framing.padding_after(length), 1))
        vectors = np.concatenate([features[i, :length], behind])
        for step in np.split(vectors[np.newaxis], len(vectors) // framing.step, axis=1):
            output, state = model.step(tf.constant(step), state)
            frames.extend(output[0])
        frames = frames[framing.lead :]
        assert int(lengths[i]) <= len(frames) < int(lengths[i]) + framing.at_once
        np.testing.assert_allclose(frames[: int(lengths[i])], encoded[i, : int(lengths[i])], atol=1e-5)


def test_the_gradient_is_that_of_finite_differences(model, features):
    """In a direction in which every weight changes; of training, so that attention has one."""
    variables = [v.value for v in model.trainable_variables]
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=v.shape).astype(np.float32) for v in variables]

    @tf.function
    def value_and_slope():
        with tf.GradientTape() as tape:
            found = outputs(model, features, LENGTHS, LABELS.clip(0, 3), tf.constant([1, 2]))
            value = tf.reduce_sum(found.labels[:, :, 0]) + tf.reduce_sum(found.attention[0, :, 2])
        gradients = [tf.convert_to_tensor(g) if g is not None else 0.0 for g in tape.gradient(value, variables)]
        return value, tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients, direction, strict=True)])

    _, slope = value_and_slope()
    values = []
    for sign in (1, -1):
        for variable, step in zip(variables, direction, strict=True):
            variable.assign_add(sign * 3e-4 * step)
        values.append(float(value_and_slope()[0]))
        for variable, step in zip(variables, direction, strict=True):
            variable.assign_sub(sign * 3e-4 * step)
    assert (values[0] - values[1]) / 6e-4 == pytest.approx(float(slope), rel=0.03)


def test_sampling_draws_labels_before(model, features):
    model.dropout.rate.assign(0)
    weights = model.named_weights()
    weights["decoder/projection_bias"] = np.array([0, 0, 0, 50, 0], np.float32)
    model.assign(weights)
    sampled = outputs(model, features, LENGTHS, np.zeros_like(LABELS), tf.constant([7, 1]), tf.constant(1.0))
    always = outputs(model, features, LENGTHS, np.full_like(LABELS, 3), tf.constant([7, 1]))
    np.testing.assert_allclose(sampled.labels, always.labels, atol=1e-5)


def test_with_look_ahead_all_but_attention_has_the_names_and_shapes_of_bfa_so_that_training_can_begin_with_it():
    shared = {"layers": 2, "cells": 8, "pooling": [2], "decoder_cells": 10, "embedding": 5, "readout": 12, "ctc": True}
    bfa = build_model(BfaRecipe.model_validate(BFA | shared), 6, units=4, seed=1).weight_shapes()
    mocha = tiny_mocha(look_ahead=3, **shared).weight_shapes()
    attentions = ("attention/", "monotonic/", "chunkwise/")
    own, others = ({k: v for k, v in one.items() if not k.startswith(attentions)} for one in (mocha, bfa))
    assert own == others
    assert {"lstm_0_forward/weight", "lstm_1_backward/weight", "decoder_lstm/weight", "ctc/kernel"} <= own.keys()
