"""Captions: cues from words with times, and their files, SubRip (srt) and WebVTT (vtt).

A cue has at most two lines of 42 columns, and at most 7 s (BBC Subtitle Guidelines 2024; Netflix's Timed Text Style
Guide); it ends at a pause, or where it is full, and stays for at least a second if the next one, and the end of the
audio, let it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from rich.cells import cell_len

__all__ = ["Cue", "TimedWord", "cues", "srt", "vtt"]

_COLUMNS = 42
_LINES = 2
_LONGEST_S = 7.0
_SHORTEST_S = 1.0
_PAUSE_S = 0.8
_FIGURES = re.compile(r"\d{1,4}\D*|\D+")  # of a number that is written as one word
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class TimedWord(Protocol):
    """A word, and where it was spoken, in seconds from the start of the audio."""

    @property
    def word(self) -> str:
        """The word."""

    @property
    def start_s(self) -> float:
        """Its start."""

    @property
    def end_s(self) -> float:
        """Its end."""


@dataclass(frozen=True, slots=True)
class _Part:
    word: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Cue:
    """Lines that are shown from `start_s` to `end_s`, seconds from the start of the audio."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]


def cues(words: Iterable[TimedWord], audio_s: float) -> list[Cue]:
    """Return the cues of words in the order of their times, of audio of `audio_s` seconds; none overlaps the next."""
    groups: list[list[TimedWord]] = []
    for word in chain.from_iterable(map(_parts, words)):
        if not groups or _ends(groups[-1], word):
            groups.append([])
        groups[-1].append(word)
    shown: list[Cue] = []
    for group, after in zip(groups, [*groups, []][1:], strict=True):
        start_s, last_s = group[0].start_s, max(word.end_s for word in group)
        end_s = min(max(last_s, start_s + _SHORTEST_S), after[0].start_s if after else max(audio_s, last_s))
        shown.append(Cue(start_s, end_s, _lines(group)))
    return shown


def srt(cues: Sequence[Cue]) -> str:
    """Return a SubRip file: numbered cues, milliseconds after a comma."""
    return "\n".join(
        f"{number}\n{_clock(cue.start_s, ',')} --> {_clock(cue.end_s, ',')}\n{_text(cue)}\n"
        for number, cue in enumerate(cues, 1)
    )


def vtt(cues: Sequence[Cue]) -> str:
    """Return a WebVTT file (W3C Candidate Recommendation 2019), signs of its markup escaped."""
    shown = [
        f"\n{_clock(cue.start_s, '.')} --> {_clock(cue.end_s, '.')}\n{_text(cue).translate(_MARKUP)}\n" for cue in cues
    ]
    return "".join(("WEBVTT\n", *shown))


def _parts(word: TimedWord) -> Iterator[TimedWord]:
    """Split a number that no line or no cue holds; its parts have shares of its time in proportion to their lengths."""
    text, length_s = word.word, word.end_s - word.start_s
    parts = list(_FIGURES.finditer(text))
    if len(parts) < 2 or (cell_len(text) <= _COLUMNS and length_s <= _LONGEST_S):
        yield word
        return
    for part in parts:
        start_s, end_s = (word.start_s + length_s * at / len(text) for at in part.span())
        yield _Part(part[0].strip(), start_s, end_s)


def _ends(group: Sequence[TimedWord], word: TimedWord) -> bool:
    """Return whether a cue ends before `word`."""
    pause_s, length_s = word.start_s - group[-1].end_s, word.end_s - group[0].start_s
    return pause_s >= _PAUSE_S or length_s > _LONGEST_S or len(_lines([*group, word])) > _LINES


def _lines(words: Iterable[TimedWord]) -> tuple[str, ...]:
    """Fill lines; a word without figures that is wider than a line has one of its own."""
    lines: list[str] = []
    for word in words:
        if lines and cell_len(lines[-1]) + 1 + cell_len(word.word) <= _COLUMNS:
            lines[-1] += f" {word.word}"
        else:
            lines.append(word.word)
    return tuple(lines)


def _text(cue: Cue) -> str:
    return "\n".join(cue.lines)


def _clock(seconds: float, point: str) -> str:
    minutes, milliseconds = divmod(round(1000 * seconds), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{milliseconds // 1000:02}{point}{milliseconds % 1000:03}"
