from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.corpus.splits import assign_splits, check_unseen_speakers, speakers_in_common, unused_splits
from sonorant.corpus.utterance import Segment, Utterance
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe


def by(**splits: object) -> CorpusRecipe:
    return CorpusRecipe(reader="manifest", path="all.jsonl", splits=splits)


def utterances(count: int, speakers: int) -> list[Utterance]:
    return [Utterance(f"u{i:03d}", (Segment(Path("a.wav")),), "hello", f"s{i % speakers}") for i in range(count)]


@given(st.integers(3, 60), st.integers(4, 10), st.sampled_from(["utterance", "speaker"]), st.integers(0, 5))
def test_every_utterance_is_in_exactly_one_split(count: int, speakers: int, unit: str, seed: int) -> None:
    everything = utterances(count + speakers, speakers)
    splits = assign_splits(everything, by(by=unit, unseen_speakers=("s0",)), seed)
    assert sorted(u.id for of in splits.values() for u in of) == sorted(u.id for u in everything)
    assert {u.speaker for u in splits["unseen_speaker"]} == {"s0"}
    assert splits["train"]
    assert splits["dev"]
    assert splits["test"]
    if unit == "speaker":
        homes = [{u.speaker for u in of} for of in splits.values()]
        assert sum(len(home) for home in homes) == len(set.union(*homes))


def test_fractions_are_kept() -> None:
    splits = assign_splits(utterances(200, 4), by(dev_fraction=0.1, test_fraction=0.2), 0)
    assert {split: len(of) for split, of in splits.items()} == {
        "train": 140,
        "dev": 20,
        "test": 40,
        "unseen_speaker": 0,
    }


@given(st.integers(0, 5), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_smaller_share_of_train_is_part_of_a_larger_one_and_the_rest_stays(
    seed: int, one: float, other: float
) -> None:
    everything = utterances(60, 4)
    whole = assign_splits(everything, by(), seed)
    less, more = (assign_splits(everything, by(train_fraction=share), seed) for share in sorted((one, other)))
    assert len(more["train"]) == max(1, round(max(one, other) * len(whole["train"])))
    assert {u.id for u in less["train"]} <= {u.id for u in more["train"]} <= {u.id for u in whole["train"]}
    assert [u.id for u in more["train"]] == sorted(u.id for u in more["train"])
    assert {split: of for split, of in more.items() if split != "train"} == {
        split: of for split, of in whole.items() if split != "train"
    }


def test_the_share_of_train_does_not_depend_on_the_order_of_the_corpus() -> None:
    everything = utterances(60, 4)
    found = (assign_splits(of, by(train_fraction=0.3), 0)["train"] for of in (everything, everything[::-1]))
    one, other = ({u.id for u in of} for of in found)
    assert one == other


def test_dealing_depends_on_the_seed() -> None:
    everything = utterances(100, 4)
    assert assign_splits(everything, by(), 1) == assign_splits(everything, by(), 1)
    assert assign_splits(everything, by(), 1) != assign_splits(everything, by(), 2)


def test_too_few_utterances_say_so() -> None:
    with pytest.raises(BadCorpus, match="2 utterances cannot be split"):
        assign_splits(utterances(2, 1), by(), 0)


def test_dealing_by_speaker_needs_speakers() -> None:
    nameless = [Utterance(f"u{i}", (Segment(Path("a.wav")),), "x") for i in range(9)]
    with pytest.raises(BadCorpus, match="utterance 'u0' has no speaker"):
        assign_splits(nameless, by(by="speaker"), 0)


def test_takes_are_assigned_by_their_numbers() -> None:
    strings = {"test_takes": (0, 3), "dev_takes": (1,)}
    corpus = CorpusRecipe(reader="word_folders", path="words", splits={"by": "take"}, strings=strings)
    takes = [Utterance(f"u{i}", (Segment(Path("a.wav")),), "x", "ann", take=i) for i in range(5)]
    splits = assign_splits(takes, corpus, 0)
    assert {split: [u.take for u in of] for split, of in splits.items()} == {
        "train": [2, 4],
        "dev": [1],
        "test": [0, 3],
        "unseen_speaker": [],
    }
    with pytest.raises(BadCorpus, match="utterance 'u5' has no number of its take"):
        assign_splits([*takes, Utterance("u5", (Segment(Path("a.wav")),), "x", "ann")], corpus, 0)


OWN = ("train", "test", "train", "dev", "train")


def in_own_splits(count: int, speakers: int) -> list[Utterance]:
    return [replace(found, split=OWN[i % len(OWN)]) for i, found in enumerate(utterances(count, speakers))]


@given(st.integers(5, 40), st.integers(0, 3))
def test_the_splits_of_the_corpus_are_kept_where_the_recipe_says_so(count: int, seed: int) -> None:
    everything = in_own_splits(count, 4)
    splits = assign_splits(everything, by(by="corpus", unseen_speakers=("s1",)), seed)
    assert [u for u in everything if u.speaker == "s1"] == splits["unseen_speaker"]
    for split in ("train", "dev", "test"):
        assert splits[split] == [u for u in everything if u.split == split and u.speaker != "s1"]


def test_utterances_without_a_split_of_the_corpus_are_named() -> None:
    bare = [replace(found, split=None) if i in (1, 3) else found for i, found in enumerate(in_own_splits(9, 2))]
    told = "2 utterance.s. have no split of the corpus' own: 'u001', 'u003'; splits.by=corpus needs train, dev or test"
    with pytest.raises(BadCorpus, match=told):
        assign_splits(bare, by(by="corpus"), 0)
    with pytest.raises(BadCorpus, match=r"7 utterance.s. have no split .*'u004', …;"):
        assign_splits(utterances(7, 2), by(by="corpus"), 0)


@pytest.mark.parametrize("unit", [None, "utterance", "speaker"])
def test_fractions_neither_follow_the_splits_of_the_corpus_nor_pass_them_over_in_silence(unit: str | None) -> None:
    everything, corpus = in_own_splits(40, 20), by(by=unit)
    bare = assign_splits(utterances(40, 20), corpus, 0)
    homes = {split: [u.id for u in of] for split, of in assign_splits(everything, corpus, 0).items()}
    assert homes == {split: [u.id for u in of] for split, of in bare.items()}
    told = f"(dev 8, test 8, train 24), which corpus.splits.by={unit or 'utterance'} leaves unused"
    assert told in unused_splits(corpus, everything)
    assert "set corpus.splits.by=corpus" in unused_splits(corpus, everything)
    assert unused_splits(corpus, utterances(40, 20)) == ""
    assert unused_splits(by(by="corpus"), everything) == ""


def test_speakers_of_dev_and_test_that_are_in_train_are_counted_where_utterances_are_assigned() -> None:
    speakers = {"train": {"ann", "bob"}, "dev": {"ann"}, "test": {"ann", "bob", "eve"}}
    told = speakers_in_common(by(), speakers)
    assert told.startswith("1 of 1 speakers of dev and 2 of 3 speakers of test are in train, too; ")
    assert "corpus.splits.by=speaker" in told
    assert speakers_in_common(by(by="utterance"), speakers | {"dev": {"kim"}}).startswith("2 of 3 speakers of test are")
    assert speakers_in_common(by(), {"train": {"ann"}, "test": {"eve"}, "unseen_speaker": {"ann"}}) == ""
    assert speakers_in_common(by(by="corpus"), speakers) == ""


@pytest.mark.parametrize(
    ("reader", "strings", "unit"),
    [("fsdd", {}, "take"), ("fsdd", None, "utterance"), ("word_folders", {}, "utterance")],
)
def test_without_by_only_strings_of_digits_are_assigned_by_takes(reader: str, strings: object, unit: str) -> None:
    assert CorpusRecipe(reader=reader, path="x", strings=strings).split_by == unit


def test_unknown_unseen_speaker_gets_the_nearest_name() -> None:
    with pytest.raises(BadCorpus, match=r"no speaker 'yweweller'; did you mean yweweler\?"):
        check_unseen_speakers(by(unseen_speakers=("yweweller",)), {"george", "yweweler"})
