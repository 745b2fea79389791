from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.corpus.splits import assign_splits, check_unseen_speakers
from sonorant.corpus.utterance import Segment, Utterance
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import SplitRecipe


def utterances(count: int, speakers: int) -> list[Utterance]:
    return [Utterance(f"u{i:03d}", (Segment(Path("a.wav")),), "hello", f"s{i % speakers}") for i in range(count)]


@given(st.integers(3, 60), st.integers(4, 10), st.sampled_from(["utterance", "speaker"]), st.integers(0, 5))
def test_every_utterance_is_in_exactly_one_split(count: int, speakers: int, by: str, seed: int) -> None:
    everything = utterances(count + speakers, speakers)
    splits = assign_splits(everything, SplitRecipe(by=by, unseen_speakers=("s0",)), seed)
    assert sorted(u.id for of in splits.values() for u in of) == sorted(u.id for u in everything)
    assert {u.speaker for u in splits["unseen_speaker"]} == {"s0"}
    assert splits["train"]
    assert splits["dev"]
    assert splits["test"]
    if by == "speaker":
        homes = [{u.speaker for u in of} for of in splits.values()]
        assert sum(len(home) for home in homes) == len(set.union(*homes))


def test_fractions_are_kept() -> None:
    splits = assign_splits(utterances(200, 4), SplitRecipe(dev_fraction=0.1, test_fraction=0.2), 0)
    assert {split: len(of) for split, of in splits.items()} == {
        "train": 140,
        "dev": 20,
        "test": 40,
        "unseen_speaker": 0,
    }


def test_dealing_depends_on_the_seed() -> None:
    everything = utterances(100, 4)
    assert assign_splits(everything, SplitRecipe(), 1) == assign_splits(everything, SplitRecipe(), 1)
    assert assign_splits(everything, SplitRecipe(), 1) != assign_splits(everything, SplitRecipe(), 2)


def test_too_few_utterances_say_so() -> None:
    with pytest.raises(BadCorpus, match="2 utterances cannot be split"):
        assign_splits(utterances(2, 1), SplitRecipe(), 0)


def test_dealing_by_speaker_needs_speakers() -> None:
    nameless = [Utterance(f"u{i}", (Segment(Path("a.wav")),), "x") for i in range(9)]
    with pytest.raises(BadCorpus, match="utterance 'u0' has no speaker"):
        assign_splits(nameless, SplitRecipe(by="speaker"), 0)


def test_unknown_unseen_speaker_gets_the_nearest_name() -> None:
    with pytest.raises(BadCorpus, match=r"no speaker 'yweweller'; did you mean yweweler\?"):
        check_unseen_speakers(SplitRecipe(unseen_speakers=("yweweller",)), {"george", "yweweler"})
