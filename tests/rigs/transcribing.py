"""`sonorant transcribe`, and recordings for it."""

import subprocess
import sys

import soundfile
from rigs.babble import RATE_HZ
from rigs.command_line import sonorant


def transcribe(*arguments):
    return sonorant("transcribe", *arguments)


def transcribe_as_process(*arguments):
    command = [sys.executable, "-m", "sonorant.cli", "transcribe", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def recording(path, samples, rate_hz=RATE_HZ, **options):
    path.parent.mkdir(exist_ok=True)
    soundfile.write(path, samples, rate_hz, **options)
    return path
