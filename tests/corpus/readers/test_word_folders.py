import errno
import os
from pathlib import Path

import pytest

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.word_folders import read_word_folders
from sonorant.corpus.utterance import Segment
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe, SplitRecipe


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_folder_speaker_and_number_become_text_speaker_and_take(tmp_path: Path) -> None:
    write(tmp_path, "yes/0a7c_nohash_3.wav", "no/0a7c_nohash_0.opus", "no/bob_first.mp3")
    found = read_word_folders(tmp_path).utterances
    assert [(u.id, u.text, u.speaker, u.take) for u in found] == [
        ("no/0a7c_nohash_0", "no", "0a7c", 0),
        ("no/bob_first", "no", "bob", None),
        ("yes/0a7c_nohash_3", "yes", "0a7c", 3),
    ]
    assert found[0].segments == (Segment(tmp_path / "no/0a7c_nohash_0.opus"),)


def test_noise_hidden_files_and_what_lies_beside_the_folders_are_left_out(tmp_path: Path) -> None:
    names = ("_background_noise_/pink_noise.wav", "yes/.DS_Store", ".cache/a_1.wav", "testing_list.txt", "yes/a_1.wav")
    listing = read_word_folders(write(tmp_path, *names))
    assert [u.id for u in listing.utterances] == ["yes/a_1"]
    assert not listing.skipped
    assert not listing.faults


def test_files_that_are_no_recordings_by_their_suffix_are_left_out(tmp_path: Path) -> None:
    listing = read_word_folders(write(tmp_path, "yes/a_1.WAV", "yes/a_1.txt", "yes/README", "yes/a_1.wav.lab"))
    assert [u.segments for u in listing.utterances] == [(Segment(tmp_path / "yes/a_1.WAV"),)]
    assert not listing.skipped


def test_recordings_of_other_names_are_named(tmp_path: Path) -> None:
    write(tmp_path, "yes/a_1.wav", "yes/README.wav", "yes/_nohash_1.wav", os.fsdecode(b"yes/\xff_1.wav"))
    listing = read_word_folders(tmp_path)
    assert [u.id for u in listing.utterances] == ["yes/a_1"]
    assert {Path(entry.recording).name: entry.reason for entry in listing.skipped} == {
        "README.wav": "its name is not SPEAKER_….ext",
        "_nohash_1.wav": "its name is not SPEAKER_….ext",
        "\\udcff_1.wav": "its name is not UTF-8; rename it",
    }


def test_lists_of_speech_commands_are_its_splits_where_the_recipe_says_so(tmp_path: Path) -> None:
    write(tmp_path, "words/yes/a_1.wav", "words/no/a_1.wav", "words/no/b_1.wav", "words/no/c_1.wav")
    recipe = CorpusRecipe(reader="word_folders", path="words", splits=SplitRecipe(by="corpus"))
    (tmp_path / "words/validation_list.txt").write_text("no/b_1.wav\nmaybe/b_1.wav\n")
    with pytest.raises(BadCorpus, match=r"testing_list\.txt: no such file"):
        list_corpus(recipe, tmp_path)
    (tmp_path / "words/testing_list.txt").write_text("no/b_1.wav\n")
    with pytest.raises(BadCorpus, match=r"'no/b_1\.wav' is in both validation_list\.txt and testing_list\.txt"):
        list_corpus(recipe, tmp_path)
    (tmp_path / "words/testing_list.txt").write_text("no/c_1.wav\r\n\n")
    own = list_corpus(recipe, tmp_path)
    assert {u.id: u.split for u in own.utterances} == {
        "yes/a_1": "train",
        "no/a_1": "train",
        "no/b_1": "dev",
        "no/c_1": "test",
    }
    default = list_corpus(recipe.model_copy(update={"splits": SplitRecipe()}), tmp_path)
    assert {u.split for u in default.utterances} == {None}


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words").touch()
    with pytest.raises(BadCorpus, match="words: no such file; expected a folder"):
        read_word_folders(tmp_path / "words")


def test_speech_commands_are_read(data_folder: Path) -> None:
    listing = list_corpus(CorpusRecipe(reader="word_folders", path="speech-commands"), data_folder)
    assert len(listing.utterances) == 7611
    assert len({u.speaker for u in listing.utterances}) == 614
    assert len({u.text for u in listing.utterances}) == 14
    assert not listing.skipped


def test_a_folder_that_may_be_listed_and_not_entered_is_a_fault_by_name(tmp_path: Path, monkeypatch) -> None:
    write(tmp_path, "yes/a_1.wav", "no/a_1.wav")

    def refused(path: Path) -> bool:
        if path.name == "no":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return True

    monkeypatch.setattr(Path, "is_dir", refused)  # root may enter all
    listing = read_word_folders(tmp_path)
    assert [found.id for found in listing.utterances] == ["yes/a_1"]
    assert [(fault.recording, fault.reason) for fault in listing.faults] == [
        (str(tmp_path / "no"), "cannot be read: permission denied")
    ]
