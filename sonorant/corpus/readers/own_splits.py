"""A corpus' own splits: the utterances of train, dev and test lie in folders or tables of their own."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from sonorant.corpus.utterance import Listing
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, shown

__all__ = ["OWN_SPLITS", "in_splits", "read_split_folders"]

OWN_SPLITS = ("train", "dev", "test")


def in_splits(parts: Iterable[tuple[str, Listing]]) -> Listing:
    """Return one listing of all parts, each utterance in the split that stands before its part."""
    listed = list(parts)
    return Listing(
        tuple(replace(utterance, split=split) for split, part in listed for utterance in part.utterances),
        tuple(entry for _, part in listed for entry in part.skipped),
        tuple(entry for _, part in listed for entry in part.faults),
    )


def read_split_folders(read: Callable[[Path], Listing], folder: Path) -> Listing:
    """List with `read` what lies in the folders `train`, `dev` and `test`, or `dev-…`: several may be of one split.

    Folders of other names are passed over. Raises BadCorpus if there is none of these, and what `read` raises.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if os.path.isdir(folder / name))
    except OSError as error:
        raise BadCorpus(f"{shown(folder)}: {fault_of(folder, error)}; expected a folder") from error
    split_of = {name: split for name in names if (split := name.partition("-")[0]) in OWN_SPLITS}
    if not split_of:
        raise BadCorpus(
            f"{shown(folder)}: has no folder train, dev or test, nor one such as train-clean-100; "
            "corpus.splits.by=corpus expects them"
        )
    return in_splits((split, read(folder / name)) for name, split in split_of.items())
