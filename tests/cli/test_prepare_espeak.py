import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs.command_line import sonorant

from sonorant.cli.espeak import find_espeak
from sonorant.cli.espeak_corpus import manner_of, read_script
from sonorant.corpus.preparing import prepare
from sonorant.corpus.readers import list_corpus
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder

GRAMMAR = """
rules:
  sentence: [turn <state> the <device>]
  state: ["on", "off"]
  device: [lamp, radio, heater, kettle]
"""
needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "g.yaml").write_text(GRAMMAR)
    (tmp_path / "words.txt").write_text("left\nright\n\nup\n")
    return tmp_path


def espeak(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({} if path is None else {"PATH": path})
    return sonorant("prepare", "espeak", *arguments, folder=folder, environment=environment)


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]


@needs_espeak
def test_one_seed_gives_the_same_samples_and_a_longer_corpus_begins_with_a_shorter_one(folder: Path) -> None:
    done = espeak(folder, "g.yaml", "--output", "short", "--utterances", "4", "--speakers", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 utterances, 0.00")
    seven = ("--utterances", "7", "--speakers", "3", "--jobs", "3")
    assert espeak(folder, "g.yaml", "--out", "long", *seven).returncode == 0
    short, long = lines(folder / "short"), lines(folder / "long")
    assert long[:4] == short
    assert len({line["text"] for line in long}) == 7
    assert len({line["speaker"] for line in long[:3]}) == 3
    for line in short:
        mine, other = (folder / name / str(line["audio_filepath"]) for name in ("short", "long"))
        assert mine.read_bytes() == other.read_bytes()
        assert soundfile.info(mine).duration == line["duration"]


@needs_espeak
def test_speakers_who_say_nothing_are_not_counted(folder: Path) -> None:
    done = espeak(folder, "g.yaml", "-o", "one", "--utterances", "1", "--speakers", "3")
    assert done.stdout.endswith(f" h, 1 speaker(s) in {Path('one/manifest.jsonl')}\n")


@needs_espeak
def test_speech_begins_and_ends_in_the_quiet_of_a_room(folder: Path) -> None:
    """As an utterance in service does, for which comfort noise takes the place of what is not there."""
    assert espeak(folder, "words.txt", "-o", "out", "--utterances", "6", "--speakers", "2").returncode == 0
    lengths = set()
    for line in lines(folder / "out"):
        samples, rate_hz = soundfile.read(folder / "out" / str(line["audio_filepath"]))
        before, after = samples[: rate_hz // 10], samples[-rate_hz // 5 :]
        for quiet in (before, after):
            assert -73 < 10 * np.log10(np.mean(np.square(quiet))) < -67
        assert np.abs(samples).max() > 0.05
        lengths.add(len(samples))
    assert len(lengths) == 6


@needs_espeak
def test_a_corpus_that_is_there_is_left_alone_and_another_one_refused(folder: Path) -> None:
    command = ("words.txt", "-o", "out", "--utterances", "3", "--speakers", "2")
    assert espeak(folder, *command).returncode == 0
    assert espeak(folder, *command).stdout == "nothing to do in out\n"
    other = espeak(folder, *command, "--seed", "2")
    assert other.returncode == 65
    assert re.fullmatch(
        r"sonorant: out: holds something else: found 'eSpeak.*, seed 1', expected 'eSpeak.*, seed 2'; remove .*\n",
        other.stderr,
    )
    assert len(lines(folder / "out")) == 3


@needs_espeak
def test_words_that_it_speaks_are_joined_to_strings_of_one_voice(folder: Path) -> None:
    assert espeak(folder, "words.txt", "-o", "words", "--utterances", "36", "--speakers", "3").returncode == 0
    corpus = {
        "reader": "manifest",
        "path": "words/manifest.jsonl",
        "splits": {"by": "speaker", "dev_fraction": 0.3, "test_fraction": 0.3},
        "strings": {"words_min": 2, "words_max": 3, "train": 6, "dev": 2, "test": 3},
    }
    recipe = Recipe.model_validate({"version": 1, "name": "words", "corpus": corpus})
    assert len(list_corpus(recipe.corpus, folder).utterances) == 36
    card = prepare(recipe, folder, RunFolder(folder / "run"), progress=lambda *_: None).card
    assert card["skipped"] == []
    speakers = [set(split["speakers"]) for split in card["splits"].values()]
    assert [len(of) for of in speakers] == [1, 1, 1]
    assert len(set.union(*speakers)) == 3


@needs_espeak
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("g.yaml", "--utterances", "9"), "9 distinct sentences are wanted"),
        (("words.txt", "--language", "xx"), "language 'xx': espeak-ng has no voice for it"),
        (("words.txt", "--speakers", "99999"), "speakers=99999: espeak-ng has"),
        (("none.txt",), "none.txt: no such file"),
        (("dots.txt", "--utterances", "1"), "'...': espeak-ng has no sound for it"),
        (("phonemes.txt", "--utterances", "1"), "'go [[h@lou]]': espeak-ng takes what stands behind [[ for phonemes"),
    ],
)
def test_what_cannot_be_spoken_ends_with_65_and_nothing_written(folder: Path, arguments, said: str) -> None:
    (folder / "dots.txt").write_text("...\n")
    (folder / "phonemes.txt").write_text("go [[h@lou]]\n")
    done = espeak(folder, *arguments, "-o", "out")
    assert done.returncode == 65
    assert said in done.stderr
    assert not (folder / "out").exists()


def test_without_espeak_it_says_how_to_install_it(folder: Path) -> None:
    done = espeak(folder, "g.yaml", "-o", "out", path=str(folder))
    assert done.returncode == 69
    assert "espeak-ng is not installed" in done.stderr
    assert "apt-get install espeak-ng" in done.stderr
    assert not (folder / "out").exists()


def test_lines_are_spoken_in_shuffled_passes(folder: Path) -> None:
    script = read_script(folder / "words.txt", 7, seed=1, language=None)
    assert script.language == "en"
    assert set(script.texts[:3]) == set(script.texts[3:6]) == {"left", "right", "up"}


@needs_espeak
def test_utterances_of_a_voice_differ_and_a_repeat_does_not() -> None:
    program = find_espeak()
    a, b = (manner_of(key, "en-us+f2", 1) for key in ("000001-en-us+f2", "000002-en-us+f2"))
    assert a != b
    assert a == manner_of("000001-en-us+f2", "en-us+f2", 1)
    first, rate_hz = program.speak("- go on", a)
    assert rate_hz == 22050
    np.testing.assert_array_equal(first, program.speak("- go on", a)[0])
