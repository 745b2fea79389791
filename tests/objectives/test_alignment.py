from itertools import groupby

import numpy as np
import pytest

from sonorant.delivery.example import WordSpan
from sonorant.features.section import FeaturesRecipe
from sonorant.objectives.alignment import UNKNOWN, alignment_loss, frame_targets
from sonorant.tensorflow import tf
from sonorant.text.units import Units

RECIPE = FeaturesRecipe(window_ms=25, hop_ms=10, stack=3, stride=3)  # vector t is known at 30 t + 45 ms


WORDS = Units("words", ("one", "two"))
LETTERS = Units("characters", (" ", "e", "n", "o", "t", "w"))


def spelt(units, words, vectors):
    labels = units.labels(" ".join(span.word for span in words))
    return frame_targets(words, labels, units, np.arange(vectors), RECIPE)


def test_targets_name_the_word_around_its_end_and_blank_elsewhere():
    targets = spelt(WORDS, (WordSpan("two", 0.1, 0.3), WordSpan("one", 0.5, 0.8)), 30)
    known_s = 0.03 * np.arange(30) + 0.045
    assert [round(s, 3) for s in known_s[targets == 1]] == [0.225, 0.255, 0.285, 0.315, 0.345]
    assert ((known_s[targets == 0] > 0.71) & (known_s[targets == 0] < 0.85)).all()
    assert (targets == 0).sum() == 4


def test_the_letters_of_a_word_share_its_time_evenly():
    words = (WordSpan("two", 0.3, 0.9), WordSpan("one", 1.2, 2.0))
    targets = spelt(LETTERS, words, 70)
    known_s = 0.03 * np.arange(70) + 0.045
    order = [LETTERS.symbols[int(t)] for t, _ in groupby(targets) if t != LETTERS.blank]
    assert order == list("two one")
    ends_s = {"t": 0.5, "w": 0.7, " ": 1.4, "n": 1.8}
    for letter, end_s in ends_s.items():
        marked = known_s[targets == LETTERS.symbols.index(letter)]
        assert marked[0] - 0.03 <= end_s - 0.07 < marked[0]
        assert marked[-1] < end_s + 0.04 <= marked[-1] + 0.03


def test_doubled_letters_keep_a_blank_between_them():
    units = Units("characters", ("o", "t"))
    targets = frame_targets((WordSpan("too", 0.1, 0.7),), units.labels("too"), units, np.arange(30), RECIPE)
    assert [int(t) for t, _ in groupby(targets)] == [2, 1, 2, 0, 2, 0, 2]


@pytest.mark.parametrize("words", [(), (WordSpan("one", 0, 1),)], ids=["none", "of some words alone"])
def test_an_utterance_without_times_has_no_targets_and_no_loss(words):
    targets = frame_targets(words, WORDS.labels("one two"), WORDS, np.arange(4), RECIPE)
    assert (targets == UNKNOWN).all()
    assert alignment_loss(tf.random.normal((1, 4, 3)), targets[np.newaxis])[0] == 0


def test_loss_sums_the_log_probability_of_each_target():
    log_probs = tf.nn.log_softmax(tf.random.stateless_normal((1, 3, 4), (1, 2)))
    loss = alignment_loss(log_probs, np.array([[2, UNKNOWN, 0]]))
    np.testing.assert_allclose(loss, [-(log_probs[0, 0, 2] + log_probs[0, 2, 0])], rtol=1e-6)
