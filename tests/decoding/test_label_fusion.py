"""Fusion in the search by label, beside exhaustive search: all label sequences, scores by their definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.arpa import ARPA, MODEL, log_probability

from sonorant.decoding import LabelBeam, MonotonicSearch, NgramFusion, Prior, Scorer, Scoring, WrongVocabulary
from sonorant.decoding.section import DecodingRecipe
from sonorant.lm.model import NgramModel
from sonorant.text.units import Units

KINDS = [
    Units("words", ("a", "b", "ab")),
    Units("characters", (" ", "a", "b")),
    Units("bpe", ("\u2581", "\u2581a", "\u2581b", "a", "b"), b"none"),
]
PHRASES = {"a": 0.7, "b a": 1.5, "b a b": 1.0}
FRAMES = 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("lm") / "small.arpa"
    path.write_text(ARPA, encoding="utf-8")
    return NgramModel.read(path)


class Rows:
    """A decoder whose log-probabilities [steps, symbols] do not depend on the labels before."""

    def __init__(self, rows):
        self.rows = rows

    def begin(self, encoded):
        return 0

    def next(self, before, parents, state):
        log_probs = np.broadcast_to(self.rows[state], (*before.shape, self.rows.shape[1]))
        return log_probs.astype(np.float32), np.zeros((*before.shape, FRAMES), np.float32), state + 1


def tokens(units, labels):
    return [units.symbols[label].replace(" ", "\u2581") for label in labels]


def fused(units, labels, alpha, beta, unit_model, phrases, prior_weight):
    words = units.text(labels).split()
    lm = log_probability([*(tokens(units, labels) if unit_model else words), "</s>"])
    starts = [words[at : at + len(p.split())] == p.split() for p in phrases for at in range(len(words))]
    boosts = [phrases[p] for p in phrases for _ in range(len(words))]
    prior = sum(MODEL[token][0] for token in [*tokens(units, labels), "</s>"]) * math.log(10)
    boosted = sum(boost for boost, found in zip(boosts, starts, strict=True) if found)
    return alpha * lm + beta * len(words) + boosted - prior_weight * prior


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@given(
    seed=st.integers(0, 10_000), alpha=st.floats(0, 2), beta=st.floats(-2, 2), of_units=st.booleans(),
    phrases=st.sampled_from([{}, PHRASES]), prior_weight=st.floats(0, 1),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_the_best_of_a_full_beam_are_those_of_exhaustive_search(
    model, units, seed, alpha, beta, of_units, phrases, prior_weight
):
    rows = 3 * np.random.default_rng(seed).standard_normal((FRAMES + 1, units.size + 1))
    rows = (rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)).astype(np.float32)
    of_units = of_units and units.kind != "words"
    fusion = NgramFusion(model, alpha, beta, tokens="units" if of_units else "words")
    scorer = Scorer(units, fusion, Prior(model, prior_weight)).with_phrases(phrases)
    beam = units.size**FRAMES
    (ended,) = LabelBeam(Rows(rows), units.size, beam, Scoring(scorer.by_label)).search([np.zeros((FRAMES, 1))])
    every = [labels for n in range(FRAMES + 1) for labels in itertools.product(range(units.size), repeat=n)]
    expected = {
        labels: float(sum(rows[t][y] for t, y in enumerate([*labels, units.size])))
        + fused(units, labels, alpha, beta, of_units, phrases, prior_weight)
        for labels in every
    }
    assert [one.score for one in ended] == pytest.approx(sorted(expected.values(), reverse=True)[:beam], abs=1e-3)
    for one in ended:
        assert one.score == pytest.approx(expected[one.labels], abs=1e-3)


class Late:
    """A monotonic decoder that attends after the last frame only; see `Rows`. A state is the number of labels."""

    window = 1

    def __init__(self, rows):
        self.rows = rows

    def begin(self):
        return (np.array([-1]),)

    def seek(self, before, states):
        return (states[0] + 1,)

    def look(self, heard, states):
        return np.full(len(states[0]), heard.over), self.rows[states[0]], states


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@given(
    seed=st.integers(0, 10_000), alpha=st.floats(0, 2), beta=st.floats(-2, 2), of_units=st.booleans(),
    phrases=st.sampled_from([{}, PHRASES]), prior_weight=st.floats(0, 1),
)  # fmt: skip
@settings(max_examples=10, deadline=None)
def test_the_monotonic_search_finds_those_of_exhaustive_search_too(
    model, units, seed, alpha, beta, of_units, phrases, prior_weight
):
    most = 4  # labels that attend to one frame, and to none
    rows = 3 * np.random.default_rng(seed).standard_normal((most + 1, units.size + 1))
    rows = (rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)).astype(np.float32)
    of_units = of_units and units.kind != "words"
    fusion = NgramFusion(model, alpha, beta, tokens="units" if of_units else "words")
    scorer = Scorer(units, fusion, Prior(model, prior_weight)).with_phrases(phrases)
    search = MonotonicSearch(Late(rows), units, 0.1, 10_000, fusion=scorer.by_label)
    search.push(np.zeros((1, 1), np.float32))
    search.finish()
    every = [labels for n in range(most + 1) for labels in itertools.product(range(units.size), repeat=n)]
    scores = np.array(
        [
            sum(rows[t][y] for t, y in enumerate([*labels, units.size]))
            + fused(units, labels, alpha, beta, of_units, phrases, prior_weight)
            for labels in every
        ]
    )
    expected: dict[str, float] = {}
    for labels, posterior in zip(every, np.exp(scores - np.logaddexp.reduce(scores)), strict=True):
        expected[units.text(labels)] = expected.get(units.text(labels), 0.0) + posterior
    found = search.hypotheses(20)
    for one in found:
        assert one.confidence == pytest.approx(expected[one.text], abs=1e-4)
    assert [one.confidence for one in found] == pytest.approx(sorted(expected.values(), reverse=True)[:20], abs=1e-4)


ONLY_A = r"""\data\
ngram 1=4
ngram 2=3

\1-grams:
-2	<unk>
-99	<s>	0
-1	</s>
-3	a	0

\2-grams:
-0.3	<s> a
-0.3	<s> </s>
-0.01	a </s>

\end\
"""


@pytest.fixture(scope="module")
def only_a(tmp_path_factory):
    """A model in which "a" is rare without history, and likely at the start: look-ahead is below the final score."""
    path = tmp_path_factory.mktemp("lm") / "a.arpa"
    path.write_text(ONLY_A, encoding="utf-8")
    return NgramModel.read(path)


@pytest.mark.parametrize("units", [Units("words", ("a",)), Units("bpe", ("\u2581a",), b"none")], ids=str)
@given(
    seed=st.integers(0, 10_000), alpha=st.floats(0, 5), beta=st.floats(-2, 4),
    phrases=st.sampled_from([{}, {"a a": 3.0}]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_the_search_ends_only_when_no_open_hypothesis_can_win(only_a, units, seed, alpha, beta, phrases):
    """With one unit and a beam of one, nothing is pruned."""
    rows = 3 * np.random.default_rng(seed).standard_normal((FRAMES + 1, 2))
    rows = (rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)).astype(np.float32)
    scorer = Scorer(units, NgramFusion(only_a, alpha, beta)).with_phrases(phrases)
    (ended,) = LabelBeam(Rows(rows), 1, 1, Scoring(scorer.by_label)).search([np.zeros((FRAMES, 1))])
    expected = []
    for words in range(FRAMES + 1):
        lm, state = 0.0, only_a.begin()
        for word in [*[only_a.index("a")] * words, only_a.end_word]:
            log10, state = only_a.score(state, word)
            lm += log10 * math.log(10)
        boost = sum(phrases.values()) * max(0, words - 1)
        expected.append(float(rows[:words, 0].sum() + rows[words, 1]) + alpha * lm + beta * words + boost)
    assert ended[0].score == pytest.approx(max(expected), abs=1e-3)


def test_hypotheses_of_a_state_are_extended_in_any_order(model):
    units = KINDS[2]
    scores = Scorer(units, NgramFusion(model, 1.0, 0.5)).by_label.model
    start = np.full((2, 1), units.size, np.int32)
    first, state = scores.next(start, np.zeros((2, 1), np.int32), scores.begin(2))
    np.testing.assert_array_equal(first[0], first[1])
    before, parents = np.array([[1, 3], [3, 1]], np.int32), np.zeros((2, 2), np.int32)
    gains, state = scores.next(before, parents, state)
    np.testing.assert_array_equal(gains[0], gains[1][::-1])
    swapped, _ = scores.next(np.array([[2, 2]] * 2, np.int32), np.array([[1, 0], [0, 1]], np.int32), state)
    np.testing.assert_array_equal(swapped[0], swapped[1])
    with pytest.raises(IndexError, match="none of the state's"):
        scores.next(before, parents + 2, state)


def test_a_prior_of_another_vocabulary_is_refused(model):
    with pytest.raises(
        WrongVocabulary, match=r"2 of 2 words of the model are not in the prior.*'ONE'.*; expected one of units"
    ):
        Scorer(Units("words", ("ONE", "TWO")), prior=Prior(model, 0.3))


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ("-0.5\ta\n-0.5\tb\n-0.7\t</s>\n", "'c'"),
        ("-0.5\ta\n-0.5\tb\n-0.7\tc\n", "'</s>'"),
        ("-0.5\ta\n-0.5\tb\n-99\tc\n-0.7\t</s>\n", "'c'"),
    ],
)
def test_a_prior_without_a_label_s_probability_is_refused(lines, missing, tmp_path):
    path = tmp_path / "prior.arpa"
    path.write_text(f"\\data\\\nngram 1={lines.count(chr(10))}\n\n\\1-grams:\n{lines}\n\\end\\\n", encoding="utf-8")
    with pytest.raises(WrongVocabulary, match=f"1 of 4 labels have no probability in the prior, such as {missing}, "):
        Scorer(Units("words", ("a", "b", "c")), prior=Prior(NgramModel.read(path), 0.3))


def test_a_label_that_the_prior_lacks_has_that_of_unknown_ones(tmp_path):
    path = tmp_path / "prior.arpa"
    path.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-2\t<unk>\n-0.5\ta\n-0.7\t</s>\n\n\\end\\\n", encoding="utf-8")
    prior = Scorer(Units("words", ("a", "b")), prior=Prior(NgramModel.read(path), 0.3)).by_label.prior
    np.testing.assert_allclose(prior / math.log(10), [-0.5, -2.0, -0.7], rtol=1e-6)


def test_a_scorer_with_other_weights_is_one_that_is_made_with_them(model):
    units = KINDS[0]
    fusion, prior = {"path": "lm.arpa", "alpha": 0.8, "beta": -0.5}, {"path": "prior.arpa", "weight": 0.6}
    decoding = DecodingRecipe.model_validate({"lm": fusion, "prior": prior, "phrases": ["b a"], "phrase_boost": 3.0})
    before = Scorer(units, NgramFusion(model, 2.0, 1.0, -3.0), Prior(model, 0.1)).with_phrases({"b a": 4.0})
    direct = Scorer(units, NgramFusion(model, 0.8, -0.5, -3.0), Prior(model, 0.6)).with_phrases({"b a": 6.0})
    rows = np.log(np.random.default_rng(0).dirichlet(np.ones(4), FRAMES + 1)).astype(np.float32)
    ended = [
        LabelBeam(Rows(rows), 3, 9, Scoring(scorer.by_label)).search([np.zeros((FRAMES, 1))])
        for scorer in (before.with_weights(decoding), direct, before)
    ]
    assert ended[0] == ended[1] != ended[2]
