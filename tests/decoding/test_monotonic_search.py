import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.monotonic_definition import exhaustive
from rigs.monotonic_table import END, WORDS, Reader, Table

from sonorant.decoding import BadLogProbs, Fusion, MonotonicSearch


class LanguageModel:
    """A made-up language model: what follows is a function of the labels before, which are its state."""

    def __init__(self, seed):
        self.seed = seed

    def row(self, labels):
        scores = np.random.default_rng([self.seed, 3, *(y + 1 for y in labels)]).normal(0, 2, END + 1)
        return scores - np.logaddexp.reduce(scores)

    def first_state(self):
        return ()

    def extend(self, before, states):
        longer = [labels if y == END else (*labels, y) for labels, y in zip(states, before, strict=True)]
        return np.array([self.row(labels) for labels in longer]), longer


def searched(table, frames, cuts=(), beam=100_000, bonus=0.0, fusion=None, threshold=None, ctc_weight=0.0):
    search = MonotonicSearch(table, WORDS, 0.5, beam, bonus, fusion, threshold, ctc_weight)
    edges = [0, *sorted(cuts), len(frames)]
    for a, b in itertools.pairwise(edges):
        search.push(np.array(frames[a:b], np.float32).reshape(-1, 1))
    search.finish()
    return search


seeds = st.integers(0, 10_000)


@st.composite
def fusions(draw):
    prior = np.log(np.random.default_rng(draw(seeds)).dirichlet(np.ones(END + 1))) if draw(st.booleans()) else None
    model = LanguageModel(draw(seeds)) if draw(st.booleans()) else None
    return Fusion(prior, draw(st.floats(0, 1)), model, draw(st.floats(0, 1)))


thresholds = st.sampled_from([None, 1.0, 1.5])


@given(seeds, st.integers(1, 3), st.sampled_from([0.0, 0.25]), st.sampled_from([0.0, 0.7]), fusions(), thresholds)
@settings(max_examples=15, deadline=None)
def test_a_full_beam_finds_what_going_through_all_hypotheses_finds(seed, count, attends, bonus, fusion, threshold):
    table, frames = Table(seed, attends), np.arange(count)
    ended = exhaustive(table, frames, bonus, fusion, threshold)
    if len(ended) > 900:
        return
    scores = np.array([score for score, _ in ended.values()])
    posteriors = np.exp(scores - np.logaddexp.reduce(scores))
    expected = dict(zip(ended, posteriors, strict=True))
    found = searched(table, frames, bonus=bonus, fusion=fusion, threshold=threshold).hypotheses(100_000)
    assert {one.units for one in found} == set(expected)
    for one in found:
        assert one.confidence == pytest.approx(expected[one.units], abs=1e-9)
        assert [word.start_s for word in one.words] == [head * 0.5 for head in ended[one.units][1]]
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)


def test_probabilities_of_waiting_and_ended_hypotheses_sum_to_one_at_any_frame():
    search = MonotonicSearch(Table(4, 0.3), WORDS, 0.5, 100_000)
    for frame in range(4):
        search.push(np.full((1, 1), frame, np.float32))
        every = [*search._hypotheses.waiting(), *search._hypotheses.ended()]
        assert np.logaddexp.reduce([score for *_, score in every]) == pytest.approx(0, abs=1e-9)
    assert len(search._hypotheses.ended()) > 1


@given(st.data(), seeds, st.integers(1, 12), st.integers(1, 6), fusions(), st.sampled_from([0.0, 0.4]))
@settings(max_examples=30, deadline=None)
def test_cuts_change_nothing_and_pushes_may_be_empty(data, seed, count, beam, fusion, weight):
    frames = np.arange(count)
    cuts = data.draw(st.lists(st.integers(0, count), max_size=6))
    whole, cut = (searched(Table(seed), frames, c, beam, fusion=fusion, ctc_weight=weight) for c in ((), cuts))
    assert whole.hypotheses(beam) == cut.hypotheses(beam)
    assert whole.text() == cut.text() == whole.hypotheses()[0].text
    assert whole.hypotheses(beam, words=False) == [replace(one, words=()) for one in whole.hypotheses(beam)]
    assert whole.frames == cut.frames == count


@given(seeds, st.integers(1, 2), st.integers(1, 4), fusions())
@settings(max_examples=15, deadline=None)
def test_a_narrow_beam_scores_right(seed, count, beam, fusion):
    table, frames = Table(seed, 0.25), np.arange(count)
    ended = exhaustive(table, frames, fusion=fusion)
    found = searched(table, frames, beam=beam, fusion=fusion).hypotheses(beam)
    scores = np.array([ended[one.units][0] for one in found])
    np.testing.assert_allclose(
        [one.confidence for one in found], np.exp(scores - np.logaddexp.reduce(scores)), atol=1e-9
    )
    assert len(found) == beam


def test_a_beam_of_one_is_greedy():
    table, frames = Table(12, 0.5), np.arange(5)
    labels, t, here = (), 0, 0
    while t < len(frames):
        if here == 4 or not table.stops(labels, t):
            t, here = t + 1, 0
            continue
        labels, here = (*labels, int(table.row(labels, frames[max(0, t - 1) : t + 1])[:END].argmax())), here + 1
    search = MonotonicSearch(table, WORDS, 0.5, beam=1)
    search.push(frames[:, np.newaxis].astype(np.float32))
    ((waiting, *_),) = search._hypotheses.waiting()
    assert waiting == labels
    assert len(labels) > 2


def test_interim_results_appear_while_frames_arrive_and_grow():
    search = MonotonicSearch(Table(8, 0.5), WORDS, 0.5, 4)
    assert (search.text(), search.hypotheses()[0].confidence) == ("", 1.0)
    seen = []
    for frame in range(6):
        search.push(np.full((1, 1), frame, np.float32))
        assert search.text() == search.hypotheses()[0].text
        seen.append(len(search.hypotheses()[0].units))
    assert seen[2] > 0


def test_work_for_a_frame_does_not_grow_with_the_audio():
    table = Table(5, 0.1)
    search = MonotonicSearch(table, WORDS, 0.5, 3)
    for frame in range(60):
        before = table.looks
        search.push(np.full((1, 1), frame, np.float32))
        assert table.looks - before <= 4
    assert table.most <= 3


LONG = np.random.default_rng(5).integers(END, size=3000).tolist()


def test_labels_of_a_long_utterance_stay_while_those_that_no_hypothesis_has_go():
    search = MonotonicSearch(Reader(LONG, [0.2]), WORDS, 0.5, 3, end_threshold=1.5)
    for first in range(0, len(LONG), 500):
        search.push(np.zeros((500, 1), np.float32))
        assert list(search.hypotheses()[0].units) == LONG[: first + 500]
    assert search._hypotheses.labels < 2 * len(LONG)  # of 9,000 that the beam has had
    search.finish()
    best, *others = search.hypotheses(3)
    assert list(best.units) == LONG
    assert [word.start_s for word in best.words] == [0.5 * frame for frame in range(len(LONG))]
    assert [sum(a != b for a, b in zip(one.units, LONG, strict=True)) for one in others] == [1, 1]


def test_labels_of_what_has_ended_long_ago_stay():
    search = MonotonicSearch(Reader(LONG, [0.4, 0.44, 0.44, 0.44, 0.2]), WORDS, 0.5, 3)
    search.push(np.zeros((len(LONG), 1), np.float32))
    search.finish()
    assert [one.units for one in search.hypotheses(3)] == [(), (LONG[0],), ((LONG[0] + 1) % END,)]


def test_the_one_that_came_nearest_to_its_end_long_ago_is_the_result_where_none_may_end():
    search = MonotonicSearch(Reader(LONG, [0.2] * 5 + [0.44, 0.2]), WORDS, 0.5, 3, end_threshold=1.5)
    search.push(np.zeros((len(LONG) - 10, 1), np.float32))
    search.finish()
    (nearest,) = search.hypotheses(3)
    assert list(nearest.units) == LONG[:5]


def test_a_search_that_has_failed_does_not_end_as_if_it_had_heard_all():
    class Broken(Table):
        def row(self, labels, window):
            return super().row(labels, window) * (np.nan if window[-1] == 3 else 1)

    search = MonotonicSearch(Broken(8, 0.6), WORDS, 0.5, 3)
    with pytest.raises(BadLogProbs, match="encoded frame 3 have NaN"):
        search.push(np.arange(6, dtype=np.float32)[:, np.newaxis])
    for _ in range(2):
        with pytest.raises(BadLogProbs, match="this search has failed"):
            search.push(np.zeros((1, 1), np.float32))
        with pytest.raises(BadLogProbs, match="this search has failed"):
            search.finish()


def test_an_utterance_without_frames_is_empty():
    search = MonotonicSearch(Table(1), WORDS, 0.5, 3)
    search.finish()
    (only,) = search.hypotheses(3)
    assert (only.text, only.words, only.confidence) == ("", (), 1.0)


def test_times_are_within_the_audio():
    for hypothesis in searched(Table(2, 0.0), np.arange(3), beam=20).hypotheses(20):
        assert all(word.end_s <= 1.5 for word in hypothesis.words)


def test_frames_that_cannot_be_searched_are_refused():
    search = MonotonicSearch(Table(1), WORDS, 0.5, 3)
    search.push(np.zeros((2, 1), np.float32))
    with pytest.raises(BadLogProbs, match=r"encoded frames 2\.\.4 have NaN"):
        search.push(np.full((3, 1), np.nan, np.float32))
    search.finish()
    with pytest.raises(BadLogProbs, match="after finish"):
        search.push(np.zeros((1, 1), np.float32))


def test_a_decoder_with_nan_is_refused():
    class Broken(Table):
        def row(self, labels, window):
            return np.full(END + 1, np.nan)

    with pytest.raises(BadLogProbs, match="label at encoded frame 0 have NaN"):
        searched(Broken(1, 1.0), np.arange(1))
