"""Corpus readers, one file a layout; a new one is a file here and a line in the registry."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sonorant.corpus.readers.common_voice import read_common_voice, read_common_voice_splits
from sonorant.corpus.readers.fsdd import read_fsdd
from sonorant.corpus.readers.kaldi import read_kaldi
from sonorant.corpus.readers.lhotse import read_lhotse
from sonorant.corpus.readers.librispeech import read_librispeech
from sonorant.corpus.readers.manifest import read_manifest
from sonorant.corpus.readers.own_splits import read_split_folders
from sonorant.corpus.readers.text import read_text
from sonorant.corpus.readers.word_folders import read_word_folders, read_word_lists
from sonorant.corpus.utterance import Listing, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.recipe.corpus import CorpusRecipe

__all__ = ["READERS", "list_corpus"]

_MOST_NAMED = 20
_FIRST = 3

READERS: dict[str, Callable[[Path], Listing]] = {
    "common_voice": read_common_voice,
    "fsdd": read_fsdd,
    "kaldi": read_kaldi,
    "lhotse": read_lhotse,
    "librispeech": read_librispeech,
    "manifest": read_manifest,
    "text": read_text,
    "word_folders": read_word_folders,
}

_OF_OWN_SPLITS: dict[str, Callable[[Path], Listing]] = READERS | {
    "common_voice": read_common_voice_splits,
    "kaldi": partial(read_split_folders, read_kaldi),
    "lhotse": partial(read_split_folders, read_lhotse),
    "librispeech": partial(read_split_folders, read_librispeech),
    "word_folders": read_word_lists,
}
"""Readers where the splits are the corpus' own."""


def list_corpus(recipe: CorpusRecipe, data_folder: Path, *, lenient: bool = False) -> Listing:
    """Return the utterances of the recipe's corpus, sorted by id; no audio is read.

    Raises BadCorpus when it is not there, has no utterances or, unless `lenient`, has faults; a second recording of the
    same id is one, and is left out.
    """
    path = data_folder / recipe.path
    if not os.path.exists(path):
        raise BadCorpus(
            f"{shown(path)}: no such corpus; give the folder above {recipe.path} with --data or SONORANT_DATA; on "
            f"Kubernetes, the volume of data.claim must have {recipe.path} at its root"
        )
    listing = (_OF_OWN_SPLITS if recipe.split_by == "corpus" else READERS)[recipe.reader](path)
    first: dict[str, Utterance] = {}
    faults = list(listing.faults)
    for utterance in listing.utterances:
        if (other := first.setdefault(utterance.id, utterance)) is not utterance:
            places = (_place(one) for one in (other, utterance))
            used = f"id {utterance.id!r} is used twice: {' and '.join(places)}; ids must be unique"
            faults.append(Skipped(shown(utterance.segments[0].path), used))
    if faults and not lenient:
        raise BadCorpus(_named(faults))
    if not first:
        raise BadCorpus(
            f"{shown(path)}: holds no utterance in the layout that reader={recipe.reader} expects"
            + _left_out(listing.skipped)
            + (f"; what is there is at fault:\n{_named(faults)}" if faults else "")
        )
    return Listing(tuple(first[key] for key in sorted(first)), listing.skipped, tuple(faults))


def _place(utterance: Utterance) -> str:
    path = shown(utterance.segments[0].path)
    return f"{path} (in {utterance.line})" if utterance.line else path


def _left_out(skipped: Sequence[Skipped]) -> str:
    """Return why recordings are no utterances: the number, and the first few."""
    if not skipped:
        return ""
    reasons = "; ".join(f"{entry.recording}: {entry.reason}" for entry in skipped[:_FIRST])
    return f"; {len(skipped)} recording(s) left out, the first: {reasons}"


def _named(faults: Sequence[Skipped]) -> str:
    lines = [f"{fault.recording}: {fault.reason}" for fault in faults[:_MOST_NAMED]]
    if len(faults) > _MOST_NAMED:
        lines.append(f"… and {len(faults) - _MOST_NAMED} more")
    return "\n".join([*lines, f"{len(faults)} fault(s): mend them, or leave out what has them with --lenient"])
