import subprocess
from pathlib import Path

import pytest

from services.recognizer_client.patterns import expanded


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("b.wav", "a.wav", ".hidden.wav", "c.ogg", "deep/d.ogg", "deep/er/e.ogg", "odd[1].wav", "odd1.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        *("*.wav", "?.*", "[ab].wav", "**/*.ogg", "deep/**/*.ogg", "*/d.ogg", ".*.wav", "none*.wav", "a.wav", "de*"),
        *("**.wav", "deep/e**/*.ogg", "***"),
    ],
)
def test_a_pattern_is_what_a_shell_makes_of_it(folder, pattern):
    command = ["bash", "-O", "globstar", "-c", f"LC_ALL=C; printf '%s\\n' {pattern}"]
    by_shell = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(map(str, expanded([Path(pattern)]))) == sorted(by_shell)


def test_a_link_to_a_folder_above_is_not_followed(folder):
    (folder / "deep/loop").symlink_to(folder)
    (folder / "deep/again").symlink_to(folder)
    assert expanded([Path("**/e.ogg")]) == (Path("deep/er/e.ogg"),)


def test_matches_are_sorted_in_place_of_their_pattern(folder):
    found = expanded([Path("c.ogg"), folder / "[ab].wav", Path("b.wav")])
    assert found == (Path("c.ogg"), folder / "a.wav", folder / "b.wav", Path("b.wav"))


def test_a_file_whose_name_looks_like_a_pattern_is_itself(folder):
    assert expanded([Path("odd[1].wav")]) == (Path("odd[1].wav"),)


def test_a_folder_that_matches_counts_if_it_has_recordings(folder):
    for name in ("full.wav/f.wav", "empty.wav/notes.md"):
        (folder / name).parent.mkdir()
        (folder / name).touch()
    assert expanded([Path("*[lt]*.wav")]) == (Path("full.wav"),)
    assert expanded([Path("em*.wav")]) == (Path("em*.wav"),)
