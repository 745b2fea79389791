from pathlib import Path

from services.recognizer_client.outputs import left_out, outputs_of


def touched(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_recordings_of_one_name_have_their_suffix_in_the_output_and_others_not(tmp_path):
    folder = touched(tmp_path / "in", "n.flac", "n.wav", "m.wav", "deep/n.wav")
    found = outputs_of([folder], Path("out"), ".json")
    assert [(one.id, str(one.path), one.fault) for one in found] == [
        ("deep/n", "out/deep/n.json", ""),
        ("m", "out/m.json", ""),
        ("n.flac", "out/n.flac.json", ""),
        ("n.wav", "out/n.wav.json", ""),
    ]
    assert outputs_of([folder], Path("out"), ".json") == found


def test_a_suffix_that_makes_the_name_of_another_recording_gives_that_one_its_own_too(tmp_path):
    folder = touched(tmp_path, "n.flac", "n.wav", "n.flac.wav")
    assert [one.id for one in outputs_of([folder], None, ".txt")] == ["n.flac", "n.flac.wav", "n.wav"]


def test_of_two_folders_recordings_of_one_name_the_first_has_the_output(tmp_path):
    one, two = (touched(tmp_path / name, "n.wav", f"{name}.wav") for name in ("one", "two"))
    found = outputs_of([one, two], Path("out"), ".txt")
    assert [output.fault for output in found] == [
        "",
        "",
        f"its output out/n.wav.txt is that of {one / 'n.wav'}; rename one",
        "",
    ]
    assert not any(output.fault for output in outputs_of([one, two], None, ".txt"))  # they are printed
    assert not any(output.fault for output in outputs_of([one, one / "n.wav", one], Path("out"), ".txt"))


def test_a_recording_whose_output_has_too_long_a_name_costs_itself_alone(tmp_path):
    name = "\uac00" * 83  # of three bytes
    folder = touched(tmp_path, f"{name}.wav", f"{name}.mp3", "n.wav")
    found = outputs_of([folder], Path("out"), ".json")
    assert [output.fault for output in found] == [
        "",
        *(
            f"its output out/{name}.{suffix}.json has a longer name than file systems take; rename it"
            for suffix in ("mp3", "wav")
        ),
    ]


def test_a_folder_without_recordings_has_an_output_which_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [one.recording for one in outputs_of([Path()], None, ".txt")] == [Path()]


def test_files_that_are_no_recordings_are_counted_by_suffix_but_for_outputs(tmp_path):
    folder = touched(tmp_path, "a.wav", "a.txt", "b.m4a", "deep/c.M4A", "deep/README")
    (tmp_path / "folder.old").mkdir()
    outputs = outputs_of([folder], folder, ".txt")
    assert left_out([folder, folder / "deep", folder / "b.m4a"], outputs) == {".m4a": 2, "": 1}


def test_a_folder_below_that_is_named_as_a_recording_is_none(tmp_path):
    folder = touched(tmp_path, "a.wav", "x.wav/b.wav", "y.wav/notes.md")
    outputs = outputs_of([folder], None, ".txt")
    assert [one.id for one in outputs] == ["a", "x.wav/b"]
    assert left_out([folder], outputs) == {".md": 1}


def test_hidden_files_and_what_lies_in_hidden_folders_count_neither_as_recordings_nor_as_left_out(tmp_path):
    folder = touched(
        tmp_path / ".in", "n.wav", ".n.wav", ".trash/n.wav", ".trash/n.txt", "deep/.git/n.wav", ".DS_Store"
    )
    found = outputs_of([folder], None, ".txt")
    assert [one.recording for one in found] == [folder / "n.wav"]
    assert not left_out([folder], found)
