"""Which word was heard for which: rows are said, columns heard; "–" stands for nothing."""

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
    """How often a word was heard for another; `hit` on the diagonal."""

    count: int
    hit: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One said word and what was heard for it."""

    word: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Columns are heard words, in the order of the rows; the last of both is "–"."""

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
