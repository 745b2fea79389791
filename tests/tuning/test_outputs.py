import json

import numpy as np
import pytest

from sonorant.tuning.outputs import is_of

DOCUMENT = {"origin": "a", "texts": ["one", "two"], "speakers": ["", ""], "ends": [2, 5]}


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
    np.save(tmp_path / "frames.npy", np.zeros((5, 3), np.float32))
    assert is_of(tmp_path, "a") == expected
    assert not is_of(tmp_path / "none", "a")


@pytest.mark.parametrize("size", [None, 0, 100, 140])
def test_outputs_without_all_their_frames_are_of_none(tmp_path, size):
    (tmp_path / "utterances.json").write_text(json.dumps(DOCUMENT))
    np.save(tmp_path / "frames.npy", np.zeros((5, 3), np.float32))
    whole = (tmp_path / "frames.npy").read_bytes()
    (tmp_path / "frames.npy").unlink()
    if size is not None:
        (tmp_path / "frames.npy").write_bytes(whole[:size])
    assert not is_of(tmp_path, "a")
