import numpy as np
import pytest
from rigs.tiny_bfa import SECTION, tiny_bfa
from rigs.tiny_mocha import tiny_mocha

from sonorant.delivery.example import Example, Lineage
from sonorant.errors import RejectedExample
from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs
from sonorant.models.section import BfaRecipe
from sonorant.objectives.ctc import ctc_loss
from sonorant.objectives.label_cross_entropy import LabelCrossEntropy, label_cross_entropy, quantity_loss
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

UNITS = Units("words", ("four", "one", "three", "two"))
FRAMING = BfaRecipe.model_validate({**SECTION, "pooling": [3]}).framing


def objective(**training):
    return LabelCrossEntropy(TrainingRecipe(**training), UNITS, FeaturesRecipe(), FRAMING)


def example(text):
    return Example(Lineage(0, 0, 0), "u", text, 8000, 1.0)


def batch(labels, lengths):
    features = np.random.default_rng(1).normal(size=(2, 12, 6)).astype(np.float32)
    padded = Padded(tf.constant(labels), tf.constant(lengths))
    return BatchTensors(tf.constant(features), tf.constant([12, 9]), {"labels": padded}, tf.ones(2))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss_is_the_divergence_from_smoothed_targets(smoothing):
    rng = np.random.default_rng(2)
    log_probs = np.array(tf.nn.log_softmax(rng.normal(size=(2, 3, 5))), np.float32)
    labels, lengths = np.array([[0, 4, 2], [3, 1, 1]]), [3, 2]
    loss = label_cross_entropy(log_probs, labels, lengths, smoothing)
    targets = (1 - smoothing) * np.eye(5)[labels] + smoothing / 5
    each = -(targets * log_probs).sum(2)
    np.testing.assert_allclose(loss, [each[0].sum(), each[1, :2].sum()], rtol=1e-5)


def test_what_is_minimised_and_reported_is_of_labels_and_end_without_their_padding():
    model = tiny_bfa(ctc=True)
    losses = [
        objective(label_smoothing=0.1, ctc_weight=0.25).losses(
            model, batch(labels, [3, 1]), tf.constant([0.0, 0.0]), None
        )
        for labels in ([[0, 1, 3], [2, 0, 0]], [[0, 1, 3], [2, 3, 1]])
    ]
    outputs = model.outputs(_inputs(batch([[0, 1, 3], [2, 0, 0]], [3, 1])))
    log_probs = outputs.labels.numpy()
    chosen = [log_probs[0, range(4), [0, 1, 3, 4]], log_probs[1, range(2), [2, 4]]]
    expected = np.array([-row.sum() for row in chosen])
    smooth = np.array([-log_probs[0, :4].mean(1).sum(), -log_probs[1, :2].mean(1).sum()])
    ctc = ctc_loss(outputs.frames, outputs.lengths, [[0, 1, 3], [2, 0, 0]], [3, 1]).numpy()
    wrong = [(log_probs[0, :4].argmax(1) != [0, 1, 3, 4]).mean(), (log_probs[1, :2].argmax(1) != [2, 4]).mean()]
    for found in losses:
        np.testing.assert_allclose(found.reported["loss"], expected, rtol=1e-5)
        np.testing.assert_allclose(found.reported["label_error"], wrong, rtol=1e-5)
        np.testing.assert_allclose(found.reported["ctc"], ctc, rtol=1e-4)
        np.testing.assert_allclose(found.minimised, 0.75 * (0.9 * expected + 0.1 * smooth) + 0.25 * ctc, rtol=1e-4)


def test_quantity_is_the_difference_of_labels_and_weights_without_padding():
    attention = np.random.default_rng(2).uniform(0, 0.4, (2, 4, 3)).astype(np.float32)
    expected = [abs(4 - attention[0].sum()), abs(2 - attention[1, :2].sum())]
    np.testing.assert_allclose(quantity_loss(attention, [4, 2]), expected, rtol=1e-5)
    np.testing.assert_allclose(quantity_loss(attention * 9, [1, 2])[0], attention[0, 0].sum() * 9 - 1, rtol=1e-5)


def test_quantity_loss_is_added_with_its_weight_and_reported():
    model, tensors, seed = tiny_mocha(), batch([[0, 1, 3], [2, 0, 0]], [3, 1]), tf.constant([1, 2])
    plain, weighted = (
        objective(**options).losses(model, tensors, tf.constant([0.0]), seed)
        for options in ({}, {"quantity_weight": 2})
    )
    quantity = quantity_loss(model.outputs(_inputs(tensors), seed).attention, tf.constant([4, 2]))
    assert (quantity.numpy() > 0.1).any()
    np.testing.assert_allclose(weighted.reported["quantity"], quantity, rtol=1e-5)
    np.testing.assert_allclose(weighted.minimised - plain.minimised, 2 * quantity, atol=1e-4)
    assert "quantity" not in plain.reported


def test_the_end_that_aligned_heads_stop_nowhere_for_is_no_part_of_the_quantity():
    model, tensors, seed = tiny_mocha(ctc=True), batch([[0, 1, 3], [2, 0, 0]], [3, 1]), tf.constant([1, 2])
    chosen = objective(quantity_weight=2, ctc_weight=0.3, head_weight=1)
    found = chosen.losses(model, tensors, tf.constant(chosen.schedule(0)), seed).reported["quantity"]
    attention = model.outputs(_inputs(tensors), seed).attention
    np.testing.assert_allclose(found, quantity_loss(attention, tf.constant([3, 1])), rtol=1e-5)


def _inputs(tensors):
    return Inputs(tensors.features, tensors.lengths, *tensors.targets["labels"])


def test_reports_are_what_losses_report():
    assert objective().reports == ("loss", "label_error")
    assert objective(quantity_weight=0.3).reports == ("loss", "label_error", "quantity")
    assert objective(ctc_weight=0.3).reports == ("loss", "label_error", "ctc")
    assert objective(ctc_weight=0.3, head_weight=1).reports == ("loss", "label_error", "ctc", "heads")


def test_the_share_of_sampling_rises_linearly():
    chosen = objective(sampling=0.4, sampling_steps=10)
    assert [round(chosen.schedule(step)[0], 3) for step in (0, 5, 10, 99)] == [0.0, 0.2, 0.4, 0.4]
    assert objective().schedule(99) == (0.0,)


def test_heads_are_aligned_after_their_first_steps():
    chosen = objective(ctc_weight=0.3, head_weight=2, head_after_steps=10)
    assert [chosen.schedule(step)[1] for step in (0, 9, 10, 99)] == [0.0, 0.0, 2.0, 2.0]


def test_targets_are_the_units():
    assert objective().targets(example("two one one"), 7)["labels"].tolist() == [3, 1, 1]


@pytest.mark.parametrize(
    ("text", "frames", "training", "message"),
    [
        ("", 9, {}, "empty transcript"),
        ("five", 9, {}, "has 'five'"),
        (
            "two one one",
            6,
            {},
            "6 feature vectors, which make 2 encoded frames, for 3 units: expected at least as many",
        ),
        ("two one one", 9, {"ctc_weight": 0.1}, "which make 3 encoded frames, for 3 units: CTC needs at least 4"),
    ],
)
def test_what_cannot_be_trained_on_is_rejected(text, frames, training, message):
    with pytest.raises(RejectedExample, match=message):
        objective(**training).targets(example(text), frames)
