"""Alignments of hypotheses with references, by least Levenshtein distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein

__all__ = ["Alignment", "Kind", "Step", "Unit", "align"]

Kind: TypeAlias = Literal["hit", "substitution", "insertion", "deletion"]
Unit: TypeAlias = Literal["word", "character"]


class Step(NamedTuple):
    """One pair of an alignment; a word is empty in an insertion or deletion."""

    kind: Kind
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


def _cut(text: str | Sequence[str], unit: Unit) -> list[str]:
    if not isinstance(text, str):
        return list(text)
    return text.split() if unit == "word" else list(" ".join(text.split()))
