import json
from pathlib import Path

import pytest
import soundfile
from rigs.small_corpus import digits_recipe, tone

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.utterance import Segment
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe


def test_fsdd_names_give_word_and_speaker(corpus: Path) -> None:
    listing = list_corpus(digits_recipe().corpus, corpus)
    assert len(listing.utterances) == 240
    first = listing.utterances[0]
    assert (first.id, first.text, first.speaker) == ("0_ann_0", "zero", "ann")
    assert first.segments == (Segment(corpus / "digits" / "0_ann_0.wav"),)


def test_fsdd_lists_files_of_other_names(corpus: Path) -> None:
    (corpus / "digits" / "notes.wav").write_bytes(b"")
    skipped = list_corpus(digits_recipe().corpus, corpus).skipped
    assert [entry.reason for entry in skipped] == ["its name is not {digit}_{speaker}_{take}.wav"]


def test_librispeech_layout(tmp_path: Path) -> None:
    chapter = tmp_path / "LibriSpeech" / "dev" / "84" / "121123"
    chapter.mkdir(parents=True)
    soundfile.write(chapter / "84-121123-0000.flac", tone(0.3, 16000), 16000)
    lines = ["84-121123-0000 GO DO YOU HEAR", "84-121123-0001 NOBODY RECORDED THIS", "84-121123-0002"]
    (chapter / "84-121123.trans.txt").write_text("\n".join(lines) + "\n")
    listing = list_corpus(CorpusRecipe(reader="librispeech", path="LibriSpeech"), tmp_path)
    assert [(u.id, u.text, u.speaker) for u in listing.utterances] == [("84-121123-0000", "GO DO YOU HEAR", "84")]
    assert [entry.reason[:10] for entry in listing.skipped] == ["is missing", "has no tra"]


def _manifest(folder: Path, *entries: object) -> CorpusRecipe:
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (folder / "all.jsonl").write_text("\n".join(lines) + "\n")
    return CorpusRecipe(reader="manifest", path="all.jsonl")


def test_manifest_paths_are_relative_to_it(tmp_path: Path) -> None:
    recipe = _manifest(
        tmp_path,
        {"audio_filepath": "wavs/a.wav", "duration": 1.5, "text": "hello", "speaker": 7, "lang": "en"},
        {"audio_filepath": "/elsewhere/b.flac", "offset": 2.5, "duration": 1, "text": "there"},
        "",
    )
    b, a = list_corpus(recipe, tmp_path).utterances
    assert (a.id, a.text, a.speaker) == ("wavs/a", "hello", "7")
    assert a.segments == (Segment(tmp_path / "wavs/a.wav", 0.0, 1.5),)
    assert (b.id, b.segments) == ("/elsewhere/b@2.5", (Segment(Path("/elsewhere/b.flac"), 2.5, 1.0),))


def test_manifest_lists_all_bad_lines(tmp_path: Path) -> None:
    good = {"audio_filepath": "a.wav", "duration": 1, "text": "x"}
    recipe = _manifest(
        tmp_path, good, "{", "[]", good | {"duration": 0}, {"duration": 1, "text": "x"}, good | {"text": 3}, good
    )
    with pytest.raises(BadCorpus) as caught:
        list_corpus(recipe, tmp_path)
    *lines, advice = [line.removeprefix(f"{tmp_path}/all.jsonl:") for line in str(caught.value).splitlines()]
    assert advice == "6 fault(s): mend them, or leave out what has them with --lenient"
    assert [line.split(":")[0] for line in lines] == ["2", "3", "4", "5", "6", "7"]
    assert lines[0] == "2: is not JSON: Expecting property name enclosed in double quotes, column 2"
    assert lines[2] == "4: duration=0.0: must be above 0 seconds"
    assert lines[3] == "5: audio_filepath is missing"
    assert lines[5] == "7: id 'a' is already used in line 1"


def test_of_many_bad_lines_twenty_are_named_and_all_counted(tmp_path: Path) -> None:
    recipe = _manifest(tmp_path, *["{"] * 33)
    with pytest.raises(BadCorpus) as caught:
        list_corpus(recipe, tmp_path)
    *lines, more, advice = str(caught.value).splitlines()
    assert (len(lines), more, advice.split(":")[0]) == (20, "… and 13 more", "33 fault(s)")


def test_duplicate_ids_name_both_recordings(corpus: Path) -> None:
    (corpus / "digits" / "more").mkdir()
    soundfile.write(corpus / "digits" / "more" / "3_bob_2.wav", tone(), 8000)
    with pytest.raises(BadCorpus, match=r"id '3_bob_2' is used twice: .*digits/3_bob_2.wav and .*more/3_bob_2.wav"):
        list_corpus(digits_recipe().corpus, corpus)


def test_a_clip_that_is_listed_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    (tmp_path / "cv" / "clips").mkdir(parents=True)
    (tmp_path / "cv" / "clips" / "a.mp3").touch()
    lines = ["client_id\tpath\tsentence", "ann\ta.mp3\tYes.", "", "bob\ta.mp3\tNo."]
    (tmp_path / "cv" / "validated.tsv").write_text("\n".join(lines))
    said = (
        r"'a' is used twice: .*a.mp3 \(in .*validated.tsv:2\) and .*a.mp3 \(in .*validated.tsv:4\); ids must be unique"
    )
    with pytest.raises(BadCorpus, match=said):
        list_corpus(CorpusRecipe(reader="common_voice", path="cv"), tmp_path)


def test_missing_and_empty_corpora_are_named(tmp_path: Path) -> None:
    told = r"no such corpus; .*--data or SONORANT_DATA; on Kubernetes, the volume of data.claim must have digits at its"
    with pytest.raises(BadCorpus, match=told):
        list_corpus(digits_recipe().corpus, tmp_path)
    (tmp_path / "digits").mkdir()
    with pytest.raises(BadCorpus, match="holds no utterance"):
        list_corpus(digits_recipe().corpus, tmp_path)


def test_a_corpus_whose_recordings_are_all_missing_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "kaldi"
    folder.mkdir()
    ids = [f"u{number}" for number in range(5)]
    (folder / "wav.scp").write_text("".join(f"{one} {tmp_path}/gone/{one}.wav\n" for one in ids))
    (folder / "text").write_text("".join(f"{one} yes\n" for one in ids))
    with pytest.raises(BadCorpus) as caught:
        list_corpus(CorpusRecipe(reader="kaldi", path="kaldi"), tmp_path)
    assert "holds no utterance in the layout that reader=kaldi expects; 5 recording(s) left out, the first: " in str(
        caught.value
    )
    assert str(caught.value).count("no such file") == 3


def test_real_librispeech_sample_is_read(data_folder: Path) -> None:
    recipe = CorpusRecipe(reader="librispeech", path="librispeech-sample")
    utterances = list_corpus(recipe, data_folder).utterances
    assert len(utterances) == 4
    assert {utterance.speaker for utterance in utterances} == {"1089"}
