"""A folder for each word, `WORD/SPEAKER_….ext`: the layout of Speech Commands (Warden 2018, arXiv 1804.03209).

Its files are named `SPEAKER_nohash_N.wav`, where N counts the speaker's recordings of that word. Files without
the suffix of a recording may lie among them, such as a transcript beside each.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from sonorant.corpus.readers.text_lines import whole_text
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, is_text, shown
from sonorant.recording_names import is_recording

__all__ = ["read_word_folders", "read_word_lists"]

_NO_WORD = "_background_noise_"  # Speech Commands' recordings of noise
_LISTS = {"dev": "validation_list.txt", "test": "testing_list.txt"}
_NAME = re.compile(r"(?P<speaker>[^_]+)_.*?(?P<take>\d*)", re.DOTALL)


def read_word_lists(folder: Path) -> Listing:
    """List the same as `read_word_folders` in Speech Commands' own splits.

    Dev and test are the recordings that `validation_list.txt` and `testing_list.txt` name, train is all others. Raises
    BadCorpus if one of these files cannot be read, or both name the same recording.
    """
    lists = {split: {name.strip() for name in whole_text(folder / file)} for split, file in _LISTS.items()}
    if twice := lists["dev"] & lists["test"] - {""}:
        raise BadCorpus(f"{shown(folder)}: {min(twice)!r} is in both {' and '.join(_LISTS.values())}; expected one")
    split_of = {name: split for split, names in lists.items() for name in names}
    listing = read_word_folders(folder)
    named = ((found, found.segments[0].path.relative_to(folder).as_posix()) for found in listing.utterances)
    assigned = tuple(replace(found, split=split_of.get(name, "train")) for found, name in named)
    return replace(listing, utterances=assigned)


def read_word_folders(folder: Path) -> Listing:
    """List the recordings in the folders of `folder`; what lies beside these, and hidden files, are no recordings.

    An utterance's id is `WORD/NAME` without suffix, its take the number at the name's end, if there is one. Recordings
    of other names are skipped. Raises BadCorpus if `folder` is none.
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
            recordings = [path for path in _inside(word) if is_recording(path.name)]
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
