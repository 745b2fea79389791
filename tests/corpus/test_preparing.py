import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs.small_corpus import RATE_HZ, digits_recipe, tone

from sonorant.corpus.card import render
from sonorant.corpus.preparing import Prepared, prepare
from sonorant.corpus.shards import SPLITS, ShardSet
from sonorant.corpus.stored import Stored
from sonorant.errors import BadCorpus, BadRun, Unavailable
from sonorant.recipe import Recipe
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units


def run(recipe: Recipe, corpus: Path, **options: object) -> Prepared:
    folder = RunFolder(corpus.parent / "run")
    return prepare(recipe, corpus, folder, progress=lambda *_: None, **options)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return RunFolder(tmp_path / "run").shards


def test_all_splits_are_there_and_the_card_counts_them(corpus: Path, shards: Path) -> None:
    prepared = run(digits_recipe(), corpus)
    assert prepared.skipped == ()
    sets = {split: ShardSet.open(shards, split) for split in SPLITS}
    assert {split: s.total for split, s in sets.items()} == {"train": 20, "dev": 4, "test": 6, "unseen_speaker": 5}
    assert sets["train"].counts == (7, 6, 7)
    card = json.loads((shards / "card.json").read_text())
    seconds = sum(record.duration_s for record in sets["train"])
    train = card["splits"]["train"]
    assert train["hours"] == pytest.approx(seconds / 3600, abs=1e-6)
    assert train["speakers"] == {"ann": 10, "bob": 10}
    assert sum(train["length_histogram"]["utterances"]) == 20
    assert "| train | 20 |" in (shards / "card.md").read_text()


def test_words_are_where_the_spans_say(corpus: Path, shards: Path) -> None:
    run(digits_recipe(), corpus)
    for record in ShardSet.open(shards, "train"):
        waveform = record.waveform()
        assert len(waveform) == round(record.duration_s * RATE_HZ)
        assert [span.word for span in record.words] == record.text.split()
        voiced = np.zeros(len(waveform), bool)
        for span in record.words:
            start, end = round(span.start_s * RATE_HZ), round(span.end_s * RATE_HZ)
            assert np.abs(waveform[start:end]).max() > 0.25
            voiced[start:end] = True
        assert not waveform[~voiced].any()


def test_units_are_learnt_and_the_resolved_recipe_is_kept(corpus: Path, shards: Path) -> None:
    recipe = digits_recipe()
    run(recipe, corpus)
    units = Units.from_json((shards / "units.json").read_text())
    assert units.size == 10
    assert load_recipe(shards.parent / "recipe.yaml") == recipe


def test_processes_make_the_same_bytes_as_one(corpus: Path, shards: Path) -> None:
    run(digits_recipe(), corpus)
    alone = contents(shards)
    shutil.rmtree(shards)
    run(digits_recipe(), corpus, jobs=2)
    assert contents(shards) == alone


def test_second_call_makes_nothing(corpus: Path, shards: Path) -> None:
    first = run(digits_recipe(), corpus)
    before = contents(shards)
    second = run(digits_recipe(), corpus)
    assert (first.made, second.made) == (6, 0)
    assert second.card == first.card
    assert contents(shards) == before


def test_interrupted_call_is_finished_without_making_shards_twice(corpus: Path, shards: Path) -> None:
    class Stopped(Exception):
        pass

    def stop_after_two(doing: str, done: int, _: int) -> None:
        if doing == "writing shards" and done >= 13:
            raise Stopped

    with pytest.raises(Stopped):
        prepare(digits_recipe(), corpus, RunFolder(shards.parent), progress=stop_after_two)
    assert not (shards / "card.json").exists()
    half = {path.name: path.stat().st_mtime_ns for path in shards.glob("*.tfrecord")}
    assert len(half) == 2
    (shards / ".train-00002-of-00003.tfrecord.xyz").write_bytes(b"left by a killed call")
    assert run(digits_recipe(), corpus).made == 4
    assert {name: (shards / name).stat().st_mtime_ns for name in half} == half
    assert not list(shards.glob(".*"))


def test_lost_shard_is_made_again(corpus: Path, shards: Path) -> None:
    run(digits_recipe(), corpus)
    before = contents(shards)
    (shards / "test-00000-of-00001.tfrecord").unlink()
    assert run(digits_recipe(), corpus).made == 1
    assert contents(shards) == before


def test_a_volume_that_is_away_throws_no_finished_shard_away(
    corpus: Path, shards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(digits_recipe(), corpus)
    before = contents(shards)
    stat = Path.stat

    def fail(path: Path, **options: bool) -> os.stat_result:
        if path.name == "4_ann_7.wav":
            raise OSError(errno.EIO, "Input/output error")
        return stat(path, **options)

    with monkeypatch.context() as away:
        away.setattr(Path, "stat", fail)
        with pytest.raises(Unavailable, match=r"4_ann_7\.wav: cannot be read: Input/output error"):
            run(digits_recipe(), corpus)
    assert contents(shards) == before
    assert run(digits_recipe(), corpus).made == 0


def test_changed_recipe_starts_over(corpus: Path, shards: Path) -> None:
    run(digits_recipe(), corpus)
    assert run(digits_recipe(shard_utterances=100), corpus).made == 4
    assert len(list(shards.glob("*.tfrecord"))) == 4


def test_runs_with_one_corpus_seed_have_the_same_shards_whatever_their_own(corpus: Path, shards: Path) -> None:
    def made(of_run: int, **corpus_of: int) -> dict[str, bytes]:
        shutil.rmtree(shards, ignore_errors=True)
        run(digits_recipe(**corpus_of).model_copy(update={"seed": of_run}), corpus)
        return {name: content for name, content in contents(shards).items() if name.endswith(".tfrecord")}

    assert made(1, seed=5) == made(2, seed=5) == made(5)
    assert made(1) != made(5)
    run(digits_recipe(seed=5).model_copy(update={"seed": 1}), corpus)
    assert run(digits_recipe(seed=5).model_copy(update={"seed": 2}), corpus).made == 0


def test_a_trained_run_keeps_its_shards_when_recordings_are_others(corpus: Path, shards: Path) -> None:
    checkpoints = shards.parent / "checkpoints"
    run(digits_recipe(), corpus)
    checkpoints.mkdir()
    (checkpoints / "generation").write_text("1")  # of a training that ended before its first checkpoint
    os.utime(next(corpus.rglob("*.wav")), (2, 2))
    assert run(digits_recipe(), corpus).made
    before = contents(shards)
    (checkpoints / "step-00000001").mkdir()
    os.utime(next(corpus.rglob("*.wav")), (1, 1))
    with pytest.raises(BadRun, match=r"shards: the checkpoints in .* are of other recordings.*remove .*shards first"):
        run(digits_recipe(), corpus)
    assert contents(shards) == before
    shutil.rmtree(shards)
    assert run(digits_recipe(), corpus).made == len(list(shards.glob("*.tfrecord")))


def test_change_that_shards_do_not_depend_on_keeps_them(corpus: Path, shards: Path) -> None:
    recipe = digits_recipe()
    run(recipe, corpus)
    other = recipe.model_copy(update={"training": recipe.training.model_copy(update={"epochs": 3})})
    assert run(other, corpus).made == 0
    assert load_recipe(shards.parent / "recipe.yaml") == other


def test_broken_recordings_are_left_out_of_all_strings(corpus: Path, shards: Path) -> None:
    bad = corpus / "digits" / "4_ann_7.wav"
    bad.write_bytes(b"")
    (corpus / "digits" / "5_uma_0.wav").write_text("noise")
    prepared = run(digits_recipe(), corpus)
    assert [(Path(s.recording).name, s.reason[:17]) for s in prepared.skipped] == [
        ("4_ann_7.wav", "is an empty file"),
        ("5_uma_0.wav", "cannot be decoded"),
    ]
    assert ShardSet.open(shards, "train").total == 20
    assert not any("four" in r.text for r in ShardSet.open(shards, "train") if r.speaker == "ann")
    assert "4_ann_7.wav`: is an empty file" in (shards / "card.md").read_text()
    assert run(digits_recipe(), corpus).skipped == prepared.skipped


def test_strict_refuses_broken_recordings_on_every_call(corpus: Path) -> None:
    (corpus / "digits" / "4_ann_7.wav").write_bytes(b"")
    with pytest.raises(BadCorpus, match=r"1 recording\(s\) cannot be used.*4_ann_7.wav: is an empty file"):
        run(digits_recipe(), corpus, strict=True)
    run(digits_recipe(), corpus)
    with pytest.raises(BadCorpus, match="--strict"):
        run(digits_recipe(), corpus, strict=True)


def test_manifest_with_a_broken_recording_and_an_empty_transcript(tmp_path: Path, shards: Path) -> None:
    entries = []
    for i in range(12):
        soundfile.write(tmp_path / f"{i}.wav", tone(0.5, 16000), 16000)
        entries.append({"audio_filepath": f"{i}.wav", "duration": 0.5, "text": "..." if i == 3 else "Hello, World!"})
    (tmp_path / "5.wav").unlink()
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, entries)))
    recipe = digits_recipe(reader="manifest", path="all.jsonl", strings=None, splits={})
    prepared = prepare(recipe, tmp_path, RunFolder(shards.parent), progress=lambda *_: None)
    assert sorted((Path(s.recording).name, s.reason) for s in prepared.skipped) == [
        ("3.wav", f"its transcript '...' has no words (utterance 3 of {tmp_path / 'all.jsonl'}:4)"),
        ("5.wav", "no such file"),
    ]
    records = [record for split in ("train", "dev", "test") for record in ShardSet.open(shards, split)]
    assert len(records) == 10
    assert {record.text for record in records} == {"hello world"}
    assert {record.duration_s for record in records} == {0.5}


def test_the_card_lists_lines_that_came_to_be_at_fault_since(tmp_path: Path, shards: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(0.5), RATE_HZ)
    good = json.dumps({"audio_filepath": "a.wav", "duration": 0.5, "text": "hello"})
    recipe = digits_recipe(
        reader="manifest", path="all.jsonl", strings=None, splits={"dev_fraction": 0, "test_fraction": 0}
    )
    for faults in (1, 2, 2):
        (tmp_path / "all.jsonl").write_text("\n".join([good, *["{"] * faults]))
        folder = RunFolder(shards.parent)
        prepared = prepare(recipe, tmp_path, folder, lenient=True, progress=lambda *_: None)
        assert len(prepared.skipped) == len(prepared.card["skipped"]) == faults
    assert prepared.made == 0


def test_the_card_and_strict_follow_recordings_that_are_no_utterances(corpus: Path, shards: Path) -> None:
    run(digits_recipe(), corpus, strict=True)
    stray = corpus / "digits" / "notes.wav"
    stray.write_bytes(b"")
    before = contents(shards)
    with pytest.raises(BadCorpus, match=r"1 recording\(s\) cannot be used.*notes.wav"):
        run(digits_recipe(), corpus, strict=True)
    assert contents(shards) == before
    stored = Stored(shards=[name for name in before if name.endswith(".tfrecord")])
    for name in before:
        if name.endswith((".tfrecord", ".summary.json")):
            (shards / name).rename(shards.parent / name)
    prepared = run(digits_recipe(), corpus, stored=stored)
    assert (prepared.made, [entry.recording for entry in prepared.skipped]) == (0, [str(stray)])
    assert (shards / "card.json").read_bytes() == before["card.json"]
    for name in before:
        if not (shards / name).exists():
            (shards.parent / name).rename(shards / name)
    for _ in range(2):
        prepared = run(digits_recipe(), corpus)
        assert [entry.recording for entry in prepared.skipped] == [str(stray)]
        assert prepared.made == 0
    assert "notes.wav" in (shards / "card.md").read_text()
    stray.unlink()
    prepared = run(digits_recipe(), corpus, strict=True)
    assert (prepared.skipped, prepared.made) == ((), 0)
    assert "notes.wav" not in (shards / "card.md").read_text()


def test_the_card_tells_splits_that_are_left_unused_and_speakers_in_common_as_long_as_it_is_so(
    tmp_path: Path, shards: Path
) -> None:
    lines = []
    for i in range(40):
        soundfile.write(tmp_path / f"{i}.wav", tone(0.2), RATE_HZ)
        lines.append({"audio_filepath": f"{i}.wav", "duration": 0.2, "text": "go", "speaker": i % 2})
    manifest, folder = tmp_path / "all.jsonl", RunFolder(shards.parent)
    splits = {"dev_fraction": 0.3, "test_fraction": 0.3}
    recipe = digits_recipe(reader="manifest", path="all.jsonl", strings=None, splits=splits)
    shared = "2 of 2 speakers of dev and 2 of 2 speakers of test are in train, too; "
    unused = "the corpus has splits of its own (test 40), which corpus.splits.by=utterance leaves unused; "
    made = []
    for split, told in ((None, [shared]), ("test", [unused, shared]), (None, [shared])):
        manifest.write_text("".join(json.dumps(line | {"split": split}) + "\n" for line in lines))
        prepared = prepare(recipe, tmp_path, folder, progress=lambda *_: None)
        made.append(prepared.made)
        for warnings in (prepared.warnings, json.loads((shards / "card.json").read_text())["warnings"]):
            assert [warning[: len(start)] for warning, start in zip(warnings, told, strict=True)] == told
        assert f"\nWarning: {shared}" in (shards / "card.md").read_text()
    assert made[1:] == [0, 0]


def test_the_splits_of_the_corpus_become_shards_and_a_change_of_them_other_ones(tmp_path: Path, shards: Path) -> None:
    recipe = digits_recipe(reader="manifest", path="all.jsonl", strings=None, splits={"by": "corpus"})
    soundfile.write(tmp_path / "a.wav", tone(0.2), RATE_HZ)
    for order in (("train", "dev", "train"), ("train", "train", "test")):
        lines = [
            {"id": i, "audio_filepath": "a.wav", "duration": 0.2, "text": "go", "split": split}
            for i, split in enumerate(order)
        ]
        (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        prepared = prepare(recipe, tmp_path, RunFolder(shards.parent), progress=lambda *_: None)
        assert (prepared.made, prepared.warnings, "warnings" in prepared.card) == (2, (), False)
        for split in set(order):
            expected = {str(i) for i, name in enumerate(order) if name == split}
            assert {record.utterance for record in ShardSet.open(shards, split)} == expected


def test_reasons_are_on_the_card_without_their_control_characters(corpus: Path) -> None:
    card = run(digits_recipe(), corpus).card
    text = render(card | {"skipped": [{"recording": "a", "reason": "clips/\x1b]0;x\x07: no such file"}]})
    assert r"- `a`: clips/\x1b]0;x\x07: no such file" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("units.json", b"garbage"),
        ("units.json", b"\xff"),
        ("units.json", None),
        ("card.json", b'{"skipped": [{"x": 1}]}'),
        ("card.json", b"{}"),
        ("card.json", b'{"skipped": [], "listed": 3}'),
        ("card.json", b'{"skipped": [], "listed": {"fingerprint": "x"}}'),
    ],
)
def test_damaged_files_of_a_finished_folder_are_made_again(
    corpus: Path, shards: Path, name: str, content: bytes | None
) -> None:
    run(digits_recipe(), corpus)
    whole = contents(shards)
    if content is None:
        (shards / name).unlink()
    else:
        (shards / name).write_bytes(content)
    assert run(digits_recipe(), corpus).made == 0
    assert contents(shards) == whole


def test_words_of_strings_are_spelt_whatever_stands_beside_them(tmp_path: Path, shards: Path) -> None:
    for word in ("l'", "eau"):
        (tmp_path / "words" / word).mkdir(parents=True)
        for take in range(12):
            soundfile.write(tmp_path / "words" / word / f"ann_{take}.wav", tone(0.2), RATE_HZ)
    recipe = digits_recipe(
        reader="word_folders",
        path="words",
        splits={"dev_fraction": 0.2, "test_fraction": 0.2},
        strings={"train": 9, "dev": 1, "test": 1, "words_min": 2, "words_max": 3},
    )
    recipe = recipe.model_copy(update={"text": recipe.text.model_copy(update={"language": "fr"})})
    prepare(recipe, tmp_path, RunFolder(shards.parent), progress=lambda *_: None)
    records = list(ShardSet.open(shards, "train"))
    assert {span.word for record in records for span in record.words} == {"l", "eau"}
    assert all([span.word for span in record.words] == record.text.split() for record in records)


def test_recordings_that_were_scaled_are_on_the_card_of_every_call(corpus: Path, shards: Path) -> None:
    loud = corpus / "digits" / "4_ann_7.wav"
    soundfile.write(loud, 10 * tone(), RATE_HZ, subtype="FLOAT")
    first, again = (run(digits_recipe(strings=None, splits={}), corpus) for _ in range(2))
    (shards / "card.json").unlink()
    for prepared in (first, again, run(digits_recipe(strings=None, splits={}), corpus)):
        (scaled,) = prepared.scaled
        assert (scaled.recording, scaled.peak) == (str(loud), pytest.approx(3, abs=0.01))
    assert "4_ann_7.wav`: peak 3" in (shards / "card.md").read_text()


def test_nothing_usable_for_training_is_an_error(corpus: Path) -> None:
    for path in (corpus / "digits").glob("*_7.wav"):
        path.write_bytes(b"")
    with pytest.raises(
        BadCorpus, match=r"strings of split train are wanted.*; 30 cannot be used, the first: .*_7\.wav: is"
    ):
        run(digits_recipe(), corpus)


def test_of_strings_of_sentences_the_commonest_reason_comes_first(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(), RATE_HZ)
    texts = ["", "yes I do", "no you don't", "go on then"]
    lines = [{"audio_filepath": "a.wav", "duration": 0.3, "text": text, "id": str(i)} for i, text in enumerate(texts)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = digits_recipe(reader="manifest", path="all.jsonl", splits={})
    with pytest.raises(BadCorpus, match=r"4 cannot be used, the first: .*'yes I do' has 3 words") as caught:
        run(recipe, tmp_path)
    assert str(caught.value).index("has no words") > str(caught.value).index("go on then")


def test_folder_that_cannot_be_written_is_named(corpus: Path) -> None:
    (corpus.parent / "run").write_text("a file where the folder should be")
    with pytest.raises(Unavailable, match="run/shards: cannot be written"):
        run(digits_recipe(), corpus)


def test_real_digits_are_prepared_and_word_counts_agree(data_folder: Path, tmp_path: Path) -> None:
    if not (data_folder / "fsdd").is_dir():
        pytest.skip("no fsdd here")
    strings = {"train": 30, "dev": 5, "test": 5, "unseen_speaker": 5}
    recipe = digits_recipe(path="fsdd/recordings", splits={"unseen_speakers": ("yweweler",)}, strings=strings)
    prepared = prepare(recipe, data_folder, RunFolder(tmp_path), progress=lambda *_: None)
    assert prepared.skipped == ()
    assert prepared.card["splits"]["unseen_speaker"]["speakers"] == {"yweweler": 5}


def test_background_noise_has_the_level_that_the_recipe_says(corpus: Path, shards: Path) -> None:
    strings = digits_recipe().corpus.strings.model_dump() | {"background_db": {"low": -60, "high": -60}}
    run(digits_recipe(strings=strings), corpus)
    for record in ShardSet.open(shards, "test"):
        margin = record.waveform()[: round(record.words[0].start_s * record.sample_rate_hz)]
        assert 20 * np.log10(np.sqrt(np.mean(margin**2))) == pytest.approx(-60, abs=1)
