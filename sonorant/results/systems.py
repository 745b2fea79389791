"""The list of systems whose results are shown, and a row for each seed of each."""

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from sonorant.errors import BadRecipe, BadRun
from sonorant.recipe.document import parse_document
from sonorant.recipe.faults import schema_faults
from sonorant.section import Section

__all__ = ["CorpusRows", "Row", "read_systems"]

_Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
_REFERENCE = re.compile(r"\{([a-z][a-z0-9-]*)(?::([0-9]+))?\}")
_DIGITS = 8


class _System(Section):
    """One system: a recipe with settings, or what commands make of a copy of another system's run.

    {NAME} in a setting or command is the run folder of that system, of the same seed, {NAME:SEED} that of another seed;
    {run} in a command is the copy.
    """

    name: _Name
    about: str = ""
    recipe: str = ""
    of: _Name | Literal[""] = ""  # name of the system whose run is copied
    commands: tuple[str, ...] = ()  # of `sonorant`, before the copy is evaluated
    seeds: tuple[int, ...] = Field((1,), min_length=1)
    set: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if bool(self.recipe) == bool(self.of) or bool(self.commands) != bool(self.of) or (self.of and self.set):
            raise ValueError(f"system {self.name}: expected a recipe, which may have set, or of with commands")
        if self.name == "run" or any("{run}" in setting for setting in self.set):
            raise ValueError(f"system {self.name}: {{run}} is the copy that commands work on; found it elsewhere")
        return self


class _Corpus(Section):
    name: _Name
    about: str
    data: str = ""  # folder above the corpus, if it is none of the usual ones
    made_by: str = ""  # arguments of the `sonorant` command that makes the corpus, and does nothing once it is there
    set: tuple[str, ...] = ()  # of all its systems
    systems: tuple[_System, ...]


class _Systems(Section):
    corpora: tuple[_Corpus, ...]


@dataclass(frozen=True)
class Row:
    """One training. corpus, system: names; recipe: path; settings: KEY=VALUE, the seed among them.

    of: name of the system, one of `needs`, whose run is copied in place of a training, for `commands`; or empty.
    needs: the rows that it refers to, by the words in braces.
    digest: of the recipe's content, the settings or commands and the rows in `needs`.
    data, made_by: folder above the corpus, if it is none of the usual ones, and the command that makes it; or empty.
    """

    corpus: str
    system: str
    seed: int
    recipe: str
    settings: tuple[str, ...]
    digest: str
    needs: Mapping[str, "Row"]
    data: str = ""
    made_by: tuple[str, ...] = ()
    of: str = ""
    commands: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """Unique name, which its kept report has too."""
        return f"{self.corpus}-{self.system}-{self.seed}"

    def run_folder(self, runs: Path) -> Path:
        """Return the folder of its run, which no other recipe or setting shares."""
        return runs / f"{self.name}-{self.digest}"

    def assignments(self, runs: Path) -> tuple[str, ...]:
        """Return the settings, with the folders of the runs that they refer to."""
        return self._located(self.settings, runs)

    def command_lines(self, runs: Path) -> tuple[tuple[str, ...], ...]:
        """Return the arguments of each command, with the folders of the runs that they refer to."""
        return tuple(self._located(command, runs) for command in self.commands)

    def _located(self, words: Iterable[str], runs: Path) -> tuple[str, ...]:
        folders = {name: str(row.run_folder(runs)) for name, row in self.needs.items()}
        folders["run"] = str(self.run_folder(runs))
        return tuple(_REFERENCE.sub(lambda found: folders[found[0][1:-1]], word) for word in words)


@dataclass(frozen=True)
class CorpusRows:
    """Systems by their names, with a remark and the rows of their seeds each."""

    name: str
    about: str
    systems: Mapping[str, tuple[str, tuple[Row, ...]]]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the list's order."""
        return tuple(row for _, rows in self.systems.values() for row in rows)


def read_systems(path: Path) -> tuple[CorpusRows, ...]:
    """Read a list of systems; raises BadRecipe, with file and line, or BadRun if there is none."""
    text = _text(path, "expected the list of systems, such as recipes/results/systems.yaml")
    document = parse_document(text, str(path))
    try:
        systems = _Systems.model_validate_json(json.dumps(document.values), strict=True)
    except ValidationError as error:
        raise BadRecipe("\n".join([*document.faults, *schema_faults(error, document, _Systems)])) from error
    if document.faults:
        raise BadRecipe("\n".join(document.faults))
    corpora = tuple(_corpus_rows(corpus, path) for corpus in systems.corpora)
    names = Counter(row.name for corpus in corpora for row in corpus.rows)
    if twice := [name for name, count in names.items() if count > 1]:
        raise BadRecipe(f"{path}: two rows have the name {twice[0]}, of corpus, system and seed; rename one of them")
    return corpora


def _corpus_rows(corpus: _Corpus, path: Path) -> CorpusRows:
    found: dict[str, tuple[str, tuple[Row, ...]]] = {}
    before: dict[tuple[str, int], Row] = {}
    for system in corpus.systems:
        if system.name in found:
            raise BadRecipe(f"{path}: corpora.{corpus.name}: two systems have the name {system.name}; rename one")
        rows = tuple(_row(corpus, system, seed, before, path) for seed in dict.fromkeys(system.seeds))
        found[system.name] = (system.about, rows)
        before |= {(system.name, row.seed): row for row in rows}
    return CorpusRows(corpus.name, corpus.about, found)


def _row(corpus: _Corpus, system: _System, seed: int, before: Mapping[tuple[str, int], Row], path: Path) -> Row:
    settings = (*corpus.set, f"seed={seed}", *system.set)
    referring = (*settings, *system.commands, f"{{{system.of}}}")
    found = [reference for words in referring for reference in _REFERENCE.finditer(words)]
    named = {reference[0][1:-1]: (reference[1], int(reference[2] or seed)) for reference in found}
    named.pop("run", None)
    if missing := [key for _, key in sorted(named.items()) if key not in before]:
        raise BadRecipe(
            f"{path}: corpora.{corpus.name}: {system.name} refers to {{{missing[0][0]}}} of seed {missing[0][1]}, "
            "which does not stand before it in the list"
        )
    needs = {name: before[key] for name, key in sorted(named.items())}
    source = system.recipe or needs[system.of].recipe
    recipe = parse_document(_text(Path(source), f"{path} names it for {system.name}"), source).values
    content: Any = [recipe, settings, [row.digest for row in needs.values()]]
    content += [made for made in (corpus.made_by, system.commands) if made]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:_DIGITS]
    made = (corpus.data, _words(corpus.made_by, f"{path}: corpora.{corpus.name}: made_by"))
    commands = tuple(_words(command, f"{path}: corpora.{corpus.name}: {system.name}") for command in system.commands)
    return Row(corpus.name, system.name, seed, source, settings, digest, needs, *made, system.of, commands)


def _words(command: str, where: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise BadRecipe(f"{where}: {command!r}: {error}; expected words as a shell takes them") from error


def _text(path: Path, expected: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadRun(f"{path}: {error.strerror}; {expected}") from error
    except UnicodeDecodeError as error:
        raise BadRecipe(f"{path}: is not UTF-8: {error}") from error
