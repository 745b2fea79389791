"""Contextual biasing by a client's phrases (`Scorer`)."""

from collections.abc import Iterable

from sonorant.decoding import Scorer, WrongVocabulary
from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel
from sonorant.text.normalisation import normalise

__all__ = ["MOST_BOOST", "MOST_PHRASES", "scorer_with_phrases"]

MOST_PHRASES = 1000
_MOST_CHARACTERS = 100
MOST_BOOST = 20.0


def scorer_with_phrases(
    model: ServedModel, phrases: Iterable[tuple[str, float]], *, language_model: bool = True
) -> Scorer:
    """Return a model's scorer with `phrases` in place of those of its recipe; its own if there are none.

    language_model: whether that of the model counts, if it has one.

    phrases: each with the boost of each word, a natural logarithm; 0: the recipe's. They are normalised as transcripts;
    of two that are the same then, the greater boost counts. Raises BadRequest for more than `MOST_PHRASES`, and naming
    a phrase that is empty, too long, refers to a class, or is not spelled by the model's units; and for a boost out of
    range.
    """
    scorer = model.scorer if language_model else model.scorer.without_language_model
    boosts: dict[str, float] = {}
    for number, (phrase, boost) in enumerate(phrases, start=1):
        if number > MOST_PHRASES:
            raise BadRequest(f"more than {MOST_PHRASES} phrases: send fewer")
        words = normalise(_checked(phrase, boost), model.recipe.text)
        if not words:
            raise BadRequest(f"phrase {phrase!r}: no word is left after normalisation; leave it out")
        total = (boost or model.recipe.decoding.phrase_boost) * len(words.split())
        boosts[words] = max(total, boosts.get(words, total))
    try:
        return scorer.with_phrases(boosts) if boosts else scorer
    except WrongVocabulary as error:
        raise BadRequest(str(error)) from None


def _checked(phrase: str, boost: float) -> str:
    if len(phrase) > _MOST_CHARACTERS:
        shown = phrase[:20]
        raise BadRequest(f"phrase {shown!r}…: {len(phrase)} characters, expected {_MOST_CHARACTERS} at most")
    if "$" in phrase:
        raise BadRequest(f"phrase {phrase!r}: classes ($) are not supported; write their words")
    if not 0 <= boost <= MOST_BOOST:  # neither is NaN
        raise BadRequest(f"phrase {phrase!r}: boost {boost:g}: expected above 0, and {MOST_BOOST:g} at most")
    return phrase
