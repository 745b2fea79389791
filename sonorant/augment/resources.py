"""What a stage may read beside the example in its hands, and what it counts."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sonorant.arrays import Waveform

__all__ = ["Recording", "StageResources", "Utterances"]


class Recording(Protocol):
    """One utterance of the corpus, as far as a stage cares; `sonorant.corpus.record.Record` is one."""

    @property
    def utterance(self) -> str:
        """Identifier, unique in the corpus."""

    def waveform(self) -> Waveform:
        """Return Float32[samples] in [-1, 1] at the corpus' sample rate."""


class Utterances(Protocol):
    """Utterances by number; `sonorant.corpus.shards.ShardSet` is one."""

    @property
    def total(self) -> int:
        """Number of utterances."""

    def locate(self, ordinal: int) -> tuple[int, int]:
        """Return shard and index of the utterance at this position, from 0."""

    def read(self, shard: int, index: int) -> Recording:
        """Return one utterance."""


@dataclass(frozen=True, slots=True)
class StageResources:
    """The train split, for babble (None: there is none), and the folder that noise folders are below.

    counts: what stages count for people to see; faults: what they found that cannot be used, and do without;
    listings: checksums of what they found below that folder, since draws depend on it. Nothing depends on any of them.
    """

    utterances: Utterances | None
    data_folder: Path
    counts: Counter[str] = field(default_factory=Counter, compare=False)
    faults: list[str] = field(default_factory=list, compare=False)
    listings: list[str] = field(default_factory=list, compare=False)
