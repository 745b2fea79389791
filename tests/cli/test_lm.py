import codecs
import gzip
from functools import partial

import pytest
from click.testing import CliRunner
from rich.console import Console

from sonorant.cli.lm import command

TEXT = "one two three\none two\ntwo three one\nthree two\none one two three two\nfour\n"


@pytest.fixture
def lm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "dev.txt").write_text("two three\n\nfour five\n")
    return lambda *arguments: CliRunner().invoke(command, arguments)


def test_trains_and_reports_perplexity(lm, tmp_path):
    done = lm("text.txt", "-o", "model.arpa.gz", "-n", "2", "--dev", "dev.txt")
    assert done.exit_code == 0, done.output
    assert "2-grams: 13, discounts" in done.output
    assert "model.arpa.gz: 16 words of 6 sentences, 7 in the vocabulary" in done.output
    assert "dev.txt: perplexity" in done.output
    assert "(6 tokens of 2 sentences; 1 unknown," in done.output
    again = lm("dev.txt", "text.txt", "--perplexity", "model.arpa.gz")
    assert again.output.splitlines()[0] == done.output.splitlines()[-1]
    assert len(again.output.splitlines()) == 2


@pytest.mark.parametrize("wrapped", [gzip.compress, lambda text: codecs.BOM_UTF8 + text])
def test_a_text_is_the_same_gzipped_or_behind_a_byte_order_mark_whatever_its_name(lm, tmp_path, wrapped):
    for name in ("plain.gz", "wrapped.txt"):
        (tmp_path / name).write_bytes((wrapped if name == "wrapped.txt" else bytes)(TEXT.encode()))
        assert lm(name, "-o", f"{name}.arpa", "--dev", name).exit_code == 0
    assert (tmp_path / "plain.gz.arpa").read_text() == (tmp_path / "wrapped.txt.arpa").read_text()
    (tmp_path / "marked.arpa").write_bytes(codecs.BOM_UTF8 + (tmp_path / "plain.gz.arpa").read_bytes())
    scores = [lm(name, "--perplexity", "marked.arpa").output.partition(": ")[2] for name in ("plain.gz", "wrapped.txt")]
    assert scores[0] == scores[1] != ""


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_marks_of_sentences_are_refused_in_scoring_as_in_training(lm, tmp_path, mark):
    assert lm("text.txt", "-o", "model.arpa").exit_code == 0
    (tmp_path / "dev.txt").write_text(f"one two\ntwo {mark} three\n")
    for arguments in (("dev.txt", "-o", "other.arpa"), ("dev.txt", "--perplexity", "model.arpa")):
        done = lm(*arguments)
        assert done.exception.exit_code == 65
        assert f"dev.txt: line 2: found {mark}, which marks the bounds" in str(done.exception)


@pytest.mark.parametrize("content", ["", " \n\n"])
def test_a_text_without_a_word_has_no_perplexity(lm, tmp_path, content):
    assert lm("text.txt", "-o", "model.arpa").exit_code == 0
    (tmp_path / "dev.txt").write_text(content)
    done = lm("dev.txt", "--perplexity", "model.arpa")
    assert done.exception.exit_code == 65
    assert str(done.exception) == "dev.txt: the text has no word; expected a sentence a line"
    assert not done.output


def test_thresholds_beyond_any_count_leave_one_grams(lm):
    done = lm("text.txt", "-o", "model.arpa", "-n", "2", "--prune", f"0 {10**30}")
    assert done.exit_code == 0, done.exception
    assert "2-grams: 0," in done.output


@pytest.mark.parametrize("content", [None, b"", b" \n", b"one\n\xe9t\xe9\n", b"one <s> two\n"])
def test_a_dev_text_that_cannot_be_scored_is_refused_before_training(lm, tmp_path, content):
    (tmp_path / "dev.txt").unlink()
    if content is not None:
        (tmp_path / "dev.txt").write_bytes(content)
    done = lm("text.txt", "-o", "model.arpa", "--dev", "dev.txt")
    assert done.exception.exit_code == 65
    assert "dev.txt" in str(done.exception)
    assert not (tmp_path / "model.arpa").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text.txt",), "give -o"),
        (("text.txt", "-o", "a", "--perplexity", "b"), "give -o"),
        (("text.txt", "--perplexity", "b", "-n", "2"), "are for training"),
        (("text.txt", "-o", "a", "--prune", "0 x"), "expected whole numbers"),
        (("text.txt", "-o", "a", "-n", "7"), "7"),
        (("text.txt", "-o", "a", "--words", str(10**30)), "4294967295"),
        ((), "TEXT"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(lm, arguments, message):
    done = lm(*arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_brackets_in_a_path_are_no_markup_on_a_terminal(lm, tmp_path, monkeypatch):
    monkeypatch.setattr("rich.console.Console", partial(Console, force_terminal=True))
    (tmp_path / "x[").mkdir()
    (tmp_path / "x[/b].txt").write_text(TEXT)
    done = lm("x[/b].txt", "-o", "model.arpa")
    assert done.exit_code == 0, done.exception
