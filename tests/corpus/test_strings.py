from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from rigs.small_corpus import digits_recipe

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.splits import assign_splits
from sonorant.corpus.strings import compose_strings
from sonorant.corpus.utterance import Segment, Utterance
from sonorant.errors import BadCorpus
from sonorant.recipe import Recipe


class NameOfDigit(NamedTuple):
    digit: int
    speaker: str
    take: int


def composed(corpus: Path, recipe: Recipe) -> dict[str, list[Utterance]]:
    assert recipe.corpus.strings is not None
    return strings_of(list_corpus(recipe.corpus, corpus).utterances, recipe)


def strings_of(recordings: Sequence[Utterance], recipe: Recipe) -> dict[str, list[Utterance]]:
    splits = assign_splits(recordings, recipe.corpus, recipe.seed)
    return compose_strings(splits, recipe.corpus, recipe.corpus.strings, recipe.seed)


def parse_name(stem: str) -> NameOfDigit:
    digit, speaker, take = stem.split("_")
    return NameOfDigit(int(digit), speaker, int(take))


def words_of(recordings: dict[str, int]) -> list[Utterance]:
    """Return so many recordings of single words by each speaker."""
    return [
        Utterance(f"w{i}/{speaker}", (Segment(Path(f"w{i}/{speaker}_x.wav")),), f"w{i}", speaker)
        for speaker, count in recordings.items()
        for i in range(count)
    ]


def words_recipe(**corpus: object) -> Recipe:
    strings = {"words_min": 2, "words_max": 5, "train": 100, "dev": 10, "test": 20}
    return digits_recipe(**{"reader": "word_folders", "splits": {"by": "speaker"}, "strings": strings} | corpus)


def test_no_recording_is_in_two_splits(corpus: Path) -> None:
    strings = composed(corpus, digits_recipe())
    used = {split: {s.path.stem for u in of for s in u.segments} for split, of in strings.items()}
    takes = {split: {parse_name(stem).take for stem in stems} for split, stems in used.items()}
    assert takes["test"] <= {0, 1, 2, 3, 4}
    assert takes["dev"] <= {5, 6}
    assert takes["train"] == {7}
    assert takes["unseen_speaker"] > {0, 7}
    speakers = {split: {parse_name(stem).speaker for stem in stems} for split, stems in used.items()}
    assert speakers["unseen_speaker"] == {"uma"}
    assert speakers["train"] == speakers["dev"] == speakers["test"] == {"ann", "bob"}


def test_a_string_is_one_speakers_and_says_its_digits(corpus: Path) -> None:
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for strings in composed(corpus, digits_recipe()).values():
        for utterance in strings:
            names = [parse_name(segment.path.stem) for segment in utterance.segments]
            assert {name.speaker for name in names} == {utterance.speaker}
            assert utterance.text.split() == [words[name.digit] for name in names]
            assert 3 <= len(names) <= 7
            before, *between, after = utterance.pauses_s
            assert all(0.1 <= margin <= 0.3 for margin in (before, after))
            assert len(between) == len(names) - 1
            assert all(0.05 <= pause <= 0.4 for pause in between)


def test_recordings_are_used_evenly(corpus: Path) -> None:
    train = composed(corpus, digits_recipe())["train"]
    assert len(train) == 20
    uses = Counter(segment.path for utterance in train for segment in utterance.segments)
    for speaker in ("ann", "bob"):
        counts = [count for path, count in uses.items() if speaker in path.name]
        assert len(counts) == 10
        assert max(counts) - min(counts) <= 1


def test_strings_depend_on_the_seed_alone(corpus: Path) -> None:
    recipe = digits_recipe()
    assert composed(corpus, recipe) == composed(corpus, recipe)
    assert composed(corpus, recipe) != composed(corpus, recipe.model_copy(update={"seed": 1}))


def test_split_without_recordings_is_named(corpus: Path) -> None:
    recipe = digits_recipe(strings={"test_takes": (90,), "dev_takes": (5,)})
    with pytest.raises(BadCorpus, match="120 strings of split test are wanted"):
        composed(corpus, recipe)


def test_speakers_of_a_split_are_in_no_other() -> None:
    recipe = words_recipe(splits={"by": "speaker", "dev_fraction": 0.1, "test_fraction": 0.1})
    strings = strings_of(words_of({f"s{i:02}": 8 for i in range(50)}), recipe)
    speakers = {split: {utterance.speaker for utterance in of} for split, of in strings.items()}
    assert {split: len(of) for split, of in speakers.items()} == {"train": 40, "dev": 5, "test": 5}
    assert len(set.union(*speakers.values())) == 50
    for utterance in (utterance for of in strings.values() for utterance in of):
        assert {segment.path.stem for segment in utterance.segments} == {f"{utterance.speaker}_x"}


def test_a_speakers_share_of_strings_is_that_of_the_recordings() -> None:
    """Webster's method by its definition: shares of strings are the largest that round to their sum."""
    counts = {"a": 40, "b": 25, "c": 12, "d": 3}
    recipe = words_recipe(splits={"unseen_speakers": ("z",), "dev_fraction": 0.1, "test_fraction": 0.1})
    splits = {"train": words_of(counts), "dev": words_of({"a": 9}), "test": words_of({"a": 9}), "unseen_speaker": []}
    strings = recipe.corpus.strings.model_copy(update={"unseen_speaker": 0})
    made = compose_strings(splits, recipe.corpus, strings, 0)["train"]
    found = Counter(utterance.speaker for utterance in made)
    assert sum(found.values()) == 100
    divisor = 80 / 100
    assert found == {name: round(count / divisor) for name, count in counts.items()}


def test_who_has_few_recordings_has_short_strings_or_none() -> None:
    splits = {split: words_of({"ann": 9, "bob": 3, "eve": 1}) for split in ("train", "dev", "test")}
    recipe = words_recipe()
    made = compose_strings(splits, recipe.corpus, recipe.corpus.strings, 0)["train"]
    lengths = {name: {len(u.segments) for u in made if u.speaker == name} for name in ("ann", "bob", "eve")}
    assert lengths == {"ann": {2, 3, 4, 5}, "bob": {2, 3}, "eve": set()}
    splits["dev"] = words_of({"eve": 1})
    with pytest.raises(BadCorpus, match="10 strings of split dev are wanted, but no speaker has the 2 of words_min"):
        compose_strings(splits, recipe.corpus, recipe.corpus.strings, 0)


def test_strings_need_speakers() -> None:
    with pytest.raises(BadCorpus, match=r"utterance 'w0/' has no speaker; corpus.strings join words of one speaker"):
        strings_of(words_of({"": 60}), words_recipe(splits={"by": "utterance"}))
