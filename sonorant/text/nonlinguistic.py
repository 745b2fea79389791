"""Non-linguistic symbols, such as <unk> and [noise], which corpora write into transcripts between the words."""

import re
from collections.abc import Iterable

__all__ = ["nonlinguistic_warning"]

_SYMBOL = re.compile(r"<[^<>\s]+>|\[[^\[\]]+\]")


def nonlinguistic_warning(transcripts: Iterable[tuple[str, str]]) -> str:
    """Return a warning of transcripts that have any, which are spelt like words; empty if none has.

    transcripts: id and text of each utterance, as the corpus has it.
    """
    marked = [(name, found[0]) for name, text in transcripts if (found := _SYMBOL.search(text))]
    if not marked:
        return ""
    name, symbol = marked[0]
    has = "transcript has a non-linguistic symbol" if len(marked) == 1 else "transcripts have non-linguistic symbols"
    return (
        f"{len(marked)} {has}, the first {name}: {symbol}; they are spelt as if they were spoken: take them out of the "
        "transcripts, or leave those out"
    )
