"""Digit strings: recordings of single digits by one speaker, joined with random silences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sonorant.arrays import Waveform
from sonorant.corpus.readers.fsdd import parse_name
from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadCorpus
from sonorant.randomness import generator
from sonorant.recipe.corpus import CorpusRecipe, StringsRecipe
from sonorant.section import Interval

__all__ = ["add_background", "compose_strings"]


def compose_strings(
    recordings: Iterable[Utterance], recipe: CorpusRecipe, strings: StringsRecipe, seed: int
) -> dict[str, list[Utterance]]:
    """Return the strings of each split.

    A recording is used in one split only: the takes of test and dev are never trained on, and unseen speakers are in
    'unseen_speaker' alone, with all their takes. Within a split each recording is used before any is used again.
    Raises BadCorpus when a split that strings are wanted of has no recordings.
    """
    by_split: dict[str, dict[str, list[Utterance]]] = defaultdict(lambda: defaultdict(list))
    for recording in recordings:
        by_split[_split(recording, recipe, strings)][recording.speaker].append(recording)
    wanted = {"train": strings.train, "dev": strings.dev, "test": strings.test}
    if recipe.splits.unseen_speakers:
        wanted["unseen_speaker"] = strings.unseen_speaker
    for split, count in wanted.items():
        if count and not by_split[split]:
            raise BadCorpus(
                f"{count} strings of split {split} are wanted, but no recording falls to it; see corpus.strings"
            )
    return {split: list(_compose(split, by_split[split], count, strings, seed)) for split, count in wanted.items()}


def add_background(waveform: Waveform, level_db: Interval, rng: np.random.Generator) -> Waveform:
    """Return Float32[samples] with white noise of a drawn level, in decibels of full scale, under it.

    Between joined recordings there would be zeros, which no microphone gives and a model could learn to look for.
    """
    amplitude = 10 ** (rng.uniform(level_db.low, level_db.high) / 20)
    noise = rng.standard_normal(len(waveform), dtype=np.float32)
    mixed: Waveform = np.clip(waveform + np.float32(amplitude) * noise, -1, 1, dtype=np.float32)
    return mixed


def _split(recording: Utterance, recipe: CorpusRecipe, strings: StringsRecipe) -> str:
    if recording.speaker in recipe.splits.unseen_speakers:
        return "unseen_speaker"
    name = parse_name(recording.id)
    if name is None:
        raise BadCorpus(f"{recording.id}: strings join recordings that are named digit_speaker_take")
    if name.take in strings.test_takes:
        return "test"
    return "dev" if name.take in strings.dev_takes else "train"


def _compose(
    split: str, by_speaker: dict[str, list[Utterance]], count: int, strings: StringsRecipe, seed: int
) -> Iterator[Utterance]:
    speakers = sorted(by_speaker)
    decks = {
        speaker: _deal(by_speaker[speaker], generator(seed, 0, f"{split}/{speaker}", "strings")) for speaker in speakers
    }
    for i in range(count):
        speaker = speakers[i % len(speakers)]
        key = f"{split}-{i:06d}-{speaker}"
        rng = generator(seed, 0, key, "strings")
        chosen = [next(decks[speaker]) for _ in range(rng.integers(strings.digits_min, strings.digits_max + 1))]
        inner = [_draw(strings.pause_ms, rng) for _ in chosen[1:]]
        yield Utterance(
            id=key,
            segments=tuple(recording.segments[0] for recording in chosen),
            text=" ".join(recording.text for recording in chosen),
            speaker=speaker,
            pauses_s=(_draw(strings.margin_ms, rng), *inner, _draw(strings.margin_ms, rng)),
        )


def _deal(recordings: Sequence[Utterance], rng: np.random.Generator) -> Iterator[Utterance]:
    while True:
        for i in rng.permutation(len(recordings)):
            yield recordings[i]


def _draw(interval_ms: Interval, rng: np.random.Generator) -> float:
    return float(rng.uniform(interval_ms.low, interval_ms.high)) / 1000
