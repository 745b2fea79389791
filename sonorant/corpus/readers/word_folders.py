"""A folder for each word, `WORD/SPEAKER_….ext`: the layout of Speech Commands (Warden 2018, arXiv 1804.03209).

Its files are named `SPEAKER_nohash_N.wav`, where N counts the speaker's recordings of that word. A recording may have
any format that `audio.py` reads.
"""

import os
import re
from pathlib import Path

from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, is_text, shown

__all__ = ["read_word_folders"]

_NO_WORD = "_background_noise_"  # Speech Commands' recordings of noise
_NAME = re.compile(r"(?P<speaker>[^_]+)_.*?(?P<take>\d*)", re.DOTALL)


def read_word_folders(folder: Path) -> Listing:
    """List the recordings in the folders of `folder`; what lies beside these, and hidden files, are no recordings.

    An utterance's id is `WORD/NAME` without suffix, its take the number at the name's end, if there is one. Files of
    other names are skipped. Raises BadCorpus if `folder` is none.
    """
    utterances: list[Utterance] = []
    skipped: list[Skipped] = []
    faults: list[Skipped] = []
    for word in _inside(folder):
        try:
            if word.name == _NO_WORD or not word.is_dir():
                continue
            if not is_text(word.name):
                skipped.append(Skipped(shown(word), "its name is not UTF-8; rename it"))
                continue
            recordings = _inside(word)
        except BadCorpus as error:
            faults.append(Skipped(shown(word), str(error).removeprefix(f"{shown(word)}: ")))
            continue
        except OSError as error:
            faults.append(Skipped(shown(word), fault_of(word, error)))
            continue
        for path in recordings:
            entry = _entry(word.name, path)
            if isinstance(entry, Utterance):
                utterances.append(entry)
            else:
                skipped.append(entry)
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise BadCorpus(f"{shown(folder)}: {fault_of(folder, error)}; expected a folder") from error


def _entry(word: str, path: Path) -> Utterance | Skipped:
    if not is_text(path.name):
        return Skipped(shown(path), "its name is not UTF-8; rename it")
    if (found := _NAME.fullmatch(path.stem)) is None:
        return Skipped(shown(path), "its name is not SPEAKER_….ext")
    take = int(found["take"]) if found["take"] else None
    return Utterance(f"{word}/{path.stem}", (Segment(path),), word, found["speaker"], take=take)
