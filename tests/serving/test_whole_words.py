import pytest

from sonorant.decoding import Hypothesis, Word
from sonorant.serving.whole_words import keep_whole
from sonorant.text.units import Units

UNITS = Units("characters", (" ", *"einostwx"))


def hypothesis(confidence, *words):
    spelled = tuple(Word(word, start_s, end_s, confidence) for word, start_s, end_s in words)
    text = " ".join(word.word for word in spelled)
    return Hypothesis(tuple(UNITS.labels(text)), text, spelled, confidence)


def kept_of(hypotheses, most=1):
    kept = keep_whole(hypotheses, most, UNITS)
    assert all(UNITS.text(one.units) == one.text for one in kept.alternatives)
    return kept


ONE, TWO, TEN, SIX = ("one", 0.2, 0.5), ("two", 0.8, 1.1), ("ten", 0.8, 1.1), ("six", 1.4, 1.7)


def test_all_words_but_the_last_are_kept_and_recognition_goes_on_a_little_before_it():
    kept = kept_of([hypothesis(0.9, ONE, TWO, SIX)])
    assert [one.text for one in kept.alternatives] == ["one two"]
    assert kept.end_s == pytest.approx(1.3)


def test_without_a_pause_it_goes_on_where_the_last_word_begins():
    assert kept_of([hypothesis(1.0, ONE, ("two", 0.5, 0.9))]).end_s == pytest.approx(0.5)
    assert kept_of([hypothesis(1.0, ONE, ("two", 0.56, 0.9))]).end_s == pytest.approx(0.53)


def test_alternatives_that_differ_in_what_is_dropped_are_one_and_confidences_add_up():
    found = [
        hypothesis(0.35, ONE, TEN, SIX),
        hypothesis(0.3, ONE, TWO, SIX),
        hypothesis(0.2, ONE, TWO),
        hypothesis(0.1, ONE, SIX),
        hypothesis(0.05, ONE, TEN, SIX, ("six", 1.8, 1.9)),
    ]
    kept = kept_of(found, 2).alternatives
    assert [(one.text, one.confidence) for one in kept] == [
        ("one two", pytest.approx(0.5)),
        ("one ten", pytest.approx(0.4)),
    ]
    assert [word.word for word in kept[0].words] == ["one", "two"]
    assert len(kept_of(found, 9).alternatives) == 3


@pytest.mark.parametrize("words", [(), (ONE,)])
def test_one_word_is_not_kept(words):
    assert keep_whole([hypothesis(1.0, *words), hypothesis(0.1, ONE, TWO)], 1, UNITS) is None


@pytest.mark.parametrize(
    ("words", "text"),
    [((("to", 0.2, 0.4), ("six", 0.45, 0.7)), "to"), ((("to", 0.2, 0.6), ("six", 0.7, 0.8)), "to")],
    ids=["its middle is behind the end", "its middle is before the end"],
)
def test_a_word_across_the_end_of_what_is_kept_is_not_the_best(words, text):
    joined = [hypothesis(0.33, ("tosix", 0.2, 0.7)), hypothesis(0.32, ("tosi", 0.2, 0.7), ("x", 0.75, 0.8))]
    best, *_ = kept_of([hypothesis(0.35, *words), *joined], 3).alternatives
    assert best.text == text
