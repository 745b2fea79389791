"""Kneser-Ney against the equations, counted with dictionaries; `tests/lm/kenlm/model.arpa` is lmplz's own output."""

import gzip
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.errors import BadLanguageModel, Unavailable
from sonorant.lm.model import NgramModel
from sonorant.lm.training import train

LMPLZ = Path(__file__).parent / "kenlm" / "model.arpa"
LMPLZ_TEXT = "one two three\none two\ntwo three one\nthree two\none one two three two\nfour\n"


def reference(sentences, order, prune):
    """Return {n-gram: (probability, back-off weight)} by the definition."""
    counts = Counter()
    for sentence in sentences:
        words = ("<s>", *sentence, "</s>")
        counts.update(words[i : i + n] for n in range(1, order + 1) for i in range(len(words) - n + 1))
    del counts[("<s>",)]
    lefts = defaultdict(set)
    for ngram in counts:
        lefts[ngram[1:]].add(ngram[0])
    adjusted = {g: c if len(g) == order or g[0] == "<s>" else len(lefts[g]) for g, c in counts.items()}
    vocabulary = {g[0] for g in counts if len(g) == 1} | {"<unk>"}
    model, weight = {}, {}
    for n in range(1, order + 1):
        grams = [g for g in adjusted if len(g) == n]
        amount = discounts([adjusted[g] for g in grams])
        total, freed = Counter(), Counter()
        for g in grams:
            total[g[:-1]] += adjusted[g]
            freed[g[:-1]] += amount[min(adjusted[g], 3)] if n == 1 or counts[g] > prune[n - 1] else adjusted[g]
        weight |= {context: freed[context] / total[context] for context in total}
        for g in [*grams, ("<unk>",)] if n == 1 and ("<unk>",) not in counts else grams:
            lower = 1 / len(vocabulary) if n == 1 else model[g[1:]]
            count = adjusted.get(g, 0)
            model[g] = (count - amount[min(count, 3)]) / total[g[:-1]] + weight[g[:-1]] * lower
    kept = {g for g in model if len(g) == 1 or counts[g] > prune[len(g) - 1]}
    return {g: (model[g], weight.get(g, 1)) for g in kept} | {("<s>",): (1, weight.get(("<s>",), 1))}


def discounts(adjusted):
    n = Counter(adjusted)
    if not (n[1] and n[2] and n[3]):
        return [0, 0.5, 1, 1.5]
    y = n[1] / (n[1] + 2 * n[2])
    amount = [0] + [i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3)]
    return amount if all(0 <= amount[i] <= i for i in (1, 2, 3)) else [0, 0.5, 1, 1.5]


def read(path):
    lines = (line.split("\t") for line in path.read_text().splitlines() if "\t" in line)
    return {tuple(f[1].split()): (float(f[0]), float(f[2]) if len(f) > 2 else 0) for f in lines}


def trained(folder, text, **options):
    (folder / "text").write_text(text)
    return train([folder / "text"], folder / "model.arpa", **options)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=7), min_size=1, max_size=40),
    st.integers(1, 5),
    st.booleans(),
)
def test_a_model_is_what_the_equations_give(tmp_path_factory, sentences, order, pruned):
    folder = tmp_path_factory.mktemp("lm")
    prune = [0, 0, 1, 1, 2][:order] if pruned else [0] * order
    trained(folder, "\n".join(map(" ".join, sentences)), order=order, prune=prune)
    found, expected = read(folder / "model.arpa"), reference(sentences, order, prune)
    assert found.keys() == expected.keys()
    for ngram, (probability, weight) in expected.items():
        assert 10 ** found[ngram][0] == pytest.approx(probability, rel=1e-4)
        if len(ngram) < order and weight > 0:
            assert 10 ** found[ngram][1] == pytest.approx(weight, rel=1e-4)


def test_a_model_is_that_of_lmplz(tmp_path):
    trained(tmp_path, LMPLZ_TEXT, order=3)
    found, expected = read(tmp_path / "model.arpa"), read(LMPLZ)
    assert found.keys() == expected.keys()
    for ngram, weights in expected.items():
        assert found[ngram] == pytest.approx(weights, abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"prune": [0, 1]}, {"most_words": 3}])
def test_probabilities_of_any_history_sum_to_one(tmp_path, options):
    trained(tmp_path, LMPLZ_TEXT * 3 + "five one\n", order=3, **options)
    model = NgramModel.read(tmp_path / "model.arpa")
    for words in ("", "one", "one two", "four", "zzz", "two three"):
        state = model.begin()
        for word in words.split():
            state = model.score(state, model.index(word))[1]
        total = sum(10 ** model.score(state, word)[0] for word in range(model.size) if word != model.begin_word)
        assert total == pytest.approx(1, abs=1e-5)


def test_large_ranges_are_sorted_by_digits(tmp_path):
    """From 2,048 occurrences on; words above 2,048 have two digits."""
    sentences = [[f"w{i * 7 % 3000}", "x", f"w{i * i % 50}"] for i in range(6000)]
    trained(tmp_path, "\n".join(map(" ".join, sentences)), order=3)
    found, expected = read(tmp_path / "model.arpa"), reference(sentences, 3, [0, 0, 0])
    assert found.keys() == expected.keys()
    assert max(abs(10 ** found[g][0] - p) for g, (p, _) in expected.items()) < 1e-5


def test_rare_words_become_unknown(tmp_path):
    found = trained(tmp_path, LMPLZ_TEXT, order=2, most_words=2)
    assert (found.words, found.made_unknown) == (5, 5)
    grams = read(tmp_path / "model.arpa")
    assert {g[0] for g in grams if len(g) == 1} == {"<unk>", "<s>", "</s>", "one", "two"}
    assert ("two", "<unk>") in grams


def test_small_text_falls_back_and_says_so(tmp_path):
    found = trained(tmp_path, "a b\n", order=2)
    assert found.fallen_back == (1, 2)
    assert found.discounts == ((0.5, 1, 1.5), (0.5, 1, 1.5))


def test_a_gzipped_model_has_the_same_bytes_each_time_and_the_same_scores(tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(LMPLZ_TEXT.encode()))
    for name in ("one.arpa.gz", "two.arpa.gz"):
        train([tmp_path / "text.gz"], tmp_path / name, order=3)
    trained(tmp_path, LMPLZ_TEXT, order=3)
    first = (tmp_path / "one.arpa.gz").read_bytes()
    assert gzip.decompress(first) == (tmp_path / "model.arpa").read_bytes()
    assert first == (tmp_path / "two.arpa.gz").read_bytes()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (" \n\n", {"order": 3}, "the text has no word"),
        ("a\nb <s> c\n", {"order": 3}, "text: line 2: found <s>"),
        ("a\n", {"order": 7}, "order 7: must be 1 to 6"),
        ("a\n", {"order": 2, "prune": [1]}, "thresholds 1: must start with 0"),
        ("a\n", {"order": 3, "prune": [0, 2, 1]}, "thresholds 0 2 1"),
        ("a\n", {"order": 1, "prune": [0, 0]}, "at most 1"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(tmp_path, text, options, message):
    with pytest.raises(BadLanguageModel, match=message):
        trained(tmp_path, text, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize(("before", "line"), [(b"", 1), (b"a b\n" * 3, 4), ("é é\n".encode() * 700_000, 700_001)])
def test_a_text_that_is_no_utf_8_is_refused_by_its_line(tmp_path, before, line):
    (tmp_path / "text").write_bytes(before + "été\n".encode("latin-1"))
    with pytest.raises(BadLanguageModel, match=rf"text: line {line}: no UTF-8, byte 0xe9"):
        train([tmp_path / "text"], tmp_path / "model.arpa", order=2)
    assert not (tmp_path / "model.arpa").exists()


def test_a_text_that_is_cut_off_within_a_character_is_refused(tmp_path):
    (tmp_path / "text").write_bytes("a\né".encode()[:-1])
    with pytest.raises(BadLanguageModel, match="text: line 2: no UTF-8, byte 0xc3"):
        train([tmp_path / "text"], tmp_path / "model.arpa", order=2)


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "text").write_text("a\n")
    with pytest.raises(Unavailable, match="text"):
        train([tmp_path / "text"], tmp_path / "text" / "model.arpa", order=1)
