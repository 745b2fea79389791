"""Space-insensitive comparison: the hypothesis takes the reference's spaces wherever both have the same letters.

Korean orthography leaves much of its word spacing to the writer, so that the word error rate counts spaces that nobody
can hear. The space-normalized WER is the WER after this (Bang et al. 2020, "KsponSpeech", Applied Sciences 10(19):6936,
section 3.2 and algorithm A1). Samsung's paper (section 3) has a scoring of its own for Korean, without its definition.
"""

import numpy as np
from rapidfuzz.distance import Levenshtein

__all__ = ["hits", "respace"]

_DIAGONAL, _DELETION, _INSERTION = range(3)
_MOST_CELLS = 100_000_000  # bytes; of two texts of 10,000 letters, an hour of speech


def respace(reference: str, hypothesis: str) -> str:
    """Return the hypothesis with the reference's spacing.

    Letters are aligned without regard to spaces, see `hits`. A letter that is right begins a word if its counterpart
    does; a wrong or inserted one keeps the hypothesis' own spacing.
    """
    spoken, starts = _letters(reference)
    letters, begins = _letters(hypothesis)
    for here, there in hits(spoken, letters):
        begins[there] = starts[here]
    spaced = (f" {letter}" if begin else letter for letter, begin in zip(letters, begins, strict=True))
    return "".join(spaced).strip()


def hits(reference: str, hypothesis: str) -> list[tuple[int, int]]:
    """Return the positions of equal letters in an alignment with the fewest errors, most of them substitutions.

    A1 prefers substitutions too. Otherwise a letter that happens to stand in two words, one recognized for the other,
    gives one of them a space within, and more errors than the WER has. Of texts too long for a table, rapidfuzz chooses
    among alignments with the fewest errors.
    """
    if (len(reference) + 1) * (len(hypothesis) + 1) > _MOST_CELLS:
        blocks = Levenshtein.editops(reference, hypothesis).as_matching_blocks()
        return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
    steps = _steps(reference, hypothesis)
    found: list[tuple[int, int]] = []
    here, there = len(reference), len(hypothesis)
    while here and there:
        step = steps[here, there]
        here, there = here - (step != _INSERTION), there - (step != _DELETION)
        if step == _DIAGONAL and reference[here] == hypothesis[there]:
            found.append((here, there))
    return found[::-1]


def _steps(reference: str, hypothesis: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """Return the last step of the best alignment of the first letters of both, by how many those are.

    Wagner and Fischer's recursion, a row at a time. A substitution costs a little less than a deletion or an insertion;
    no alignment has enough of these for the difference to make up for one error.
    """
    heard = np.array([ord(letter) for letter in hypothesis], np.int64)
    substitution = len(reference) + len(hypothesis) + 1
    gap = substitution + 1
    along = gap * np.arange(len(heard) + 1)
    steps = np.full((len(reference) + 1, len(heard) + 1), _INSERTION, np.uint8)
    row = along
    for i, letter in enumerate(reference, 1):
        deleted = row + gap
        matched = np.concatenate([[deleted[0]], row[:-1] + substitution * (heard != ord(letter))])
        row = np.minimum.accumulate(np.minimum(matched, deleted) - along) + along
        steps[i] = np.select([row == matched, row == deleted], [_DIAGONAL, _DELETION], _INSERTION)
    return steps


def _letters(text: str) -> tuple[str, list[bool]]:
    """Return the letters of a text without its spaces, and for each of them whether it begins a word."""
    words = text.split()
    return "".join(words), [position == 0 for word in words for position in range(len(word))]
