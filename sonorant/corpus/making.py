"""Making one shard, and its summary, by which a finished shard is not made again."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from sonorant.arrays import Waveform
from sonorant.atomic import atomic_write
from sonorant.corpus.audio import BadSegment, Reading, read_segment
from sonorant.corpus.plan import ShardPlan
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import write_shard
from sonorant.corpus.strings import add_background
from sonorant.corpus.utterance import Scaled, Segment, Skipped, Utterance
from sonorant.delivery.example import WordSpan
from sonorant.errors import BadAudio, RejectedExample
from sonorant.file_names import shown
from sonorant.randomness import generator
from sonorant.recipe import Recipe
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.text.normalisation import first_number, normalise
from sonorant.text.units import Units

__all__ = ["ShardSummary", "check_recordings", "finished", "make_record", "make_shard"]


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """Contents of a finished shard; `durations_s`, `texts` and `speakers` have an entry for each record."""

    split: str
    name: str
    shard_bytes: int
    durations_s: tuple[float, ...]
    speakers: tuple[str, ...]
    texts: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    scaled: tuple[Scaled, ...] = ()

    @classmethod
    def from_json(cls, content: str) -> Self:
        """Read what `make_shard` wrote; raises ValueError, KeyError or TypeError for anything else."""
        entry: dict[str, Any] = json.loads(content)
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        values["skipped"] = tuple(Skipped(**skipped) for skipped in values["skipped"])
        values["scaled"] = tuple(Scaled(**scaled) for scaled in values.get("scaled", ()))
        return cls(**values)


def finished(folder: Path, name: str) -> ShardSummary | None:
    """Return the summary of a shard that is already there, or None."""
    try:
        summary = ShardSummary.from_json(_summary_path(folder, name).read_text(encoding="utf-8"))
        whole = (folder / name).stat().st_size == summary.shard_bytes
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return summary if whole else None


def make_shard(recipe: Recipe, folder: Path, tokenizer: Units | None, plan: ShardPlan) -> ShardSummary:
    """Write one shard, its index and its summary; utterances that cannot be used are skipped and listed.

    tokenizer: units that must spell each transcript of the split train, if they are not learnt from it. Raises
    Unavailable when the disk refuses.
    """
    made: list[tuple[float, str, str]] = []
    skipped: list[Skipped] = []
    scaled: dict[str, Scaled] = {}

    def records() -> Iterator[Record]:
        for utterance in plan.utterances:
            try:
                record, loud = make_record(utterance, recipe)
                if tokenizer is not None and plan.split == "train":
                    _check_spelling(record, tokenizer)
            except BadAudio as error:
                skipped.append(Skipped(error.path, error.reason))
                continue
            scaled.update((one.recording, one) for one in loud)
            made.append((record.duration_s, record.speaker, record.text))
            yield record

    index = write_shard(folder / plan.name, records())
    summary = ShardSummary(
        plan.split,
        plan.name,
        index.shard_bytes,
        tuple(duration_s for duration_s, _, _ in made),
        tuple(speaker for _, speaker, _ in made),
        tuple(text for _, _, text in made),
        tuple(skipped),
        tuple(scaled.values()),
    )
    atomic_write(_summary_path(folder, plan.name), json.dumps(asdict(summary), ensure_ascii=False) + "\n")
    return summary


def make_record(utterance: Utterance, recipe: Recipe) -> tuple[Record, list[Scaled]]:
    """Read, join and encode one utterance; return it, and its recordings that were too loud for 16 bits.

    Raises BadAudio when a recording or the transcript cannot be used.
    """
    corpus = recipe.corpus
    text = _transcript(utterance, recipe)
    if not utterance.segments:
        return Record(utterance.id, utterance.speaker, text, corpus.sample_rate_hz, 0.0, "none", b""), []
    readings = [_read(segment, utterance, recipe) for segment in utterance.segments]
    waveform, words = _join([reading.waveform for reading in readings], utterance, text, corpus.sample_rate_hz)
    if corpus.strings is not None and corpus.strings.background_db is not None:
        rng = generator(corpus_seed(recipe), 0, utterance.id, "background")
        waveform = add_background(waveform, corpus.strings.background_db, rng)
    seconds = len(waveform) / corpus.sample_rate_hz
    if seconds > corpus.max_seconds:
        raise BadAudio(shown(utterance.id), f"is {seconds:.1f} s long; max_seconds is {corpus.max_seconds:g}")
    record = Record(
        utterance=utterance.id,
        speaker=utterance.speaker,
        text=text,
        sample_rate_hz=corpus.sample_rate_hz,
        duration_s=seconds,
        encoding=corpus.payload,
        audio=encode_audio(waveform, corpus.sample_rate_hz, corpus.payload),
        words=words,
    )
    return record, [reading.scaled for reading in readings if reading.scaled]


def _read(segment: Segment, utterance: Utterance, recipe: Recipe) -> Reading:
    """Read a segment; raises BadAudio, naming the utterance too, and its line, if it is not one of its recording."""
    try:
        return read_segment(segment, recipe.corpus)
    except BadSegment as error:
        raise BadAudio(error.path, f"{error.reason} ({_named(utterance)})") from error


def _named(utterance: Utterance) -> str:
    line = f" of {utterance.line}" if utterance.line else ""
    return f"utterance {shown(utterance.id)}{line}"


def _transcript(utterance: Utterance, recipe: Recipe) -> str:
    """Return the transcript in the recipe's spelling; raises BadAudio if there is none, or it has refused numbers."""
    text = utterance.text if utterance.pauses_s else normalise(utterance.text, recipe.text)
    if not text:
        which = f" ({_named(utterance)})" if utterance.segments else ""
        raise BadAudio(_origin(utterance), f"its transcript {utterance.text!r} has no words{which}")
    if recipe.text.numbers == "refuse" and (number := first_number(text)):
        raise BadAudio(shown(utterance.id), f"its transcript {utterance.text!r} has {number!r}; write it as it is read")
    return text


def _origin(utterance: Utterance) -> str:
    """Return the first recording of an utterance; the id of one that is text alone."""
    return shown(utterance.segments[0].path if utterance.segments else utterance.id)


def _check_spelling(record: Record, tokenizer: Units) -> None:
    try:
        tokenizer.labels(record.text)
    except RejectedExample as error:
        raise BadAudio(shown(record.utterance), error.reason) from error


def check_recordings(recipe: Recipe, utterances: Sequence[Utterance]) -> list[tuple[str, Skipped]]:
    """Return the ids of recordings that no string can be made with, and why: no audio, no single word, a number."""
    bad: list[tuple[str, Skipped]] = []
    for utterance in utterances:
        try:
            words = _transcript(utterance, recipe).split()
            if len(words) != 1:
                said = f"its transcript {utterance.text!r} has {len(words)} words; strings join single ones"
                raise BadAudio(shown(utterance.segments[0].path), said)
            for segment in utterance.segments:
                _read(segment, utterance, recipe)
        except BadAudio as error:
            bad.append((utterance.id, Skipped(error.path, error.reason)))
    return bad


def _join(
    pieces: Sequence[Waveform], utterance: Utterance, text: str, rate_hz: int
) -> tuple[Waveform, tuple[WordSpan, ...]]:
    """Return Float32[samples] with the pauses in, and where each word lies if each piece is a word."""
    if not utterance.pauses_s:
        return np.concatenate(pieces), ()
    pauses = [round(seconds * rate_hz) for seconds in utterance.pauses_s]
    parts: list[Waveform] = [np.zeros(pauses[0], np.float32)]
    words: list[WordSpan] = []
    position = pauses[0]
    for word, piece, pause in zip(text.split(), pieces, pauses[1:], strict=True):
        words.append(WordSpan(word, position / rate_hz, (position + len(piece)) / rate_hz))
        parts += [piece, np.zeros(pause, np.float32)]
        position += len(piece) + pause
    return np.concatenate(parts), tuple(words)


def _summary_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.summary.json"
