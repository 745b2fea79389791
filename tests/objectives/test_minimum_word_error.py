import itertools

import numpy as np
import pytest
from rigs.tiny_bfa import tiny_bfa

from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs, Outputs
from sonorant.models.registry import build_model
from sonorant.models.section import LstmCtcRecipe
from sonorant.objectives.ctc import CtcObjective
from sonorant.objectives.label_cross_entropy import LabelCrossEntropy
from sonorant.objectives.minimum_word_error import MinimumWordError, expected_errors
from sonorant.objectives.n_best import NBest
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.scoring import score
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units, learn_units

UNITS = Units("words", ("one", "two"))
BINS = 6
FRAMES = 3
REFERENCES = ((0, 1), (1,))


def batch(weights=(1.0, 1.0)):
    features = np.random.default_rng(1).normal(size=(2, FRAMES, BINS)).astype(np.float32)
    labels = Padded(tf.constant([[0, 1], [1, 0]]), tf.constant([2, 1]))
    frames = Padded(tf.fill((2, FRAMES), -1), tf.constant([FRAMES, FRAMES]))
    return BatchTensors(
        tf.constant(features),
        tf.constant([FRAMES, FRAMES - 1]),
        {"labels": labels, "frames": frames},
        tf.constant(weights),
    )


def by_label(size, weight=0.01):
    training = TrainingRecipe(mwer_hypotheses=size, mwer_base_weight=weight)
    model = tiny_bfa(bins=BINS, units=UNITS.size, pooling=[1])
    base = LabelCrossEntropy(training, UNITS, FeaturesRecipe(), model.framing)
    return MinimumWordError(base, training, UNITS), model


def by_frame(size, weight=0.01):
    training = TrainingRecipe(mwer_hypotheses=size, mwer_base_weight=weight)
    model = build_model(LstmCtcRecipe.model_validate({"family": "lstm_ctc", "layers": 1, "cells": 5}), BINS, UNITS.size)
    base = CtcObjective(training, UNITS, FeaturesRecipe(), model.framing)
    return MinimumWordError(base, training, UNITS), model


def searched(objective, model, tensors):
    return tensors._replace(targets=tensors.targets | objective.n_best(model, tensors))


def gradients(objective, model, tensors):
    with tf.GradientTape() as tape:
        losses = objective.losses(model, tensors, tf.constant(objective.schedule(0)), None)
        loss = tf.reduce_sum(losses.minimised)
    return losses, tape.gradient(loss, [v.value for v in model.trainable_variables], unconnected_gradients="zero")


def log_prob_by_label(model, tensors, utterance, labels):
    count = int(tensors.lengths[utterance])
    features = tensors.features[utterance : utterance + 1, :count]
    padded = tf.constant([[*labels, 0]])
    outputs = model.outputs(Inputs(features, tf.constant([count]), padded, tf.constant([len(labels)])))
    return tf.reduce_sum([outputs.labels[0, i, y] for i, y in enumerate((*labels, UNITS.size))])


def log_prob_by_frame(model, tensors, utterance, labels):
    """The sum over all paths that spell the labels."""
    count = int(tensors.lengths[utterance])
    outputs = model.outputs(Inputs(tensors.features[utterance : utterance + 1, :count], tf.constant([count])))
    blank = UNITS.size
    paths = [
        path
        for path in itertools.product(range(blank + 1), repeat=count)
        if tuple(y for y, _ in itertools.groupby(path) if y != blank) == tuple(labels)
    ]
    return tf.reduce_logsumexp([tf.reduce_sum([outputs.frames[0, t, y] for t, y in enumerate(p)]) for p in paths])


def transcripts(kind, frames):
    """All that the model can say of so many frames."""
    for length in range(frames + 1):
        for labels in itertools.product(range(UNITS.size), repeat=length):
            if kind is by_label or length + sum(a == b for a, b in itertools.pairwise(labels)) <= frames:
                yield labels


@pytest.mark.parametrize(("kind", "log_prob"), [(by_label, log_prob_by_label), (by_frame, log_prob_by_frame)])
def test_the_gradient_is_that_of_the_expectation_over_all_transcripts(kind, log_prob):
    objective, model = kind(15, weight=0.0)  # as many as there are
    tensors = searched(objective, model, batch())
    losses, found = gradients(objective, model, tensors)
    variables = [v.value for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        expected = []
        for utterance, reference in enumerate(REFERENCES):
            every = list(transcripts(kind, int(tensors.lengths[utterance])))
            said = [UNITS.text(labels) for labels in every]
            errors = [score([(UNITS.text(reference), text)]).errors for text in said]
            log_probs = tf.stack([log_prob(model, tensors, utterance, labels) for labels in every])
            expected.append(tf.reduce_sum(tf.nn.softmax(log_probs) * np.array(errors, np.float32)))
        total = tf.add_n(expected)
    np.testing.assert_allclose(losses.reported["word_errors"], expected, rtol=1e-4)
    wanted = tape.gradient(total, variables, unconnected_gradients="zero")
    for variable, one, other in zip(model.trainable_variables, found, wanted, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-3, atol=2e-6, err_msg=variable.path
        )
    assert max(float(tf.reduce_max(tf.abs(tf.convert_to_tensor(one)))) for one in wanted) > 1e-3


def test_the_list_s_mean_is_subtracted_and_missing_hypotheses_count_for_nothing():
    log_probs = tf.math.log([[0.2, 0.1, 0.7], [0.5, 0.5, 0.9], [0.1, 0.1, 0.1]])
    errors = Padded(tf.constant([[0, 2, 1], [3, 1, 9], [9, 9, 9]]), tf.constant([3, 2, 0]))
    minimised, expected = expected_errors(log_probs, errors)
    np.testing.assert_allclose(expected, [0.9, 2.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(minimised, [0.9 - 1.0, 0.0, 0.0], atol=1e-6)


def test_a_hypothesis_that_no_path_of_frames_spells_has_no_probability():
    objective, model = by_frame(3, weight=0.0)
    # Of two frames: more labels than frames; equal ones without a blank between them; and one label.
    hypotheses = Padded(tf.constant([[0, 1, 0], [0, 0, 0], [0, 0, 0]] * 2), tf.constant([3, 2, 1] * 2))
    errors = Padded(tf.constant([[5, 7, 1], [5, 7, 1]]), tf.constant([3, 2]))
    targets = batch().targets | {"hypotheses": hypotheses, "errors": errors}
    losses, found = gradients(objective, model, batch()._replace(targets=targets, lengths=tf.constant([2, 2])))
    np.testing.assert_allclose(losses.reported["word_errors"], [1, 6])  # the second has none that can be said
    np.testing.assert_allclose(losses.minimised, [1 - 13 / 3, 0], rtol=1e-6)
    for gradient in found:
        np.testing.assert_array_equal(tf.convert_to_tensor(gradient), 0.0)


def test_the_other_objective_has_a_small_weight():
    objective, model = by_label(2)
    tensors = searched(objective, model, batch())
    losses = objective.losses(model, tensors, tf.constant(objective.schedule(0)), None)
    hypotheses = tensors.targets["hypotheses"]
    assert hypotheses.values.shape[0] == 4
    counts = tensors.targets["errors"].values.numpy().mean(1)
    rest = losses.minimised - (losses.reported["word_errors"] - counts)
    np.testing.assert_allclose(rest, 0.01 * losses.reported["loss"], rtol=1e-3)
    assert objective.reports == ("loss", "label_error", "word_errors") == tuple(losses.reported)


@pytest.mark.parametrize("kind", [by_label, by_frame])
def test_the_list_has_distinct_transcripts_best_first_and_none_of_a_placeholder(kind):
    objective, model = kind(15)
    tensors = searched(objective, model, batch(weights=(1.0, 0.0)))
    hypotheses, errors = tensors.targets["hypotheses"], tensors.targets["errors"]
    count = len(list(transcripts(kind, FRAMES)))
    assert errors.lengths.numpy().tolist() == [count, 0]
    rows = zip(hypotheses.values.numpy()[:count], hypotheses.lengths.numpy()[:count], strict=True)
    found = [tuple(row[:length]) for row, length in rows]
    assert set(found) == set(transcripts(kind, FRAMES))
    log_prob = log_prob_by_label if kind is by_label else log_prob_by_frame
    log_probs = [float(log_prob(model, tensors, 0, labels)) for labels in found]
    assert log_probs == sorted(log_probs, reverse=True)
    counted = errors.values.numpy()[0, :count].tolist()
    assert counted == [score([("one two", UNITS.text(labels))]).errors for labels in found]


def test_the_list_does_not_depend_on_the_batch_s_others():
    objective, model = by_label(4)
    whole = objective.n_best(model, batch())
    tensors = batch()
    labels = tensors.targets["labels"]
    alone = BatchTensors(
        tensors.features[1:, : FRAMES - 1],
        tensors.lengths[1:],
        {"labels": Padded(labels.values[1:], labels.lengths[1:])},
        tf.ones(1),
    )
    single = objective.n_best(model, alone)
    np.testing.assert_array_equal(single["errors"].values[0], whole["errors"].values[1])
    np.testing.assert_array_equal(single["hypotheses"].lengths, whole["hypotheses"].lengths[4:])


@pytest.mark.parametrize("kind", [by_label, by_frame])
def test_a_model_that_says_nan_has_no_hypotheses_and_no_loss(kind):
    objective, model = kind(3)
    model.assign({name: np.full_like(weight, np.nan) for name, weight in model.named_weights().items()})
    tensors = searched(objective, model, batch())
    assert tensors.targets["errors"].lengths.numpy().tolist() == [0, 0]
    losses = objective.losses(model, tensors, tf.constant(objective.schedule(0)), None)
    assert not np.isfinite(losses.reported["loss"]).any()


def test_empty_frames_give_no_hypotheses():
    objective, model = by_frame(3)
    tensors = batch()
    nothing = tensors._replace(features=tensors.features[:, :0], lengths=tf.constant([0, 0]))
    assert objective.n_best(model, nothing)["errors"].lengths.numpy().tolist() == [0, 0]


def test_pieces_are_those_that_were_found_for_which_there_are_frames():
    text = TextRecipe(units="bpe", pieces=32)
    units = learn_units(text, ["a nana banana ban bananas anna nan na an", "nab ban bana anab"])
    said = [units.symbols.index(piece) for piece in ("ana", "an")]  # a reference would begin with a piece for the space
    assert len(units.labels(units.text(said))) == 3
    scores = np.full((1, 2, units.size + 1), -8.0, np.float32)
    scores[0, [0, 1], said] = 0.0

    class Said:
        bins = 1

        def outputs(self, inputs):
            return Outputs(inputs.lengths, frames=tf.nn.log_softmax(scores))

    labels = Padded(tf.constant([said]), tf.constant([2]))
    tensors = BatchTensors(tf.zeros((1, 2, 1)), tf.constant([2]), {"labels": labels}, tf.ones(1))
    found = NBest(units, 4)(Said(), tensors)["hypotheses"]
    assert found.lengths.numpy().max() <= 2
    assert found.values.numpy()[0].tolist() == said
