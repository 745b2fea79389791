"""Text without recordings, a sentence a line: what language models are trained on."""

from pathlib import Path

from sonorant.corpus.readers.own_splits import OWN_SPLITS
from sonorant.corpus.readers.text_lines import text_lines
from sonorant.corpus.utterance import Listing, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, shown

__all__ = ["read_text"]

_ENDINGS = (".txt", ".txt.gz")


def read_text(path: Path) -> Listing:
    """List the sentences of a file, or of a folder's `train.txt`, `dev.txt` and `test.txt`; each may end in `.txt.gz`.

    Those of a file are assigned by `corpus.splits`, those of a folder by the file that they are in. Ids are file and
    number of the line; empty lines are passed over, and lines that are no text are the listing's faults. All sentences
    are held in memory. Raises BadCorpus if a file cannot be read, or a folder has two of a split; Unavailable if the
    file system fails.
    """
    utterances: list[Utterance] = []
    faults: list[Skipped] = []
    try:
        files = _files(path)
    except OSError as error:
        raise BadCorpus(f"{shown(path)}: {fault_of(path, error)}; expected a text file, or a folder of them") from error
    for split, file in files.items():
        for line in text_lines(file):
            if line.fault:
                faults.append(line.left_out(line.fault))
            elif line.text.strip():
                utterances.append(Utterance(f"{file.name}:{line.number:09}", (), line.text, split=split))
    return Listing(tuple(utterances), faults=tuple(faults))


def _files(path: Path) -> dict[str | None, Path]:
    """Return the files by their splits; None: its sentences have yet to be assigned."""
    if not path.is_dir():
        return {None: path}
    found: dict[str | None, Path] = {}
    for split in OWN_SPLITS:
        files = [path / f"{split}{ending}" for ending in _ENDINGS if (path / f"{split}{ending}").exists()]
        if len(files) > 1:
            raise BadCorpus(f"{shown(path)}: has both {' and '.join(file.name for file in files)}; keep one of them")
        if files:
            found[split] = files[0]
    return found
