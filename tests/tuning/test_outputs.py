import json

import numpy as np
import pytest
from rigs.babble import murmur

from sonorant.audio.comfort_noise import within_quiet
from sonorant.export.loading import load_exported
from sonorant.serving.posteriors import open_posteriors, whole_posteriors
from sonorant.tuning import Spoken, read_outputs, write_outputs
from sonorant.tuning.outputs import is_of

DOCUMENT = {"origin": "a", "texts": ["one", "two"], "speakers": ["", ""], "ends": [2, 5], "size": 3}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (json.dumps(DOCUMENT).encode(), True),
        (json.dumps(DOCUMENT | {"origin": "b"}).encode(), False),
        (json.dumps(DOCUMENT | {"ends": [2, 6]}).encode(), False),
        (b'{"origin": "a"}', False),
        (b"{}", False),
        (b"[]", False),
        (b"\xff", False),
    ],
)
def test_outputs_are_of_the_origin_that_their_document_names(tmp_path, content, expected):
    (tmp_path / "utterances.json").write_bytes(content)
    (tmp_path / "frames.f32").write_bytes(bytes(5 * 3 * 4))
    assert is_of(tmp_path, "a") == expected
    assert not is_of(tmp_path / "none", "a")


@pytest.mark.parametrize("size", [None, 0, 59, 61, 120])
def test_outputs_without_all_their_frames_are_of_none(tmp_path, size):
    (tmp_path / "utterances.json").write_text(json.dumps(DOCUMENT))
    if size is not None:
        (tmp_path / "frames.f32").write_bytes(bytes(size))
    assert not is_of(tmp_path, "a")


def test_frames_are_written_as_they_come_and_read_one_utterance_at_a_time(tmp_path, tunable):
    spoken = [Spoken(f"text {n}", "ann", lambda n=n: murmur(0.3 + 0.2 * n, n)) for n in range(3)]
    model, seen = load_exported(tunable[2].export), []

    def look():
        (draft,) = tmp_path.glob(".outputs.*")
        seen.append((draft / "frames.f32").exists())

    write_outputs(tmp_path / "outputs", "three", model, spoken, jitter_ms=0.0, threads=1, done=look)
    outputs = read_outputs(tmp_path / "outputs")
    assert seen == [True] * 3
    assert (outputs.texts, outputs.speakers) == (("text 0", "text 1", "text 2"), ("ann",) * 3)
    for n, one in enumerate(spoken):
        line = within_quiet(one.waveform(), model.sample_rate_hz)
        np.testing.assert_array_equal(outputs.frames(n), whole_posteriors(open_posteriors(model, 0.0), line))


def test_of_no_utterance_there_are_no_frames(tmp_path, tunable):
    write_outputs(tmp_path / "none", "none", load_exported(tunable[2].export), [], jitter_ms=0.0, threads=1)
    assert len(read_outputs(tmp_path / "none").all_frames) == 0
    assert is_of(tmp_path / "none", "none")
