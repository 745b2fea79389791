"""The results of a search: transcripts with words, their times and confidences."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonorant.text.units import Units

__all__ = ["Hypothesis", "UnitPath", "Word", "best_text", "n_best"]

# Two hypotheses that differ elsewhere may align the same word a few frames apart; spoken words are not this close.
_SAME_WORD_S = 0.1


@dataclass(frozen=True, slots=True)
class Word:
    """One recognized word, its times (seconds from the start of the audio), and its confidence in [0, 1].

    A search gives the times of emissions. A model without look-ahead emits a unit after its audio: the end of a word is
    near its spoken end, but its start is late, with words as units by most of the word. Recognition corrects starts,
    and ends where a frame's window reaches beyond its step.
    """

    word: str
    start_s: float
    end_s: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A transcript.

    units: the unit ids that spell it.
    confidence: its posterior among the hypotheses of the beam, in [0, 1].
    """

    units: tuple[int, ...]
    text: str
    words: tuple[Word, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class UnitPath:
    """A unit sequence of a search.

    spans: first and last frame of each unit in its most probable alignment.
    probability: posterior among all paths of the beam.
    """

    units: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    probability: float


def n_best(
    paths: Sequence[UnitPath], units: Units, vector_seconds: float, n: int, *, words: bool = True
) -> list[Hypothesis]:
    """Return at most `n` hypotheses of a beam's paths, with distinct texts, most probable first, with their `words`.

    Paths that spell the same text are one hypothesis: their probabilities add up, and the most probable gives the
    times. The confidence of a word is the sum of the probabilities of all paths that have the same word
    within 0.1 s of its span, each word of a path for one; so it is never below the confidence of its hypothesis.
    """
    best: dict[str, UnitPath] = {}
    for path in sorted(paths, key=lambda path: path.probability):
        best[units.text(path.units)] = path
    mass = _mass([(path.units, path.probability) for path in paths], units)
    spelled = {text: _words(path, units, vector_seconds) if words else () for text, path in best.items()}
    order = sorted(mass, key=lambda text: -mass[text])
    alternatives = [(spelled[text], mass[text]) for text in order]
    return [
        Hypothesis(best[text].units, text, _with_confidence(spelled[text], alternatives), min(1.0, mass[text]))
        for text in order[:n]
    ]


def best_text(sequences: Sequence[tuple[Sequence[int], float]], units: Units) -> str:
    """Return the most probable text of (unit sequence, probability) pairs: the first of `n_best`, at less cost."""
    mass = _mass(sequences, units)
    return max(mass, key=lambda text: mass[text])


def _mass(sequences: Sequence[tuple[Sequence[int], float]], units: Units) -> dict[str, float]:
    """Return the probability of each text that the sequences spell."""
    mass: dict[str, float] = {}
    for ids, probability in sequences:
        text = units.text(ids)
        mass[text] = mass.get(text, 0.0) + probability
    return mass


def _words(path: UnitPath, units: Units, vector_seconds: float) -> tuple[Word, ...]:
    """Group units to words; a unit that is only a space belongs to no word, so it moves no word's edges."""
    words: list[Word] = []
    ids: list[int] = []
    first = last = 0
    for unit, (begins, ends) in zip(path.units, path.spans, strict=True):
        if units.starts_word(unit) and ids:
            words.append(_word(ids, first, last, units, vector_seconds))
            ids = []
        if not units.text([unit]).strip():
            continue
        if not ids:
            first = begins
        last = ends
        ids.append(unit)
    if ids:
        words.append(_word(ids, first, last, units, vector_seconds))
    return tuple(words)


def _word(ids: list[int], first: int, last: int, units: Units, vector_seconds: float) -> Word:
    return Word(units.text(ids).strip(), first * vector_seconds, (last + 1) * vector_seconds, 0.0)


def _with_confidence(
    words: tuple[Word, ...], alternatives: Sequence[tuple[tuple[Word, ...], float]]
) -> tuple[Word, ...]:
    """Return the words with their confidences, from all hypotheses' words and probabilities; see `n_best`."""
    confidence = [0.0] * len(words)
    for others, probability in alternatives:
        at = 0
        for index, word in enumerate(words):
            while at < len(others) and others[at].end_s < word.start_s - _SAME_WORD_S:
                at += 1
            near = at
            while near < len(others) and others[near].start_s <= word.end_s + _SAME_WORD_S:
                if others[near].word == word.word:
                    if not _is_next(others, near, words, index):
                        confidence[index] += probability
                        at = near + 1
                    break
                near += 1
    return tuple(
        Word(word.word, word.start_s, word.end_s, min(1.0, sure)) for word, sure in zip(words, confidence, strict=True)
    )


def _is_next(others: Sequence[Word], near: int, words: Sequence[Word], index: int) -> bool:
    """Whether one of the other words is rather the next one of the words, which says the same again, at its time."""
    if index + 1 == len(words) or words[index + 1].word != words[index].word:
        return False
    is_again = near + 1 < len(others) and others[near + 1].word == others[near].word
    return not is_again and _apart_s(others[near], words[index + 1]) < _apart_s(others[near], words[index])


def _apart_s(one: Word, other: Word) -> float:
    """Return how far the middles of two words are apart."""
    return abs(one.start_s + one.end_s - other.start_s - other.end_s) / 2
