"""Written forms of results: what was said, with figures, dates and signs."""

from dataclasses import replace

from sonorant.decoding import Hypothesis, Word
from sonorant.text.formatting import formatter, text_of

__all__ = ["written"]


def written(hypothesis: Hypothesis, language: str) -> Hypothesis:
    """Return a hypothesis in the written form of a language, one of `LANGUAGES`.

    A word spans the spoken words that it is the written form of; its confidence is the least of theirs.
    """
    spoken = hypothesis.words
    groups = formatter(language).written([word.word for word in spoken])
    words = tuple(
        spoken[begin]
        if end == begin + 1 and text == spoken[begin].word
        else Word(
            text, spoken[begin].start_s, spoken[end - 1].end_s, min(word.confidence for word in spoken[begin:end])
        )
        for text, begin, end in groups
    )
    return replace(hypothesis, text=text_of(groups), words=words)
