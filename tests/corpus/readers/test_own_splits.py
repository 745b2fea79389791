"""Folders of a corpus' own splits, each in the layout of its reader."""

import json
import os
from pathlib import Path

import pytest

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.own_splits import in_splits
from sonorant.corpus.utterance import Listing, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe


def own(reader: str) -> CorpusRecipe:
    return CorpusRecipe(reader=reader, path="corpus", splits={"by": "corpus"})


def homes(reader: str, data: Path) -> dict[str, str | None]:
    return {found.id: found.split for found in list_corpus(own(reader), data).utterances}


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_kaldi(folder: Path, key: str) -> None:
    write(folder / f"{key}.wav")
    write(folder / "wav.scp", f"{key} {folder}/{key}.wav\n")
    write(folder / "text", f"{key} go\n")


def test_kaldi_s_folders_of_splits_are_data_folders(tmp_path: Path) -> None:
    for key, name in enumerate(("train", "dev", "test", "train_sp", "lang")):
        write_kaldi(tmp_path / "corpus" / name, f"u{key}")
    assert homes("kaldi", tmp_path) == {"u0": "train", "u1": "dev", "u2": "test"}


def test_lhotse_s_folders_of_splits_have_manifests_of_their_own(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        folder = tmp_path / "corpus" / name
        write(folder / "a.wav")
        source = {"type": "file", "channels": [0], "source": f"{folder}/a.wav"}
        write(folder / "recordings.jsonl", json.dumps({"id": "a", "sources": [source]}))
        line = {"id": f"of-{name}", "recording_id": "a", "start": 0, "duration": 1, "text": "go"}
        write(folder / "supervisions.jsonl", json.dumps(line))
    assert homes("lhotse", tmp_path) == {"of-train": "train", "of-dev": "dev"}


def test_librispeech_s_parts_are_of_the_splits_that_their_names_begin_with(tmp_path: Path) -> None:
    for speaker, part in enumerate(("train-clean-100", "train-other-500", "dev-clean", "test-other", "raw")):
        chapter = tmp_path / "corpus" / part / f"{speaker}" / "1"
        write(chapter / f"{speaker}-1-0.flac")
        write(chapter / f"{speaker}-1.trans.txt", f"{speaker}-1-0 GO\n")
    write(tmp_path / "corpus" / "test-notes.txt")
    assert homes("librispeech", tmp_path) == {"0-1-0": "train", "1-1-0": "train", "2-1-0": "dev", "3-1-0": "test"}


def test_an_utterance_of_two_splits_is_a_fault(tmp_path: Path) -> None:
    for name in ("train", "test"):
        write_kaldi(tmp_path / "corpus" / name, "u0")
    with pytest.raises(BadCorpus, match=r"id .u0. is used twice: .*test/wav\.scp:1\) and .*train/u0\.wav .*:1"):
        homes("kaldi", tmp_path)


def test_faults_and_skipped_recordings_of_all_splits_are_listed() -> None:
    def part(name: str) -> Listing:
        return Listing((Utterance(name, (), "go"),), (Skipped(name, "gone"),), (Skipped(name, "no text"),))

    found = in_splits((split, part(split)) for split in ("dev", "test"))
    assert [(utterance.id, utterance.split) for utterance in found.utterances] == [("dev", "dev"), ("test", "test")]
    assert (found.skipped, found.faults) == (
        (Skipped("dev", "gone"), Skipped("test", "gone")),
        (Skipped("dev", "no text"), Skipped("test", "no text")),
    )


@pytest.mark.parametrize("reader", ["kaldi", "lhotse", "librispeech"])
def test_a_corpus_without_folders_of_splits_is_named_with_what_is_expected(tmp_path: Path, reader: str) -> None:
    write(tmp_path / "corpus" / "train")
    os.mkdir(tmp_path / "corpus" / "training")
    with pytest.raises(BadCorpus, match="corpus: has no folder train, dev or test, nor one such as train-clean-100; "):
        list_corpus(own(reader), tmp_path)
