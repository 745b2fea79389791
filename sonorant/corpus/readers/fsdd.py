"""Free Spoken Digit Dataset: one spoken digit a file, named `{digit}_{speaker}_{take}.wav`."""

import re
from pathlib import Path
from typing import NamedTuple

from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance

__all__ = ["DIGITS", "DigitName", "parse_name", "read_fsdd"]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_NAME = re.compile(r"(\d)_([^_]+)_(\d+)")


class DigitName(NamedTuple):
    """What a file's name says."""

    digit: int
    speaker: str
    take: int


def parse_name(stem: str) -> DigitName | None:
    """Return what the name (without .wav) says, or None when it is not of this data set."""
    match = _NAME.fullmatch(stem)
    return DigitName(int(match[1]), match[2], int(match[3])) if match else None


def read_fsdd(folder: Path) -> Listing:
    """List the recordings in `folder` and below."""
    utterances: list[Utterance] = []
    skipped: list[Skipped] = []
    for path in sorted(folder.rglob("*.wav")):
        if (name := parse_name(path.stem)) is None:
            skipped.append(Skipped(str(path), "its name is not {digit}_{speaker}_{take}.wav"))
        else:
            utterances.append(Utterance(path.stem, (Segment(path),), DIGITS[name.digit], name.speaker))
    return Listing(tuple(utterances), tuple(skipped))
