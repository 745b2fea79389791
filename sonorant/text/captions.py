"""Captions of recognized words: SubRip (srt) and WebVTT, a cue for what one reads at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sonorant.decoding import Word

__all__ = ["Cue", "cues_of", "srt", "webvtt"]

_MOST_CHARACTERS = 84  # two lines of 42, as broadcasters advise
_LINE_CHARACTERS = 42
_MOST_S = 6.0
_PAUSE_S = 0.8  # a silence that ends a cue
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Cue:
    """A text, and when it is shown, in seconds."""

    start_s: float
    end_s: float
    text: str


def cues_of(words: Iterable[Word]) -> list[Cue]:
    """Return the cues of words in order: a new one after a pause, 6 s, or two lines."""
    cues: list[list[Word]] = []
    for word in words:
        if not cues or _begins(cues[-1], word):
            cues.append([])
        cues[-1].append(word)
    return [Cue(cue[0].start_s, cue[-1].end_s, " ".join(word.word for word in cue)) for cue in cues]


def srt(cues: Sequence[Cue]) -> str:
    """Return a SubRip file."""
    return "".join(
        f"{number}\n{_time(cue.start_s, ',')} --> {_time(cue.end_s, ',')}\n{_lines(cue.text)}\n\n"
        for number, cue in enumerate(cues, 1)
    )


def webvtt(cues: Sequence[Cue]) -> str:
    """Return a WebVTT file, in which text has no markup."""
    shown = (
        f"{_time(cue.start_s, '.')} --> {_time(cue.end_s, '.')}\n{_lines(cue.text).translate(_ESCAPES)}\n\n"
        for cue in cues
    )
    return "WEBVTT\n\n" + "".join(shown)


def _begins(cue: Sequence[Word], word: Word) -> bool:
    length = sum(len(one.word) + 1 for one in cue) + len(word.word)
    pause_s = word.start_s - cue[-1].end_s
    return length > _MOST_CHARACTERS or word.end_s - cue[0].start_s > _MOST_S or pause_s >= _PAUSE_S


def _lines(text: str) -> str:
    """Return a text on two lines of about equal length if it is too long for one."""
    if len(text) <= _LINE_CHARACTERS:
        return text
    spaces = [at for at, character in enumerate(text) if character == " "]
    if not spaces:
        return text
    middle = min(spaces, key=lambda at: abs(2 * at - len(text)))
    return f"{text[:middle]}\n{text[middle + 1 :]}"


def _time(seconds: float, point: str) -> str:
    minutes, millis = divmod(round(seconds * 1000), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{millis // 1000:02}{point}{millis % 1000:03}"
