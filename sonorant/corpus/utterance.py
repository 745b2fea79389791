"""An utterance as a corpus describes it: pieces of recordings, and their transcript."""

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Listing", "Scaled", "Segment", "Skipped", "Utterance"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one recording.

    duration_s: None means up to its end. channel: from 0; None means what the recipe says (`corpus.channel`).
    overshoot_s: one that ends beyond its recording's end, by less, is cut there.
    """

    path: Path
    offset_s: float = 0.0
    duration_s: float | None = None
    channel: int | None = None
    overshoot_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Utterance:
    """What becomes one record of a shard.

    segments: joined in this order; none: it is text alone. pauses_s: empty, or the silence before, between and after
    them (one more than segments); then `text` has a word for each segment, in the recipe's spelling, and it is known
    where it is spoken. take: which repetition of this text by this speaker it is, where the corpus numbers them. split:
    train, dev or test, if the corpus itself assigns it to one; None: the recipe does. line: which describes it, as
    FILE:NUMBER, for messages; empty where none does.
    """

    id: str
    segments: tuple[Segment, ...]
    text: str
    speaker: str = ""
    pauses_s: tuple[float, ...] = ()
    take: int | None = None
    split: str | None = None
    line: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A recording, or a line that describes one, that is left out, and why."""

    recording: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scaled:
    """A recording whose samples reach `peak`, above 1, and were divided by it: 16 bits would have clipped them."""

    recording: str
    peak: float

    def __str__(self) -> str:
        return f"{self.recording}: its samples reach {self.peak:.4g}; scaled to a peak of 1, as 16 bits hold no more"


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that a reader found.

    skipped: recordings that are no utterances. faults: parts of the description itself that cannot be used, such as
    lines of a manifest.
    """

    utterances: tuple[Utterance, ...]
    skipped: tuple[Skipped, ...] = ()
    faults: tuple[Skipped, ...] = ()
