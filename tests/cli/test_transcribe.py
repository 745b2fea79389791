import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import termios

import pytest
from rigs.babble import murmur
from rigs.transcribing import recording, transcribe, transcribe_as_process

from services.recognizer.process import running_recognizer
from services.recognizer_client.client import pcm16
from sonorant.errors import Unavailable
from sonorant.export.loading import load_exported
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.session import Session, SessionOptions


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
    assert [" ".join(word["word"] for word in one["words"]) for one in result["alternatives"]] == [
        one["text"] for one in result["alternatives"]
    ]
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
        (["--json", "--format", "srt", "a.wav"], "--json with --format srt: expected one of them"),
        (["--phrase", "three=much", "a.wav"], "found 'three=much', expected TEXT or TEXT=BOOST"),
        (["--phrase", "three=0", "a.wav"], "found 'three=0', expected TEXT or TEXT=BOOST"),
        (["--phrase", "=3", "a.wav"], "found '=3', expected TEXT or TEXT=BOOST"),
        (
            ["--phrase", "three=21", "a.wav"],
            "found 'three=21', expected TEXT or TEXT=BOOST with a boost above 0, 20 at",
        ),
        (["--mic", "--format", "vtt"], "for recordings alone: --format"),
        (["--mic", "--words", "--nbest", "2"], "for recordings alone: --words, --nbest"),
        (["--mic", "--json", "--paced", "--streams", "2"], "for recordings alone: --paced, --streams, --json"),
        (["--mic", "-o", "folder"], "for recordings alone: --output"),
        (["a.wav", ""], "is empty; expected a path"),
        (["--chunk-ms", "nan", "a.wav"], "'nan' is not a number"),
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


def test_phrases_and_a_language_model_left_out_are_those_of_the_request(server, run, tmp_path):
    model = load_exported(run.exports / "babble/1")
    scorer = scorer_with_phrases(model, [("delta", 15.0)], language_model=False)
    session = Session(model, SessionOptions(), scorer)
    session.push(pcm16(samples := murmur(1.5, seed=4)))
    expected = session.finish()[-1].alternatives[0].text
    path = recording(tmp_path / "a.wav", samples)
    wanted = ("--phrase", "delta=15", "--without-language-model")
    assert transcribe("--server", server, *wanted, path).stdout == f"{expected}\n"
    assert transcribe("--server", server, path).stdout != f"{expected}\n"


def test_words_are_listed_with_their_times(server, tmp_path):
    path = recording(tmp_path / "a.wav", murmur(2.0, seed=4))
    text, *words = transcribe("--server", server, "--words", path).stdout.splitlines()
    assert [line.split()[3] for line in words] == text.split()
    times = [float(value) for line in words for value in line.split()[:2]]
    assert times == sorted(times)


def test_an_output_folder_that_cannot_be_looked_into_is_said_in_a_line(server, tmp_path):
    output = tmp_path / ("a" * 256)
    done = transcribe("--server", server, "--output", output, recording(tmp_path / "a.wav", murmur(0.5)))
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    assert f"{output}: cannot be written: File name too long" in done.stderr


def test_recordings_beside_a_microphone_are_refused_as_one_too_many(server):
    done = transcribe("--server", server, "--mic", "a.wav")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "Error: give either recordings or --mic")


def test_an_unknown_model_is_the_answer_of_the_recognizer(server, tmp_path):
    done = transcribe("--server", server, "--model", "bubble", recording(tmp_path / "a.wav", murmur(1.0)))
    assert done.returncode == 65
    assert "NOT_FOUND: model 'bubble': not served" in done.stderr


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
