import contextlib
import errno
import json
import os
import pty
import re
import subprocess
import sys
import termios

import numpy as np
import pytest
import soundfile
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.command_line import sonorant
from rigs.encoded import encoded

from services.recognizer.process import running_recognizer
from sonorant.errors import Unavailable
from sonorant.run_folder import RunFolder
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.text.transcripts import read_transcripts


def transcribe(*arguments):
    return sonorant("transcribe", *arguments)


def transcribe_as_process(*arguments):
    command = [sys.executable, "-m", "sonorant.cli", "transcribe", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def recording(path, samples, rate_hz=RATE_HZ, **options):
    path.parent.mkdir(exist_ok=True)
    soundfile.write(path, samples, rate_hz, **options)
    return path


def test_one_recording_is_its_transcript(server, heard, tmp_path):
    samples = murmur(2.0, seed=4)
    done = transcribe_as_process("--server", server, recording(tmp_path / "a.wav", samples))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{heard(samples)}\n", "")


@pytest.mark.parametrize("streams", [1, 2])
def test_an_output_that_is_full_or_that_nobody_reads_ends_the_command(server, tmp_path, streams):
    command = [sys.executable, "-m", "sonorant.cli", "transcribe", "--server", server, "--streams", str(streams)]
    command += [recording(tmp_path / name, murmur(0.5)) for name in ("a.wav", "b.wav")]
    read, unread = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    said = "sonorant: the output cannot be written: No space left on device; free disk space\n"
    for output, code, error in ((unread, 141, ""), (full, 69, said)):
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
        os.close(output)
        assert (done.returncode, done.stderr) == (code, error)


def test_several_recordings_at_once_come_in_their_order(server, heard, tmp_path):
    samples = [murmur(seconds, seed=seed) for seed, seconds in enumerate((3.0, 0.7, 1.5))]
    paths = [recording(tmp_path / f"{i}.flac", s) for i, s in enumerate(samples)]
    done = transcribe("--server", server, "--streams", 3, "--chunk-ms", 37, *paths)
    assert done.stdout.splitlines() == [f"{path}: {heard(s)}" for path, s in zip(paths, samples, strict=True)]


def test_json_has_words_alternatives_and_latency(server, tmp_path):
    path = recording(tmp_path / "a.wav", murmur(1.0, seed=4))
    (line,) = transcribe("--server", server, "--json", "--nbest", 3, "--paced", path).stdout.splitlines()
    result = json.loads(line)
    assert result["text"] == " ".join(word["word"] for word in result["words"]) == result["alternatives"][0]["text"]
    assert len(result["alternatives"]) == 3
    assert result["model"] == "babble/1"
    assert result["audio_s"] == pytest.approx(1.0)
    assert result["first_interim_s"] > 0
    assert 0 < result["final_after_audio_s"] < 5


def test_captions_are_the_words_in_cues(server, heard, tmp_path):
    samples = murmur(2.0, seed=4)
    path = recording(tmp_path / "a.wav", samples)
    shown = [transcribe("--server", server, "--format", form, path).stdout.splitlines() for form in ("srt", "vtt")]
    for lines in shown:
        words = [word for line in lines if line and not re.match(r"\d|WEBVTT", line) for word in line.split()]
        assert words == heard(samples).split()
    assert (shown[0][0], shown[1][0]) == ("1", "WEBVTT")


def test_a_folder_is_transcribed_to_a_folder_and_what_is_there_is_not_done_again(server, heard, tmp_path):
    samples = [murmur(1.0, seed=seed) for seed in (4, 5)]
    (tmp_path / "in/deep").mkdir(parents=True)
    recording(tmp_path / "in/a.wav", samples[0])
    recording(tmp_path / "in/deep/b.flac", samples[1])
    (tmp_path / "in/notes.md").write_text("no recording")
    (tmp_path / "in/deep/c.m4a").write_text("none that is read")
    out = tmp_path / "out"
    left = "2 left out by their suffixes: 1 .m4a, 1 .md\n"
    for text, said in ((heard(samples[0]), left), ("mine", f"{left}2 of 2 recordings have their output already\n")):
        done = transcribe("--server", server, "--output", out, tmp_path / "in")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
        assert (out / "deep/b.txt").read_text() == f"{heard(samples[1])}\n"
        assert (out / "a.txt").read_text() == f"{text}\n"
        (out / "a.txt").write_text("mine\n")


def test_recordings_of_one_name_are_transcribed_to_files_with_their_suffixes(server, heard, tmp_path):
    samples = [murmur(1.0, seed=seed) for seed in (4, 5)]
    paths = [recording(tmp_path / f"in/{name}", one) for name, one in zip(("a.wav", "a.flac"), samples, strict=True)]
    out = tmp_path / "out"
    for said in ("", "2 of 2 recordings have their output already\n"):
        done = transcribe("--server", server, "-o", out, *paths)
        assert (done.returncode, done.stderr) == (0, said)
        assert [(out / f"{path.name}.txt").read_text() for path in paths] == [f"{heard(one)}\n" for one in samples]


def test_two_recordings_with_one_output_cost_the_second_alone(server, heard, tmp_path):
    paths = [recording(tmp_path / name, murmur(0.5)) for name in ("one/a.wav", "two/a.wav")]
    done = transcribe("--server", server, "-o", tmp_path / "out", *paths)
    assert (done.returncode, (tmp_path / "out/a.wav.txt").read_text()) == (65, f"{heard(murmur(0.5))}\n")
    assert f"{paths[1]}: its output {tmp_path}/out/a.wav.txt is that of {paths[0]}; rename one" in done.stderr


def test_a_pattern_that_no_shell_has_expanded_is_what_it_matches(server, heard, tmp_path):
    samples = murmur(1.0, seed=4)
    paths = [recording(tmp_path / name, samples) for name in ("a.wav", "b.wav")]
    done = transcribe("--server", server, tmp_path / "*.wav")
    assert done.stdout.splitlines() == [f"{path}: {heard(samples)}" for path in paths]
    done = transcribe("--server", server, tmp_path / "*.ogg")
    assert (done.returncode, done.stdout) == (65, "")
    assert f"{tmp_path}/*.ogg: no such file" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "srt", "a.wav", "b.wav"], "give --output FOLDER"),
        (["--format", "srt", "--words", "a.wav"], "--words and --nbest are for text"),
        (["--format", "vtt", "--nbest", "2", "a.wav"], "--words and --nbest are for text"),
        (["--mic", "--format", "vtt"], "for recordings alone: --format"),
        (["--mic", "--words", "--nbest", "2"], "for recordings alone: --words, --nbest"),
        (["--mic", "--json", "--paced", "--streams", "2"], "for recordings alone: --paced, --streams, --json"),
        (["--mic", "-o", "folder"], "for recordings alone: --output"),
    ],
)
def test_layouts_that_make_no_sense_are_refused(options, said):
    done = transcribe("--server", "localhost:1", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_unknown_language_of_the_written_form_is_the_answer_of_the_recognizer(server, tmp_path):
    done = transcribe("--server", server, "--written", "xx", recording(tmp_path / "a.wav", murmur(0.5)))
    assert done.returncode == 65
    assert "INVALID_ARGUMENT: written='xx': expected one of en, fr, ko" in done.stderr


def test_words_are_listed_with_their_times(server, tmp_path):
    path = recording(tmp_path / "a.wav", murmur(2.0, seed=4))
    text, *words = transcribe("--server", server, "--words", path).stdout.splitlines()
    assert [line.split()[3] for line in words] == text.split()
    times = [float(value) for line in words for value in line.split()[:2]]
    assert times == sorted(times)


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


def test_an_output_folder_that_cannot_be_looked_into_is_said_in_a_line(server, tmp_path):
    output = tmp_path / ("a" * 256)
    done = transcribe("--server", server, "--output", output, recording(tmp_path / "a.wav", murmur(0.5)))
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    assert f"{output}: cannot be written: File name too long" in done.stderr


def test_of_a_folder_without_recordings_it_is_said_what_makes_some(server, tmp_path):
    done = transcribe("--server", server, tmp_path)
    assert done.returncode == 65
    assert "it is a folder; expected a recording" in done.stderr
    assert "or a folder with some, known by their suffixes, such as .wav" in done.stderr


def test_recordings_beside_a_microphone_are_refused_as_one_too_many(server):
    done = transcribe("--server", server, "--mic", "a.wav")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "Error: give either recordings or --mic")


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


def test_an_unknown_model_is_the_answer_of_the_recognizer(server, tmp_path):
    done = transcribe("--server", server, "--model", "bubble", recording(tmp_path / "a.wav", murmur(1.0)))
    assert done.returncode == 65
    assert "NOT_FOUND: model 'bubble': not served" in done.stderr


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


def test_a_terminal_shows_the_words_of_a_recording_while_they_are_recognized_and_then_its_transcript(
    server, heard, tmp_path
):
    samples = murmur(6.0, seed=4)
    text = heard(samples)
    master, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 40))
    command = [sys.executable, "-m", "sonorant.cli", "transcribe", "--server", server, "--paced"]
    path = recording(tmp_path / "a.wav", samples)
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen([*command, path], stdout=terminal, stderr=subprocess.PIPE, env=environment) as process:
        os.close(terminal)
        written = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(master, 1 << 16):
                written += more
        assert process.stderr.read() == b""
    os.close(master)
    *live, cleared, last = [part.rstrip() for part in written.decode().replace("\r\n", "\n").split("\r")]
    assert (process.returncode, cleared, last) == (0, "", text)
    assert len({shown for shown in live if shown}) > 3
    assert all(len(shown) < 40 for shown in live)
    assert next(shown for shown in live if shown).split()[0] == text.split()[0]
    assert any(shown.startswith("…") for shown in live) == (len(text) >= 40)
    assert len(text) >= 40


def test_no_recognizer_at_the_address_is_said(tmp_path):
    done = transcribe("--server", "127.0.0.1:1", recording(tmp_path / "a.wav", murmur(1.0)))
    assert done.returncode == 69
    assert "127.0.0.1:1: no recognizer answers" in done.stderr


def test_a_server_without_a_port_is_refused():
    done = transcribe("--server", "localhost", "a.wav")
    assert done.returncode == 2
    assert "found 'localhost', expected HOST:PORT, such as localhost:50051" in done.stderr


def test_with_a_run_it_starts_a_recognizer_of_its_own(run, heard, tmp_path):
    samples = murmur(1.0, seed=2)
    done = transcribe("--run", run.path, recording(tmp_path / "a.wav", samples))
    assert (done.returncode, done.stdout) == (0, f"{heard(samples)}\n")


def test_a_recognizer_that_does_not_start_says_why(tmp_path):
    with pytest.raises(Unavailable, match="no model to serve"), running_recognizer(tmp_path):
        pass


@pytest.mark.parametrize("arguments", [[], ["--mic", "a.wav"], ["a.wav"], ["a.wav", "--server", "x:1", "--run", "y"]])
def test_contradictory_arguments_are_a_usage_error(arguments):
    done = transcribe(*arguments)
    assert done.returncode == 2
    assert "give " in done.stderr
