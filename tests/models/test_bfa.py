import numpy as np
import pytest
from pydantic import ValidationError
from rigs.tiny_bfa import tiny_bfa
from rigs.tiny_convolution import SECTION as CONVOLUTION

from sonorant.models.family import Inputs
from sonorant.models.lstm import LstmCell
from sonorant.models.section import BfaRecipe
from sonorant.tensorflow import tf

LABELS = np.array([[0, 1, 3, 2], [3, 0, 9, -1], [1, 9, 9, 9]], np.int32)
LABEL_LENGTHS = np.array([4, 2, 1], np.int32)
LENGTHS = np.array([20, 13, 4], np.int32)


@pytest.fixture(params=[("global", None), ("running", None), ("running", CONVOLUTION)])
def model(request):
    normalisation, convolution = request.param
    model = tiny_bfa(ctc=True, normalisation=normalisation, memory_vectors=10, convolution=convolution)
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


def test_outputs_are_log_probabilities_of_units_and_end_and_of_units_and_blank(model, features):
    found = outputs(model, features, LENGTHS, LABELS)
    assert found.labels.shape == (3, 5, 5)
    assert found.frames.shape == (3, 10, 5)
    assert found.attention.shape == (3, 5, 10)
    assert list(found.lengths) == [model.framing.frames(n) for n in LENGTHS] == [10, 7, 2]
    for log_probs in (found.labels, found.frames):
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, atol=1e-5)


def test_an_utterance_alone_is_as_in_a_batch(model, features):
    together = outputs(model, features, LENGTHS, LABELS)
    for i, (length, labels) in enumerate(zip(LENGTHS, LABEL_LENGTHS, strict=True)):
        alone = outputs(model, features[i : i + 1, :length], LENGTHS[i : i + 1], LABELS[i : i + 1, :labels])
        frames = alone.frames.shape[1]
        np.testing.assert_allclose(together.labels[i, : labels + 1], alone.labels[0], atol=1e-5)
        np.testing.assert_allclose(together.frames[i, :frames], alone.frames[0], atol=1e-5)
        np.testing.assert_allclose(together.attention[i, : labels + 1, :frames], alone.attention[0], atol=1e-5)


def test_several_sequences_of_labels_of_an_utterance_are_as_each_of_them(model, features):
    others = LABELS[:, ::-1].copy()
    paired = np.stack([LABELS, others], 1).reshape(6, 4)
    found = model.outputs(Inputs(tf.constant(features), tf.constant(LENGTHS), tf.constant(paired), hypotheses=2))
    for k, labels in enumerate((LABELS, others)):
        alone = outputs(model, features, LENGTHS, labels)
        np.testing.assert_allclose(found.labels[k::2], alone.labels, atol=1e-5)
        np.testing.assert_allclose(found.attention[k::2], alone.attention, atol=1e-5)
        np.testing.assert_array_equal(found.frames, alone.frames)
        np.testing.assert_array_equal(found.lengths, alone.lengths)


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
                    np.testing.assert_allclose(step.attention[i, k], taught.attention[i, number], atol=1e-5)
        before, state = np.tile(LABELS[:, number : number + 1].clip(0, 4), (1, 2)), step.state


def test_a_cell_is_one_step_of_the_layer(features):
    cell = LstmCell(6, 4, seed=1, name="cell")
    expected = tf.keras.layers.LSTMCell(4)
    expected.build((None, 6))
    i, g, f, o = np.split(np.asarray(cell.weight.value), 4, axis=1)
    kernel = np.concatenate([i, f, g, o], 1)  # the order of Keras
    expected.set_weights([kernel[:6], kernel[6:], np.repeat([0.0, 1.0, 0.0, 0.0], 4)])
    state = tf.random.stateless_normal((2, 3, 4), [1, 2])
    inputs = tf.constant(features[:, 0])
    after_cell, after_hidden = cell.advance(inputs, state[0], state[1])
    hidden, (_, memory) = expected(inputs, [state[1], state[0]])
    np.testing.assert_allclose(after_cell, memory, atol=1e-6)
    np.testing.assert_allclose(after_hidden, hidden, atol=1e-6)


def test_the_gradient_is_that_of_finite_differences(model, features):
    """In a direction in which every weight changes."""
    variables = [v.value for v in model.trainable_variables]
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=v.shape).astype(np.float32) for v in variables]

    @tf.function
    def value_and_slope():
        with tf.GradientTape() as tape:
            found = outputs(model, features, LENGTHS, LABELS.clip(0, 3))
            value = tf.reduce_sum(found.labels[:, :, 0]) + tf.reduce_sum(found.frames[:, :2, 1])
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(value, variables)]
        return value, tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients, direction, strict=True)])

    _, slope = value_and_slope()
    values = []
    for sign in (1, -1):
        for variable, step in zip(variables, direction, strict=True):
            variable.assign_add(sign * 3e-4 * step)
        values.append(float(value_and_slope()[0]))
        for variable, step in zip(variables, direction, strict=True):
            variable.assign_sub(sign * 3e-4 * step)
    assert (values[0] - values[1]) / 6e-4 == pytest.approx(float(slope), rel=0.02)


def test_sampling_draws_labels_before_by_its_seed_and_share(model, features):
    def sampled(share, seed):
        return outputs(model, features, LENGTHS, LABELS, tf.constant([7, seed]), tf.constant(share)).labels.numpy()

    model.dropout.rate.assign(0)
    taught = outputs(model, features, LENGTHS, LABELS).labels.numpy()
    np.testing.assert_allclose(sampled(0.0, 1), taught, atol=1e-6)
    one, again, other = sampled(1.0, 1), sampled(1.0, 1), sampled(1.0, 1000)
    np.testing.assert_array_equal(one, again)
    np.testing.assert_allclose(one[:, 0], taught[:, 0], atol=1e-6)  # nothing is drawn before the first label
    assert np.abs(one - other).max() > 1e-3


def test_sampled_labels_follow_the_model(model, features):
    weights = model.named_weights()
    weights["decoder/projection_bias"] = np.array([0, 0, 0, 50, 0], np.float32)
    weights["dropout/rate"] = np.float32(0)
    model.assign(weights)
    sampled = outputs(model, features, LENGTHS, np.zeros_like(LABELS), tf.constant([7, 1]), tf.constant(1.0))
    always = outputs(model, features, LENGTHS, np.full_like(LABELS, 3))
    np.testing.assert_allclose(sampled.labels, always.labels, atol=1e-5)


def test_dropout_repeats_with_its_seed_and_differs_with_another(model, features):
    one, again, other = (
        outputs(model, features, LENGTHS, LABELS, tf.constant([7, seed])).labels.numpy() for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3


def test_more_poolings_than_layers_are_refused():
    with pytest.raises(ValidationError, match=r"pooling=\[3, 2\]: after 2 layers, but layers=1"):
        BfaRecipe(family="bfa", layers=1)
