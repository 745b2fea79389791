"""What a session returns: results of utterances, and events of speech."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sonorant.decoding import Hypothesis

__all__ = ["Answer", "Result", "SpeechEvent", "clamped", "join_results", "later", "nothing"]


@dataclass(frozen=True, slots=True)
class Result:
    """The recognition of the audio from `start_s` up to `end_s`, best first; at least one alternative.

    Silence is an alternative with an empty text. stability: how likely the best text is to stand, 1 of a final result.
    Times of words are from the start of the stream. channel: of channels apart, from 1; 0: all of them, mixed.
    """

    alternatives: tuple[Hypothesis, ...]
    is_final: bool
    stability: float
    end_s: float
    start_s: float = 0.0
    channel: int = 0


@dataclass(frozen=True, slots=True)
class SpeechEvent:
    """Speech has begun, or ended, at `time_s` of the stream; channel: as of a Result."""

    kind: Literal["begin", "end"]
    time_s: float
    channel: int = 0


Answer = Result | SpeechEvent


def nothing(start_s: float, end_s: float) -> Result:
    """Return the final result of audio without speech."""
    return Result((Hypothesis((), "", (), 1.0),), True, 1.0, end_s, start_s)


def later(hypothesis: Hypothesis, seconds: float) -> Hypothesis:
    """Return a hypothesis with the times of its words moved, to the microsecond."""
    if not seconds:
        return hypothesis
    words = (
        replace(word, start_s=round(word.start_s + seconds, 6), end_s=round(word.end_s + seconds, 6))
        for word in hypothesis.words
    )
    return replace(hypothesis, words=tuple(words))


def clamped(hypothesis: Hypothesis, start_s: float, end_s: float) -> Hypothesis:
    """Return a hypothesis whose words, in order, lie between two times."""
    words = hypothesis.words
    if not words or (words[0].start_s >= start_s and words[-1].end_s <= end_s):
        return hypothesis
    cut = (
        replace(word, start_s=min(max(word.start_s, start_s), end_s), end_s=min(max(word.end_s, start_s), end_s))
        for word in words
    )
    return replace(hypothesis, words=tuple(cut))


def join_results(results: Sequence[Result], most: int) -> Result:
    """Return one result of consecutive utterances, at least one: the `most` most probable transcripts of the whole.

    The utterances are independent: confidences multiply, except those of words, and so do stabilities.
    """
    joined: list[Hypothesis] = list(results[0].alternatives)
    for result in results[1:]:
        every = [_joined(one, other) for one in joined for other in result.alternatives]
        joined = sorted(every, key=lambda hypothesis: -hypothesis.confidence)[:most]
    last = results[-1]
    stability = math.prod(result.stability for result in results)
    return Result(tuple(joined), last.is_final, stability, last.end_s, results[0].start_s)


def _joined(one: Hypothesis, other: Hypothesis) -> Hypothesis:
    text = " ".join(filter(None, (one.text, other.text)))
    return Hypothesis(one.units + other.units, text, one.words + other.words, one.confidence * other.confidence)
