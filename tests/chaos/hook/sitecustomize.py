"""Python loads this by itself, before any program, where PYTHONPATH names this folder: records the commits of ranks.

So `sonorant train` runs as users run it, command lines and all, and its ranks still write down what they commit.
"""

import importlib
import sys

_program = sys.orig_argv[sys.orig_argv.index("-m") + 1] if "-m" in sys.orig_argv[:-1] else ""

if _program == "services.trainer":
    _trainer = importlib.import_module("services.trainer.main")
    _unrecorded = _trainer.main

    def _recorded() -> None:
        importlib.import_module("chaos.recording_trainer").install()
        _unrecorded()

    _trainer.main = _recorded
