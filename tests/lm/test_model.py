import gzip
import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.errors import BadLanguageModel
from sonorant.lm import ngrams
from sonorant.lm.model import NgramModel

KENLM = Path(__file__).parent / "kenlm"
WORDS = ("<unk>", "<s>", "</s>", "a", "b", "c")
SENTENCES = ("one two three", "three two one one four", "", "zzz one two", "two two two")
# What kenlm's Python package gives for these, by any of its files.
KENLM_SCORES = (-2.16916, -4.21709, -0.77815, -3.23016, -3.43463)
GOOD = b"""\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.25
-1\t</s>
-0.5\ta\t-0.125

\\2-grams:
-0.25\t<s> a
-0.75\ta </s>

\\end\\
"""


def write_arpa(table, order):
    lines = ["\\data\\"]
    by_order = [[ngram for ngram in table if len(ngram) == n] for n in range(1, order + 1)]
    lines += [f"ngram {n}={len(listed)}" for n, listed in enumerate(by_order, 1)]
    for n, listed in enumerate(by_order, 1):
        lines.append(f"\n\\{n}-grams:")
        for ngram in listed:
            log10, back_off = table[ngram]
            lines.append(f"{log10}\t{' '.join(ngram)}" + (f"\t{back_off}" if n < order and back_off else ""))
    return "\n".join([*lines, "", "\\end\\", ""]).encode()


def probability(table, history, word):
    """The definition: log10 p(word | history), by recursion over what the file lists."""
    if (*history, word) in table:
        return table[(*history, word)][0]
    return table.get(history, (0, 0))[1] + probability(table, history[1:], word)


def parse(data, pieces=1 << 20):
    reader = ngrams.ArpaReader(len(data))
    for start in range(0, len(data), pieces):
        reader.feed(data[start : start + pieces])
    return NgramModel(reader)


@st.composite
def tables(draw):
    """A model that lists any n-grams, without the shorter ones that would have to be there."""
    order = draw(st.integers(1, 5))
    weights = st.floats(-4, 0, width=16)
    table = {(word,): (draw(weights), draw(weights)) for word in WORDS}
    for n in range(2, order + 1):
        listed = draw(st.sets(st.tuples(*[st.sampled_from(WORDS)] * n), max_size=6))
        table |= {ngram: (draw(weights), draw(st.one_of(st.just(0), weights))) for ngram in sorted(listed)}
    return order, table


@given(tables(), st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), st.integers(1, 9))
def test_a_score_is_what_the_definition_gives(model, words, pieces):
    order, table = model
    read = parse(write_arpa(table, order), pieces)
    state = read.null()
    for i, word in enumerate(words):
        score, state = read.score(state, read.index(word))
        history = tuple(words[max(0, i + 1 - order) : i])
        assert score == pytest.approx(probability(table, history, word), abs=1e-4)


@given(tables(), st.lists(st.sampled_from(WORDS), max_size=6), st.lists(st.sampled_from(WORDS), max_size=6))
def test_equal_states_have_equal_futures_and_hashes(model, first, second):
    order, table = model
    read = parse(write_arpa(table, order))
    states = []
    for words in (first, second):
        state = read.begin()
        for word in words:
            _, state = read.score(state, read.index(word))
        states.append(state)
    if states[0] == states[1]:
        assert hash(states[0]) == hash(states[1])
        for word in range(read.size):
            assert read.score(states[0], word)[0] == pytest.approx(read.score(states[1], word)[0], abs=1e-5)
            assert read.score(states[0], word)[1] == read.score(states[1], word)[1]


@pytest.mark.parametrize(
    "name",
    ["model.arpa", "probing.bin", "trie.bin", "array-trie.bin", "quantised-trie.bin", "quantised-array-trie.bin"],
)
def test_files_of_kenlm_score_as_kenlm_does(name):
    model = NgramModel.read(KENLM / name)
    assert (model.order, model.size, model.ngrams(1)) == (3, 7, 7)
    assert [model.score_sentence(s).log10 for s in SENTENCES] == pytest.approx(KENLM_SCORES, abs=1e-4)


@pytest.mark.parametrize("name", ["probing.bin", "trie.bin", "quantised-array-trie.bin"])
def test_a_binary_that_is_cut_off_is_refused(name, tmp_path):
    data = (KENLM / name).read_bytes()
    cut = tmp_path / "cut.bin"
    for size in range(40, len(data)):
        cut.write_bytes(data[:size])
        with pytest.raises(BadLanguageModel, match=r"cut\.bin"):
            NgramModel.read(cut)


@given(st.data())
def test_a_damaged_binary_raises_or_reads_but_does_not_crash(data):
    damaged = bytearray((KENLM / data.draw(st.sampled_from(["probing.bin", "trie.bin"]))).read_bytes())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        model = NgramModel(np.frombuffer(bytes(damaged), np.uint8))
    except ngrams.BadBinary:
        return
    model.score_sentence("one two three two")


@pytest.mark.parametrize("name", ["probing.bin", "trie.bin"])
@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_a_binary_with_a_weight_that_is_no_finite_number_is_refused(name, weight, tmp_path):
    """A search would compare hypotheses with NaN, and have no order of them."""
    data = (KENLM / name).read_bytes()
    model = NgramModel.read(KENLM / name)
    of_one = np.float32(model.score(model.null(), model.index("one"))[0])
    found = next(value for value in (of_one, -of_one) if value.tobytes() in data)  # its sign is a flag
    (tmp_path / name).write_bytes(data.replace(found.tobytes(), np.float32(weight).tobytes()))
    with pytest.raises(BadLanguageModel, match=rf"{name}: a probability or back-off weight is infinite or NaN"):
        NgramModel.read(tmp_path / name)


def test_probing_with_rest_costs_is_refused_by_name(tmp_path):
    data = bytearray((KENLM / "probing.bin").read_bytes())
    at = data.index(b"\0\0\xc0\x3f", 80) + 4  # after the multiplier, 1.5
    data[at] = 1
    (tmp_path / "rest.bin").write_bytes(data)
    with pytest.raises(BadLanguageModel, match=r"rest costs is not read"):
        NgramModel.read(tmp_path / "rest.bin")


@pytest.mark.parametrize("change", [lambda d: d, lambda d: d.replace(b"\n", b"\r\n"), gzip.compress])
def test_plain_crlf_and_gzipped_files_are_one_model(change, tmp_path):
    (tmp_path / "model").write_bytes(change(GOOD))
    model = NgramModel.read(tmp_path / "model")
    assert model.score_sentence("a").log10 == pytest.approx(-1)
    assert model.score_sentence("a b").log10 == pytest.approx(-0.25 - 0.125 - 1.5 - 1)
    assert model.word(model.index("a")) == "a"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GOOD[-80:], b"", r"after line \d+: the file ends .*cut off"),
        (b"\\end\\\n", b"", r"after line 14: the file ends after 2 of 2 2-grams, without .end.; it is cut off"),
        (b"ngram 1=4", b"ngram 1=0", r"line 2: found no 1-grams, expected at least one word"),
        (b"ngram 2=2", b"ngram 2=3", r"line 15: found 2 2-grams, expected the 3 2-grams"),
        (b"ngram 2=2", b"ngram 2=1", r"line 13: there are more than the 1 2-grams"),
        (b"ngram 2=2", b"ngram 2=99999999999999999999", r"line 3: found .*expected such as"),
        (b"ngram 2=2", b"ngram 2=9999999999999999", r"line 15: found 2 2-grams, expected"),
        (b"ngram 2=2", b"ngram 3=2", r"line 3: found the count of 3-grams, expected that of 2-grams"),
        (b"-0.5\ta", b"nan\ta", r"line 9: log10 probability nan: must be finite"),
        (b"-0.5\ta", b"-1e99\ta", r"line 9: log10 probability -1e99: too large"),
        (b"-0.5\ta", b"0.5\ta", r"line 9: log10 probability 0.5: must be 0 or less"),
        (b"-0.5\ta", b"-0.5x\ta", r'line 9: log10 probability "-0.5x": must be a number'),
        (b"-0.125", b"inf", r"line 9: back-off weight inf: must be finite"),
        (b"<s> a", b"<s> x", r'line 12: the word "x" is not among the 1-grams'),
        (b"<s> a", b"<s>", r"line 12: found 2 fields, expected a log10 probability, 2 words"),
        (b"<s> a", b"<s> \xff\xe9", r'line 12: the word ".xff.xe9" is not among'),
        (b"a </s>", b"<s> a", r"line 13: this n-gram is there twice"),
        (b"</s>\n-0.5", b"a\n-0.5", r'line 9: the word "a" is there twice'),
        (b"\\2-grams:", b"\\3-grams:", r'line 11: found "\\3-grams:", expected "\\2-grams:"'),
        (b"\\data\\", b"data", r"no line .data. was found; this is not an ARPA file"),
    ],
)
def test_a_bad_line_is_named(old, new, message, tmp_path):
    assert old in GOOD
    (tmp_path / "bad.arpa").write_bytes(GOOD.replace(old, new))
    with pytest.raises(BadLanguageModel, match=message) as caught:
        NgramModel.read(tmp_path / "bad.arpa")
    assert str(tmp_path / "bad.arpa") in str(caught.value)


@pytest.mark.parametrize("size", range(len(GOOD) - len(b"\\end\\\n") + 1))
def test_a_file_that_is_cut_off_anywhere_is_told_so(size, tmp_path):
    (tmp_path / "cut.arpa").write_bytes(GOOD[:size])
    with pytest.raises(BadLanguageModel, match=r"it is cut off|it may be cut off|this is not an ARPA file"):
        NgramModel.read(tmp_path / "cut.arpa")


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(GOOD,), daemon=True)
    writer.start()
    with pytest.raises(BadLanguageModel, match=r"pipe: is a pipe; expected a file"):
        NgramModel.read(tmp_path / "pipe")
    writer.join()


def test_missing_files_and_cut_gzip_are_named(tmp_path):
    with pytest.raises(BadLanguageModel, match=r"none\.arpa: no such file"):
        NgramModel.read(tmp_path / "none.arpa")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(GOOD)[:-20])
    with pytest.raises(BadLanguageModel, match=r"cut\.gz: the compressed file is cut off"):
        NgramModel.read(tmp_path / "cut.gz")


def test_missing_words_have_the_usual_stand_ins():
    model = parse(b"\\data\\\nngram 1=1\n\\1-grams:\n-1\ta\n\\end\\\n")
    assert (model.begin_word, model.end_word) == (0, 0)
    assert model.begin() == model.null()
    assert model.score_sentence("a b").log10 == -101
    with pytest.raises(IndexError):
        model.score(model.null(), 2)


def test_perplexity_counts_ends_and_tells_unknown_words_apart():
    found = parse(GOOD).perplexity(["a", " ", "a b"])
    assert (found.sentences, found.tokens, found.unknown) == (2, 5, 1)
    assert found.value == pytest.approx(10 ** ((1 + 2.875) / 5))
    assert found.value_known == pytest.approx(10 ** ((1 + 1.25) / 4))
    assert math.isnan(parse(GOOD).perplexity([]).value)


def test_unigrams_are_the_prior_of_labels():
    assert parse(GOOD).unigrams(["a", "</s>", "x"]).tolist() == [-0.5, -1, -1.5]
