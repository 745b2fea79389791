"""Search with language model and phrases, beside exhaustive search: all alignments, scores by their definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rigs.arpa import ARPA, log_probability

from sonorant.decoding import CtcBeamSearch, NgramFusion, Scorer, WrongVocabulary, load_scorer
from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import BadRecipe
from sonorant.lm.model import NgramModel
from sonorant.lm.training import train
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units

HOP = 0.03
KINDS = [
    Units("words", ("a", "b", "ab")),
    Units("characters", (" ", "a", "b")),
    Units("bpe", ("\u2581", "\u2581a", "\u2581b", "a", "b"), b"none"),
]
PHRASES = {"a": 0.7, "b a": 1.5, "ab": 2.0, "b a b": 1.0}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("lm") / "small.arpa"
    path.write_text(ARPA, encoding="utf-8")
    return NgramModel.read(path)


@pytest.fixture(scope="module")
def accented(tmp_path_factory):
    """The same model with é for a and è for b, of which the first byte is the same."""
    path = tmp_path_factory.mktemp("lm") / "accents.arpa"
    lines = [line.translate(str.maketrans("ab", "éè")) if "\t" in line else line for line in ARPA.splitlines()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return NgramModel.read(path)


def log_softmax(scores):
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def posterior(log_probs):
    """Log-probability of every unit sequence, by going through all alignments."""
    blank = log_probs.shape[1] - 1
    sums = {}
    for alignment in itertools.product(range(blank + 1), repeat=len(log_probs)):
        score = sum(row[unit] for row, unit in zip(log_probs, alignment, strict=True))
        units = tuple(unit for unit, _ in itertools.groupby(alignment) if unit != blank)
        sums[units] = np.logaddexp(sums.get(units, -math.inf), score)
    return sums


def boost(words, phrases):
    """Sum over all occurrences of all phrases."""
    total = 0.0
    for phrase, gain in phrases.items():
        parts = phrase.split()
        total += gain * sum(words[at : at + len(parts)] == parts for at in range(len(words)))
    return total


def exhaustive(log_probs, units, score):
    """Posterior of every text under the score of its units."""
    texts = {}
    for ids, acoustic in posterior(log_probs).items():
        text = units.text(ids)
        texts[text] = np.logaddexp(texts.get(text, -math.inf), acoustic + score(ids))
    total = np.logaddexp.reduce(list(texts.values()))
    return {text: math.exp(value - total) for text, value in texts.items()}


def searched(log_probs, units, scorer):
    search = CtcBeamSearch(units, HOP, 10_000, scorer=scorer, unit_floor=0.0, blank_only=1.0)
    search.push(log_probs)
    search.finish()
    return {hypothesis.text: hypothesis.confidence for hypothesis in search.hypotheses(10_000)}


def scores(units, most=4):
    return st.integers(1, most).flatmap(lambda t: arrays(np.float64, (t, units.size + 1), elements=st.floats(-4, 4)))


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@given(data=st.data(), alpha=st.floats(0, 2), beta=st.floats(-2, 2), unknown=st.sampled_from([0.0, -3.0]))
@settings(max_examples=25, deadline=None)
def test_a_full_beam_with_a_model_of_words_is_exhaustive_search(model, units, data, alpha, beta, unknown):
    def score(ids):
        words = units.text(ids).split()
        lm = log_probability([*words, "</s>"], unknown)
        return alpha * lm + beta * len(words)

    log_probs = log_softmax(data.draw(scores(units)))
    found = searched(log_probs, units, Scorer(units, NgramFusion(model, alpha, beta, unknown)))
    assert found == pytest.approx(exhaustive(log_probs, units, score), rel=1e-5, abs=1e-12)


@given(data=st.data(), alpha=st.floats(0, 2))
@settings(max_examples=25, deadline=None)
def test_letters_of_two_bytes_that_begin_alike_are_told_apart(accented, data, alpha):
    plain, units = KINDS[1], Units("characters", (" ", "é", "è"))

    def score(ids):
        return alpha * log_probability([*plain.text(ids).split(), "</s>"])

    log_probs = log_softmax(data.draw(scores(units)))
    found = searched(log_probs, units, Scorer(units, NgramFusion(accented, alpha, 0.0)))
    assert found == pytest.approx(exhaustive(log_probs, units, score), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_a_sentence_s_mark_that_is_spelt_is_an_unknown_word(model, mark):
    units = Units("characters", (" ", "a", "b", "<", "/", "s", ">", "u"))
    other = mark.replace("s", "u")
    rows = np.full((len(mark), units.size + 1), -30.0)
    for row, letter in zip(rows, mark, strict=True):
        row[[units.symbols.index(one) for one in {letter, letter.replace("s", "u")}]] = 0.0
    found = searched(log_softmax(rows), units, Scorer(units, NgramFusion(model, 1.0, 0.0, -3.0)))
    assert found[mark] == pytest.approx(found[other])
    assert found[mark] > 0.4


@pytest.mark.parametrize("units", KINDS[1:], ids=lambda units: units.kind)
@given(data=st.data(), alpha=st.floats(0, 2), beta=st.floats(-2, 2))
@settings(max_examples=25, deadline=None)
def test_a_full_beam_with_a_model_of_units_is_exhaustive_search(model, units, data, alpha, beta):
    def score(ids):
        tokens = [units.symbols[unit].replace(" ", "\u2581") for unit in ids]
        return alpha * log_probability([*tokens, "</s>"]) + beta * len(units.text(ids).split())

    log_probs = log_softmax(data.draw(scores(units)))
    found = searched(log_probs, units, Scorer(units, NgramFusion(model, alpha, beta, tokens="units")))
    assert found == pytest.approx(exhaustive(log_probs, units, score), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@given(data=st.data(), fused=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_full_beam_with_phrases_is_exhaustive_search(model, units, data, fused):
    def score(ids):
        words = units.text(ids).split()
        lm = 0.5 * log_probability([*words, "</s>"]) + len(words) if fused else 0.0
        return lm + boost(words, PHRASES)

    log_probs = log_softmax(data.draw(scores(units, most=5 if units.size < 5 else 4)))
    scorer = Scorer(units, NgramFusion(model, 0.5, 1.0) if fused else None).with_phrases(PHRASES)
    assert searched(log_probs, units, scorer) == pytest.approx(exhaustive(log_probs, units, score), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@pytest.mark.parametrize("phrases", [{}, PHRASES], ids=["alone", "phrases"])
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_without_its_language_model_a_scorer_has_its_phrases_alone(model, units, phrases, data):
    log_probs = log_softmax(data.draw(scores(units, most=3)))
    scorer = Scorer(units, NgramFusion(model, 0.5, 1.0)).with_phrases(phrases).without_language_model
    best = exhaustive(log_probs, units, lambda ids: boost(units.text(ids).split(), phrases))
    assert searched(log_probs, units, scorer) == pytest.approx(best, rel=1e-5, abs=1e-12)


@given(arrays(np.float64, (40, 6), elements=st.floats(-6, 6)), st.lists(st.integers(0, 40), max_size=6))
@settings(max_examples=30, deadline=None)
def test_neither_cuts_nor_other_searches_of_the_scorer_change_a_result(model, values, cuts):
    units = KINDS[2]
    log_probs = log_softmax(values).astype(np.float32)
    scorer = Scorer(units, NgramFusion(model, 0.5, 1.0)).with_phrases(PHRASES)
    whole, cut, mate = (CtcBeamSearch(units, HOP, scorer=scorer) for _ in range(3))
    whole.push(log_probs)
    whole.finish()
    for chunk in np.split(log_probs, sorted(cuts)):
        cut.push(chunk)
        mate.push(chunk[::-1])
        cut.hypotheses(2)
    cut.finish()
    assert cut.hypotheses(8) == whole.hypotheses(8)


def test_a_word_without_end_does_not_evade_the_model(tmp_path):
    """Words that are scored at their ends alone would fill a small beam with one word that has none."""
    (tmp_path / "rare.arpa").write_text(ARPA.replace("-0.7\ta\t", "-3.0\ta\t"), encoding="utf-8")
    units = Units("bpe", ("\u2581a", "a", "b"), b"none")
    rows = [row for _ in range(30) for row in ([0.96989, 0.03, 0.0001, 1e-9], [0.001, 0.001, 0.001, 0.997])]
    scorer = Scorer(units, NgramFusion(NgramModel.read(tmp_path / "rare.arpa"), 0.5, 0.0, -30.0))
    search = CtcBeamSearch(units, HOP, 4, scorer=scorer)
    search.push(np.log(np.array(rows)))
    search.finish()
    assert len(search.text().split()) == pytest.approx(30, abs=1)  # one of the repetitions may be the better without


def test_a_phrase_that_fails_gives_its_boost_back():
    units = Units("characters", (" ", "a", "b"))
    plain, biased = Scorer(units), Scorer(units).with_phrases({"aa": 3.0})
    log_probs = np.log(np.array([[1e-9, 0.5, 0.4, 0.1], [1e-9, 1e-9, 0.9, 0.1]]))
    found = [searched(log_probs, units, scorer) for scorer in (plain, biased)]
    assert found[1] == pytest.approx(found[0], abs=1e-6)


@pytest.mark.parametrize("boost", [150, 299, 350, 5000])
def test_a_phrase_that_fails_at_its_last_word_gives_back_any_boost(boost):
    words = tuple("abcdefghij")
    units = Units("words", (*words, "y", "z"))
    y, z = units.size - 2, units.size - 1
    probabilities = np.zeros((len(words), units.size + 1))
    probabilities[0, [0, z]] = 0.01, 0.99
    for frame in range(1, len(words) - 1):
        probabilities[frame, frame] = 1
    probabilities[-1, y] = 1
    with np.errstate(divide="ignore"):
        log_probs = np.log(probabilities)
    scorer = Scorer(units).with_phrases({" ".join(words): boost})
    search = CtcBeamSearch(units, HOP, 100, scorer=scorer, unit_floor=0, blank_only=1)
    search.push(log_probs)
    search.finish()
    best, second = search.hypotheses(2)
    assert (best.text[0], best.confidence) == ("z", pytest.approx(0.99))
    assert (second.text[0], second.confidence) == ("a", pytest.approx(0.01))


def test_a_phrase_within_a_word_gains_nothing():
    units = Units("characters", (" ", "a", "b"))
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    found = searched(log_probs, units, Scorer(units).with_phrases({"a": math.log(3)}))
    assert found == pytest.approx({"a": 0.75, "ab": 0.25})


def test_the_end_of_the_utterance_ends_the_word_and_the_sentence_once(model):
    units = Units("characters", (" ", "a", "b"))
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array([[0.0, 0.5, 0.0, 0.5]]))
    search = CtcBeamSearch(units, HOP, scorer=Scorer(units, NgramFusion(model, 1.0, 0.0)))
    search.push(log_probs)
    gains = np.array([log_probability(["a", "</s>"]), log_probability(["</s>"])])
    expected = np.exp(gains - np.logaddexp.reduce(gains))
    for _ in range(2):
        search.finish()
        assert {h.text: h.confidence for h in search.hypotheses(2)} == pytest.approx(
            dict(zip(("a", ""), expected, strict=True))
        )


def test_no_word_is_impossible_because_of_the_model(model):
    units = Units("words", ("a", "b", "zzz"))
    search = CtcBeamSearch(units, HOP, scorer=Scorer(units, NgramFusion(model, 10.0, 0.0, -100.0)))
    with np.errstate(divide="ignore"):
        search.push(np.log(np.array([[0.0, 0.0, 1.0, 0.0]] * 3)))
    search.finish()
    assert search.text() == "zzz"


def test_without_an_unknown_word_in_the_model_others_are_nearly_impossible(tmp_path):
    arpa = "\n".join(line for line in ARPA.splitlines() if "<unk>" not in line).replace("ngram 1=10", "ngram 1=9")
    (tmp_path / "small.arpa").write_text(arpa, encoding="utf-8")
    units = Units("words", ("a", "zzz"))
    scorer = Scorer(units, NgramFusion(NgramModel.read(tmp_path / "small.arpa"), 1.0, 0.0))
    found = searched(np.log(np.array([[1e-4, 0.9, 0.0999]])), units, scorer)
    assert found["zzz"] == pytest.approx(0.0, abs=1e-90)
    assert found["a"] > 0


def test_phrases_leave_the_scorer_as_it_was_and_share_its_model(model):
    units, log_probs = Units("words", ("a", "b", "ab")), np.log(np.array([[0.3, 0.3, 0.2, 0.2]]))
    plain = Scorer(units, NgramFusion(model, 0.5, 1.0))
    before = searched(log_probs, units, plain)
    biased = searched(log_probs, units, plain.with_phrases({"b": 2.0}))
    assert searched(log_probs, units, plain) == before
    assert biased["b"] / biased["a"] == pytest.approx(math.exp(2) * before["b"] / before["a"])
    assert searched(log_probs, units, plain.with_phrases({"b": 2.0}).with_phrases({})) == before


def test_a_phrase_is_found_in_jamo():
    units = Units("characters", (" ", *"\u1100\u1102\u1161\u11a8"), jamo=True)
    log_probs = log_softmax(np.random.default_rng(1).standard_normal((3, 6)))
    plain, biased = (
        searched(log_probs, units, s) for s in (Scorer(units), Scorer(units).with_phrases({"\uac00": 1.0}))
    )
    assert biased["\uac00"] / biased["\ub098"] == pytest.approx(math.e * plain["\uac00"] / plain["\ub098"])


@pytest.mark.parametrize("boost", [0.0, -1.0, math.nan, math.inf])
def test_a_boost_out_of_range_is_refused(boost):
    with pytest.raises(BadRecipe, match="phrase 'a': boost"):
        Scorer(KINDS[0]).with_phrases({"a": boost})


@pytest.mark.parametrize("weights", [(-0.1, 0.0, 0.0), (math.nan, 0.0, 0.0), (1.0, math.inf, 0.0), (1.0, 0.0, 1.0)])
def test_weights_out_of_range_are_refused(model, weights):
    with pytest.raises(BadRecipe, match="alpha="):
        NgramFusion(model, *weights)


@pytest.mark.parametrize(
    ("units", "tokens", "reason"),
    [
        (Units("characters", (" ", "A", "B")), "words", r"7 of 7 words of the language model cannot be spelled .*'a'"),
        (Units("words", ("ONE", "TWO")), "words", r"2 of 2 words of the model are not in the language model.*'ONE'"),
        (Units("bpe", ("\u2581x", "y"), b"none"), "units", r"2 of 2 bpe of the model .*'\u2581x'"),
    ],
)
def test_a_model_of_another_vocabulary_is_refused_with_what_differs(model, units, tokens, reason):
    with pytest.raises(WrongVocabulary, match=reason):
        Scorer(units, NgramFusion(model, 0.5, 1.0, tokens=tokens))


@pytest.mark.parametrize("key", ["lm", "prior"])
def test_the_file_of_another_vocabulary_is_named(key, tmp_path):
    (tmp_path / "small.arpa").write_text(ARPA, encoding="utf-8")
    decoding = DecodingRecipe.model_validate({key: {"path": "small.arpa"}})
    with pytest.raises(
        WrongVocabulary, match=rf"^decoding\.{key}={tmp_path}/small\.arpa: 2 of 2 words of the model are not in the"
    ):
        load_scorer(Units("words", ("ONE", "TWO")), decoding, TextRecipe(), tmp_path, None)


@pytest.mark.parametrize(
    "units", [Units("characters", (" ", "a", "b", "c")), Units("bpe", ("\u2581", "\u2581a", "a", "b"), b"none")]
)
def test_a_model_of_units_is_no_model_of_words(units, tmp_path):
    (tmp_path / "text").write_text("\u2581 a b\na \u2581 b a\n", encoding="utf-8")
    train([tmp_path / "text"], tmp_path / "units.arpa", order=2)
    model = NgramModel.read(tmp_path / "units.arpa")
    with pytest.raises(WrongVocabulary, match=f"all 3 words .* are {units.kind} of the model, .*tokens: units"):
        Scorer(units, NgramFusion(model, 0.5, 1.0))
    Scorer(units, NgramFusion(model, 0.5, 1.0, tokens="units"))


@pytest.mark.parametrize(("phrase", "reason"), [("a c", "'c' is not among the 3 characters"), (" ", "is empty")])
def test_a_phrase_that_no_units_spell_is_refused(phrase, reason):
    with pytest.raises(WrongVocabulary, match=reason):
        Scorer(KINDS[1]).with_phrases({phrase: 1.0})
