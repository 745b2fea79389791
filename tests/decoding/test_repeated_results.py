"""Results of a growing text, which take over what stays from the ones before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.reference_ctc_beam import CtcBeamSearch as Reference

from sonorant.decoding import CtcBeamSearch, Hypothesis
from sonorant.text.units import Units

HOP = 0.03
WORDS = Units("words", ("one", "three", "two"))
LETTERS = Units("characters", (" ", "a", "b"))
PIECES = Units("bpe", ("▁", "▁a", "a", "▁aa"))


def spoken(seed, frames, units, sure):
    """Log-probabilities with the peaks of a model: a unit in one frame of four, the clearer the more `sure`."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((frames, units + 1))
    scores[:, units] += sure
    loud = rng.random(frames) < 0.25
    scores[loud, rng.integers(0, units, loud.sum())] += 2 * sure
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


@given(
    seed=st.integers(0, 10_000),
    units=st.sampled_from([WORDS, LETTERS, PIECES]),
    sure=st.sampled_from([1.0, 3.0, 6.0]),
    asked=st.sets(st.integers(0, 89)),
)
@settings(max_examples=60, deadline=None)
def test_results_are_those_of_a_search_that_takes_nothing_over(seed, units, sure, asked):
    log_probs = spoken(seed, 90, units.size, sure)
    search, reference = CtcBeamSearch(units, HOP), Reference(units, HOP)
    for frame, row in enumerate(log_probs):
        search.push(row[None])
        reference.push(row[None])
        if frame not in asked:
            continue
        found, expected = search.hypotheses(4), reference.hypotheses(4)
        assert search.text() == found[0].text
        bare = search.hypotheses(4, words=False)
        assert bare == [Hypothesis(one.units, one.text, (), one.confidence) for one in found]
        for one, other in zip(found, expected, strict=True):
            assert (one.text, one.units) == (other.text, other.units)
            assert one.confidence == pytest.approx(other.confidence, rel=1e-6)
            for word, same in zip(one.words, other.words, strict=True):
                assert (word.word, word.start_s, word.end_s) == (same.word, same.start_s, same.end_s)
                assert word.confidence == pytest.approx(same.confidence, rel=1e-6)


def test_how_often_results_are_asked_for_changes_no_bit():
    log_probs = spoken(3, 1000, 3, 6.0)
    often, once = CtcBeamSearch(WORDS, HOP), CtcBeamSearch(WORDS, HOP)
    once.push(log_probs)
    for at in range(0, len(log_probs), 7):
        often.push(log_probs[at : at + 7])
        often.hypotheses(8 if at % 2 else 1)
    assert often.hypotheses(8) == once.hypotheses(8)


def test_words_that_stay_are_the_same_objects():
    log_probs = spoken(5, 1010, 3, 9.0)
    search = CtcBeamSearch(WORDS, HOP)
    search.push(log_probs[:1000])
    (before,) = search.hypotheses(1)
    search.push(log_probs[1000:])
    (after,) = search.hypotheses(1)
    same = sum(one is other for one, other in zip(before.words, after.words, strict=False))
    assert same > 0.9 * len(before.words) > 100
