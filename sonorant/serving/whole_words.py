"""Words that are whole where the audio of an utterance breaks off, though its speech goes on.

The last word may be half of one, and the search may change it: all others are kept, and recognition goes on between the
last of them and it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sonorant.decoding import Hypothesis
from sonorant.text.units import Units

__all__ = ["Kept", "keep_whole"]

_LEAD_S = 0.1  # of audio before a word, where there is a pause


class Kept(NamedTuple):
    """The alternatives of the words that are kept, best first, and where they end."""

    alternatives: tuple[Hypothesis, ...]
    end_s: float


def keep_whole(hypotheses: Sequence[Hypothesis], most: int, units: Units) -> Kept | None:
    """Return the words before the last one of the best of a beam's `hypotheses`; None: there are none.

    most: length of the N-best list; units: those of the hypotheses. Each keeps the words whose middle is before the end
    of what is kept; those that keep the same words are one alternative, and their confidences add up. Those with a word
    across that end are last: the audio goes on in its midst.
    """
    words = hypotheses[0].words
    if len(words) < 2:
        return None
    before, last = words[-2:]
    end_s = last.start_s - min(_LEAD_S, max(0.0, last.start_s - before.end_s) / 2)
    kept: dict[str, Hypothesis] = {}
    cut: dict[str, bool] = {}
    for hypothesis in hypotheses:
        first = _before(hypothesis, end_s, units)
        same = kept.get(first.text)
        kept[first.text] = first if same is None else replace(same, confidence=same.confidence + first.confidence)
        cut.setdefault(first.text, any(word.start_s < end_s < word.end_s for word in hypothesis.words))
    best = sorted(kept.values(), key=lambda one: (cut[one.text], -one.confidence))[:most]
    return Kept(tuple(best), end_s)


def _before(hypothesis: Hypothesis, end_s: float, units: Units) -> Hypothesis:
    words = tuple(word for word in hypothesis.words if word.start_s + word.end_s < 2 * end_s)
    ids = hypothesis.units
    size = bisect_right(range(len(ids) + 1), len(words), key=lambda size: len(units.text(ids[:size]).split())) - 1
    return replace(hypothesis, units=ids[:size], text=" ".join(word.word for word in words), words=words)
