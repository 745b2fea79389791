"""A neural language model in CTC's prefix search, against exhaustive search and against one that asks about all."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.made_up_lm import MadeUp

from sonorant.decoding import BadLogProbs, CtcBeamSearch, NeuralFusion, Scorer
from sonorant.decoding.search import open_search, search_all
from sonorant.decoding.section import DecodingRecipe
from sonorant.text.units import Units

HOP = 0.03
WORDS = Units("words", ("a", "b", "c"))
KINDS = [Units("words", ("a", "b")), Units("characters", (" ", "a", "b"))]
seeds, alphas, betas = st.integers(0, 10_000), st.floats(0, 2), st.floats(-2, 2)


def noise(seed, frames, units, spread=2.0):
    log_probs = np.random.default_rng(seed).normal(0, spread, (frames, units.size + 1))
    return log_probs - np.logaddexp.reduce(log_probs, axis=1, keepdims=True)


def opened(units, model, alpha=1.0, beta=0.0, beam=512, boosts=None):
    scorer = Scorer(units, neural=NeuralFusion(model, units, alpha, beta)).with_phrases(boosts or {})
    return CtcBeamSearch(units, HOP, beam, units.size, scorer=scorer, unit_floor=0.0, blank_only=1.0)


def ctc_posteriors(units, log_probs):
    """P(c | x) of each sequence of units: the sum over all alignments."""
    mass = defaultdict(float)
    for path in itertools.product(range(units.size + 1), repeat=len(log_probs)):
        labels = tuple(y for y, _ in itertools.groupby(path) if y != units.blank)
        mass[labels] += math.exp(sum(log_probs[t][y] for t, y in enumerate(path)))
    return mass


@given(units=st.sampled_from(KINDS), seed=seeds, alpha=alphas, beta=betas, boost=st.sampled_from([0.0, 1.5]))
@settings(max_examples=20, deadline=None)
def test_all_hypotheses_are_those_of_exhaustive_search(units, seed, alpha, beta, boost):
    log_probs, model = noise(seed, 4, units), MadeUp(units, seed)
    search = opened(units, model, alpha, beta, boosts={"a": boost} if boost else None)
    search.push(log_probs[:1])
    search.push(log_probs[1:])
    search.finish()
    texts = defaultdict(float)
    for labels, p in ctc_posteriors(units, log_probs).items():
        words = units.text(labels).split()
        score = alpha * model.log_prob(labels) + beta * len(words) + boost * words.count("a")
        texts[units.text(labels)] += p * math.exp(score)
    found = search.hypotheses(512)
    assert len(found) == len(texts)
    total = sum(texts.values())
    for one in found:
        assert one.confidence == pytest.approx(texts[one.text] / total, rel=1e-4, abs=1e-9)
        assert all(word.confidence >= one.confidence - 1e-9 for word in one.words)
        assert [word.word for word in one.words] == one.text.split()
    confidences = [one.confidence for one in found]
    assert confidences == sorted(confidences, reverse=True)


def asking_about_all(log_probs, units, model, alpha, beta, beam):
    """The prefix search of Hannun et al. 2014 that has the language model score every extension of every prefix."""
    kept = {(): (1.0, 0.0)}
    for row in np.exp(log_probs):
        after = defaultdict(lambda: np.zeros(2))
        for labels, (blank, unit) in kept.items():
            after[labels] += (blank + unit) * row[units.blank], unit * row[labels[-1]] if labels else 0.0
            gains = np.exp(alpha * model.row(labels).astype(np.float32) + beta)
            for y in range(units.size):
                mass = blank if labels and y == labels[-1] else blank + unit
                after[(*labels, y)][1] += mass * row[y] * gains[y]
        best = sorted(after, key=lambda labels: -after[labels].sum())[:beam]
        total = sum(after[labels].sum() for labels in best)
        kept = {labels: tuple(after[labels] / total) for labels in best}
    ended = {labels: sum(both) * math.exp(alpha * model.row(labels)[-1]) for labels, both in kept.items()}
    total = sum(ended.values())
    return {labels: p / total for labels, p in sorted(ended.items(), key=lambda pair: -pair[1])}


@given(seed=seeds, alpha=alphas, beta=st.floats(-2, 3), beam=st.integers(1, 40), spread=st.sampled_from([1.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_a_search_that_asks_seldom_finds_what_one_finds_that_always_asks(seed, alpha, beta, beam, spread):
    log_probs, model = noise(seed, 12, WORDS, spread), MadeUp(WORDS, seed)
    search = opened(WORDS, model, alpha, beta, beam)
    search.push(log_probs)
    search.finish()
    expected = asking_about_all(log_probs, WORDS, model, alpha, beta, beam)
    assert [one.units for one in search.hypotheses(beam)] == list(expected)
    assert [one.confidence for one in search.hypotheses(beam)] == pytest.approx(list(expected.values()), rel=1e-3)


@given(seed=seeds, beam=st.integers(1, 8), cuts=st.lists(st.integers(0, 20), max_size=3).map(sorted))
@settings(max_examples=20, deadline=None)
def test_neither_chunks_nor_company_change_a_bit(seed, beam, cuts):
    utterances = [noise([seed, i], frames, WORDS).astype(np.float32) for i, frames in enumerate((20, 0, 7, 31))]
    scorer = Scorer(WORDS, neural=NeuralFusion(MadeUp(WORDS, seed), WORDS, 0.7, 0.5))
    args = ("ctc", WORDS, HOP, DecodingRecipe(beam=beam), None, scorer)
    alone = []
    for log_probs in utterances:
        search = open_search(*args)
        for chunk in np.split(log_probs, cuts):
            search.push(chunk)
            search.hypotheses(2)
        search.finish()
        alone += search.hypotheses(1)
    assert search_all(*args, utterances) == alone


def test_states_follow_the_beam_and_are_freed():
    model = MadeUp(WORDS, 3)
    search = opened(WORDS, model, beam=5)
    for row in noise(1, 1500, WORDS)[:, np.newaxis]:
        model.calls.clear()
        search.push(row)
        assert search.language_model_states <= 5 + sum(model.calls) <= 2 * 5 or not model.calls
    assert len(search.hypotheses(1)[0].units) > 100
    search.finish()
    assert search.language_model_states == 0


def test_searches_side_by_side_share_their_calls():
    utterances = [noise(i, 15, WORDS).astype(np.float32) for i in range(6)]
    model = MadeUp(WORDS, 1)
    args = ("ctc", WORDS, HOP, DecodingRecipe(), None, Scorer(WORDS, neural=NeuralFusion(model, WORDS, 0.5, 0.0)))
    calls = []
    for batch in ([one] for one in utterances):
        model.calls.clear()
        search_all(*args, batch)
        calls.append(list(model.calls))
    model.calls.clear()
    search_all(*args, utterances)
    assert model.calls == [sum(due) for due in itertools.zip_longest(*calls, fillvalue=0)]


def test_frames_of_blank_ask_about_nothing():
    model = MadeUp(WORDS, 1)
    search = open_search(
        "ctc", WORDS, HOP, DecodingRecipe(), None, Scorer(WORDS, neural=NeuralFusion(model, WORDS, 0.5, 0.0))
    )
    blank, word = np.log([1e-5, 1e-5, 1e-5, 1 - 3e-5]), np.log([0.98, 1e-5, 1e-5, 0.02 - 2e-5])
    search.push(np.stack([blank] * 50))
    assert model.calls == []
    search.push(np.stack([word, *[blank] * 50]))
    assert model.calls == [1]
    search.push(np.stack([word]))
    assert len(model.calls) == 2


def test_a_language_model_without_probabilities_is_named():
    class Broken(MadeUp):
        def extend(self, before, states):
            log_probs, after = super().extend(before, states)
            return log_probs * np.nan, after

    with pytest.raises(BadLogProbs, match="the language model gives NaN"):
        opened(WORDS, Broken(WORDS, 1)).push(noise(0, 2, WORDS))


def test_an_impossible_label_is_never_chosen():
    class Only(MadeUp):
        """Nothing but the first unit, and the end."""

        def row(self, labels):
            return np.array([math.log(0.5), -math.inf, -math.inf, math.log(0.5)])

    search = opened(WORDS, Only(WORDS, 1))
    search.push(noise(2, 6, WORDS))
    search.finish()
    assert set(search.hypotheses(1)[0].units) <= {0}
    assert sum(one.confidence for one in search.hypotheses(512) if set(one.units) <= {0}) == pytest.approx(1.0)
