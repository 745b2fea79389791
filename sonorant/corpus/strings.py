"""Strings of words: recordings of single words by one speaker, joined with random silences."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sonorant.arrays import Waveform
from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadCorpus
from sonorant.randomness import generator
from sonorant.recipe.corpus import CorpusRecipe, StringsRecipe
from sonorant.section import Interval

__all__ = ["add_background", "compose_strings"]


def compose_strings(
    splits: Mapping[str, Sequence[Utterance]], recipe: CorpusRecipe, strings: StringsRecipe, seed: int
) -> dict[str, list[Utterance]]:
    """Return the strings of each split, made of that split's recordings alone.

    Of a speaker each recording is used before any is used again. Raises BadCorpus when a recording's speaker is
    unknown, or a split that strings are wanted of has none with enough recordings.
    """
    wanted = {"train": strings.train, "dev": strings.dev, "test": strings.test}
    if recipe.splits.unseen_speakers:
        wanted["unseen_speaker"] = strings.unseen_speaker
    return {
        split: list(_compose(split, _by_speaker(split, splits[split], count, strings), count, strings, seed))
        for split, count in wanted.items()
    }


def add_background(waveform: Waveform, level_db: Interval, rng: np.random.Generator) -> Waveform:
    """Return Float32[samples] with white noise of a drawn level, in decibels of full scale, under it.

    Between joined recordings there would be zeros, which no microphone gives and a model could learn to look for.
    """
    amplitude = 10 ** (rng.uniform(level_db.low, level_db.high) / 20)
    noise = rng.standard_normal(len(waveform), dtype=np.float32)
    mixed: Waveform = np.clip(waveform + np.float32(amplitude) * noise, -1, 1, dtype=np.float32)
    return mixed


def _by_speaker(
    split: str, recordings: Iterable[Utterance], count: int, strings: StringsRecipe
) -> dict[str, list[Utterance]]:
    """Return the recordings of each speaker who has enough for a string."""
    found: dict[str, list[Utterance]] = defaultdict(list)
    for recording in recordings:
        if not recording.speaker:
            raise BadCorpus(f"utterance {recording.id!r} has no speaker; corpus.strings join words of one speaker")
        found[recording.speaker].append(recording)
    enough = {speaker: mine for speaker, mine in found.items() if len(mine) >= strings.words_min}
    if count and not enough:
        have = f"no speaker has the {strings.words_min} of words_min" if found else "no recording falls to it"
        raise BadCorpus(f"{count} strings of split {split} are wanted, but {have}; see corpus.splits, corpus.strings")
    return enough


def _compose(
    split: str, by_speaker: dict[str, list[Utterance]], count: int, strings: StringsRecipe, seed: int
) -> Iterator[Utterance]:
    decks = {
        speaker: _deal(recordings, generator(seed, 0, f"{split}/{speaker}", "strings"))
        for speaker, recordings in by_speaker.items()
    }
    for i, speaker in zip(range(count), _apportioned({name: len(of) for name, of in by_speaker.items()}), strict=False):
        key = f"{split}-{i:06d}-{speaker}"
        rng = generator(seed, 0, key, "strings")
        words = min(int(rng.integers(strings.words_min, strings.words_max + 1)), len(by_speaker[speaker]))
        chosen = [next(decks[speaker]) for _ in range(words)]
        inner = [_draw(strings.pause_ms, rng) for _ in chosen[1:]]
        yield Utterance(
            id=key,
            segments=tuple(recording.segments[0] for recording in chosen),
            text=" ".join(recording.text for recording in chosen),
            speaker=speaker,
            pauses_s=(_draw(strings.margin_ms, rng), *inner, _draw(strings.margin_ms, rng)),
        )


def _apportioned(recordings: Mapping[str, int]) -> Iterator[str]:
    """Yield speakers for ever, each about as often as its share of the recordings says.

    The k-th string goes to whom Webster's method gives the k-th seat (Balinski & Young 1982): to the least
    (strings so far + 1/2) / recordings, of equals the first by name. Equal shares make a round robin.
    """
    queue = [(1 / count, speaker, 1) for speaker, count in recordings.items()]
    heapq.heapify(queue)
    while queue:
        _, speaker, halves = queue[0]
        yield speaker
        heapq.heapreplace(queue, ((halves + 2) / recordings[speaker], speaker, halves + 2))


def _deal(recordings: Sequence[Utterance], rng: np.random.Generator) -> Iterator[Utterance]:
    while True:
        for i in rng.permutation(len(recordings)):
            yield recordings[i]


def _draw(interval_ms: Interval, rng: np.random.Generator) -> float:
    return float(rng.uniform(interval_ms.low, interval_ms.high)) / 1000
