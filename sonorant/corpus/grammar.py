"""A weighted context-free grammar of sentences, written in YAML, without recursion.

    language: en
    rules:
      sentence:
        - turn <state> the <device> in the <room>
        - {say: play <song>, weight: 0.2}
      state: ["on", "off"]
      …

A rule is a list of alternatives. One is a text of words and of names of rules in angle brackets, or a mapping with
`say` and `weight`; an alternative's probability is its weight, 1 if none is given, over the sum of its rule's. An empty
text makes what the rule stands for optional. Sentences begin at the rule `sentence`. (JSGF, the W3C note of 2000, has
the same notions in a syntax of its own.)
"""

import graphlib
import math
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, path_fault, shown

__all__ = ["Alternative", "Grammar", "read_grammar"]

_START = "sentence"
_RULE = re.compile(r"[a-z][a-z0-9_]*")
_TOKEN = re.compile(r"<([^<>]*)>|[^\s<>]+")
_MOST_WEIGHT = 1e300  # so that the sum of a rule's is a number
_FEWEST_NEW = 0.01  # of the last draws; with fewer new sentences among them, the grammar is as good as exhausted
_LAST_DRAWS = 5000
_DEEPEST = 100  # rules within one another


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a rule may stand for: `tokens` are words, and names of rules in angle brackets."""

    tokens: tuple[str, ...]
    weight: float = 1.0

    def rules(self) -> tuple[str, ...]:
        """Return the rules that it names."""
        return tuple(token[1:-1] for token in self.tokens if token.startswith("<"))


@dataclass(frozen=True)
class Grammar:
    """Rules by name; `read_grammar` makes them only if every sentence ends."""

    language: str
    rules: Mapping[str, tuple[Alternative, ...]]

    def words(self) -> set[str]:
        """Return the vocabulary."""
        every = (alternative for rule in self.rules.values() for alternative in rule)
        return {token for alternative in every for token in alternative.tokens if not token.startswith("<")}

    def derivations(self) -> int:
        """Return the number of ways through the rules, which no number of distinct sentences exceeds."""
        ways: dict[str, int] = {}
        for name in _order(self.rules):
            ways[name] = sum(math.prod(ways[rule] for rule in one.rules()) for one in self.rules[name])
        return ways[_START]

    def draw(self, rng: np.random.Generator) -> str:
        """Return a sentence, drawn by the weights."""
        return " ".join(self._expand(_START, rng))

    def distinct(self, count: int, rng: np.random.Generator) -> Iterator[str]:
        """Yield `count` sentences, none of them twice; raises BadCorpus when the grammar has no more."""
        seen: set[str] = set()
        new: list[int] = []  # numbers of the draws that gave one
        drawn = 0
        while len(seen) < count:
            drawn += 1
            sentence = self.draw(rng)
            if sentence and sentence not in seen:
                seen.add(sentence)
                new.append(drawn)
                yield sentence
            elif drawn > _LAST_DRAWS and bisect(new, drawn - _LAST_DRAWS) > len(new) - _FEWEST_NEW * _LAST_DRAWS:
                raise BadCorpus(
                    f"{count} distinct sentences are wanted, and after {drawn} draws the grammar gave {len(seen)}; it "
                    f"has {self.derivations()} at most: ask for fewer, or add rules"
                )

    def _expand(self, name: str, rng: np.random.Generator) -> Iterator[str]:
        alternatives = self.rules[name]
        bounds = list(accumulate(alternative.weight for alternative in alternatives))
        chosen = alternatives[min(bisect(bounds, rng.random() * bounds[-1]), len(bounds) - 1)]
        for token in chosen.tokens:
            if token.startswith("<"):
                yield from self._expand(token[1:-1], rng)
            else:
                yield token


def read_grammar(path: Path) -> Grammar:
    """Read a grammar; raises BadCorpus that names each rule at fault, Unavailable if the file cannot be read now."""
    values = _yaml(path)
    faults: list[str] = []
    rules: dict[str, tuple[Alternative, ...]] = {}
    written = values.get("rules")
    if unknown := sorted(map(str, values.keys() - {"language", "rules"})):
        faults.append(f"{unknown[0]}: unknown key; known here: language, rules")
    if not isinstance(language := values.get("language", "en"), str):
        faults.append(f"language={language!r}: must be a code such as en")
    if not isinstance(written, Mapping) or _START not in written:
        faults.append(f"rules: found {_brief(written)}, expected rules by name, with one named {_START}")
        written = {}
    for name, alternatives in written.items():
        try:
            rules[name] = _rule(name, alternatives)
        except ValueError as error:
            faults.append(f"rules.{name}: {error}")
    if not faults:
        faults = list(_unsound(rules))
    if faults:
        raise BadCorpus("\n".join(f"{shown(path)}: {fault}" for fault in faults))
    return Grammar(str(language), rules)


def _yaml(path: Path) -> Mapping[Any, Any]:
    if fault := path_fault(path):
        raise BadCorpus(f"{shown(path)}: {fault}; expected a grammar in YAML")
    try:
        values = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise BadCorpus(f"{shown(path)}{line}: is not YAML: {error.problem}") from error
    except (YAMLError, ValueError, RecursionError) as error:  # also a date of a 13th month, or 10,000 brackets
        raise BadCorpus(f"{shown(path)}: is not YAML: {error}") from error
    except OSError as error:
        raise BadCorpus(f"{shown(path)}: {fault_of(path, error)}") from error
    if not isinstance(values, Mapping):
        raise BadCorpus(f"{shown(path)}: found {_brief(values)}, expected the keys language and rules")
    return values


def _brief(value: object) -> str:
    return "nothing" if value is None else repr(value)[:60]


def _rule(name: object, alternatives: object) -> tuple[Alternative, ...]:
    if not isinstance(name, str) or not _RULE.fullmatch(name):
        raise ValueError("a rule's name has lower-case letters, digits and _, and begins with a letter")
    if not isinstance(alternatives, list) or not alternatives:
        raise ValueError(f"found {_brief(alternatives)}, expected a list of alternatives")
    return tuple(_alternative(one) for one in alternatives)


def _alternative(written: object) -> Alternative:
    text, weight = (written.get("say"), written.get("weight", 1)) if isinstance(written, Mapping) else (written, 1)
    if isinstance(written, Mapping) and (unknown := written.keys() - {"say", "weight"}):
        raise ValueError(f"found the key {sorted(map(str, unknown))[0]}, expected say and weight")
    if not isinstance(text, str):
        raise ValueError(f"found {_brief(text)}, expected a text; quote what YAML takes for a number")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= _MOST_WEIGHT:
        raise ValueError(f"weight={_brief(weight)} of {text!r}: must be a number above 0, at most {_MOST_WEIGHT:g}")
    tokens = tuple(found[0] for found in _TOKEN.finditer(text))
    if "".join(tokens) != "".join(text.split()) or not all(
        _RULE.fullmatch(token[1:-1]) for token in tokens if token.startswith("<")
    ):
        raise ValueError(f"{text!r}: < and > stand around the name of a rule only")
    return Alternative(tokens, float(weight))


def _unsound(rules: Mapping[str, tuple[Alternative, ...]]) -> Iterator[str]:
    """Yield what is wrong between rules: names of none, recursion, rules that no sentence uses."""
    for name, alternatives in rules.items():
        for used in sorted({rule for one in alternatives for rule in one.rules()} - rules.keys()):
            yield f"rules.{name}: <{used}>: there is no such rule"
    try:
        order = _order(rules)
    except graphlib.CycleError as error:
        circle = " → ".join(f"<{name}>" for name in error.args[1])
        yield f"rules: {circle}: a rule may not come back to itself, as sentences must end"
        return
    reached = {_START}
    for name in reversed(order):
        if name in reached:
            reached |= {rule for one in rules.get(name, ()) for rule in one.rules()}
    yield from (f"rules.{name}: no sentence uses it" for name in rules if name not in reached)
    depths: dict[str, int] = {}
    for name in order:
        depths[name] = 1 + max((depths[rule] for one in rules.get(name, ()) for rule in one.rules()), default=0)
    if depths[_START] > _DEEPEST:
        yield f"rules: a sentence may need {depths[_START]} rules, one within another; at most {_DEEPEST}"


def _order(rules: Mapping[str, tuple[Alternative, ...]]) -> list[str]:
    """Return the rules, each after those that it names; raises CycleError."""
    graph = {name: {rule for one in alternatives for rule in one.rules()} for name, alternatives in rules.items()}
    return list(graphlib.TopologicalSorter(graph).static_order())
