"""How far the times of recognized words are from where they were spoken."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.text.alignment import align
from sonorant.text.transcript_formats import IDS

__all__ = ["Deviation", "TimedWord", "WordTimes", "compare_times", "read_word_times", "respelt"]


class TimedWord(NamedTuple):
    """A word and its times, in seconds from the start of the audio."""

    word: str
    start_s: float
    end_s: float


class Deviation(NamedTuple):
    """Deviation of recognized times from true ones, in seconds; positive: later.

    median: of the deviations. absolute_median, absolute_mean, absolute_p90: of their absolute values.
    """

    median: float
    absolute_median: float
    absolute_mean: float
    absolute_p90: float

    def __str__(self) -> str:
        return (
            f"{self.absolute_median:.3f} s (median of absolute deviations), mean {self.absolute_mean:.3f}, "
            f"90th percentile {self.absolute_p90:.3f}; median {self.median:+.3f}"
        )


class WordTimes(NamedTuple):
    """Deviations of the starts and ends of the words that were recognized.

    words: how many those are; reference_words, hypothesis_words: of how many that have times.
    """

    words: int
    reference_words: int
    hypothesis_words: int
    start: Deviation
    end: Deviation

    def figures(self) -> dict[str, Any]:
        """Return everything as a document."""
        counts = {
            "words": self.words,
            "reference_words": self.reference_words,
            "hypothesis_words": self.hypothesis_words,
        }
        return counts | {"start_s": self.start._asdict(), "end_s": self.end._asdict()}


def compare_times(references: Mapping[str, list[TimedWord]], hypotheses: Mapping[str, list[TimedWord]]) -> WordTimes:
    """Compare the words, by utterance, that both have in an alignment with the fewest errors.

    Raises BadCorpus if there are none.
    """
    pairs = [pair for name in references for pair in _hits(references[name], hypotheses.get(name, []))]
    said, heard = (sum(map(len, words.values())) for words in (references, hypotheses))
    if not pairs:
        raise BadCorpus(
            f"no recognized word has times in both files: {said} words of the reference have some, "
            f"{heard} of the hypothesis"
        )
    deviations = np.array([(heard.start_s - said.start_s, heard.end_s - said.end_s) for said, heard in pairs])
    return WordTimes(len(pairs), said, heard, _deviation(deviations[:, 0]), _deviation(deviations[:, 1]))


def respelt(words: Mapping[str, list[TimedWord]], spelling: Callable[[str], str]) -> dict[str, list[TimedWord]]:
    """Return the words of each utterance in another spelling, without those of which nothing is left, such as a dash.

    A word that becomes several ("well-known") stays one, since where it is divided in time is not known.
    """
    return {
        name: [word._replace(word=spelt) for word in each if (spelt := spelling(word.word))]
        for name, each in words.items()
    }


def read_word_times(path: Path) -> dict[str, list[TimedWord]]:
    """Return the words of each utterance of a file of JSON lines that `read_transcripts` accepts.

    Its "words" are [word, start, end], as test sets have them, or objects with word, start_s and end_s, as
    `sonorant transcribe --json` writes them; utterances may have none. Raises BadCorpus, naming the line.
    """
    found: dict[str, list[TimedWord]] = {}
    for number, line in enumerate(path.read_bytes().decode("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            name = next(str(entry[key]) for key in IDS if entry.get(key) is not None)
            found[name] = [_word(word) for word in entry.get("words") or []]
        except (ValueError, TypeError, KeyError, AttributeError, StopIteration, OverflowError, RecursionError) as error:
            raise BadCorpus(
                f'{shown(path)}:{number}: no times of words in it; expected "words": [["one", 0.1, 0.5]] in seconds, '
                'or [{"word": "one", "start_s": 0.1, "end_s": 0.5}], as `sonorant transcribe --json` writes them'
            ) from error
    return found


def _word(entry: Any) -> TimedWord:
    word, start_s, end_s = (entry[k] for k in TimedWord._fields) if isinstance(entry, dict) else entry
    times = float(start_s), float(end_s)
    if not isinstance(word, str) or not all(map(math.isfinite, times)):
        raise ValueError(f"{entry}: no word with times")
    return TimedWord(word, *times)


def _hits(said: list[TimedWord], heard: list[TimedWord]) -> Iterator[tuple[TimedWord, TimedWord]]:
    references, hypotheses = iter(said), iter(heard)
    for step in align([word.word for word in said], [word.word for word in heard]).steps:
        reference = next(references) if step.kind != "insertion" else None
        hypothesis = next(hypotheses) if step.kind != "deletion" else None
        if step.kind == "hit" and reference and hypothesis:
            yield reference, hypothesis


def _deviation(seconds: NDArray[np.float64]) -> Deviation:
    absolute = np.abs(seconds)
    found = (np.median(seconds), np.median(absolute), absolute.mean(), np.percentile(absolute, 90))
    return Deviation(*(float(value) for value in found))
