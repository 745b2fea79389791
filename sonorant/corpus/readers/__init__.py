"""Corpus readers, one file a layout; a new one is a file here and a line in the registry."""

from collections.abc import Callable
from pathlib import Path

from sonorant.corpus.readers.fsdd import read_fsdd
from sonorant.corpus.readers.librispeech import read_librispeech
from sonorant.corpus.readers.manifest import read_manifest
from sonorant.corpus.utterance import Listing
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe

__all__ = ["READERS", "list_corpus"]

READERS: dict[str, Callable[[Path], Listing]] = {
    "fsdd": read_fsdd,
    "librispeech": read_librispeech,
    "manifest": read_manifest,
}


def list_corpus(recipe: CorpusRecipe, data_folder: Path) -> Listing:
    """Return the utterances of the recipe's corpus, sorted by id; no audio is read.

    Raises BadCorpus when it is not there, has no utterances, or uses an id twice.
    """
    path = data_folder / recipe.path
    if not path.exists():
        raise BadCorpus(f"{path}: no such corpus; give the folder above {recipe.path} with --data or SONORANT_DATA")
    listing = READERS[recipe.reader](path)
    if not listing.utterances:
        raise BadCorpus(f"{path}: holds no utterance in the layout that reader={recipe.reader} expects")
    first: dict[str, str] = {}
    for utterance in listing.utterances:
        place = str(utterance.segments[0].path)
        if utterance.id in first:
            raise BadCorpus(f"id {utterance.id!r} is used twice: {first[utterance.id]} and {place}; ids must be unique")
        first[utterance.id] = place
    return Listing(tuple(sorted(listing.utterances, key=lambda utterance: utterance.id)), listing.skipped)
