"""`sonorant train` in a folder of its own: a tiny recipe, all processes real, and handles to hit them."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from rigs.sessions import heed_hangup
from rigs.small_corpus import digits_recipe, write_digits
from rigs.waiting import PATIENCE_S, eventually

from sonorant.corpus.preparing import prepare
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe, load_recipe
from sonorant.run_folder import RunFolder

_ROOT = str(Path(__file__).parents[2])
_started = []
TRAIN = 120  # examples in an epoch


def make_workplace(folder, **training):
    """Write a tiny recipe and its recordings."""
    values = digits_recipe(strings={"train": TRAIN, "dev": 4, "test": 4, "unseen_speaker": 2}).model_dump(mode="json")
    values["stages"] = [{"stage": "vtlp"}]
    values["pipeline"] = {"layout": "fused", "lease_examples": 8, "dead_after_s": 2.5}
    values["model"] = {"layers": 1, "cells": 8}
    values["training"] = {
        **{"epochs": 1000, "batch_examples": 4, "pool_examples": 16, "checkpoint_every_steps": 5, "patience": 1000},
        **{"warmup_steps": 5, "decay_steps": 100},
        **training,
    }
    (folder / "tiny.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
    write_digits(folder / "data")
    return folder


def prepared(workplace):
    recipe = load_recipe(workplace / "tiny.yaml")
    prepare(recipe, workplace / "data", RunFolder(workplace / "run"), progress=lambda doing, done, total: None)


def sonorant(workplace, *arguments, environment=os.environ, terminal=None):
    """Run a command, its output piped, or with this descriptor as its controlling terminal."""
    common = ["--recipe", "tiny.yaml", "--run", "run", "--data", "data"]
    in_terminal = [] if terminal is None else ["setsid", "--ctty"]
    process = subprocess.Popen(
        [*in_terminal, sys.executable, "-m", "sonorant.cli", *arguments, *common],
        cwd=workplace,
        stdin=terminal,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_hangup,
        env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), _ROOT)))},
    )
    _started.append(process)
    return process


@contextmanager
def nothing_left():
    """Kill what `sonorant` has started within and still runs; services and ranks end with it."""
    before = len(_started)
    try:
        yield
    finally:
        for process in _started[before:]:
            with process:
                process.kill()
        del _started[before:]


def finish(process):
    try:
        said, _ = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(process.communicate()[0])
    return process.returncode, said


def processes_of(workplace):
    """Return pid → command line of what runs in or below the folder, but not of what only waits to be reaped."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").resolve().is_relative_to(workplace.resolve()):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if command}


def find_process_of(workplace, name):
    """Return the one whose program (mpirun) or module (services.trainer) is `name`, None if there is none now."""
    found = [pid for pid, command in processes_of(workplace).items() if name in _names(command.split())]
    return found[0] if len(found) == 1 else None


def _names(words):
    return [Path(words[0]).name, *(words[2:3] if words[1:2] == ["-m"] else ())]


def hit(workplace, name, number=signal.SIGKILL):
    """Send a signal to the one whose program or module is `name`."""
    pid = find_process_of(workplace, name)
    assert pid is not None, processes_of(workplace)
    os.kill(pid, number)


def epochs_begun(workplace):
    """Return the number of epochs that the latest checkpoint has begun."""
    latest = max((workplace / "run/checkpoints").glob("step-*"))
    return json.loads((latest / "state.json").read_text())["progress"]["epoch"] + 1


def steps(workplace):
    """Return the number of the step in the latest checkpoint; 0 if there is none."""
    names = [path.name for path in (workplace / "run/checkpoints").glob("step-*")]
    return max((int(name.removeprefix("step-")) for name in names), default=0)


def supervised(workplace):
    text = (workplace / "run/logs/supervisor.log").read_text()
    return [json.loads(line) for line in text.splitlines()]


def back(workplace, name, old, process):
    """Wait until another process replaces it, and steps are made again."""
    eventually(lambda: find_process_of(workplace, name) not in (None, old), process=process)
    reached = steps(workplace)
    eventually(lambda: steps(workplace) > reached, process=process)
