"""A report says where the recordings of its run come from, not of another corpus in the same data folder."""

import pytest

from sonorant.corpus.source import corpus_source
from sonorant.recipe.corpus import CorpusRecipe


@pytest.fixture
def data(tmp_path):
    (tmp_path / "fsdd/recordings").mkdir(parents=True)
    (tmp_path / "fsdd/SOURCE").write_text("FSDD recordings (downloaded)\n")
    (tmp_path / "grammar").mkdir()
    (tmp_path / "grammar/SOURCE").write_text("espeak-ng 1.51: synthetic speech\n")
    (tmp_path / "speech-commands").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("reader", "path", "expected"),
    [
        ("fsdd", "fsdd/recordings", "FSDD recordings (downloaded)"),
        ("manifest", "grammar/manifest.jsonl", "espeak-ng 1.51: synthetic speech"),
        ("manifest", "grammar", "espeak-ng 1.51: synthetic speech"),
        ("word_folders", "speech-commands", "speech-commands (layout: word_folders)"),
    ],
)
def test_it_is_what_the_corpus_own_file_says_or_its_folder(data, reader, path, expected):
    assert corpus_source(CorpusRecipe(reader=reader, path=path), data) == expected


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_says_nothing(data, content):
    (data / "speech-commands/SOURCE").write_bytes(content)
    recipe = CorpusRecipe(reader="word_folders", path="speech-commands")
    assert corpus_source(recipe, data) == "speech-commands (layout: word_folders)"


def test_a_file_of_anything_is_bounded_and_one_of_the_data_folder_is_no_corpus(data):
    (data / "SOURCE").write_text("of all corpora")
    recipe = CorpusRecipe(reader="word_folders", path="speech-commands")
    assert corpus_source(recipe, data) == "speech-commands (layout: word_folders)"
    (data / "speech-commands/SOURCE").write_bytes(b"\xff" * 10_000)
    assert len(corpus_source(recipe, data)) == 500
