"""Paths and modules that documents, docstrings and comments name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
SOURCES = [
    path for folder in ("sonorant", "services", "benchmarks", "tests") for path in ROOT.glob(f"{folder}/**/*.py")
]
FOLDERS = "sonorant|services|tests|charts|docs|docker|recipes|bootstrap|benchmarks|protos"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
MADE = {"sonorant/augment/backwards.py"}  # by readers of docs/extend.md
MODULE = re.compile(r"`((?:sonorant|services)(?:\.[a-z_0-9]+)+)(?:\.[A-Z]\w*)?`")


@pytest.mark.parametrize("document", [*DOCUMENTS, *SOURCES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_and_modules_that_are_named_exist(document):
    text = document.read_text(encoding="utf-8")
    missing = {name for name in PATH.findall(text) if not (ROOT / name).exists()} - MADE
    for name in MODULE.findall(text):
        parts = name.split(".")
        paths = [ROOT.joinpath(*parts[:end]) for end in (len(parts), len(parts) - 1)]
        if not any(path.is_dir() or path.with_suffix(".py").exists() for path in paths):
            missing.add(name)
    assert not missing


@pytest.mark.parametrize("document", [*DOCUMENTS, *SOURCES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nobody_is_told_to_install_a_package_that_is_not_published(document):
    assert not re.search("pip install ['\"]?sonorant", document.read_text(encoding="utf-8"))
