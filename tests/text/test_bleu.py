import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.bleu import bleu, sentence_bleu

# NLTK 3.10.4: sentence_bleu([reference], hypothesis, smoothing_function=SmoothingFunction().method7), of the words
# and of the characters of both.
BY_NLTK = [
    ("the cat sat on the mat", "the cat sat on the mat", 1.1167470964180197, 1.1167470964180197),
    ("the cat sat on the mat", "the cat sat on a mat", 0.5859402341761669, 0.867134509044149),
    ("the cat sat on the mat", "the the the the", 0.1047324695976963, 0.31750204747372845),
    ("seven two nine", "seven too nine one", 0.17267465035867638, 0.6809030987738165),
    ("one", "one", 0.19245008972987526, 0.7466681393420525),
    ("one two", "two", 0.07079843146322044, 0.19681958465275967),
    ("one two three four", "one two three four", 1.010629663399238, 1.1167470964180197),
    ("go", "stop", 0, 0.1394721495522781),
    ("il fait très beau aujourd'hui", "il fait beau aujourd'hui à paris", 0.26523875812539377, 0.8347650174639661),
    ("a b c d e f", "f e d c b a", 0.21928019422892692, 0.5183079420755045),
    ("yes yes yes", "yes yes yes yes yes yes", 0.32416217435629585, 0.5415921530518515),
]
words = st.lists(st.sampled_from("abc"), max_size=12)


@pytest.mark.parametrize(("reference", "hypothesis", "of_words", "of_characters"), BY_NLTK)
def test_a_sentence_has_the_figure_of_nltk(reference, hypothesis, of_words, of_characters):
    assert sentence_bleu(reference.split(), hypothesis.split()) == pytest.approx(of_words, rel=1e-12)
    assert sentence_bleu(reference, hypothesis) == pytest.approx(of_characters, rel=1e-12)


def test_of_several_utterances_it_is_the_mean():
    pairs = [(reference.split(), hypothesis.split()) for reference, hypothesis, _, _ in BY_NLTK]
    assert bleu(pairs) == pytest.approx(sum(entry[2] for entry in BY_NLTK) / len(BY_NLTK))
    assert bleu([]) == 0


@given(words, words)
def test_it_is_zero_just_where_nothing_matches_and_bounded(reference, hypothesis):
    found = sentence_bleu(reference, hypothesis)
    assert (found > 0) == bool(set(reference) & set(hypothesis))
    assert found <= 1.1167470964180197 * (1 + 1e-9)
