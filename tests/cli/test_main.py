"""What all commands share: how they end."""

import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from sonorant.cli.main import cli, main
from sonorant.errors import BadRun

RECIPE = Path(__file__).parents[2] / "recipes/digits.yaml"


@pytest.fixture
def unread():
    """A pipe whose reader has gone, as `head` goes."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def sonorant(*arguments, **pipes):
    command = [sys.executable, "-m", "sonorant.cli", *map(str, arguments)]
    return subprocess.run(command, text=True, check=False, timeout=120, **pipes)


@pytest.mark.parametrize("arguments", [["recipe", "show", RECIPE], ["--help"], ["recipe", "--help"]])
def test_a_reader_that_goes_ends_a_command_as_sigpipe_does(unread, arguments):
    done = sonorant(*arguments, stdout=unread, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("arguments", [["recipe", "show", RECIPE], ["--help"]])
def test_an_output_that_is_full_is_said_in_a_line(arguments, buffered):
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    with open("/dev/full", "w") as full:
        done = sonorant(*arguments, stdout=full, stderr=subprocess.PIPE, env=environment)
        assert sonorant(*arguments, stdout=full, stderr=full, env=environment).returncode == 69
    said = "sonorant: the output cannot be written: No space left on device; free disk space\n"
    assert (done.returncode, done.stderr) == (69, said)


def test_a_machine_without_room_for_temporary_folders_is_said_in_a_line(tmp_path):
    script = "import tempfile; from sonorant.cli import main; main.cli = lambda **_: tempfile.mkdtemp(); main.main()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = ["bash", "-c", 'cd "$TMPDIR"; ulimit -f 0; exec "$0" -c "$1"', sys.executable, script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 69
    assert done.stderr.startswith("sonorant: No usable temporary directory found in ")
    assert done.stderr.endswith("; free disk space, or name another folder with TMPDIR\n")


def test_a_misspelled_command_has_the_right_one_in_its_message():
    done = CliRunner().invoke(cli, ["trian"])
    assert (done.exit_code, "No such command 'trian'. Did you mean 'train'?" in done.output) == (2, True)
    done = CliRunner().invoke(cli, ["xyzzy"])
    assert (done.exit_code, "No such command 'xyzzy'.\n" in done.output) == (2, True)


@pytest.mark.parametrize("name", ["demo", "evaluate", "export", "report", "score", "serve", "train", "tune"])
def test_the_help_of_a_command_explains_its_exit_codes(name):
    assert "Exit codes: " in CliRunner().invoke(cli, [name, "--help"], terminal_width=120).output


def test_a_file_that_others_keep_to_themselves_is_named_in_a_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "recipe.yaml").touch()
    monkeypatch.setattr(sys, "argv", ["sonorant", "export", "--run", str(tmp_path)])
    denied = PermissionError(errno.EACCES, "Permission denied", "runs/a/checkpoints/best")
    monkeypatch.setattr("services.storage.run.open_run", Mock(side_effect=denied))
    with pytest.raises(SystemExit) as end:
        main()
    said = "sonorant: runs/a/checkpoints/best: Permission denied; expected to be allowed to use it\n"
    assert (end.value.code, capsys.readouterr().err) == (77, said)


def test_a_reader_of_errors_that_goes_ends_a_command_as_sigpipe_does(unread):
    assert sonorant("recipe", "show", "no.yaml", stdout=unread, stderr=unread).returncode == 141


@pytest.mark.parametrize("words", [[], ["recipe"]], ids=str)
def test_the_list_of_commands_has_whole_sentences(words):
    shown = sonorant(*words, "--help", stdout=subprocess.PIPE).stdout
    assert "Commands:" in shown
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize("folder", ["runs/nope", "empty"])
@pytest.mark.parametrize(
    "words",
    [
        ["audit", "RUN"],
        ["augment", "--run", "RUN", "--utterance", "u", "-o", "out"],
        ["evaluate", "--run", "RUN"],
        ["export", "--run", "RUN"],
        ["report", "--run", "RUN"],
        ["serve", "--run", "RUN"],
        ["status", "--run", "RUN"],
        ["transcribe", "--run", "RUN", "a.wav"],
    ],
    ids=lambda words: words[0],
)
def test_a_folder_that_is_no_run_is_the_same_fault_for_all_commands(tmp_path, monkeypatch, words, folder):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    name, *options = [folder if word == "RUN" else word for word in words]
    command = importlib.import_module(f"sonorant.cli.{name}").command
    error = CliRunner().invoke(command, options).exception
    assert isinstance(error, BadRun)
    assert str(error) == f"{folder}: no run here (no recipe.yaml); give the folder of a run that is prepared"
    assert error.exit_code == 65
