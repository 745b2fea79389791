import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs import command_line
from ruamel.yaml import YAML
from training.small_checkpoints import checkpoint

from sonorant.corpus.shards import ShardSet
from sonorant.recipe import Recipe
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe
from sonorant.training.checkpoints import Checkpoints
from sonorant.training.identity import identity

RECIPE = """version: 1
name: tiny
corpus:
  reader: fsdd
  path: digits
  sample_rate_hz: 8000
  shard_utterances: 8
  strings: {train: 20, dev: 4, test: 6, test_takes: [0], dev_takes: [1]}
text: {units: words}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "digits").mkdir(parents=True)
    for digit in range(10):
        for take in range(3):
            samples = 0.3 * np.sin(np.arange(1000) * (0.1 + 0.05 * digit))
            soundfile.write(tmp_path / "data" / "digits" / f"{digit}_ann_{take}.wav", samples, 8000)
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    return tmp_path


def sonorant(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SONORANT")}
    return command_line.sonorant(*arguments, folder=folder, environment=clean | environment)


def sonorant_as_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sonorant.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_a_run_with_checkpoints_of_another_recipe_keeps_its_shards_and_recipe(folder: Path) -> None:
    options = ("prepare", "--recipe", "tiny.yaml", "--data", "data")
    assert sonorant(folder, *options).returncode == 0
    run = folder / "runs/tiny"
    recipe = load_recipe(run / "recipe.yaml")
    Checkpoints(run / "checkpoints", 1, print).save(checkpoint(1, identity(recipe)), best=True)
    before = {path: path.read_bytes() for path in [run / "recipe.yaml", *(run / "shards").iterdir()]}
    refused = sonorant(folder, *options, "--set", "text.units=characters")
    assert (refused.returncode, "text.units" in refused.stderr) == (65, True)
    assert {path: path.read_bytes() for path in [run / "recipe.yaml", *(run / "shards").iterdir()]} == before
    assert sonorant(folder, *options).returncode == 0


def test_prepare_writes_the_run_folder_and_then_has_nothing_to_do(folder: Path) -> None:
    done = sonorant_as_process(folder, "prepare", "--recipe", "tiny.yaml", "--data", "data", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "train: 20 utterances" in done.stdout
    assert " 1 speaker(s), 3 shard(s)\n" in done.stdout
    assert "5 shard(s) made in runs/tiny/shards" in done.stdout
    assert (folder / "runs/tiny/recipe.yaml").is_file()
    again = sonorant(folder, "prepare", "--recipe", "tiny.yaml", SONORANT_DATA=str(folder / "data"))
    assert again.returncode == 0
    assert "nothing to do in runs/tiny/shards" in again.stdout


def test_skipped_recordings_change_the_exit_code(folder: Path) -> None:
    (folder / "data/digits/3_ann_2.wav").write_bytes(b"RIFF")
    arguments = ("prepare", "--recipe", "tiny.yaml", "--data", "data", "--run", "out", "--jobs", "1")
    strict = sonorant(folder, *arguments, "--strict")
    assert strict.returncode == 65
    assert "3_ann_2.wav" in strict.stderr
    for _ in range(2):
        done = sonorant(folder, *arguments)
        assert done.returncode == 3
        assert "skipped data/digits/3_ann_2.wav: " in done.stderr
    assert json.loads((folder / "out/shards/card.json").read_text())["skipped"]
    assert sonorant(folder, *arguments, "--lenient").returncode == 0


def test_bad_lines_of_a_manifest_are_all_named_before_anything_is_written_and_lenient_leaves_them_out(
    folder: Path,
) -> None:
    good = {"audio_filepath": "loud.wav", "duration": 1, "text": "go"}
    samples = 3.5 * np.sin(np.arange(8000) * 0.1)
    soundfile.write(folder / "data/loud.wav", samples, 8000, subtype="FLOAT")
    lines = [good, good | {"id": 0, "duration": 1e308}, good | {"id": 1, "text": "\udcff"}, good | {"id": 2}]
    (folder / "data/all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "[" * 100_000)
    corpus = "{reader: manifest, path: all.jsonl, sample_rate_hz: 8000, splits: {dev_fraction: 0, test_fraction: 0}}"
    (folder / "mine.yaml").write_text(f"version: 1\nname: mine\ncorpus: {corpus}\n")
    command = ("prepare", "--recipe", "mine.yaml", "--data", "data", "--run", "out", "--jobs", "1")
    done = sonorant(folder, *command)
    assert done.returncode == 65
    assert [line.split(": ")[0] for line in done.stderr.splitlines()[1:3]] == [f"data/all.jsonl:{n}" for n in (3, 5)]
    assert done.stderr.startswith("sonorant: data/all.jsonl:2: duration=1e+308: must be a number of seconds")
    assert not (folder / "out/shards").exists()
    done = sonorant(folder, *command, "--lenient")
    assert done.returncode == 0
    assert "train: 2 utterances" in done.stdout
    assert "3 recording(s) skipped" in done.stderr
    assert "warning: data/loud.wav: its samples reach 3.5; scaled to a peak of 1" in done.stderr


def test_a_split_that_is_empty_though_a_share_of_it_is_wanted_is_told(folder: Path) -> None:
    takes = [{"audio_filepath": f"digits/{digit}_ann_0.wav", "duration": 0.125, "text": "go"} for digit in range(10)]
    (folder / "data/all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in takes))
    splits = "{dev_fraction: 0.1, test_fraction: 0.1}"
    corpus = f"{{reader: manifest, path: all.jsonl, sample_rate_hz: 8000, splits: {splits}}}"
    (folder / "mine.yaml").write_text(f"version: 1\nname: mine\ncorpus: {corpus}\n")
    command = ("prepare", "--recipe", "mine.yaml", "--data", "data", "--run", "out", "--jobs", "1")
    assert "warning" not in sonorant(folder, *command).stderr
    (dev,) = ShardSet.open(folder / "out/shards", "dev")
    (folder / f"data/{dev.utterance}.wav").write_bytes(b"RIFF")
    for _ in range(2):
        done = sonorant(folder, *command, "--lenient")
        assert done.returncode == 0
        assert "warning: dev has no utterance, though corpus.splits.dev_fraction is 0.1: all that it" in done.stderr
        assert "warning: test" not in done.stderr


def test_splits_of_the_corpus_that_are_left_unused_are_told_and_change_no_exit_code(folder: Path) -> None:
    soundfile.write(folder / "data/a.wav", 0.3 * np.sin(np.arange(4000) * 0.1), 8000)
    splits = ["train"] * 8 + ["dev", "test"]
    lines = [
        {"id": i, "audio_filepath": "a.wav", "duration": 0.5, "text": "go", "split": split}
        for i, split in enumerate(splits)
    ]
    (folder / "data/all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = "{reader: manifest, path: all.jsonl, sample_rate_hz: 8000}"
    (folder / "mine.yaml").write_text(f"version: 1\nname: mine\ncorpus: {corpus}\n")
    command = ("prepare", "--recipe", "mine.yaml", "--data", "data", "--run", "out", "--jobs", "1")
    for _ in range(2):
        done = sonorant(folder, *command)
        assert done.returncode == 0
        assert "warning: the corpus has splits of its own (dev 1, test 1, train 8), which" in done.stderr
    kept = sonorant(folder, *command, "--set", "corpus.splits.by=corpus")
    assert (kept.returncode, kept.stderr) == (0, "")
    assert "train: 8 utterances" in kept.stdout


def test_wrong_recipe_exits_before_anything_is_written(folder: Path) -> None:
    done = sonorant(folder, "prepare", "--recipe", "tiny.yaml", "--data", "data", "--set", "corpus.shard_uterances=3")
    assert done.returncode == 78
    assert "did you mean shard_utterances?" in done.stderr
    assert not (folder / "runs").exists()


def test_a_full_disk_is_named_leaves_nothing_half_written_and_the_next_call_goes_on(folder: Path) -> None:
    command = ["prepare", "--recipe", "tiny.yaml", "--data", "data", "--run", "out", "--jobs", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", *command],
        cwd=folder,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 69
    assert "tfrecord: cannot be written: File too large; free disk space" in done.stderr
    assert not [path for path in (folder / "out/shards").iterdir() if path.stat().st_size >= 20_000]
    assert not (folder / "out/shards/card.json").exists()
    assert sonorant(folder, *command).returncode == 0


def test_help_tells_the_exit_codes(folder: Path) -> None:
    assert "3 some were skipped" in " ".join(sonorant(folder, "prepare", "--help").stdout.split())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_ends_it_and_the_next_call_goes_on(folder: Path, number: int, code: int) -> None:
    command = [sys.executable, "-m", "sonorant.cli", "prepare", "--recipe", "tiny.yaml", "--data", "data"]
    command += ["--run", "out", "--jobs", "2", "--set", "corpus.strings.train=20000"]
    with subprocess.Popen(command, cwd=folder, start_new_session=True, stderr=subprocess.PIPE, text=True) as process:
        shards = folder / "out" / "shards"
        while process.poll() is None and not list(shards.glob("*.tfrecord")):
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
        os.killpg(process.pid, number)
        try:
            _, told = process.communicate(timeout=60)  # returns once no worker holds the pipe any more
        finally:
            process.kill()  # else leaving the block would wait for it
    assert process.returncode == code
    assert told.strip().endswith("interrupted") == (number == signal.SIGINT)
    assert "leaked" not in told
    assert not (shards / "card.json").exists()
    assert sonorant(folder, "prepare", "--recipe", "tiny.yaml", "--data", "data", "--run", "out").returncode == 0


def test_recipe_show_resolves_file_environment_and_flags(folder: Path) -> None:
    shown = sonorant(
        folder,
        "recipe",
        "show",
        "tiny.yaml",
        "--set",
        "training.ranks=3",
        SONORANT_TRAINING__RANKS="2",
        SONORANT__SEED="7",
    )
    assert shown.returncode == 0
    assert "\n  ranks: 3\n" in shown.stdout
    assert "\nseed: 7\n" in shown.stdout
    (folder / "shown.yaml").write_text(shown.stdout)
    assert sonorant(folder, "recipe", "show", "shown.yaml").stdout == shown.stdout


def test_recipe_values_are_the_recipe_under_its_key(folder: Path) -> None:
    shown = sonorant(folder, "recipe", "values", "tiny.yaml", "--set", "seed=3")
    values = YAML(typ="safe", pure=True).load(shown.stdout)
    assert list(values) == ["recipe"]
    recipe = Recipe.model_validate_json(json.dumps(values["recipe"]), strict=True)
    assert recipe == load_recipe(folder / "tiny.yaml", [Override("seed", "3", "--set")])


def test_recipe_check_lists_all_faults(folder: Path) -> None:
    assert "recipe tiny, version 1: valid" in sonorant(folder, "recipe", "check", "tiny.yaml").stdout
    (folder / "bad.yaml").write_text(RECIPE + "sed: 1\ntraining: {ranks: 0}\n")
    bad = sonorant(folder, "recipe", "check", "bad.yaml")
    assert bad.returncode == 78
    assert "bad.yaml:10: sed: unknown key; did you mean seed?" in bad.stderr
    assert "bad.yaml:11: training.ranks=0" in bad.stderr


def test_recipe_schema_is_json_schema(folder: Path) -> None:
    schema = json.loads(sonorant(folder, "recipe", "schema").stdout)
    assert schema["properties"]["training"]["description"] == "Optimisation."
