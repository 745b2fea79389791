import pytest

from sonorant.tuning.outputs import is_of


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b'{"origin": "a"}', True), (b'{"origin": "b"}', False), (b"{}", False), (b"[]", False), (b"\xff", False)],
)
def test_outputs_are_of_the_origin_that_their_document_names(tmp_path, content, expected):
    (tmp_path / "utterances.json").write_bytes(content)
    assert is_of(tmp_path, "a") == expected
    assert not is_of(tmp_path / "none", "a")
