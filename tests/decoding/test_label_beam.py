import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.decoding import BadLogProbs, Fusion, LabelBeam, Scoring
from sonorant.decoding.label_search import LabelSearch, search_in_batches
from sonorant.text.units import Units

WORDS = Units("words", ("one", "three", "two"))


class Table:
    """Made-up log-probabilities, a function of the labels before and of the utterance's number, which is its frames.

    As a decoder (`attends`) it has attention too; its state holds the labels of each hypothesis.
    """

    def __init__(self, symbols, seed, attends=True):
        self.symbols, self.seed, self.attends = symbols, seed, attends

    def row(self, number, labels):
        rng = np.random.default_rng([self.seed, number, *(label + 1 for label in labels)])
        scores = rng.normal(0, 2, self.symbols)
        weights = rng.dirichlet(np.full(3 + number % 3, 0.3))
        return scores - np.logaddexp.reduce(scores), weights

    def frame_log_probs(self, encoded):
        return [by_frame(self.symbols, self.seed, int(frames[0, 0])) for frames in encoded]

    def begin(self, encoded):
        if isinstance(encoded, int):
            return [0] * encoded, [[()]] * encoded, 0
        return [int(frames[0, 0]) for frames in encoded], [[()]] * len(encoded), max(map(len, encoded))

    def next(self, before, parents, state):
        numbers, hypotheses, frames = state
        longer = []
        for of, firsts, lasts in zip(hypotheses, parents, before, strict=True):
            longer.append([of[p] + (int(y),) * bool(y != self.symbols - 1) for p, y in zip(firsts, lasts, strict=True)])
        rows = [[self.row(n, labels) for labels in of] for n, of in zip(numbers, longer, strict=True)]
        log_probs = np.array([[row for row, _ in of] for of in rows])
        if not self.attends:
            return log_probs, (numbers, longer, frames)
        weights = np.zeros((*log_probs.shape[:2], frames), np.float32)
        for b, k in np.ndindex(weights.shape[:2]):
            weights[b, k, : len(rows[b][k][1])] = rows[b][k][1]
        return log_probs, weights, (numbers, longer, frames)


@cache
def by_frame(symbols, seed, number):
    """Made-up log-probabilities of CTC, [frames, symbols], blank last; some are of probability 0."""
    rng = np.random.default_rng([seed, number])
    scores = rng.normal(0, 2, (len(utterance(number)), symbols))
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[np.arange(len(scores)), rng.integers(symbols, size=len(scores))] = 3.0
    return (scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)).astype(np.float32)


@cache
def alignments(symbols, seed, number):
    """Probability of each spelling by CTC: the sum over all alignments, one by one."""
    rows, spelled = by_frame(symbols, seed, number).astype(np.float64), {}
    for path in itertools.product(range(symbols), repeat=len(rows)):
        merged = tuple(y for i, y in enumerate(path) if y != symbols - 1 and path[i - 1 : i] != (y,))
        spelled[merged] = spelled.get(merged, 0.0) + math.exp(sum(rows[t, y] for t, y in enumerate(path)))
    return spelled


def log(probability):
    return math.log(probability) if probability else -math.inf


def by_ctc(table, number, labels, ended):
    """Natural logarithm of the probability of labels, or of all spellings that begin with them."""
    spelled = alignments(table.symbols, table.seed, number)
    return log(sum(p for s, p in spelled.items() if s == labels or (not ended and s[: len(labels)] == labels)))


def utterance(number):
    return np.full((3 + number % 3, 1), number, np.float32)


def scored(table, scoring, number, labels, ended=True):
    """Score of a hypothesis, which may be open, and the frames of its labels, from the definition."""
    end, frames = table.symbols - 1, len(utterance(number))
    score, attended, peaks = 0.0, np.zeros(frames), []
    if scoring.ctc_weight:
        score += scoring.ctc_weight * by_ctc(table, number, labels, ended)
    for place, label in enumerate([*labels, end] if ended else labels):
        log_probs, weights = table.row(number, labels[:place])
        attended += weights.astype(np.float32)
        score += (1 - scoring.ctc_weight) * log_probs[label] + scoring.length_bonus * (label != end)
        peaks.append(int(weights.argmax()))
        if scoring.fusion.prior is not None:
            score -= scoring.fusion.prior_weight * scoring.fusion.prior[label]
        if scoring.fusion.model is not None:
            score += scoring.fusion.weight * scoring.fusion.model.row(0, labels[:place])[0][label]
    covered = int((attended > scoring.coverage_threshold).sum())
    return score + ended * scoring.coverage_weight * covered, tuple(peaks[: len(labels)])


def margin(table, scoring, number, labels):
    """By which a hypothesis may end, Hannun 2019, of the decoder with joint CTC."""
    if scoring.end_threshold is None:
        return math.inf
    acoustic = (1 - scoring.ctc_weight) * table.row(number, labels)[0]
    if scoring.ctc_weight:
        longer = [by_ctc(table, number, (*labels, y), ended=False) for y in range(table.symbols - 1)]
        after = np.array([*longer, by_ctc(table, number, labels, ended=True)])
        acoustic += scoring.ctc_weight * (after - by_ctc(table, number, labels, ended=False))
    return acoustic[-1] - scoring.end_threshold * max(acoustic[:-1].max(), -1e30)


def permitted(table, scoring, number, found):
    """Those of (score, …, labels) that may end, or the one that comes nearest to it."""
    may = [one for one in found if margin(table, scoring, number, one[-1]) > 0]
    return may or sorted(found, key=lambda one: (margin(table, scoring, number, one[-1]), one[0]))[-1:]


def exhaustive(table, scoring, number):
    """Every hypothesis that is possible, with its score and peaks, best first."""
    lengths = range(len(utterance(number)) + 1)
    every = (labels for n in lengths for labels in itertools.product(range(table.symbols - 1), repeat=n))
    found = [(*scored(table, scoring, number, labels), labels) for labels in every]
    possible = sorted((one for one in found if one[0] > -math.inf), reverse=True)
    return permitted(table, scoring, number, possible)


seeds, numbers = st.integers(0, 10_000), st.integers(0, 20)


@st.composite
def scorings(draw, symbols):
    prior = model = None
    if draw(st.booleans()):
        prior = np.log(np.random.default_rng(draw(seeds)).dirichlet(np.ones(symbols)))
    if draw(st.booleans()):
        model = Table(symbols, draw(seeds), attends=False)
    fusion = Fusion(prior, draw(st.floats(0, 1)), model, draw(st.floats(0, 1)))
    coverage, ctc = draw(st.sampled_from([0.0, 0.7])), draw(st.sampled_from([0.0, 0.3, 0.9]))
    return Scoring(fusion, draw(st.floats(-1, 1)), coverage, 0.4, ctc, draw(st.sampled_from([None, 1.0, 1.5])))


@given(st.data(), st.integers(2, 4), seeds, numbers)
@settings(max_examples=60)
def test_a_full_beam_finds_what_going_through_all_hypotheses_finds(data, symbols, seed, number):
    table, scoring = Table(symbols, seed), data.draw(scorings(symbols))
    expected = exhaustive(table, scoring, number)
    (found,) = LabelBeam(table, symbols - 1, beam=1000, scoring=scoring).search([utterance(number)])
    assert len(found) == len(expected)
    np.testing.assert_allclose([one.score for one in found], [score for score, _, _ in expected], atol=1e-6)
    assert {one.labels: one.peaks for one in found} == {labels: peaks for _, peaks, labels in expected}


@given(st.data(), seeds, numbers, st.integers(1, 6))
@settings(max_examples=60)
def test_a_narrow_beam_scores_right_and_ends_only_what_cannot_be_overtaken(data, seed, number, beam):
    table, scoring = Table(4, seed), data.draw(scorings(4))
    (found,) = LabelBeam(table, 3, beam, scoring).search([utterance(number)])
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        assert (one.score, one.peaks) == (pytest.approx(scored(table, scoring, number, one.labels)[0]), one.peaks)
    reached = narrow(table, scoring, number, beam)
    assert len(found) == min(beam, len(reached))
    np.testing.assert_allclose([one.score for one in found], reached[:beam], atol=1e-6)


def narrow(table, scoring, number, beam):
    """Scores of all that ends on the way of a beam that never stops early, best first."""
    prefixes, ended = [()], []
    for _ in range(len(utterance(number)) + 1):
        ended += [(scored(table, scoring, number, labels)[0], labels) for labels in prefixes]
        longer = [(*labels, y) for labels in prefixes for y in range(table.symbols - 1)]
        opened = {labels: scored(table, scoring, number, labels, ended=False)[0] for labels in longer}
        possible = [labels for labels in longer if opened[labels] > -math.inf]
        prefixes = sorted(possible, key=lambda labels: opened[labels], reverse=True)[:beam]
    possible = [one for one in ended if one[0] > -math.inf]
    return sorted((score for score, _ in permitted(table, scoring, number, possible)), reverse=True)


@given(st.data(), seeds, st.lists(numbers, min_size=2, max_size=5), st.integers(1, 6))
@settings(max_examples=40)
def test_hypotheses_do_not_depend_on_batch_mates(data, seed, batch, beam):
    table, scoring = Table(5, seed), data.draw(scorings(5))
    search = LabelBeam(table, 4, beam, scoring)
    together = search.search([utterance(number) for number in batch])
    assert together == [search.search([utterance(number)])[0] for number in batch]


class Even(Table):
    """Gives all symbols the same probability."""

    def row(self, number, labels):
        return np.full(self.symbols, -math.log(self.symbols)), super().row(number, labels)[1]


@given(st.sampled_from([4, 40, 400]), st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_of_equals_the_shortest_and_lowest_are_kept_in_their_order(symbols, beam):
    search = LabelBeam(Even(symbols, 0), symbols - 1, beam, Scoring(length_bonus=math.log(symbols)))
    (found,) = search.search([utterance(0)])
    every = (labels for n in range(4) for labels in itertools.product(range(symbols - 1), repeat=n))
    assert [one.labels for one in found] == list(itertools.islice(every, beam))


@given(st.integers(130, 300), seeds, st.integers(1, 5))
@settings(max_examples=5, deadline=None)
def test_a_narrow_beam_finds_the_best_of_many_labels(symbols, seed, beam):
    table = Table(symbols, seed)
    (found,) = LabelBeam(table, symbols - 1, beam).search([utterance(0)])
    assert [one.score for one in found] == pytest.approx(narrow(table, Scoring(), 0, beam)[:beam], abs=1e-6)


class Counted(Table):
    """Has a label's row by its place, the end last, whatever came before; counts its calls."""

    def __init__(self, rows, frames):
        super().__init__(len(rows[0]), seed=0)
        self.rows, self.frames, self.calls = rows, frames, 0

    def row(self, number, labels):
        with np.errstate(divide="ignore"):
            return np.log(self.rows[min(len(labels), len(self.rows) - 1)]), np.eye(self.frames)[0]

    def next(self, before, parents, state):
        self.calls += 1
        return super().next(before, parents, state)

    def search(self, scoring, beam=1, utterances=1):
        return LabelBeam(self, self.symbols - 1, beam, scoring).search([np.zeros((self.frames, 1))] * utterances)


def test_an_open_hypothesis_goes_on_while_its_labels_may_gain_more_than_it_lacks():
    table = Counted([[0.007, 0.993], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], 3)
    ((best,),) = table.search(Scoring(length_bonus=3.0))
    assert best.labels == (0, 0, 0)
    assert best.score == pytest.approx(math.log(0.007 * 0.9**3) + 9)


def test_the_search_is_over_where_no_open_hypothesis_can_come_before_what_has_ended():
    table = Counted([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], 200)
    ((best,),) = table.search(Scoring(end_threshold=1.5))
    assert best.labels == (0, 0)
    assert table.calls == 3


def test_hypotheses_that_cannot_be_are_none():
    assert Counted([[1.0, 0.0]], 4).search(Scoring(), beam=3, utterances=2) == [[], []]
    ((best,),) = Counted([[0.0, 0.0, 1.0]], 4).search(Scoring(), beam=3)
    assert (best.labels, best.score) == ((), 0.0)


def test_what_a_decoder_says_of_an_utterance_that_is_over_has_no_meaning():
    class Over(Table):
        def row(self, number, labels):
            log_probs, weights = super().row(number, labels)
            return np.full(self.symbols, np.nan) if number == 0 and len(labels) > 3 else log_probs, weights

    batch = [utterance(0), utterance(2)]  # of 3 and 5 frames
    assert len(batch[0]) == 3
    scoring = Scoring(length_bonus=8.0)
    found, expected = (LabelBeam(table(4, 1), 3, 4, scoring).search(batch) for table in (Over, Table))
    assert found == expected


class Certain(Table):
    """Says the labels of a text with probability 1, one frame each."""

    def __init__(self, labels, symbols=4):
        super().__init__(symbols, seed=0)
        self.labels = labels

    def row(self, number, labels):
        place = min(len(labels), len(self.labels))
        due = self.labels[place] if labels == self.labels[:place] and place < len(self.labels) else self.symbols - 1
        with np.errstate(divide="ignore"):
            return np.log(np.eye(self.symbols)[due]), np.eye(5)[[0, 3, 2, 4][place]]


def test_words_have_the_times_of_their_attention_which_never_go_back():
    search = LabelSearch(Certain((2, 0, 1)), WORDS, frame_seconds=0.1, beam=3)
    search.push(np.zeros((2, 1)))
    assert (search.text(), search.hypotheses()[0].words, search.frames) == ("", (), 2)
    search.push(np.zeros((3, 1)))
    search.finish()
    (hypothesis,) = search.hypotheses(5)
    assert (hypothesis.text, hypothesis.confidence) == ("two one three", 1.0) == (search.text(), 1.0)
    assert search.hypotheses(5, words=False) == [replace(hypothesis, words=())]
    times = [(word.word, round(word.start_s, 3), round(word.end_s, 3)) for word in hypothesis.words]
    assert times == [("two", 0.0, 0.1), ("one", 0.1, 0.2), ("three", 0.2, 0.3)]
    with pytest.raises(BadLogProbs, match="after finish"):
        search.push(np.zeros((1, 1)))


@given(seeds, st.lists(numbers, max_size=40), st.sampled_from([0.0, 0.3]))
@settings(max_examples=20)
def test_batches_of_whole_utterances_find_what_a_search_of_each_finds(seed, batch, ctc_weight):
    table, scoring = Table(4, seed), Scoring(length_bonus=0.5, ctc_weight=ctc_weight)
    utterances = [utterance(number)[: number % 7 and None] for number in batch]  # some are empty
    expected = []
    for frames in utterances:
        search = LabelSearch(table, WORDS, 0.1, 3, scoring)
        if len(frames):
            search.push(frames)
        search.finish()
        expected.append(search.hypotheses(2))
    assert search_in_batches(LabelBeam(table, 3, 3, scoring), WORDS, 0.1, utterances, 2) == expected


@given(seeds, numbers)
@settings(max_examples=20)
def test_confidences_are_posteriors_among_what_ended(seed, number):
    table = Table(4, seed)
    search = LabelSearch(table, WORDS, 0.1, beam=8)
    search.push(utterance(number))
    search.finish()
    found = search.hypotheses(8)
    (ended,) = LabelBeam(table, 3, 8).search([utterance(number)])
    total = math.fsum(math.exp(one.score) for one in ended)
    assert [h.confidence for h in found] == [pytest.approx(math.exp(one.score) / total) for one in ended]
    assert all(word.confidence >= h.confidence - 1e-9 for h in found for word in h.words)


@given(seeds, numbers)
@settings(max_examples=20)
def test_the_text_is_that_of_the_best_hypothesis_to_which_all_its_spellings_add(seed, number):
    search = LabelSearch(Table(4, seed), Units("characters", (" ", "a", "b")), 0.1, beam=40)
    search.push(utterance(number))
    search.finish()
    assert search.text() == search.hypotheses()[0].text


def test_an_utterance_without_frames_is_silence():
    search = LabelSearch(Table(4, 0), WORDS, 0.1, beam=2)
    search.finish()
    assert [(h.text, h.confidence) for h in search.hypotheses(3)] == [("", 1.0)]


def test_log_probabilities_that_are_none_are_refused():
    class Broken(Table):
        def row(self, number, labels):
            return np.full(self.symbols, np.nan), super().row(number, labels)[1]

    with pytest.raises(BadLogProbs, match="of label 0 have NaN"):
        LabelBeam(Broken(4, 0), 3, 2).search([utterance(1)])


def test_log_probabilities_by_frame_that_are_none_are_refused():
    class Broken(Table):
        def frame_log_probs(self, encoded):
            return [np.full((len(frames), self.symbols), np.nan, np.float32) for frames in encoded]

    with pytest.raises(BadLogProbs, match="by frame have NaN"):
        LabelBeam(Broken(4, 0), 3, 2, Scoring(ctc_weight=0.3)).search([utterance(1)])
