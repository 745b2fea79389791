import pytest
from rigs.babble import murmur

from services.recognizer_client.client import pcm16
from sonorant.serving.errors import BadRequest
from sonorant.serving.phrases import MOST_PHRASES, scorer_with_phrases
from sonorant.serving.session import Session, SessionOptions

AUDIO = pcm16(murmur(2.0, seed=4))


def heard(model, phrases):
    session = Session(model, SessionOptions(), scorer_with_phrases(model, phrases))
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0].text.split()


def test_the_greater_the_boost_the_more_of_the_phrase(model):
    counts = [heard(model, [("delta", boost)]).count("delta") for boost in (0.1, 5, 20)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_without_phrases_the_scorer_is_the_model_s(model):
    assert scorer_with_phrases(model, ()) is model.scorer


def test_a_phrase_without_a_boost_has_the_recipe_s(model):
    boost = model.recipe.decoding.phrase_boost
    assert heard(model, [("delta", 0)]) == heard(model, [("delta", boost)])


def test_phrases_are_normalised_and_of_equal_ones_the_greater_boost_counts(model):
    assert heard(model, [("Delta!", 1), (" delta", 9), ("DELTA", 3)]) == heard(model, [("delta", 9)])


@pytest.mark.parametrize(
    ("phrases", "reason"),
    [
        ([("alpha", 1.0)] * (MOST_PHRASES + 1), "more than 1000 phrases"),
        ([("omega", 1.0)], "phrase 'omega': 'omega' is not among the"),
        ([("...", 1.0)], "phrase '...': no word is left"),
        ([("", 1.0)], "phrase '': no word is left"),
        ([("$OOV_CLASS_DIGIT", 1.0)], r"classes \(\$\) are not supported"),
        ([("alpha " * 20, 1.0)], "120 characters, expected 100 at most"),
        ([("alpha", -1.0)], "boost -1: expected above 0, and 20 at most"),
        ([("alpha", 20.5)], "boost 20.5: expected above 0"),
        ([("alpha", float("nan"))], "boost nan: expected above 0"),
    ],
)
def test_bad_phrases_are_named(model, phrases, reason):
    with pytest.raises(BadRequest, match=reason):
        scorer_with_phrases(model, phrases)
