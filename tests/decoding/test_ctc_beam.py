import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rigs.reference_ctc_beam import CtcBeamSearch as Reference

from benchmarks.rigs.spoken_text import Language
from sonorant.decoding import BadLogProbs, CtcBeamSearch, best_path
from sonorant.text.units import Units

WORDS = Units("words", ("one", "three", "two"))
HOP = 0.03


def log_softmax(scores):
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def frames(*probabilities):
    with np.errstate(divide="ignore"):
        return np.log(np.array(probabilities, np.float64))


def exhaustive(log_probs):
    """Sum, and best single alignment with its spans, of every unit sequence, by going through all alignments."""
    blank = log_probs.shape[1] - 1
    sums, best = {}, {}
    for alignment in itertools.product(range(blank + 1), repeat=len(log_probs)):
        score = sum(row[unit] for row, unit in zip(log_probs, alignment, strict=True))
        runs = [(unit, list(group)) for unit, group in itertools.groupby(enumerate(alignment), key=lambda p: p[1])]
        runs = [(unit, group[0][0], group[-1][0]) for unit, group in runs if unit != blank]
        units = tuple(unit for unit, _, _ in runs)
        sums[units] = sums.get(units, 0.0) + math.exp(score)
        best.setdefault(units, []).append((score, tuple((first, last) for _, first, last in runs)))
    return sums, {units: sorted(found, reverse=True) for units, found in best.items()}


scores = st.tuples(st.integers(1, 5), st.integers(2, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-6, 6))
)


@given(scores)
@settings(max_examples=80)
def test_a_full_beam_sums_over_all_alignments(scores):
    log_probs = log_softmax(scores)
    units = Units("words", WORDS.symbols[: scores.shape[1] - 1])
    search = CtcBeamSearch(units, HOP, beam=10_000, unit_floor=0.0, blank_only=1.0)
    search.push(log_probs)
    found = {hypothesis.units: hypothesis for hypothesis in search.hypotheses(10_000)}
    sums, best = exhaustive(log_probs)
    assert found.keys() == sums.keys()
    for units_, probability in sums.items():
        assert found[units_].confidence == pytest.approx(probability, rel=1e-9)
        equally_good = [spans for score, spans in best[units_] if score > best[units_][0][0] - 1e-9]
        spans = tuple((round(w.start_s / HOP), round(w.end_s / HOP) - 1) for w in found[units_].words)
        assert spans in equally_good


@given(arrays(np.float64, (40, 4), elements=st.floats(-6, 6)), st.lists(st.integers(0, 40), max_size=6))
@settings(max_examples=50)
def test_results_do_not_depend_on_chunks(scores, cuts):
    log_probs = log_softmax(scores).astype(np.float32)
    whole, cut = CtcBeamSearch(WORDS, HOP), CtcBeamSearch(WORDS, HOP)
    whole.push(log_probs)
    for chunk in np.split(log_probs, sorted(cuts)):
        cut.push(chunk)
    assert whole.hypotheses(8) == cut.hypotheses(8)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.7, 0.99)), min_size=1, max_size=15))
@settings(max_examples=50)
def test_skipping_near_certain_blanks_costs_no_more_than_they_leave_to_units(spoken):
    rows = []
    for unit, probability in spoken:
        row = np.full(4, (1 - probability) / 3)
        row[unit] = probability
        rows += [row, [0.0003, 0.0003, 0.0003, 0.9991]]
    quick = CtcBeamSearch(WORDS, HOP, beam=32)
    exact = CtcBeamSearch(WORDS, HOP, beam=32, unit_floor=0.0, blank_only=1.0)
    quick.push(frames(*rows))
    exact.push(frames(*rows))
    best, expected = quick.hypotheses(1)[0], exact.hypotheses(1)[0]
    assert best.text == expected.text
    assert best.confidence == pytest.approx(expected.confidence, abs=0.001 * len(spoken))


def test_words_carry_the_times_of_their_frames():
    search = CtcBeamSearch(WORDS, HOP)
    silence, one, two = [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]
    search.push(frames(silence, one, one, silence, one, silence, silence, two, silence))
    search.finish()
    (best,) = search.hypotheses(1)
    assert best.text == "one one two"
    assert best.confidence == pytest.approx(1.0)
    spans = [(round(word.start_s / HOP, 6), round(word.end_s / HOP, 6)) for word in best.words]
    assert spans == [(1, 3), (4, 5), (7, 8)]


def test_characters_join_to_words_and_spaces_belong_to_none():
    units = Units("characters", (" ", "a", "b"))
    a, b, space, silence = [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]
    search = CtcBeamSearch(units, HOP)
    search.push(frames(a, b, silence, space, silence, b, space))
    (best,) = search.hypotheses(1)
    assert best.text == "ab b"
    assert [(w.word, round(w.start_s / HOP), round(w.end_s / HOP)) for w in best.words] == [("ab", 0, 2), ("b", 5, 6)]


def test_hypotheses_that_spell_the_same_text_are_one():
    units = Units("characters", (" ", "a"))
    search = CtcBeamSearch(units, HOP)
    search.push(frames([0, 1, 0], [0.4, 0, 0.6]))  # "a" with and without a space after it
    (best,) = search.hypotheses(5)
    assert (best.text, best.confidence) == ("a", pytest.approx(1.0))


@given(arrays(np.float64, (20, 4), elements=st.floats(-6, 6)))
@settings(max_examples=50)
def test_the_text_is_that_of_the_best_hypothesis(scores):
    search = CtcBeamSearch(Units("characters", (" ", "a", "b")), HOP)
    search.push(log_softmax(scores))
    assert search.text() == search.hypotheses(1)[0].text


def test_word_confidence_sums_over_hypotheses_with_that_word_there():
    search = CtcBeamSearch(WORDS, HOP)
    silence = [0, 0, 0, 1]
    search.push(frames([1, 0, 0, 0], silence, silence, silence, silence, silence, [0, 0.3, 0.7, 0]))
    best, second = search.hypotheses(5)
    assert [w.word for w in best.words] == ["one", "two"]
    assert [w.confidence for w in best.words] == [pytest.approx(1.0), pytest.approx(0.7)]
    assert [w.confidence for w in second.words] == [pytest.approx(1.0), pytest.approx(0.3)]


def test_the_same_word_elsewhere_does_not_raise_confidence():
    search = CtcBeamSearch(WORDS, HOP)
    silence = [0, 0, 0, 1]
    search.push(frames([0.4, 0, 0, 0.6], *[silence] * 20, [1, 0, 0, 0]))
    best = search.hypotheses(1)[0]
    assert best.text == "one"
    assert best.words[0].confidence == pytest.approx(1.0)  # at the end, where all paths have it
    both = search.hypotheses(2)[1]
    assert [w.confidence for w in both.words] == [pytest.approx(0.4), pytest.approx(1.0)]


def test_a_word_of_an_alternative_is_one_of_two_that_are_said_again():
    units = Units("characters", (" ", "n", "o"))
    n, o, silence = [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]
    search = CtcBeamSearch(units, HOP, beam=64, unit_floor=0, blank_only=1)
    ambiguous = [0, 0, 0.7, 0.3], [0.6, 0, 0, 0.4], [0, 0.6, 0, 0.4], [0, 0, 0.6, 0.4]
    search.push(frames(n, silence, o, *ambiguous))
    found = search.hypotheses(64)
    twice = sum(one.confidence for one in found if [word.word for word in one.words].count("no") > 1)
    best = next(one for one in found if one.text == "no no")
    once, again = (word.confidence for word in best.words)
    assert again == pytest.approx(twice, abs=1e-9)
    assert once > 2 * twice
    later = CtcBeamSearch(WORDS, HOP)
    later.push(frames([0.4, 0, 0, 0.6], silence, [1, 0, 0, 0]))
    both = next(one for one in later.hypotheses(2) if one.text == "one one")
    assert [word.confidence for word in both.words] == [pytest.approx(0.4), pytest.approx(1.0)]


def test_nothing_pushed_is_the_empty_text():
    (best,) = CtcBeamSearch(WORDS, HOP).hypotheses(3)
    assert (best.text, best.words, best.confidence) == ("", (), 1.0)


def test_a_pruned_unit_still_lets_its_prefix_repeat():
    search = CtcBeamSearch(WORDS, HOP, unit_candidates=1)
    search.push(frames([0.9, 0.05, 0.05, 0.0], [0.3, 0.4, 0.2, 0.1]))
    texts = {h.text: h.confidence for h in search.hypotheses(8)}
    assert texts["one"] / texts["one three"] == pytest.approx((0.3 + 0.1) / 0.4)


def test_a_certain_model_is_decoded_as_greedily():
    rng = np.random.default_rng(7)
    log_probs = log_softmax(rng.standard_normal((200, 4)) * 40)
    search = CtcBeamSearch(WORDS, HOP)
    search.push(log_probs)
    assert list(search.hypotheses(1)[0].units) == best_path(log_probs)


def test_memory_follows_the_transcript_and_not_the_frames():
    rng = np.random.default_rng(3)
    search = CtcBeamSearch(WORDS, HOP)
    for _ in range(4):
        search.push(frames([0.3, 0.0, 0.0, 0.7], *[[0.0, 0.0, 0.0, 1.0]] * 9))
        search.push(log_softmax(np.array([0, 0, 0, 9.0]) + rng.standard_normal((10_000, 4)) * 2))
        longest = max(len(hypothesis.units) for hypothesis in search.hypotheses(8))
        assert search.prefixes < 4 * longest + 2000


@given(st.integers(0, 2**32), st.floats(0.1, 6), st.integers(1, 20), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_compiled_search_finds_what_the_reference_finds(seed, scale, beam, candidates):
    # Random, so without ties, which the reference breaks as it happens.
    log_probs = log_softmax(scale * np.random.default_rng(seed).standard_normal((60, 4))).astype(np.float32)
    units = Units("characters", (" ", "a", "b"))
    same(*(pushed(kind(units, HOP, beam, candidates), log_probs) for kind in (CtcBeamSearch, Reference)))


@pytest.mark.parametrize("beam", [8, 64])
def test_the_compiled_search_finds_what_the_reference_finds_with_many_units(beam):
    language = Language(3)
    for utterance in language.utterances(2):
        same(*(pushed(kind(language.units, HOP, beam), utterance.log_probs) for kind in (CtcBeamSearch, Reference)))


@pytest.mark.parametrize("frame", [[0.6, 0.3, 0.1], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
@pytest.mark.parametrize("beam", [1, 2])
def test_a_frame_and_a_small_beam_find_what_the_reference_finds(frame, beam):
    units = Units("words", ("one", "two"))
    same(*(pushed(kind(units, HOP, beam), frames(frame)) for kind in (CtcBeamSearch, Reference)))


def test_of_equal_units_and_prefixes_those_with_the_lowest_numbers_stay():
    units = Units("words", tuple(f"w{number}" for number in range(200)))
    search = CtcBeamSearch(units, HOP, beam=5, unit_candidates=12)
    search.push(np.full((1, 201), -np.log(201)))
    assert sorted(hypothesis.units for hypothesis in search.hypotheses(20)) == [(), (0,), (1,), (2,), (3,)]


def test_without_units_there_is_only_silence():
    for units in (Units("words", ()), Units("characters", ())):
        (best,) = pushed(CtcBeamSearch(units, HOP), np.zeros((3, 1)))
        assert (best.text, best.words, best.confidence) == ("", (), 1.0)


def test_spaces_within_units_and_jamo_across_them_are_those_of_the_reference():
    spaces = Units("characters", (" ", "a b", " c", "d"))
    jamo = Units("characters", (" ", *"\u1100\u1102\u1161\u11a8"), jamo=True)
    for units in (spaces, jamo):
        for seed in range(20):
            log_probs = log_softmax(3 * np.random.default_rng(seed).standard_normal((12, units.size + 1)))
            same(*(pushed(kind(units, HOP), log_probs) for kind in (CtcBeamSearch, Reference)))


def pushed(search, log_probs):
    search.push(log_probs)
    return search.hypotheses(4)


def same(found, expected):
    assert [h.text for h in found] == [h.text for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.confidence == pytest.approx(other.confidence, rel=1e-9)
        assert [(w.word, w.start_s, w.end_s) for w in one.words] == [(w.word, w.start_s, w.end_s) for w in other.words]
        assert [w.confidence for w in one.words] == pytest.approx([w.confidence for w in other.words], rel=1e-9)


@pytest.mark.parametrize(
    ("log_probs", "reason"),
    [
        (np.zeros((2, 3)), "expected .*, 4.*, blank last"),
        (np.zeros(4), "expected"),
        (np.full((1, 4), np.nan), "NaN"),
        (np.array([[0.0, 0.0, 0.0, np.nan]]), "NaN"),
        (np.array([[0.0, np.nan, -9.0, 0.0]], np.float32), "NaN"),
        (np.full((1, 4), -np.inf), "frame 0 leaves a total probability of 0.0"),
        (np.full((1, 4), np.inf), "frame 0 leaves a total probability of inf"),
    ],
)
def test_impossible_log_probs_are_refused(log_probs, reason):
    with pytest.raises(BadLogProbs, match=reason):
        CtcBeamSearch(WORDS, HOP).push(log_probs)


def test_frames_after_finish_are_refused():
    search = CtcBeamSearch(WORDS, HOP)
    search.finish()
    with pytest.raises(BadLogProbs, match="finish"):
        search.push(np.zeros((1, 4)))
