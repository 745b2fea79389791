"""What all commands share: how they end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "recipes/digits.yaml"


@pytest.fixture
def unread():
    """A pipe whose reader has gone, as `head` goes."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def sonorant(*arguments, **streams):
    command = [sys.executable, "-m", "sonorant.cli", *map(str, arguments)]
    return subprocess.run(command, text=True, check=False, timeout=120, **streams)


@pytest.mark.parametrize("arguments", [["recipe", "show", RECIPE], ["--help"], ["recipe", "--help"]])
def test_a_reader_that_goes_ends_a_command_as_sigpipe_does(unread, arguments):
    done = sonorant(*arguments, stdout=unread, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_of_errors_that_goes_ends_a_command_as_sigpipe_does(unread):
    assert sonorant("recipe", "show", "no.yaml", stdout=unread, stderr=unread).returncode == 141
