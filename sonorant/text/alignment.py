"""Alignments of hypotheses with references, by least Levenshtein distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein

__all__ = ["Alignment", "Step", "Unit", "align", "render"]

Unit: TypeAlias = Literal["word", "character"]

_MARKS = {"hit": "", "substitution": "S", "insertion": "I", "deletion": "D"}
_GAP = "*"


class Step(NamedTuple):
    """One pair of an alignment; a word is empty in an insertion or deletion."""

    kind: Literal["hit", "substitution", "insertion", "deletion"]
    reference: str
    hypothesis: str


@dataclass(frozen=True)
class Alignment:
    """The steps from a reference to a hypothesis, in order."""

    steps: tuple[Step, ...]

    @property
    def reference_words(self) -> int:
        """Number of words (or characters) in the reference."""
        return len(self.steps) - self.insertions

    @property
    def substitutions(self) -> int:
        """Number of substitutions."""
        return self._count("substitution")

    @property
    def insertions(self) -> int:
        """Number of insertions."""
        return self._count("insertion")

    @property
    def deletions(self) -> int:
        """Number of deletions."""
        return self._count("deletion")

    @property
    def errors(self) -> int:
        """Number of steps that are not hits."""
        return len(self.steps) - self._count("hit")

    def _count(self, kind: str) -> int:
        return sum(step.kind == kind for step in self.steps)


def align(reference: str | Sequence[str], hypothesis: str | Sequence[str], unit: Unit = "word") -> Alignment:
    """Return an alignment with the fewest errors; ties are broken as by rapidfuzz (and so jiwer).

    A text is cut into words at white space, or into characters, words one space apart; a sequence is taken as it is.
    """
    said, heard = _cut(reference, unit), _cut(hypothesis, unit)
    steps: list[Step] = []
    for block in Levenshtein.opcodes(said, heard):
        old, new = said[block.src_start : block.src_end], heard[block.dest_start : block.dest_end]
        if block.tag == "equal":
            steps += (Step("hit", word, word) for word in old)
        elif block.tag == "replace":
            steps += (Step("substitution", was, became) for was, became in zip(old, new, strict=True))
        elif block.tag == "insert":
            steps += (Step("insertion", "", word) for word in new)
        else:
            steps += (Step("deletion", word, "") for word in old)
    return Alignment(tuple(steps))


def render(alignment: Alignment) -> str:
    """Return three lines, REF, HYP and the errors' letters, with each step's words one above the other."""
    rows = [("REF:", "HYP:", "")] + [
        (
            step.reference or _GAP * len(step.hypothesis),
            step.hypothesis or _GAP * len(step.reference),
            _MARKS[step.kind],
        )
        for step in alignment.steps
    ]
    widths = [max(map(len, row)) for row in rows]
    lines = (
        " ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in zip(*rows, strict=True)
    )
    return "\n".join(line.rstrip() for line in lines)


def _cut(text: str | Sequence[str], unit: Unit) -> list[str]:
    if not isinstance(text, str):
        return list(text)
    return text.split() if unit == "word" else list(" ".join(text.split()))
