"""Confusions of words: rows are references, columns hypotheses; "–" is an insertion or deletion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sonorant.text.alignment import align
from sonorant.text.scoring import confusions

__all__ = ["Cell", "ConfusionTable", "Row", "confusion_table"]

_NOTHING = "–"
_MOST_WORDS = 24  # of a large vocabulary, the words with most errors are shown


@dataclass(frozen=True, slots=True)
class Cell:
    """The count of a pair of words; `hit` on the diagonal."""

    count: int
    hit: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One reference word and its hypotheses."""

    word: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Columns are hypothesis words, in the order of the rows; the last of both is "–"."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def confusion_table(outcomes: Sequence[dict[str, Any]]) -> ConfusionTable:
    """Count over outcomes with `reference` and `hypothesis`; see `RunFolder.evaluation`."""
    counts = confusions(align(outcome["reference"], outcome["hypothesis"]) for outcome in outcomes)
    errors: dict[str, int] = {}
    for (said, heard), count in counts.items():
        for word in {said, heard} - {""}:
            errors[word] = errors.get(word, 0) + (count if said != heard else 0)
    words = sorted(sorted(errors, key=lambda word: -errors[word])[:_MOST_WORDS])
    columns = [*words, ""]
    rows = tuple(
        Row(said or _NOTHING, tuple(Cell(counts[said, heard], said == heard) for heard in columns)) for said in columns
    )
    return ConfusionTable((*words, _NOTHING), rows)
