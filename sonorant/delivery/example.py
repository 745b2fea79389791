"""An example: one utterance on its way from a shard to the trainer, and its origin."""

from typing import NamedTuple

from sonorant.arrays import Features, Waveform

__all__ = ["Example", "Lineage", "WordSpan"]


class Lineage(NamedTuple):
    """Names an example uniquely within a run: pass over the corpus, shard, record in the shard."""

    epoch: int
    shard: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nothing here needs


class WordSpan(NamedTuple):
    """One word of the transcript and its times, in seconds from the start of the waveform."""

    word: str
    start_s: float
    end_s: float


class Example(NamedTuple):
    """One utterance; `waveform` is set up to the featurizer, `features` after it; of text alone, neither.

    waveform: Float32[samples] or Float32[microphones, samples] in [-1, 1], at `sample_rate_hz`.
    features: Float32[frames, bins].
    duration_s: length of the original recording; `words` is empty if the corpus has no alignment.
    """

    lineage: Lineage
    utterance: str
    text: str
    sample_rate_hz: int
    duration_s: float
    speaker: str = ""
    waveform: Waveform | None = None
    features: Features | None = None
    words: tuple[WordSpan, ...] = ()
