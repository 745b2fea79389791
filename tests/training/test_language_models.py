"""Language models in the training loop: text in, perplexity out."""

import math

import numpy as np
import pytest
from rigs.tiny_lm import LSTM, SECTIONS, TRANSFORMER, text_recipe, tiny_lm
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import SHARD, WORDS, tiny_units

from sonorant.delivery.example import Example, Lineage
from sonorant.delivery.ledger import MemoryLedger
from sonorant.errors import RejectedExample
from sonorant.objectives.next_label import NextLabel
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.tensorflow import tf
from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.collective import SingleProcess
from sonorant.training.loop import Reason
from sonorant.training.perplexity import PerplexityEvaluator
from sonorant.training.text_labeller import TextLabeller

TOTAL = 22
SMALL = [{**LSTM, "layers": 1}, {**TRANSFORMER, "layers": 1}]
# Probabilities of the next word, or the end, after each word and at the start: a first-order Markov source.
SOURCE = np.array([[0.05, 0.8, 0.05, 0.0, 0.1], [0.1, 0.0, 0.6, 0.2, 0.1], [0.7, 0.1, 0, 0, 0.2], [0, 0, 0.9, 0, 0.1]])
START = np.array([0.5, 0.0, 0.0, 0.5, 0.0])


def sentence(number):
    """Draw a sentence, and return it with its log-probability under the source."""
    rng, row, words, log_prob = np.random.default_rng(number), START, [], 0.0
    while True:
        chosen = int(rng.choice(5, p=row))
        log_prob += math.log(row[chosen])
        if chosen == 4:
            return " ".join(words), log_prob
        words.append(WORDS[chosen])
        row = SOURCE[chosen]


def text_example(ordinal, epoch=0):
    lineage = Lineage(epoch, ordinal // SHARD, ordinal % SHARD)
    return Example(lineage, f"train.txt:{ordinal}", sentence(ordinal)[0], 16000, 0.0)


DEV = [sentence(number) for number in range(10_000, 10_200)]


def trainer(recipe, folder, ledger, total, **options):
    return tiny_trainer(recipe, folder, ledger, total, make=text_example, dev=[text for text, _ in DEV], **options)


@pytest.mark.parametrize("section", SMALL, ids=SECTIONS)
def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(section, tmp_path):
    recipe = text_recipe({**section, "dropout": 0.2}, "strict", weight_average=0.9)
    whole = trainer(recipe, tmp_path / "whole", MemoryLedger(TOTAL), TOTAL)
    assert run(whole) is Reason.EPOCHS
    ledger = MemoryLedger(TOTAL)
    assert run(trainer(recipe, tmp_path / "cut", ledger, TOTAL, terminate_after=4)) is Reason.TERMINATED
    resumed = trainer(recipe, tmp_path / "cut", ledger, TOTAL)
    assert 0 < resumed.progress.step < whole.progress.step
    run(resumed)
    np.testing.assert_array_equal(weights(resumed), weights(whole))


def test_the_perplexity_on_dev_approaches_that_of_the_source(tmp_path):
    recipe = text_recipe(SMALL[0], epochs=8, batch_examples=16, pool_examples=200, learning_rate=0.05, decay_steps=190)
    trained = trainer(recipe, tmp_path, MemoryLedger(400), 400)
    run(trained)
    symbols = sum(len(text.split()) + 1 for text, _ in DEV)
    true = math.exp(-sum(log_prob for _, log_prob in DEV) / symbols)
    found = [row["perplexity"] for row in lines(tmp_path, "dev")]
    assert true < found[-1] < 1.03 * true
    assert trained.progress.best_dev == min(found)
    assert load_checkpoint(tmp_path / "checkpoints", "best").progress.dev == min(found)


def test_perplexity_is_that_of_all_labels_and_ends():
    model, units = tiny_lm(), tiny_units()
    texts = ["one two", "three", "four four four one two", "none", "two"] * 20
    evaluator = PerplexityEvaluator(model, units, iter(texts), SingleProcess())
    evaluator.load()
    counted = []
    found = evaluator.measure(counted.append)
    cost, symbols = 0.0, 0
    for labels in (units.labels(text) for text in texts if text != "none"):
        log_probs = model.log_probs(tf.constant([labels])).numpy()[0].astype(np.float64)
        cost -= log_probs[np.arange(len(labels) + 1), [*labels, 4]].sum()
        symbols += len(labels) + 1
    assert found == pytest.approx(math.exp(cost / symbols), rel=1e-6)
    assert (evaluator.left_out, sum(counted)) == (20, 80)


def test_the_loss_is_the_sum_over_labels_and_end_without_padding():
    model = tiny_lm()
    labels, lengths = tf.constant([[0, 1, 3], [2, 0, 0]]), tf.constant([3, 1])
    batch = BatchTensors(tf.zeros((2, 4, 0)), lengths + 1, {"labels": Padded(labels, lengths)}, tf.ones(2))
    losses = NextLabel(tiny_units()).losses(model, batch, tf.constant(()), tf.constant([0, 1]))
    first, second = model.log_probs(labels).numpy()
    expected = [-first[[0, 1, 2, 3], [0, 1, 3, 4]].sum(), -second[[0, 1], [2, 4]].sum()]
    np.testing.assert_allclose(losses.minimised, expected, rtol=1e-5)
    np.testing.assert_allclose(losses.reported["loss"], expected, rtol=1e-5)
    np.testing.assert_array_equal(losses.reported["labels"], [4, 2])
    wrong = [(first.argmax(1) != [0, 1, 3, 4]).mean(), (second[:2].argmax(1) != [2, 4]).mean()]
    np.testing.assert_allclose(losses.reported["label_error"], wrong, rtol=1e-5)
    assert tuple(losses.reported) == NextLabel.reports


def test_sentences_are_as_long_as_their_labels_and_the_end():
    labeller = TextLabeller(NextLabel(tiny_units()), [SHARD])
    labelled = labeller(Example(Lineage(0, 0, 3), "u", "two one one", 16000, 0.0))
    assert (labelled.frames, labelled.features.shape, labelled.ordinal) == (4, (4, 0), 3)
    assert labelled.targets["labels"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(("text", "message"), [("", "empty sentence"), ("one five", "has 'five'")])
def test_what_cannot_be_trained_on_is_rejected(text, message):
    with pytest.raises(RejectedExample, match=message):
        NextLabel(tiny_units()).targets(Example(Lineage(0, 0, 0), "u", text, 16000, 0.0), 0)
