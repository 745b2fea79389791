"""Free Spoken Digit Dataset: one spoken digit a file, named `{digit}_{speaker}_{take}.wav`."""

import re
from pathlib import Path

from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.file_names import files_below, is_text, shown

__all__ = ["read_fsdd"]

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_NAME = re.compile(r"(?P<digit>\d)_(?P<speaker>[^_]+)_(?P<take>\d+)")


def read_fsdd(folder: Path) -> Listing:
    """List the recordings in `folder` and below."""
    utterances: list[Utterance] = []
    skipped: list[Skipped] = []
    paths, unlisted = files_below(folder, lambda name: name.endswith(".wav"))
    for path in paths:
        if not is_text(path.name):
            skipped.append(Skipped(shown(path), "its name is not UTF-8; rename it"))
        elif (name := _NAME.fullmatch(path.stem)) is None:
            skipped.append(Skipped(shown(path), "its name is not {digit}_{speaker}_{take}.wav"))
        else:
            word, take = _DIGITS[int(name["digit"])], int(name["take"])
            utterances.append(Utterance(path.stem, (Segment(path),), word, name["speaker"], take=take))
    faults = [Skipped(shown(path), reason) for path, reason in unlisted]
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))
