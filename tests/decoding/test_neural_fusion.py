"""Fusion by label with a neural language model, against exhaustive search; the model is made up."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.made_up_lm import MadeUp

from sonorant.decoding import BadLogProbs, LabelBeam, NeuralFusion, Prior, Scorer, Scoring
from sonorant.decoding.kernels import LabelScorer
from sonorant.decoding.label_gains import LabelGains
from sonorant.decoding.scorer import WrongVocabulary, load_scorer
from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import BadRecipe
from sonorant.lm.model import NgramModel
from sonorant.lm.training import train
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units

FRAMES = 3
WORDS = Units("words", ("a", "b"))
CHARACTERS = Units("characters", (" ", "a", "b"))
KINDS = pytest.mark.parametrize("units", [WORDS, CHARACTERS], ids=lambda units: units.kind)
seeds, alphas, betas = st.integers(0, 10_000), st.floats(0, 2), st.floats(-2, 2)


class Rows:
    """A decoder whose log-probabilities are a function of the number of labels before."""

    def __init__(self, rows):
        self.rows = rows

    def begin(self, encoded):
        return 0

    def next(self, before, parents, state):
        shape = before.shape
        log_probs = np.broadcast_to(self.rows[state], (*shape, self.rows.shape[1])).astype(np.float32)
        return log_probs, np.full((*shape, FRAMES), 1 / FRAMES, np.float32), state + 1


def every(units):
    return [labels for n in range(FRAMES + 1) for labels in itertools.product(range(units.size), repeat=n)]


@pytest.fixture(scope="module")
def unigrams(tmp_path_factory):
    path = tmp_path_factory.mktemp("lm") / "unigrams.arpa"
    path.with_suffix(".txt").write_text("a b\nb \u2581\n")
    train([path.with_suffix(".txt")], path, order=1)
    return NgramModel.read(path)


@KINDS
@given(seed=seeds, alpha=alphas, beta=betas, prior_weight=st.floats(0, 1), boost=st.sampled_from([0, 2.0]))
@settings(max_examples=20, deadline=None)
def test_the_best_of_a_full_beam_are_those_of_exhaustive_search(
    unigrams, units, seed, alpha, beta, prior_weight, boost
):
    rows = np.random.default_rng(seed).normal(0, 2, (FRAMES + 1, units.size + 1))
    rows = (rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)).astype(np.float32)
    model = MadeUp(units, seed)
    scorer = Scorer(units, None, Prior(unigrams, prior_weight), NeuralFusion(model, units, alpha, beta))
    scorer = scorer.with_phrases({"a": boost}) if boost else scorer
    prior = unigrams.unigrams([*(s.replace(" ", "\u2581") for s in units.symbols), "</s>"]) * math.log(10)
    expected = {
        labels: float(sum(rows[t][y] - prior_weight * prior[y] for t, y in enumerate([*labels, units.size])))
        + alpha * model.log_prob(labels)
        + beta * len(units.text(labels).split())
        + boost * units.text(labels).split().count("a")
        for labels in every(units)
    }
    beam = units.size**FRAMES
    (ended,) = LabelBeam(Rows(rows), units.size, beam, Scoring(scorer.by_label)).search([np.zeros((FRAMES, 1))])
    assert [one.score for one in ended] == pytest.approx(sorted(expected.values(), reverse=True)[:beam], abs=1e-3)
    for one in ended:
        assert one.score == pytest.approx(expected[one.labels], abs=1e-3)


@given(seed=seeds, alpha=alphas, beta=st.floats(-2, 4))
@settings(max_examples=40, deadline=None)
def test_the_search_ends_only_when_no_open_hypothesis_can_win(seed, alpha, beta):
    """With one unit and a beam of one, nothing is pruned."""
    units = Units("words", ("a",))
    rows = np.random.default_rng(seed).normal(0, 2, (FRAMES + 1, 2))
    rows = (rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)).astype(np.float32)
    model = MadeUp(units, seed)
    scorer = Scorer(units, neural=NeuralFusion(model, units, alpha, beta))
    (ended,) = LabelBeam(Rows(rows), 1, 1, Scoring(scorer.by_label)).search([np.zeros((FRAMES, 1))])
    expected = [
        float(rows[:n, 0].sum() + rows[n, 1]) + alpha * model.log_prob((0,) * n) + beta * n for n in range(FRAMES + 1)
    ]
    assert ended[0].score == pytest.approx(max(expected), abs=1e-3)


class Broken(MadeUp):
    def next(self, before, parents, state):
        log_probs, after = super().next(before, parents, state)
        return log_probs * np.nan, after

    def extend(self, before, states):
        log_probs, after = super().extend(before, states)
        return log_probs * np.nan, after


def test_a_language_model_without_probabilities_is_named():
    fusion = Scorer(WORDS, neural=NeuralFusion(Broken(WORDS, 1), WORDS, 0.5, 0.0)).by_label
    rows = np.log(np.full((FRAMES + 1, 3), 1 / 3))
    with pytest.raises(BadLogProbs, match="beside the decoder's have NaN values at label 0"):
        LabelBeam(Rows(rows), 2, 2, Scoring(fusion)).search([np.zeros((FRAMES, 1))])
    with pytest.raises(BadLogProbs, match="beside the decoder's have NaN"):
        LabelGains(3, fusion).begin()


def test_a_model_of_other_units_is_refused():
    with pytest.raises(WrongVocabulary, match="unit 1 is 'c', expected 'b'"):
        Scorer(WORDS, neural=NeuralFusion(MadeUp(WORDS, 1), Units("words", ("a", "c")), 1.0, 0.0))


def test_a_folder_is_loaded_as_a_neural_model(tmp_path):
    decoding = DecodingRecipe.model_validate({"lm": {"path": "lm", "alpha": 0.3, "beta": -1.0}})
    (tmp_path / "lm").mkdir()
    scorer = load_scorer(WORDS, decoding, TextRecipe(), tmp_path, lambda path: MadeUp(WORDS, len(path.name)))
    assert (scorer.neural.alpha, scorer.neural.beta, scorer.neural.model.seed) == (0.3, -1.0, 2)
    unknown = DecodingRecipe.model_validate({"lm": {"path": "lm", "unknown": -3.0}})
    with pytest.raises(BadRecipe, match=r"decoding\.lm\.unknown=-3\.0: lm knows all units"):
        load_scorer(WORDS, unknown, TextRecipe(), tmp_path, lambda path: MadeUp(WORDS, 1))


@KINDS
@given(seed=seeds, alpha=alphas, beta=betas)
@settings(max_examples=20, deadline=None)
def test_sequences_of_any_lengths_gain_what_a_batch_of_them_gains(units, seed, alpha, beta):
    fusion = (
        Scorer(units, neural=NeuralFusion(MadeUp(units, seed), units, alpha, beta)).with_phrases({"a": 2.0}).by_label
    )
    model, batch = fusion.model, fusion.model.begin(1)
    state, before, parents = model.first_state(), np.array([[units.size]], np.int32), np.zeros((1, 1), np.int32)
    for label in (units.size, 0, 1, 1, 0):
        before[0, 0] = label
        expected, batch = model.next(before, parents, batch)
        gains, (_, state) = model.extend([units.size, label], [model.first_state(), state])
        np.testing.assert_allclose(gains[1], expected[0, 0], rtol=1e-6, atol=1e-6)


def test_a_sequence_without_a_state_is_refused():
    scorer = Scorer(WORDS, neural=NeuralFusion(MadeUp(WORDS, 1), WORDS, 0.5, 0.0)).with_phrases({"a": 2.0})
    kernel = LabelScorer(scorer.kernel)
    for states in ([], [kernel.begin(2)]):
        with pytest.raises(ValueError, match="a label and a state for each"):
            kernel.extend([0], states)
    with pytest.raises(IndexError):
        kernel.extend([9], [kernel.first_state()])
