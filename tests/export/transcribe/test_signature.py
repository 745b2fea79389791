"""The signature of an export: a process with TensorFlow alone has the transcripts that sonorant has."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs.babble import RATE_HZ, murmur
from rigs.whole_recording import padded, recognized

from sonorant.export.loading import load_exported
from sonorant.tensorflow import tf

DOCS = Path(__file__).parents[3] / "docs"
SECONDS = (3.0, 0.5, 7.3, 0.02, 1.0)
ALONE = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sonorant", "services"):
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
import tensorflow as tf

transcribe = tf.saved_model.load(sys.argv[1]).signatures["transcribe"]
found = transcribe(audio=tf.constant(np.load(sys.argv[2])), lengths=tf.constant(json.loads(sys.argv[3])))
print(json.dumps([text.decode() for text in found["text"].numpy()]))
exec(sys.argv[4])
assert not [name for name in sys.modules if name.startswith("sonorant")]
"""


@pytest.fixture(scope="module")
def transcribe(exported):
    return tf.saved_model.load(str(exported)).signatures["transcribe"]


def snippet():
    """Return the lines of Python that a page of the documentation shows."""
    pages = "".join(page.read_text() for page in sorted(DOCS.glob("*.md")))
    (shown,) = (block for block in re.findall(r"```python\n(.*?)```", pages, re.DOTALL) if '"transcribe"' in block)
    return shown


def test_a_process_with_tensorflow_alone_has_sonorants_transcripts(exported, tmp_path):
    model = load_exported(exported)
    waveforms = [murmur(seconds, seed=i) for i, seconds in enumerate(SECONDS)]
    inputs = padded(waveforms)
    np.save(tmp_path / "audio.npy", inputs["audio"])
    lengths = json.dumps(inputs["lengths"].numpy().tolist())
    (tmp_path / "runs/digits/exports/digits").mkdir(parents=True)
    (tmp_path / "runs/digits/exports/digits/1").symlink_to(exported)
    soundfile.write(tmp_path / "FILE.wav", waveforms[0], RATE_HZ)
    command = [sys.executable, "-I", "-c", ALONE, exported, "audio.npy", lengths, snippet()]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300)
    found, of_snippet = done.stdout.splitlines()
    found = json.loads(found)
    assert of_snippet.startswith(f"{found[0]} 0.")
    assert found == [recognized(model, waveform).text for waveform in waveforms]
    assert found[0].count(" ") > 5


def test_a_recording_has_the_same_bits_alone_and_among_many(transcribe):
    waveforms = [murmur(0.3 + 0.11 * i, seed=i) for i in range(19)]  # more than a group
    together = transcribe(**padded(waveforms, samples=40_000))
    for i in (0, 7, 15, 16, 18):
        alone = transcribe(**padded(waveforms[i : i + 1]))
        assert alone["text"][0] == together["text"][i]
        np.testing.assert_array_equal(alone["confidence"][0], together["confidence"][i])


def test_confidences_are_sonorants(exported, transcribe):
    model = load_exported(exported)
    waveforms = [murmur(seconds, seed=i) for i, seconds in enumerate(SECONDS)]
    expected = [recognized(model, waveform).confidence for waveform in waveforms]
    np.testing.assert_allclose(transcribe(**padded(waveforms))["confidence"], expected, rtol=1e-3)


def test_silence_and_recordings_without_a_vector_of_their_own_have_defined_texts(exported, transcribe):
    model, silence = load_exported(exported), np.zeros(8000, np.float32)
    waveforms = [silence[:0], silence, silence[:199], silence[:640]]
    texts = [text.decode() for text in transcribe(**padded(waveforms))["text"].numpy()]
    assert texts == ["", *(recognized(model, waveform).text for waveform in waveforms[1:])]
    assert transcribe(**padded(waveforms))["confidence"][0] == 1
    assert transcribe(audio=tf.zeros([0, 100]), lengths=tf.zeros([0], tf.int32))["text"].shape == [0]
    assert transcribe(audio=tf.zeros([2, 0]), lengths=tf.zeros([2], tf.int32))["text"].numpy().tolist() == [b"", b""]


@pytest.mark.parametrize(
    ("lengths", "value", "match"),
    [
        ([101], 0, "at most the samples"),
        ([-1], 0, "at least 0"),
        ([1, 2], 0, "one for each recording"),
        ([99], np.nan, "finite"),
    ],
)
def test_bad_input_is_refused_by_name(transcribe, lengths, value, match):
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        transcribe(audio=tf.fill([1, 100], np.float32(value)), lengths=tf.constant(lengths))
    transcribe(audio=tf.constant([[0.0] * 99 + [np.nan]]), lengths=tf.constant([99]))  # it does not count
