import jiwer
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.alignment import align
from sonorant.text.scoring import bootstrap_interval, confusions, error_rate, score

words = st.lists(st.sampled_from(["zero", "one", "two", "three", "tree"]), max_size=8).map(" ".join)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=8)


def distance(reference, hypothesis):
    """Levenshtein's recursion, row by row."""
    row = list(range(len(hypothesis) + 1))
    for i, said in enumerate(reference, 1):
        above, row = row, [i]
        for j, heard in enumerate(hypothesis, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (said != heard)))
    return row[-1]


@given(pairs)
def test_counts_and_rate_equal_jiwers(texts):
    texts = [pair for pair in texts if pair[0]] or [("one", "two")]  # jiwer has its own idea of empty references
    expected = jiwer.process_words([r for r, _ in texts], [h for _, h in texts])
    found = score(texts)
    assert (found.substitutions, found.insertions, found.deletions) == (
        expected.substitutions,
        expected.insertions,
        expected.deletions,
    )
    assert found.rate == pytest.approx(expected.wer)


@given(pairs)
def test_character_error_rate_equals_jiwers(texts):
    texts = [pair for pair in texts if pair[0]] or [("one", "two")]
    assert score(texts, unit="character").rate == pytest.approx(jiwer.cer([r for r, _ in texts], [h for _, h in texts]))


@given(words, words)
def test_no_alignment_has_fewer_errors(reference, hypothesis):
    assert align(reference, hypothesis).errors == distance(reference.split(), hypothesis.split())


@given(words, words)
def test_an_alignment_spells_both_sides(reference, hypothesis):
    alignment = align(reference, hypothesis)
    assert [step.reference for step in alignment.steps if step.reference] == reference.split()
    assert [step.hypothesis for step in alignment.steps if step.hypothesis] == hypothesis.split()
    assert alignment.reference_words == len(reference.split())


def test_known_answer():
    rate = score([("one two three four", "one too three four five"), ("six seven", "seven")])
    assert (rate.substitutions, rate.insertions, rate.deletions, rate.reference_words) == (1, 1, 1, 6)
    assert rate.rate == 0.5
    assert rate.per_utterance == ((2, 4), (1, 2))


def test_an_empty_reference_counts_what_was_heard():
    assert score([("", "one two")]).rate == 2
    assert score([("", "")]).rate == 0
    assert score([("one", "one"), ("", "two")]).rate == 1


def test_no_utterances_have_no_errors():
    assert score([]).rate == 0
    assert score([]).interval_95 == (0, 0)


def test_an_alignment_of_lists_takes_their_items():
    assert align(["a b", "c"], ["a b"]).deletions == 1


def test_interval_holds_the_rate_and_is_the_same_each_time():
    texts = [("one two three", "one two three")] * 30 + [("one two", "two")] * 10
    low, high = score(texts).interval_95
    assert low < score(texts).rate < high
    assert (low, high) == score(texts).interval_95


def test_interval_covers_the_true_rate_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(100):
        sample = [(int(errors), 10) for errors in rng.binomial(10, 0.2, size=60)]
        low, high = bootstrap_interval(sample, rng)
        covered += low <= 0.2 <= high
    assert 88 <= covered <= 100


def test_interval_shrinks_with_the_root_of_the_utterances():
    rng = np.random.default_rng(0)
    widths = [
        np.ptp(bootstrap_interval([(int(e), 10) for e in rng.binomial(10, 0.2, size=n)], rng)) for n in (100, 1600)
    ]
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.3)


def test_confusions_count_every_pair():
    table = confusions([align("one two two", "one too two"), align("one", "one four")])
    assert table == {("one", "one"): 2, ("two", "too"): 1, ("two", "two"): 1, ("", "four"): 1}


def test_error_rate_of_alignments_is_the_score():
    assert error_rate([align("one two", "one")]) == score([("one two", "one")])


def test_a_sentence_with_any_error_counts_once():
    rate = score([("one two", "one two"), ("one two", "too won"), ("", "one"), ("one", "one")])
    assert (rate.sentence_errors, rate.sentence_rate) == (2, 0.5)
    assert score([]).sentence_rate == 0


@given(pairs)
def test_the_sentence_error_rate_is_the_share_of_texts_that_differ(texts):
    assert score(texts).sentence_rate == sum(r.split() != h.split() for r, h in texts) / len(texts)


def _by_speakers(rng, speakers, utterances=5):
    """Errors of 10 words an utterance; each speaker has an error rate of their own, 20 % on average."""
    rates = rng.beta(2, 8, speakers)
    return [[(int(errors), 10) for errors in rng.binomial(10, rate, utterances)] for rate in rates]


def _coverage(rng, speakers, by_speaker):
    covered = 0
    for _ in range(60):
        counts = _by_speakers(rng, speakers)
        said = [tuple(np.sum(own, axis=0)) for own in counts] if by_speaker else [c for own in counts for c in own]
        low, high = bootstrap_interval(said, rng)
        covered += low <= 0.2 <= high
    return covered


def test_only_resampled_speakers_give_an_interval_that_holds_the_rate_of_other_speakers():
    rng = np.random.default_rng(0)
    assert _coverage(rng, 30, by_speaker=True) >= 52
    assert _coverage(rng, 30, by_speaker=False) <= 45


def test_speakers_are_resampled_where_all_are_known_and_at_least_ten():
    texts = [("one two", "one two"), ("one two", "one")] * 10
    speakers = [str(i % 10) for i in range(20)]
    assert score(texts, speakers=speakers).resampled == "speaker"
    assert score(texts, speakers=["", *speakers[1:]]).resampled == "utterance"
    assert score(texts, speakers=[str(i % 9) for i in range(20)]).resampled == "utterance"
    assert score(texts).resampled == "utterance"
    # Speaker k has two utterances, both right or both wrong: five of ten speakers at 50 %.
    expected = bootstrap_interval([(0, 4), (2, 4)] * 5, np.random.default_rng(0))
    assert score(texts, speakers=speakers).interval_95 == expected != score(texts).interval_95
