"""Recipe: the recordings, their splits and their shards."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sonorant.section import Fraction, Interval, Section

__all__ = ["CorpusRecipe", "SplitRecipe", "StringsRecipe"]


_LONGEST_SILENCE_MS = 60_000  # as long as the longest recordings that are used (max_seconds)


class SplitRecipe(Section):
    """Assignment of utterances to train, dev and test; an utterance is never in two of them."""

    by: Literal["utterance", "speaker", "take", "corpus"] | None = Field(
        None,
        description="Unit of assignment: single utterances, all of one speaker's, or takes by their numbers "
        "(corpus.strings.test_takes, dev_takes); corpus: none, as all stay in the corpus' own train, dev and test. "
        "Absent: takes for strings of fsdd, else utterances.",
    )
    dev_fraction: Fraction = Field(0.05, description="Share of the utterances or speakers assigned to dev.")
    test_fraction: Fraction = Field(0.05, description="Share of the utterances or speakers assigned to test.")
    train_fraction: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the utterances of train that are used, to see what more of them bring: a smaller share "
        "is part of each larger one.",
    )
    unseen_speakers: tuple[str, ...] = Field(
        (), description="Speakers kept out of train, dev and test; they make up the split 'unseen_speaker'."
    )

    @model_validator(mode="after")
    def _leaves_something_to_train(self) -> Self:
        if self.dev_fraction + self.test_fraction >= 1:
            raise ValueError(
                f"dev_fraction={self.dev_fraction} and test_fraction={self.test_fraction} leave nothing to train on; "
                "their sum must be below 1"
            )
        return self


class StringsRecipe(Section):
    """Strings of words: recordings of single words by one speaker, joined with random silences.

    Recordings are assigned to the splits (`corpus.splits`) before they are joined. A speaker's share of a split's
    strings is that of the split's recordings; a speaker with fewer than words_min of them has no strings.
    """

    words_min: int = Field(3, ge=1, le=100, description="Fewest recordings in a string.")
    words_max: int = Field(7, ge=1, le=100, description="Most recordings in a string.")
    pause_ms: Interval = Field(
        Interval(low=50, high=400), description="Silence between two recordings, in milliseconds, 0 to 60,000."
    )
    margin_ms: Interval = Field(
        Interval(low=100, high=300), description="Silence before and after, in milliseconds, 0 to 60,000."
    )
    background_db: Interval | None = Field(
        None,
        description="Level of white noise under a string, in decibels of full scale, at most 0; absent: pauses are "
        "zeros.",
    )
    test_takes: tuple[int, ...] = Field(
        (0, 1, 2, 3, 4), description="Takes of every speaker that only test uses (corpus.splits.by: take only)."
    )
    dev_takes: tuple[int, ...] = Field(
        (5, 6), description="Takes of every speaker that only dev uses (corpus.splits.by: take only)."
    )
    train: int = Field(2000, ge=1, description="Number of strings to train on.")
    dev: int = Field(100, ge=1, description="Number of strings in dev.")
    test: int = Field(120, ge=1, description="Number of strings in test.")
    unseen_speaker: int = Field(120, ge=0, description="Number of strings by the unseen speakers.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.words_min > self.words_max:
            raise ValueError(f"words_min={self.words_min} is above words_max={self.words_max}")
        for name, silence in (("pause_ms", self.pause_ms), ("margin_ms", self.margin_ms)):
            if not 0 <= silence.low <= silence.high <= _LONGEST_SILENCE_MS:
                raise ValueError(f"{name}={silence.low}..{silence.high}: expected 0 to {_LONGEST_SILENCE_MS} ms")
        if self.background_db is not None and self.background_db.high > 0:
            raise ValueError(f"background_db.high={self.background_db.high}: expected at most 0, which is full scale")
        if shared := set(self.test_takes) & set(self.dev_takes):
            raise ValueError(
                f"takes {sorted(shared)} are in both test_takes and dev_takes; a take belongs to one split"
            )
        return self


class CorpusRecipe(Section):
    """Recordings and transcripts, and the shards that `sonorant prepare` makes of them."""

    reader: Literal["common_voice", "fsdd", "kaldi", "lhotse", "librispeech", "manifest", "text", "word_folders"] = (
        Field(description="Layout of the corpus; text: sentences without recordings, for language models.")
    )
    path: str = Field(
        description="Folder, or file of JSON lines (manifest) or sentences (text); if relative, below the data folder."
    )
    sample_rate_hz: int = Field(
        16000, ge=4000, le=96000, description="Rate to which recordings are resampled, in hertz."
    )
    channel: Annotated[int, Field(ge=0)] | Literal["mean"] = Field(
        0,
        description="Channel to keep of a recording with several, from 0, or their mean, where the corpus names none.",
    )
    payload: Literal["flac", "pcm16"] = Field("flac", description="How shards store audio.")
    shard_utterances: int = Field(512, ge=1, description="Most utterances in a shard.")
    min_seconds: float = Field(0.1, gt=0, description="Shorter recordings are listed and skipped.")
    max_seconds: float = Field(60.0, gt=0, description="Longer recordings are listed and skipped.")
    seed: int | None = Field(
        None,
        ge=0,
        lt=2**31,
        description="Seed of splits, strings and sub-words; absent: the recipe's. Runs with other seeds and the same "
        "here have the same test sets, as the members of an ensemble need.",
    )
    splits: SplitRecipe = Field(SplitRecipe(), description="Assignment of utterances to the splits.")
    strings: StringsRecipe | None = Field(
        None, description="Join recordings of single words to strings; absent: a recording is an utterance."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.splits.by == "take" and self.strings is None:
            raise ValueError("splits.by=take deals by the takes of corpus.strings, which is absent")
        if self.splits.by == "corpus" and self.reader == "fsdd":
            raise ValueError("splits.by=corpus needs splits of the corpus' own, which reader=fsdd finds none of")
        if self.min_seconds >= self.max_seconds:
            raise ValueError(f"min_seconds={self.min_seconds} must be below max_seconds={self.max_seconds}")
        return self

    @property
    def split_by(self) -> Literal["utterance", "speaker", "take", "corpus"]:
        """The unit of assignment to the splits, where `splits.by` is absent, too."""
        if self.splits.by is not None:
            return self.splits.by
        return "take" if self.reader == "fsdd" and self.strings is not None else "utterance"

    @property
    def keeps_splits(self) -> bool:
        """Whether utterances stay where the corpus itself assigns them; sentences of a folder of texts always do."""
        return self.split_by == "corpus" or self.reader == "text"
