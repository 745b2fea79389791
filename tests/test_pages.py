"""The commands and links of README and docs exist, and the shortest way through them runs."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import soundfile
import yaml
from rigs.local import make_workplace
from rigs.new_stage import STAGE
from rigs.pages import PAGES, ROOT, blocks, commands, lines, mentions
from rigs.small_corpus import RATE_HZ, tone

from sonorant.cli.main import cli
from sonorant.corpus.readers.manifest import read_manifest
from sonorant.recipe import Recipe

MAKEFILE = (ROOT / "Makefile").read_text()
VARIABLES = dict(re.findall(r"^(\w+) := (.*)$", MAKEFILE, re.MULTILINE))
RULES = re.sub(r"\$\((\w+)\)", lambda use: VARIABLES.get(use[1], use[0]), MAKEFILE)
DOCS = ROOT / "docs"
TRAINS = "docs/train-your-speech.md"


def every(find, program):
    return [
        pytest.param(words, id=f"{page.name}: {shlex.join(words)}") for page in PAGES for words in find(page, program)
    ]


def resolved(words):
    """Return the command that words name, and the words behind its name."""
    command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    return command, words


def test_pages_have_commands():
    assert len(every(commands, "sonorant")) > 20
    assert len(every(mentions, "sonorant")) > 20


@pytest.mark.parametrize("words", every(commands, "sonorant"))
def test_a_command_takes_its_arguments(words, monkeypatch):
    monkeypatch.setattr(click.Path, "convert", lambda self, value, param, ctx: value)  # the reader has the files
    command, rest = resolved(words)
    assert command is not None, words
    command.make_context("sonorant", list(rest))  # raises UsageError for an unknown option or a wrong value


@pytest.mark.parametrize("words", every(mentions, "sonorant"))
def test_a_command_that_is_named_exists_with_its_options(words):
    command, rest = resolved([word for word in words if word not in ("NAME", "…")])
    assert command is not None, words
    known = {option for parameter in command.get_params(click.Context(command)) for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


@pytest.mark.parametrize("words", every(commands, "make") + every(mentions, "make"))
def test_make_has_the_targets_and_the_variables(words):
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable:
            assert re.search(rf"\b{name}\b", MAKEFILE + (ROOT / "docker/build").read_text()), word
        else:
            assert re.search(rf"^{re.escape(word)}:", RULES, re.MULTILINE), word


@pytest.mark.parametrize("words", every(commands, "pytest"))
def test_tests_that_are_named_exist(words):
    file = next(ROOT / word for word in words if word.startswith("tests/"))
    assert file.is_file()
    if "-k" in words:
        assert re.search(rf"def test_\w*{words[words.index('-k') + 1]}", file.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)]+)\)", page.read_text())
    targets = [target.partition("#")[0] for target in links if "://" not in target]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


def test_the_stage_that_the_page_shows_is_the_one_that_is_tested():
    assert STAGE in blocks(DOCS / "extend.md", "python")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that looks like this one to its commands, with a recipe and recordings that take no time."""
    folder = tmp_path_factory.mktemp("reader")
    make_workplace(folder, epochs=1)
    recipe = yaml.safe_load((folder / "tiny.yaml").read_text())
    recipe |= {"name": "digits", "evaluation": {"sets": [{"name": "heldout", "split": "test"}], "streams": 4}}
    (folder / "recipes").mkdir()
    (folder / "recipes/digits.yaml").write_text(yaml.safe_dump(recipe))
    soundfile.write(folder / "FILE.wav", tone(0.5), RATE_HZ, subtype="PCM_16")
    return folder


def typed(line, folder):
    """Run a line of a page in a shell whose `sonorant` is this tree's, and return what it prints."""
    shell = f'sonorant() {{ {shlex.quote(sys.executable)} -m sonorant.cli "$@"; }}\n{line}'
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SONORANT_DATA": str(folder / "data")}
    done = subprocess.run(
        ["bash", "-c", shell], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_short_way_through_the_pages_works_as_it_is_written(folder):
    needs_another_terminal = ("sonorant status", "sonorant serve", "sonorant transcribe --server")
    long = ("sonorant plan",)
    way = [line for line in lines(ROOT / TRAINS) if re.search(r"digits|FILE", line) and line.startswith("sonorant")]
    way = [line for line in way if not line.startswith(needs_another_terminal + long)]
    way += [
        line
        for line in lines(DOCS / "recognizer.md")
        if line.startswith(("sonorant transcribe --run", "sonorant score"))
    ]
    assert [line.split()[1] for line in way] == [
        *(
            "recipe",
            "inspect",
            "prepare",
            "augment",
            "train",
            "audit",
            "export",
            "evaluate",
            "report",
            "transcribe",
            "score",
        )
    ]
    for line in way:
        typed(line, folder)
    assert (folder / "runs/digits/exports/digits/1").is_dir()
    assert (folder / "runs/digits/report.html").is_file()


def test_the_recipe_of_a_language_model_is_one():
    *_, text = blocks(ROOT / TRAINS, "yaml")
    assert Recipe.model_validate({"version": 1, "name": "mine-lm"} | yaml.safe_load(text)).of_text


def test_manifests_of_splits_become_one_as_it_is_written(tmp_path):
    made = {"train": "train", "validation": "dev", "test": "test"}
    for name in made:
        entries = [{"audio_filepath": f"{name}{i}.wav", "duration": 1.5, "text": "go"} for i in range(2)]
        (tmp_path / f"{name}_manifest.json").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    for line in lines(ROOT / TRAINS):
        if line.startswith("sed"):
            typed(line, tmp_path)
    listing = read_manifest(tmp_path / "all.jsonl")
    assert {found.id: found.split for found in listing.utterances} == {
        f"{name}{i}": split for name, split in made.items() for i in range(2)
    }
    assert not listing.faults


def test_a_corpus_of_ones_own_is_prepared_as_it_is_written(folder):
    recipe, text, _ = blocks(ROOT / TRAINS, "yaml")
    (folder / "mine.yaml").write_text(recipe + text)
    (entry,) = re.findall(r"`(\{\"audio_filepath\".*?\})`", " ".join((ROOT / TRAINS).read_text().split()))
    entries = []
    for number in range(30):
        path = Path("a") / f"{number:04}.wav"
        (folder / "FOLDER" / path).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / "FOLDER" / path, tone(0.4, hz=300 + 9 * number), RATE_HZ, subtype="PCM_16")
        entries.append(json.loads(entry) | {"audio_filepath": str(path), "duration": 0.4})
    (folder / "FOLDER/mine.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (folder / "FOLDER/more.txt").write_text("Good morning, good evening\nA good day to all\n")
    ways = [line for line in lines(ROOT / TRAINS) if "mine" in line]
    way = [line for line in ways if line.split()[1] in ("prepare", "tokenizer")]
    assert [line.split()[1] for line in way] == ["prepare", "tokenizer", "tokenizer", "prepare"]
    for line in way:
        typed(line, folder)
    assert (folder / "runs/mine/shards/card.md").is_file()
    assert (folder / "runs/mine/shards/units.json").read_text() == (folder / "FOLDER/tokenizer.json").read_text()
