"""`sonorant transcribe` and recordings of all kinds, with all kinds of names, some of which cannot be read."""

import errno
import json
import os

import numpy as np
import pytest
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.encoded import encoded
from rigs.transcribing import recording, transcribe, transcribe_as_process

from services.recognizer.process import running_recognizer
from sonorant.run_folder import RunFolder
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.text.transcripts import read_transcripts


def test_other_rates_and_channels_are_converted(server, tmp_path):
    samples = murmur(1.5, seed=4)
    stereo = recording(tmp_path / "stereo.wav", np.stack([samples, samples], axis=1))
    mono = recording(tmp_path / "mono.wav", samples)
    assert transcribe("--server", server, stereo).stdout == transcribe("--server", server, mono).stdout
    fast = recording(tmp_path / "fast.ogg", np.repeat(samples, 4), 4 * RATE_HZ)
    done = transcribe("--server", server, "--json", fast)
    assert json.loads(done.stdout)["audio_s"] == pytest.approx(1.5, abs=0.01)


def test_what_a_browser_records_is_decoded_as_the_recognizer_does_it(server, heard, tmp_path):
    content = encoded("WEBM_OPUS", np.repeat(murmur(1.5, seed=4), 48_000 // RATE_HZ), 48_000)
    (tmp_path / "said.webm").write_bytes(content)
    decoder = open_decoder(AudioFormat("WEBM_OPUS"), RATE_HZ, 60.0)
    text = heard(np.concatenate([*decoder.pieces(content), *decoder.last_pieces()]))
    assert transcribe("--server", server, tmp_path / "said.webm").stdout == f"{text}\n"
    (tmp_path / "cut.webm").write_bytes(content[:20])
    done = transcribe("--server", server, tmp_path)
    assert (done.returncode, done.stdout) == (65, f"{tmp_path / 'said.webm'}: {text}\n")
    assert f"{tmp_path / 'cut.webm'}: WebM: cut off in its header" in done.stderr


def test_what_a_browser_records_may_have_no_audio(server, tmp_path):
    content = encoded("WEBM_OPUS", np.zeros(4800, np.float32), 48_000)
    cluster = b"\x1f\x43\xb6\x75"
    (tmp_path / "said.webm").write_bytes(content[: content.index(cluster)] + cluster + b"\x80")  # an empty one
    done = transcribe("--server", server, tmp_path / "said.webm")
    assert (done.returncode, done.stdout) == (0, "\n")


def test_names_that_are_not_utf_8_are_transcribed_and_shown(server, heard, tmp_path):
    samples, names = [murmur(1.0, seed=seed) for seed in (4, 5)], (b"one\xff.wav", b"two\xfe.wav")
    paths = [tmp_path / os.fsdecode(name) for name in names]
    for path, said in zip(paths, samples, strict=True):
        recording(tmp_path / "a.wav", said).rename(path)
    done = transcribe_as_process("--server", server, *paths)
    assert (done.returncode, done.stderr) == (0, "")
    shown = [f"{tmp_path}/one\\udcff.wav", f"{tmp_path}/two\\udcfe.wav"]
    assert done.stdout.splitlines() == [f"{name}: {heard(said)}" for name, said in zip(shown, samples, strict=True)]
    (tmp_path / "heard.jsonl").write_text(transcribe("--server", server, "--json", *paths).stdout)
    assert list(read_transcripts(tmp_path / "heard.jsonl").texts) == ["one\udcff", "two\udcfe"]


def test_a_name_with_control_characters_keeps_to_its_line_and_json_has_it_as_it_is(server, heard, tmp_path):
    samples = murmur(1.0, seed=4)
    good = recording(tmp_path / "two\nlines \x1b[2J.wav", samples)
    bad = tmp_path / "no\r\naudio.wav"
    bad.write_bytes(b"not audio")
    done = transcribe("--server", server, good, bad)
    assert (done.returncode, done.stdout) == (65, f"{tmp_path}/two\\nlines \\x1b[2J.wav: {heard(samples)}\n")
    said, total = done.stderr.splitlines()
    assert said.startswith(f"sonorant: {tmp_path}/no\\r\\naudio.wav: ")
    assert total == "sonorant: 1 of 2 recordings could not be transcribed"
    result = json.loads(transcribe("--server", server, "--json", good).stdout)
    assert (result["id"], result["file"]) == ("two\nlines \x1b[2J", str(good))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a pipe"),
        (os.mkdir, "a folder"),
        (lambda path: os.symlink("nothing", path), "a link to nothing"),
    ],
)
def test_what_is_no_file_is_named_and_not_waited_for(server, heard, tmp_path, make, kind):
    bad, samples = tmp_path / os.fsdecode(b"\xff.wav"), murmur(1.0, seed=4)
    make(bad)
    good = recording(tmp_path / "good.wav", samples)
    done = transcribe("--server", server, bad, good)
    assert (done.returncode, done.stdout) == (65, f"{good}: {heard(samples)}\n")
    assert f"{tmp_path}/\\udcff.wav: no such file: it is {kind}; expected a recording" in done.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no such file"), (b"", "expected a recording"), (b"not audio", "expected a recording")],
)
def test_a_bad_file_is_named_and_the_others_are_transcribed(server, heard, tmp_path, content, reason):
    bad, samples = tmp_path / "bad.wav", murmur(1.0, seed=4)
    if content is not None:
        bad.write_bytes(content)
    good = recording(tmp_path / "good.wav", samples)
    done = transcribe("--server", server, bad, good)
    assert done.returncode == 65
    assert done.stdout == f"{good}: {heard(samples)}\n"
    assert f"{bad}: " in done.stderr
    assert reason in done.stderr
    assert "Error opening" not in done.stderr  # and a descriptor's number
    assert "1 of 2 recordings" in done.stderr


@pytest.mark.parametrize("what", ["a recording", "what is in a folder that may not be entered", "a folder"])
def test_what_may_not_be_read_is_named_and_the_others_are_transcribed(server, heard, tmp_path, monkeypatch, what):
    bad, samples = tmp_path / "bad.wav", murmur(1.0, seed=4)
    good = recording(tmp_path / "good.wav", samples)
    if what == "a folder":
        bad.mkdir()
    elif what == "a recording":
        bad.touch()
    else:
        refuse_to_stat(bad, monkeypatch)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **how: str(path) != str(bad) and may(path, mode, **how))
    done = transcribe("--server", server, bad, good)
    assert (done.returncode, done.stdout) == (65, f"{good}: {heard(samples)}\n")
    assert f"{bad}: cannot be read: permission denied" in done.stderr


def refuse_to_stat(refused, monkeypatch):
    stat = os.stat

    def refusing(path, *arguments, **options):
        if path == refused:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refusing)


def test_of_a_folder_without_recordings_it_is_said_what_makes_some(server, tmp_path):
    done = transcribe("--server", server, tmp_path)
    assert done.returncode == 65
    assert "it is a folder; expected a recording" in done.stderr
    assert "or a folder with some, known by their suffixes, such as .wav" in done.stderr


def test_a_recording_that_is_cut_short_is_not_taken_for_whole(server, tmp_path):
    whole = recording(tmp_path / "whole.ogg", murmur(1.0), subtype="VORBIS").read_bytes()
    path = tmp_path / "cut.ogg"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    result = transcribe(path, "--server", server)
    assert (result.returncode, result.stdout) == (65, "")
    assert str(path) in result.stderr
    assert "is cut short" in result.stderr


def test_samples_that_are_not_finite_are_refused(server, tmp_path):
    samples = murmur(1.0)
    samples[100] = np.nan
    done = transcribe("--server", server, recording(tmp_path / "nan.wav", samples, subtype="FLOAT"))
    assert done.returncode == 65
    assert "not finite" in done.stderr


def test_a_recording_beyond_the_limit_is_cut_in_a_pause_and_one_that_fails_costs_itself_alone(run, heard, tmp_path):
    short = RunFolder(tmp_path / "run")
    export_babble(short.exports, max_stream_seconds=1.6)
    parts = [murmur(1.0, seed=4), murmur(1.0, seed=5)]
    pause = np.zeros(RATE_HZ // 2, np.float32)
    long = recording(tmp_path / "long.wav", np.concatenate([parts[0], pause, parts[1]]))
    bad = tmp_path / "bad.wav"
    bad.write_bytes(b"not audio")
    with running_recognizer(short.exports) as address:
        done = transcribe("--server", address, "--streams", 2, long, bad, long)
    quiet = np.zeros(RATE_HZ // 4, np.float32)
    text = " ".join((heard(np.concatenate([parts[0], quiet])), heard(np.concatenate([quiet, parts[1]])))).strip()
    assert (done.returncode, done.stdout) == (65, f"{long}: {text}\n{long}: {text}\n")
    assert done.stderr.startswith(f"sonorant: {bad}: ")
    assert done.stderr.endswith("sonorant: 1 of 3 recordings could not be transcribed\n")
