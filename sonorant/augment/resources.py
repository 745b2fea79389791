"""Inputs of a stage beside its example, and its counters."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sonorant.arrays import Waveform

__all__ = ["Recording", "StageResources", "Utterances"]


class Recording(Protocol):
    """One utterance of the corpus, as stages need it; `sonorant.corpus.record.Record` is one."""

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

    counts: the stages' counters, for metrics; faults: recordings that cannot be used, left out; listings: checksums of
    the folders' contents, since draws depend on them. No result depends on any of these.
    """

    utterances: Utterances | None
    data_folder: Path
    counts: Counter[str] = field(default_factory=Counter, compare=False)
    faults: list[str] = field(default_factory=list, compare=False)
    listings: list[str] = field(default_factory=list, compare=False)
