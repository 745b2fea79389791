"""Where words are: a unit is emitted when its audio is over, so a word starts before the emission of its first unit.

A word's end, its last emission with the lag of the model's frames, is near its spoken end, whatever the units. Its
start is found in the audio between the end of the word before and its first emission: at the onset after the last
pause; without a pause, where the word before ends. Words that are emitted with one frame, as by attention, share the
time until its end evenly; a word that is emitted within the lag of the first sample is at 0, without length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sonorant.arrays import Waveform
from sonorant.audio.onset import Levels, onset
from sonorant.decoding import Hypothesis, Word

__all__ = ["WordPlaces"]

_LONGEST_S = 1.2  # time that a word may start before its first emission
_EMITTED_S = 0.1  # of a word's audio, after the start of its first emission

_Place = tuple[float, float, float]  # end of the word before, start and end of the emissions


class _Known(NamedTuple):
    """Of the latest hypotheses: starts by place; corrected words by the end of the word before, and the word."""

    starts: dict[_Place, float]
    words: dict[tuple[float, Word], Word]


class WordPlaces:
    """Corrects starts and ends of an utterance's words, in seconds from its first sample.

    A start depends on the audio before the word's end alone, so interim and final results agree, and results do not
    depend on how the audio is cut. Words stay in order and apart. lag_s: of the emissions, `ServedModel.frame_lag_s`.
    """

    def __init__(self, rate_hz: int, lag_s: float) -> None:
        self._levels = Levels(rate_hz)
        self._lag_s = lag_s
        self._known = _Known({}, {})

    def push(self, samples: Waveform) -> None:
        """Take the utterance's next Float32[samples]."""
        self._levels.push(samples)

    def corrected(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses, of a search of the audio so far, with corrected places.

        A word that is as it was in the latest hypotheses is the same object, so that writers may know it; one that
        shares its frame with another is a new one.
        """
        before, self._known = self._known, _Known({}, {})
        return [replace(one, words=self._words(one, before)) for one in hypotheses]

    def _words(self, hypothesis: Hypothesis, before: _Known) -> tuple[Word, ...]:
        words: list[Word] = []
        ended_s = 0.0
        for word in hypothesis.words:
            words.append(self._corrected(ended_s, word, before))
            ended_s = max(ended_s, words[-1].end_s)
        return tuple(_shared(words))

    def _corrected(self, ended_s: float, word: Word, before: _Known) -> Word:
        known, place = self._known, (ended_s, self._heard_s(word.start_s), self._heard_s(word.end_s))
        if (ended_s, word) in before.words:
            found = before.words[ended_s, word]
        else:
            starts = known.starts if place in known.starts else before.starts
            start_s = starts[place] if place in starts else self._start(*place)
            found = replace(word, start_s=start_s, end_s=place[2])
        known.starts[place] = found.start_s
        known.words[ended_s, word] = found
        return found

    def _heard_s(self, emitted_s: float) -> float:
        return max(0.0, emitted_s + self._lag_s)

    def _start(self, ended_s: float, emitted_s: float, end_s: float) -> float:
        earliest_s = max(ended_s, emitted_s - _LONGEST_S)
        if emitted_s <= earliest_s:
            return min(ended_s, end_s)
        until = self._levels.frame(min(end_s, emitted_s + _EMITTED_S)) - 1
        begin = self._levels.frame(earliest_s)
        found = onset(self._levels, begin, until)
        return min(emitted_s, max(earliest_s, self._levels.middle_s(found))) if found > begin else earliest_s


def _shared(words: Sequence[Word]) -> Iterator[Word]:
    """Yield words of which those without length, emitted with the frame of the one before, share its time with it."""
    begin = 0
    while begin < len(words):
        end = begin + 1
        while end < len(words) and words[end].start_s == words[end].end_s == words[begin].end_s:
            end += 1
        first, count = words[begin], end - begin
        each_s = (first.end_s - first.start_s) / count
        for number, word in enumerate(words[begin:end]):
            start_s, end_s = first.start_s + number * each_s, first.start_s + (number + 1) * each_s
            yield word if count == 1 else replace(word, start_s=start_s, end_s=end_s)
        begin = end
