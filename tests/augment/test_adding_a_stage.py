"""A new stage is a file and a line of the table: nothing else names it."""

import subprocess
import sys

import numpy as np
import pytest
import soundfile
from rigs.local import finish, make_workplace, sonorant
from rigs.new_stage import copy_with_stage
from rigs.small_corpus import RATE_HZ, tone


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return copy_with_stage(tmp_path_factory.mktemp("tree"))


def with_stage(workplace, layout):
    """Put the stage behind the recipe's first one: as text, since only the copy has it."""
    recipe = workplace / "tiny.yaml"
    text = recipe.read_text().replace("layout: fused", f"layout: {layout}")
    before, mark, after = text.partition("\nfeatures:")
    recipe.write_text(f"{before}\n- stage: backwards{mark}{after}")


@pytest.mark.parametrize("layout", ["split", "fused"])
def test_a_training_runs_the_stage(environment, tmp_path, layout):
    with_stage(make_workplace(tmp_path, epochs=1), layout)
    for command in ("prepare", "train"):
        code, said = finish(sonorant(tmp_path, command, environment=environment))
        assert code == 0, said
    logs = {path.name: path.read_text() for path in (tmp_path / "run/logs").iterdir()}
    told = [name for name, text in logs.items() if '"backwards": 120' in text]
    assert told == [f"{'backwards' if layout == 'split' else 'example_server'}-0.log"], logs


def test_one_recording_passes_the_stage(environment, tmp_path):
    with_stage(make_workplace(tmp_path), "fused")
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text(recipe.read_text().replace("probability: 1.0", "probability: 0.0", 1))
    soundfile.write(tmp_path / "spoken.wav", tone(0.5), RATE_HZ, subtype="PCM_16")
    command = [sys.executable, "-m", "sonorant.cli", "augment", "spoken.wav", "--recipe", "tiny.yaml", "-o", "heard"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (played,) = (tmp_path / "heard").rglob("*backwards*.wav")
    spoken, _ = soundfile.read(tmp_path / "spoken.wav", dtype="float32")
    np.testing.assert_allclose(soundfile.read(played, dtype="float32")[0], spoken[::-1], atol=1 / 32768)


def test_the_table_that_people_read_has_the_stage(environment, tmp_path):
    command = [sys.executable, "-m", "sonorant.cli", "recipe", "stages"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "| `backwards` | plays speech backwards | nobody |"
