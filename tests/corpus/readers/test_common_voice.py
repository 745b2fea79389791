from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonorant.corpus.audio import read_segment
from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.common_voice import read_common_voice
from sonorant.corpus.utterance import Listing
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe, SplitRecipe

HEADER = "client_id\tpath\tsentence\tup_votes\tlocale"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clips").mkdir()
    for number in range(3):
        (tmp_path / f"clips/cv_{number}.mp3").touch()
    return tmp_path


def read(folder: Path, *lines: str, header: str = HEADER, end: str = "\n") -> Listing:
    (folder / "validated.tsv").write_text("".join(line + end for line in (header, *lines)), newline="")
    return read_common_voice(folder)


def test_clip_sentence_and_client_become_id_text_and_speaker(folder: Path) -> None:
    (found,) = read(folder, "ann\tcv_0.mp3\tL’Oriole est là.\t2\tfr", end="\r\n").utterances
    assert (found.id, found.text, found.speaker) == ("cv_0", "L’Oriole est là.", "ann")
    assert found.segments[0].path == folder / "clips/cv_0.mp3"


def test_columns_are_found_by_name(folder: Path) -> None:
    header = "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes"
    (found,) = read(folder, "ann\tcv_1.mp3\tf00\tGo on.\t\t2", header=header).utterances
    assert (found.id, found.text) == ("cv_1", "Go on.")


@pytest.mark.parametrize(
    "sentence",
    ['"Slant" asked "What\'s Your Number?', '"', 'She was dubbed as ""Bida sa Galing"".', 'He said "go"', "a'b\u2028c"],
)
def test_quotation_marks_are_characters(folder: Path, sentence: str) -> None:
    listing = read(folder, f"ann\tcv_0.mp3\t{sentence}\t2\ten", "bob\tcv_1.mp3\tnext\t2\ten")
    assert [utterance.text for utterance in listing.utterances] == [sentence, "next"]


def test_a_line_that_cannot_be_used_costs_itself_alone_and_is_named(folder: Path) -> None:
    lines = ["ann\tcv_0.mp3\tfirst\t2\ten", "ann\tcv_9.mp3\tgone\t2\ten", "ann\tcv_1.mp3\t \t2\ten"]
    lines += ["ann\t../cv_1.mp3\tup\t2\ten", "ann\tcv_1.mp3\tlost a field\t2", "", "bob\tcv_2.mp3\tlast\t2\ten"]
    listing = read(folder, *lines)
    assert [utterance.text for utterance in listing.utterances] == ["first", "last"]
    table = folder / "validated.tsv"
    assert [(entry.recording, entry.reason) for entry in listing.skipped] == [
        (f"{table}:3", "clips/cv_9.mp3: no such file"),
        (f"{table}:4", "cv_1.mp3 has an empty sentence"),
    ]
    assert [(entry.recording, entry.reason) for entry in listing.faults] == [
        (f"{table}:5", "path='../cv_1.mp3': must be the name of a file in clips/"),
        (f"{table}:6", "has 4 field(s), and the first line 5"),
    ]


def test_tables_of_splits_are_read_where_the_recipe_says_so(folder: Path) -> None:
    for number, split in enumerate(("train", "dev", "test")):
        (folder / f"{split}.tsv").write_text(f"{HEADER}\nann\tcv_{number}.mp3\tof {split}\t2\ten\n")
    (folder / "validated.tsv").write_text(f"{HEADER}\neve\tcv_0.mp3\tvalidated\t2\ten\n")
    recipe = CorpusRecipe(reader="common_voice", path=folder.name)
    assert [(u.text, u.split) for u in list_corpus(recipe, folder.parent).utterances] == [("validated", None)]
    own = recipe.model_copy(update={"splits": SplitRecipe(by="corpus")})
    assert [(u.id, u.text, u.split) for u in list_corpus(own, folder.parent).utterances] == [
        ("cv_0", "of train", "train"),
        ("cv_1", "of dev", "dev"),
        ("cv_2", "of test", "test"),
    ]
    (folder / "dev.tsv").unlink()
    with pytest.raises(BadCorpus, match=r"dev\.tsv: no such file"):
        list_corpus(own, folder.parent)


def test_a_missing_table_or_column_is_named(folder: Path) -> None:
    with pytest.raises(BadCorpus, match=r"validated\.tsv: no such file"):
        read_common_voice(folder)
    with pytest.raises(BadCorpus, match=r"validated\.tsv: lacks the column\(s\) path, sentence; its first line is 'cl"):
        read(folder, header="client_id\tclip\ttext")
    with pytest.raises(BadCorpus, match=r"has the column\(s\) path more than once; its first line is 'client"):
        read(folder, header="client_id\tpath\tsentence\tpath")


FIELDS = st.lists(st.sampled_from(["ann", "cv_0.mp3", "nothing.mp3", "", '"', "a b", "\r", "\0"]), max_size=6)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FIELDS.map("\t".join).map(str.encode) | st.binary(max_size=30), max_size=5).map(b"\n".join))
def test_any_bytes_are_utterances_or_named(folder: Path, content: bytes) -> None:
    (folder / "validated.tsv").write_bytes(HEADER.encode() + b"\n" + content)
    listing = read_common_voice(folder)
    filled = [line for line in content.split(b"\n") if line.removesuffix(b"\r")]
    assert len(listing.utterances) + len(listing.skipped) + len(listing.faults) == len(filled)


@pytest.mark.parametrize(("language", "clips", "clients"), [("fr", 5374, 605), ("en", 831, 161)])
def test_real_delta_segments_are_read_whole(data_folder: Path, language: str, clips: int, clients: int) -> None:
    recipe = CorpusRecipe(reader="common_voice", path=f"common-voice-{language}")
    listing = list_corpus(recipe, data_folder)
    assert len(listing.utterances) == clips
    assert len({utterance.speaker for utterance in listing.utterances}) == clients
    assert not listing.skipped
    for utterance in listing.utterances[:: clips // 3]:
        assert 0.5 < len(read_segment(utterance.segments[0], recipe).waveform) / 16000 < 20
