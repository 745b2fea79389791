import json
import os

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, record, tone

from sonorant.augment.chain import StageResources, apply_stage, build_chain
from sonorant.cli.augment import command
from sonorant.corpus.shards import ShardSet, shard_name, write_shard
from sonorant.delivery.example import Lineage
from sonorant.errors import BadAudio, BadCorpus, BadRecipe, RejectedExample, Unavailable
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

STAGES = (
    {"stage": "speed", "probability": 0.5},
    {"stage": "gain", "probability": 0.0},
    {"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}, "noise": {"kinds": ["babble"]}, "microphones": 2},
    {"stage": "telephone"},
    {"stage": "spec_augment"},
)


@pytest.fixture
def run(tmp_path):
    """A prepared run whose recipe has babble, which needs the other utterances."""
    folder = RunFolder(tmp_path / "run")
    write_shard(folder.shards / shard_name("train", 0, 1), [record(number) for number in range(6)])
    folder.recipe.write_text(dump_recipe(Recipe.model_validate(digits_recipe().model_dump() | {"stages": STAGES})))
    return folder


def augment(*arguments):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    return result


def passed(run, example, seed=0):
    from sonorant.recipe.loading import load_recipe

    recipe = load_recipe(run.recipe)
    shards = ShardSet.open(run.shards, "train")
    for name, stage in build_chain(recipe, StageResources(shards, run.path)).items():
        example = apply_stage(name, stage, example, seed)
        yield example


def test_an_utterance_of_a_run_is_heard_as_the_stages_make_it(run, tmp_path):
    out = tmp_path / "heard"
    result = augment("--run", run.path, "--utterance", "u4", "--epoch", 3, "--seed", 7, "-o", out)
    assert result.exit_code == 0, result.output
    example = ShardSet.open(run.shards, "train").read(0, 4).example(Lineage(3, 0, 4))
    *waveforms, plain, features = passed(run, example, 7)
    for number, (stage, expected) in enumerate(zip(STAGES[:-1], waveforms, strict=True), 1):
        samples, rate_hz = soundfile.read(out / f"{number}-{stage['stage']}.wav", dtype="float32")
        assert rate_hz == 8000
        np.testing.assert_array_equal(samples.T, expected.waveform)
    np.testing.assert_array_equal(np.load(out / "5-featurizer.npy"), plain.features)
    for file in ("6-spec_augment.npy", "features.npy"):
        np.testing.assert_array_equal(np.load(out / file), features.features)
    assert (plain.features != features.features).any()
    np.testing.assert_array_equal(soundfile.read(out / "0-recording.wav", dtype="float32")[0], example.waveform)
    account = json.loads((out / "augmented.json").read_text())
    assert (account["seed"], account["epoch"], account["utterance"]) == (7, 3, "u4")
    assert all("<svg" in (out / plot).read_text() for plot in account["plots"])
    assert [stage["changed"] for stage in account["stages"]][2] is False
    assert "gain           as before" in result.output


def test_a_file_is_heard_as_the_same_recording_in_a_shard_is(run, tmp_path):
    """The recipe's run is not needed by stages without babble, and is where babble is found."""
    soundfile.write(tmp_path / "u2.wav", record(2).waveform(), 8000, subtype="PCM_16")
    for arguments in (("--utterance", "u2"), (tmp_path / "u2.wav",)):
        assert augment(*arguments, "--run", run.path, "-o", tmp_path / "heard").exit_code == 0
        waveform = soundfile.read(tmp_path / "heard" / "4-telephone.wav", dtype="float32")[0]
        results = (waveform.tobytes(), (tmp_path / "heard" / "features.npy").read_bytes())
        if arguments[0] == "--utterance":
            expected = results
    assert results == expected
    with pytest.raises(BadRecipe, match="babble needs at least 2 training utterances, found none: prepare the run"):
        augment(tmp_path / "u2.wav", "--recipe", run.recipe, "-o", tmp_path / "heard")
    alone = ("--set", "stages=[{stage: lombard}]", "-o", tmp_path / "alone")
    assert augment(tmp_path / "u2.wav", "--recipe", run.recipe, *alone).exit_code == 0
    assert (tmp_path / "alone" / "1-lombard.wav").exists()


def test_what_is_wrong_is_said_and_nothing_is_written(run, tmp_path):
    out = ("-o", tmp_path / "heard")
    with pytest.raises(BadCorpus, match=r"no utterance 'u44' among 6 in .*run/shards, such as u4(, u\d){2}$"):
        augment("--run", run.path, "--utterance", "u44", *out)
    with pytest.raises(BadAudio, match=r"none\.wav: no such file"):
        augment(tmp_path / "none.wav", "--run", run.path, *out)
    soundfile.write(tmp_path / "silent.wav", np.zeros(8000), 8000)
    with pytest.raises(RejectedExample, match="room rejects utterance silent: the speech is silent"):
        augment(tmp_path / "silent.wav", "--run", run.path, *out)
    assert augment("--utterance", "u1", *out).exit_code == 2
    assert augment("--run", run.path, *out).exit_code == 2
    assert not (tmp_path / "heard").exists()


@pytest.mark.parametrize("form", ["OGG", "AIFF", "AU", "W64"])
def test_a_recording_that_is_cut_short_is_refused(run, tmp_path, form):
    path = tmp_path / "cut"
    soundfile.write(path, np.random.default_rng(0).uniform(-0.5, 0.5, 20_000), 8000, format=form)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(BadAudio, match="cut: is cut short or has a wrong header: it promises"):
        augment(path, "--run", run.path, "-o", tmp_path / "heard")
    assert not (tmp_path / "heard").exists()


def test_a_recording_beyond_1_is_scaled_and_that_is_said(run, tmp_path):
    loud = 3.5 / 0.3 * tone(0.5)
    soundfile.write(tmp_path / "loud.wav", loud, 8000, subtype="FLOAT")
    result = augment(tmp_path / "loud.wav", "--run", run.path, "--set", "stages=[]", "-o", tmp_path / "heard")
    assert "loud.wav: its samples reach 3.5; scaled to a peak of 1, as 16 bits hold no more" in result.stderr
    heard, _ = soundfile.read(tmp_path / "heard" / "0-recording.wav", dtype="float32")
    np.testing.assert_allclose(heard, loud / 3.5, atol=2 / 32768)


def test_names_that_are_not_utf_8_are_no_matter(run, tmp_path):
    soundfile.write(tmp_path / "a.wav", tone(0.5), 8000)
    path = (tmp_path / "a.wav").rename(tmp_path / os.fsdecode(b"\xff.wav"))
    for utterance in ((), ("--utterance", os.fsdecode(b"\xfe"))):
        out = tmp_path / os.fsdecode(b"\xfd")
        assert augment(path, "--run", run.path, *utterance, "-o", out).exit_code == 0
        assert json.loads((out / "augmented.json").read_text())["utterance"] in ("\\udcff", "\\udcfe")
        assert (out / "2-gain.wav").exists()


def test_a_full_disk_is_named_and_leaves_nothing(run, tmp_path, small_disk):
    with pytest.raises(Unavailable, match=r"heard: cannot be written: .*free disk space"):
        augment("--run", run.path, "--utterance", "u4", "--set", "stages=[]", "-o", tmp_path / "heard")
    assert not list(tmp_path.glob("*heard*"))


def test_folders_of_something_else_are_left_alone_and_earlier_results_replaced(run, tmp_path):
    out = tmp_path / "heard"
    out.mkdir()
    arguments = ("--run", run.path, "--utterance", "u1", "-o", out)
    assert augment(*arguments).exit_code == 0, "an empty folder is taken"
    assert augment(*arguments, "--set", "stages=[{stage: gain}]").exit_code == 0
    assert not (out / "4-telephone.wav").exists()
    (out / "augmented.json").unlink()
    with pytest.raises(Unavailable, match="heard: is there and holds no results of this command"):
        augment(*arguments)
    assert (out / "1-gain.wav").exists()
