import pytest

from sonorant.recording_names import is_recording


@pytest.mark.parametrize(
    ("name", "recording"), [("a.WAV", True), ("b/a.tar.flac", True), ("a.txt", False), ("wav", False)]
)
def test_a_recording_is_known_by_its_suffix(name: str, recording: bool) -> None:
    assert is_recording(name) is recording
