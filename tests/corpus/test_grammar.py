from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.corpus.grammar import Alternative, Grammar, read_grammar
from sonorant.errors import BadCorpus
from sonorant.randomness import generator

ASSISTANT = Path(__file__).parents[2] / "recipes/grammars/assistant.yaml"
SMALL = """
rules:
  sentence:
    - turn <state> the <device> <where>
    - {say: stop, weight: 0.5}
  state: ["on", "off"]
  device: [lamp, old radio]
  where: ["", {say: upstairs, weight: 3}]
"""


def grammar(folder: Path, text: str) -> Grammar:
    (folder / "g.yaml").write_text(text)
    return read_grammar(folder / "g.yaml")


def rng(seed: int = 0):
    return generator(seed, 0, "test", "grammar")


def sentences(grammar: Grammar, name: str = "sentence") -> dict[str, float]:
    """Return the probability of every sentence, by writing all of them out."""
    found: Counter[str] = Counter()
    rule = grammar.rules[name]
    for one in rule:
        parts = [
            sentences(grammar, token[1:-1]) if token.startswith("<") else {token: 1.0} for token in one.tokens
        ] or [{"": 1.0}]
        for choice in product(*(part.items() for part in parts)):
            weight = one.weight / sum(other.weight for other in rule)
            for _, probability in choice:
                weight *= probability
            found[" ".join(text for text, _ in choice if text)] += weight
    return dict(found)


def test_words_and_derivations_are_counted(tmp_path: Path) -> None:
    small = grammar(tmp_path, SMALL)
    assert small.words() == {"turn", "on", "off", "the", "lamp", "old", "radio", "upstairs", "stop"}
    assert small.derivations() == 9
    assert small.language == "en"


def test_sentences_come_as_often_as_their_weights_say(tmp_path: Path) -> None:
    small = grammar(tmp_path, SMALL)
    draw = rng()
    found = Counter(small.draw(draw) for _ in range(20_000))
    expected = sentences(small)
    assert expected["stop"] == pytest.approx(1 / 3)
    assert set(found) == set(expected)
    for sentence, probability in expected.items():
        assert found[sentence] / 20_000 == pytest.approx(probability, abs=4 * (probability / 20_000) ** 0.5)


@st.composite
def layered(draw) -> Grammar:
    """Draw a grammar whose rules name later ones only, each by the one before it."""
    count = draw(st.integers(1, 4))
    names = ["sentence", *(f"r{i}" for i in range(1, count))]
    rules = {}
    for i, name in enumerate(names):
        tokens = st.sampled_from(["a", "b", *(f"<{later}>" for later in names[i + 1 :])])
        texts = draw(st.lists(st.lists(tokens, max_size=3).map(tuple), min_size=1, max_size=3))
        rules[name] = tuple(Alternative(text) for text in texts)
    return Grammar("en", rules)


@given(layered(), st.integers(0, 9))
def test_every_draw_is_one_of_all_sentences_and_these_are_no_more_than_derivations(made: Grammar, seed: int) -> None:
    every = sentences(made)
    assert len(every) <= made.derivations()
    assert made.draw(rng(seed)) in every
    wanted = sorted(sentence for sentence, probability in every.items() if sentence and probability > 0.02)
    found = list(made.distinct(len(wanted), rng(seed)))
    assert len(set(found)) == len(found) == len(wanted)


def test_a_longer_draw_begins_with_the_shorter_one(tmp_path: Path) -> None:
    small = grammar(tmp_path, SMALL)
    assert list(small.distinct(8, rng()))[:4] == list(small.distinct(4, rng()))


def test_more_sentences_than_there_are_end_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match=r"10 distinct sentences .* the grammar gave 9; it has 9 at most"):
        list(grammar(tmp_path, SMALL).distinct(10, rng()))


def deep(rules: int) -> str:
    names = ["sentence", *(f"r{i}" for i in range(1, rules))]
    chain = [f"{name}: [<{after}>]" for name, after in pairwise(names)]
    return f"rules: {{{', '.join(chain)}, {names[-1]}: [a]}}"


def test_rules_may_stand_within_one_another_up_to_a_bound(tmp_path: Path) -> None:
    assert grammar(tmp_path, deep(100)).draw(np.random.default_rng(0)) == "a"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "found nothing, expected the keys language and rules"),
        ("- a", r"found \['a'\], expected the keys language and rules"),
        ("rules: [", "g.yaml:1: is not YAML"),
        ("rules: {other: [a]}", "expected rules by name, with one named sentence"),
        ("rules: {sentence: [a]}\nstart: x", "start: unknown key; known here: language, rules"),
        ("language: 3\nrules: {sentence: [a]}", "language=3: must be a code such as en"),
        ("rules: {sentence: a}", "rules.sentence: found 'a', expected a list of alternatives"),
        ("rules: {sentence: [7]}", "rules.sentence: found 7, expected a text; quote what YAML takes for a number"),
        ("rules: {sentence: [{say: a, wait: 2}]}", "rules.sentence: found the key wait, expected say and weight"),
        ("rules: {sentence: [{say: a, weight: 0}]}", "rules.sentence: weight=0 of 'a': must be a number above 0"),
        (
            f"rules: {{sentence: [{{say: a, weight: 1{'0' * 400}}}]}}",
            "of 'a': must be a number above 0, at most 1e\\+300",
        ),
        ("rules: {sentence: [{say: a, weight: .nan}]}", "rules.sentence: weight=nan of 'a': must be a number above 0"),
        ("rules: {sentence: [a <b]}", "rules.sentence: 'a <b': < and > stand around the name of a rule only"),
        ("rules: {sentence: [<B>], B: [a]}", "rules.B: a rule's name has lower-case letters"),
        ("rules: {sentence: [<b>]}", "rules.sentence: <b>: there is no such rule"),
        ("language: 2001-99-99\nrules: {sentence: [a]}", r"g\.yaml: is not YAML: month must be in 1\.\.12"),
        ("[" * 5000, "g.yaml: is not YAML: maximum recursion depth"),
        (deep(101), "rules: a sentence may need 101 rules, one within another; at most 100"),
        ("rules: {sentence: [a], b: [c]}", "rules.b: no sentence uses it"),
        ("rules: {sentence: [a <b>], b: [c, <d>], d: [<b>]}", "a rule may not come back to itself, as sentences must"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadCorpus, match=fault):
        grammar(tmp_path, text)


def test_the_projects_grammar_has_about_a_thousand_words() -> None:
    assistant = read_grammar(ASSISTANT)
    assert 1000 <= len(assistant.words()) <= 1200
    assert assistant.derivations() > 10**9
