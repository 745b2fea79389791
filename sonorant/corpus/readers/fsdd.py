"""Free Spoken Digit Dataset: one spoken digit a file, named `{digit}_{speaker}_{take}.wav`."""

import re
from pathlib import Path
from typing import NamedTuple

from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.file_names import files_below, is_text, shown

__all__ = ["DIGITS", "DigitName", "parse_name", "read_fsdd"]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_NAME = re.compile(r"(\d)_([^_]+)_(\d+)")


class DigitName(NamedTuple):
    """The parts of a file's name."""

    digit: int
    speaker: str
    take: int


def parse_name(stem: str) -> DigitName | None:
    """Return the parts of a name (without .wav), or None if it is not of this data set."""
    match = _NAME.fullmatch(stem)
    return DigitName(int(match[1]), match[2], int(match[3])) if match else None


def read_fsdd(folder: Path) -> Listing:
    """List the recordings in `folder` and below."""
    utterances: list[Utterance] = []
    skipped: list[Skipped] = []
    paths, unlisted = files_below(folder, lambda name: name.endswith(".wav"))
    for path in paths:
        if not is_text(path.name):
            skipped.append(Skipped(shown(path), "its name is not UTF-8; rename it"))
        elif (name := parse_name(path.stem)) is None:
            skipped.append(Skipped(shown(path), "its name is not {digit}_{speaker}_{take}.wav"))
        else:
            utterances.append(Utterance(path.stem, (Segment(path),), DIGITS[name.digit], name.speaker))
    faults = [Skipped(shown(path), reason) for path, reason in unlisted]
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))
