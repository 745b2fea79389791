"""`sonorant` in this process: what a process of its own would exit with and print, without the second of its imports.

Where the claim is about a process, as of signals, locks or the terminal, a test starts one.
"""

import contextlib
import io
import os
import subprocess
import sys
from unittest.mock import patch

from sonorant.cli.main import main


def sonorant(*arguments, folder=".", environment=os.environ):
    """Run the command line in the folder; return exit code, output and errors, as `subprocess.run` does."""
    words = [str(argument) for argument in arguments]
    written = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, dict(environment), clear=True),
        patch.object(sys, "argv", ["sonorant", *words]),
        contextlib.redirect_stdout(written[0]),
        contextlib.redirect_stderr(written[1]),
    ):
        try:
            main()
            code = 0
        except SystemExit as done:
            code = done.code or 0
    out, err = (stream.buffer.getvalue().decode() for stream in written)
    return subprocess.CompletedProcess(words, code, out, err)
