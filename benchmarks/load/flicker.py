"""Partial flicker: interim words that later change (unstable partials: Shangguan 2020, section 3)."""

from collections.abc import Sequence

__all__ = ["Flicker"]


class Flicker:
    """Counts the words that interim results show, and those of them that a later result of the utterance takes back.

    A word is shown where it first comes behind what stays, and taken back when a result no longer begins with the same
    words up to it. shown, changed: the counts.
    """

    def __init__(self) -> None:
        self.shown = 0
        self.changed = 0
        self._words: Sequence[str] = ()

    def result(self, text: str, *, is_final: bool) -> None:
        """Count a result; a final one ends its utterance."""
        words = text.split()
        kept = 0
        for before, now in zip(self._words, words, strict=False):
            if before != now:
                break
            kept += 1
        self.changed += len(self._words) - kept
        if is_final:
            self._words = ()
        else:
            self.shown += len(words) - kept
            self._words = words
