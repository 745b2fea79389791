from collections import Counter
from pathlib import Path

import pytest
from rigs.small_corpus import digits_recipe

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.fsdd import parse_name
from sonorant.corpus.strings import compose_strings
from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadCorpus
from sonorant.recipe import Recipe


def composed(corpus: Path, recipe: Recipe) -> dict[str, list[Utterance]]:
    assert recipe.corpus.strings is not None
    recordings = list_corpus(recipe.corpus, corpus).utterances
    return compose_strings(recordings, recipe.corpus, recipe.corpus.strings, recipe.seed)


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
