"""Text without recordings: listed, prepared, and read back."""

import gzip

import pytest
from rigs.tiny_lm import text_recipe

from sonorant.corpus.preparing import prepare
from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.text import read_text
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Lineage
from sonorant.errors import BadCorpus
from sonorant.run_folder import RunFolder


def prepared(recipe, tmp_path):
    folder = RunFolder(tmp_path / "run")
    return prepare(recipe, tmp_path, folder, progress=lambda *_: None), folder.shards


def test_a_file_is_a_sentence_a_line_and_empty_lines_are_passed_over(tmp_path):
    (tmp_path / "text.txt").write_text("One two\n\n  \ntwo\n")
    listing = read_text(tmp_path / "text.txt")
    assert [(u.id, u.text, u.segments, u.split) for u in listing.utterances] == [
        ("text.txt:000000001", "One two", (), None),
        ("text.txt:000000004", "two", (), None),
    ]


def test_a_folder_has_a_file_for_each_split_gzipped_or_not(tmp_path):
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(b"one two\nthree\n"))
    (tmp_path / "dev.txt").write_text("two two\n")
    (tmp_path / "notes.txt").write_text("no split\n")
    listing = read_text(tmp_path)
    assert [(u.split, u.text) for u in listing.utterances] == [
        ("train", "one two"),
        ("train", "three"),
        ("dev", "two two"),
    ]
    (tmp_path / "dev.txt.gz").write_bytes(gzip.compress(b"one\n"))
    with pytest.raises(BadCorpus, match=r"has both dev\.txt and dev\.txt\.gz"):
        read_text(tmp_path)


def test_lines_that_are_no_text_are_faults_by_line(tmp_path):
    (tmp_path / "text.txt").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(BadCorpus, match=r"text\.txt:2: is not UTF-8"):
        list_corpus(text_recipe().corpus, tmp_path)


def test_a_folder_without_such_files_is_named(tmp_path):
    (tmp_path / "text.txt").mkdir()
    with pytest.raises(BadCorpus, match="no utterance in the layout that reader=text expects"):
        list_corpus(text_recipe().corpus, tmp_path)


def test_sentences_become_records_without_audio_in_the_splits_of_their_files(tmp_path):
    (tmp_path / "text.txt").mkdir()
    (tmp_path / "text.txt/train.txt").write_text("One two!\nthree\n?!\n")
    (tmp_path / "text.txt/dev.txt").write_text("two one\n")
    found, shards = prepared(text_recipe(), tmp_path)
    assert [(entry.recording, entry.reason) for entry in found.skipped] == [
        ("train.txt:000000003", "its transcript '?!' has no words")
    ]
    train, dev = (ShardSet.open(shards, split) for split in ("train", "dev"))
    assert sorted(record.text for record in train) == ["one two", "three"]
    assert [record.text for record in dev] == ["two one"]
    example = dev.read(0, 0).example(Lineage(0, 0, 0))
    assert (example.waveform, example.features, example.duration_s) == (None, None, 0.0)
    assert found.card["splits"]["train"]["words"] == 3


def test_sentences_of_one_file_are_split_by_share(tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"word{i}\n" for i in range(40)))
    found, _ = prepared(text_recipe(), tmp_path)
    assert {name: split["utterances"] for name, split in found.card["splits"].items()} == {
        "train": 36,
        "dev": 2,
        "test": 2,
    }
