import itertools

import pytest

from sonorant.decoding import Hypothesis, Word
from sonorant.serving.results import Result, join_results, later, nothing


def result(start_s, *texts):
    alternatives = tuple(
        Hypothesis((len(text),), text, (Word(text, start_s, start_s + 1, 0.5),) if text else (), confidence)
        for text, confidence in texts
    )
    return Result(alternatives, True, 1.0, start_s + 1, start_s)


FIRST = result(0.0, ("one", 0.6), ("two", 0.3))
SECOND = result(5.0, ("three", 0.9), ("four", 0.05), ("", 0.01))


def test_joined_alternatives_are_the_most_probable_of_all_combinations():
    joined = join_results([FIRST, nothing(1.0, 5.0), SECOND], 4)
    every = sorted(
        itertools.product(FIRST.alternatives, SECOND.alternatives), key=lambda p: -p[0].confidence * p[1].confidence
    )
    assert [one.text for one in joined.alternatives] == [f"{a.text} {b.text}" for a, b in every[:4]]
    assert [one.confidence for one in joined.alternatives] == pytest.approx(
        [a.confidence * b.confidence for a, b in every[:4]]
    )
    best = joined.alternatives[0]
    assert [word.word for word in best.words] == ["one", "three"]
    assert best.units == (3, 5)
    assert (joined.start_s, joined.end_s) == (0.0, 6.0)


def test_an_empty_text_adds_no_space():
    assert join_results([nothing(0.0, 5.0), SECOND], 1).alternatives[0].text == "three"
    assert join_results([SECOND, nothing(6.0, 7.0)], 1).alternatives[0].text == "three"


def test_words_are_moved_and_confidences_are_not():
    (word,) = later(FIRST.alternatives[0], 2.5).words
    assert word == Word("one", 2.5, 3.5, 0.5)
    assert later(FIRST.alternatives[0], 0.0) is FIRST.alternatives[0]
