"""Marks of what is not said, such as <unk> and [noise], which corpora write into transcripts between the words."""

import re
from collections.abc import Iterable

__all__ = ["marks_warning"]

_MARK = re.compile(r"<[^<>\s]+>|\[[^\[\]]+\]")


def marks_warning(transcripts: Iterable[tuple[str, str]]) -> str:
    """Return a warning of transcripts that have marks, which are spelt like words; empty if none has.

    transcripts: id and text of each utterance, as the corpus has it.
    """
    marked = [(name, found[0]) for name, text in transcripts if (found := _MARK.search(text))]
    if not marked:
        return ""
    name, mark = marked[0]
    has = "transcript has a mark" if len(marked) == 1 else "transcripts have marks"
    return (
        f"{len(marked)} {has}, the first {name}: {mark}; they are spelt as if they were spoken: take them out of the "
        "transcripts, or leave those out"
    )
